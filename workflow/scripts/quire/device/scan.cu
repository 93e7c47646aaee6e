// Offsets from counts, and the places of items other than 0. Each is a launch of `sum_parts`, then of `write_offsets`
// or of `write_places`. A block takes a part of a row; with a single part, `sum_parts` is not needed.
// -D: ITEM_BYTES (1, 4 or 8; items are not negative), THREADS (of a block), ITEMS (of a thread in a round).
#include "quire/device/types.cuh"

#if ITEM_BYTES == 1
typedef u8 Item;
#elif ITEM_BYTES == 4
typedef u32 Item;
#else
typedef u64 Item;
#endif

// The rows of items of a launch, their parts, and the sum of each part, int64[rows][parts]. If `places` is 1, an item
// other than 0 counts as 1.
struct Rows {
    const Item* items;
    i64 length;  // of a row
    i64 part;    // items of a part
    i64 places;
    i64* sums;

    __device__ __forceinline__ const Item* row() const { return items + blockIdx.y * length; }
    __device__ __forceinline__ i64 begin() const { return blockIdx.x * part; }
    __device__ __forceinline__ i64 end() const { return begin() + part < length ? begin() + part : length; }
    __device__ __forceinline__ i64 number(Item item) const { return places ? item != 0 : (i64)item; }
};

// The sum of the numbers of the threads before this one, and of all threads of the block.
struct Before {
    i64 sum, all;
};

__device__ __forceinline__ Before sum_before(i64 number) {
    i64* of_warps = (i64*)shared_memory;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    i64 upto = number;
    for (int distance = 1; distance < 32; distance *= 2) {
        i64 below = __shfl_up_sync(~0u, upto, distance);
        if (lane >= distance) upto += below;
    }
    __syncthreads();  // the sums of an earlier call have been read
    if (lane == 31) of_warps[warp] = upto;
    __syncthreads();
    Before before = {upto - number, 0};
    for (int other = 0; other < THREADS / 32; other++) {
        if (other < warp) before.sum += of_warps[other];
        before.all += of_warps[other];
    }
    return before;
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_parts(Rows rows) {
    const Item* items = rows.row();
    i64 sum = 0;
    for (i64 i = rows.begin() + threadIdx.x; i < rows.end(); i += THREADS) sum += rows.number(items[i]);
    sum = sum_before(sum).all;
    if (threadIdx.x == 0) rows.sums[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// The sum of all parts of a row before the block's own.
__device__ __forceinline__ i64 sum_of_parts_before(const Rows& rows) {
    const i64* sums = rows.sums + blockIdx.y * gridDim.x;
    i64 sum = 0;
    for (int part = threadIdx.x; part < blockIdx.x; part += THREADS) sum += sums[part];
    return sum_before(sum).all;
}

// offsets[rows][length + 1]. The sum of each row is written to totals[rows], which may be memory of the host.
extern "C" __global__ void __launch_bounds__(THREADS) write_offsets(Rows rows, i64* offsets, i64* totals) {
    const Item* items = rows.row();
    i64 sum = sum_of_parts_before(rows);
    offsets += blockIdx.y * (rows.length + 1);
    for (i64 round = rows.begin(); round < rows.end(); round += THREADS * ITEMS) {
        i64 first = round + threadIdx.x * ITEMS, numbers[ITEMS], mine = 0;
        for (int k = 0; k < ITEMS; k++) {
            numbers[k] = first + k < rows.end() ? rows.number(items[first + k]) : 0;
            mine += numbers[k];
        }
        Before before = sum_before(mine);
        i64 upto = sum + before.sum;
        for (int k = 0; k < ITEMS; k++) {
            upto += numbers[k];
            if (first + k < rows.end()) offsets[first + k + 1] = upto;
        }
        sum += before.all;
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) offsets[0] = 0;
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) totals[blockIdx.y] = sum;
}

// places[length]: the indices of the items other than 0, in order; there are `totals[0]` of them. There is one row.
extern "C" __global__ void __launch_bounds__(THREADS) write_places(Rows rows, i64* places, i64* totals) {
    const Item* items = rows.row();
    i64 sum = sum_of_parts_before(rows);
    for (i64 round = rows.begin(); round < rows.end(); round += THREADS * ITEMS) {
        i64 first = round + threadIdx.x * ITEMS, mine = 0;
        for (int k = 0; k < ITEMS; k++) mine += first + k < rows.end() && items[first + k] != 0;
        Before before = sum_before(mine);
        i64 place = sum + before.sum;
        for (int k = 0; k < ITEMS; k++)
            if (first + k < rows.end() && items[first + k] != 0) places[place++] = first + k;
        sum += before.all;
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) totals[0] = sum;
}

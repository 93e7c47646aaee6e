// Selection of elements by one bit each, and the place of each chosen one: a scan over tiles of 8,192 elements.
//
// Bit e of `bits` belongs to element e. Either the elements with a set bit are chosen; or (ties) a set bit is the head
// of a group of neighbours, and all members of groups of at least two are chosen. Writers launch a block of TILE_WORDS
// threads per tile, with TILE_BYTES of shared memory.
#pragma once
#include "quire/device/types.cuh"

constexpr int WARPS = TILE_WORDS / 32;

// As quire.algorithms.suffix_array.selection_gpu.ElementSelection lays it out.
struct Selection {
    const u32* bits;  // [ceil(count / 32)], no bit set after the last element
    i64 count;
    i64 ties;
    u32* chosen_before;  // [tiles]: the number of elements chosen before each tile
    u32* head_before;    // [tiles]: 1 + the last set bit before each tile, 0 if there is none
};

// One word of a tile as writers see it; members that end in _before are about the elements before the word.
struct TileWord {
    u32 bits, chosen, chosen_before, head_before;

    __device__ __forceinline__ bool is_chosen(int lane) const { return chosen >> lane & 1; }
    // Number of elements chosen before the element of a lane.
    __device__ __forceinline__ i64 place(int lane) const {
        return (i64)chosen_before + __popc(chosen & ((1u << lane) - 1));
    }
    // Index of the last set bit up to the element of a lane; there must be one.
    __device__ __forceinline__ i64 head(int lane, i64 element) const {
        u32 up_to = bits & ((2u << lane) - 1);
        return up_to ? element - lane + 31 - __clz((int)up_to) : (i64)head_before - 1;
    }
};

// Bits of the chosen elements of a word.
__device__ __forceinline__ u32 chosen_of(const Selection& selection, i64 word) {
    u32 own = selection.bits[word];
    if (!selection.ties) return own;
    i64 inside = selection.count - 32 * word;
    u32 following = inside > 32 ? selection.bits[word + 1] << 31 : 0;
    u32 next = own >> 1 | following, valid = ~0u;
    if (inside <= 32) {  // treated as if a head followed the last element
        next |= 1u << (inside - 1);
        valid >>= 32 - inside;
    }
    return ~(own & next) & valid;
}

struct Running {
    u32 sum, most;
};

// Exclusive prefix sum and maximum over the threads of a block; `all` gets those of the whole block. `partial` is shared
// memory for WARPS items and may be reused after the caller's next barrier.
__device__ __forceinline__ Running scan_block(Running own, Running* partial, Running* all) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Running here = own;
    for (int distance = 1; distance < 32; distance *= 2) {
        u32 sum = __shfl_up_sync(~0u, here.sum, distance), most = __shfl_up_sync(~0u, here.most, distance);
        if (lane >= distance) here = {here.sum + sum, here.most > most ? here.most : most};
    }
    if (lane == 31) partial[warp] = here;
    u32 sum = __shfl_up_sync(~0u, here.sum, 1), most = __shfl_up_sync(~0u, here.most, 1);
    Running before = lane ? Running{sum, most} : Running{0, 0};
    __syncthreads();
    *all = {0, 0};
    for (int other = 0; other < WARPS; other++) {
        Running part = partial[other];
        if (other == warp) before = {before.sum + all->sum, before.most > all->most ? before.most : all->most};
        *all = {all->sum + part.sum, all->most > part.most ? all->most : part.most};
    }
    return before;
}

// The share of a thread's word in its tile: how many elements are chosen, and 1 + the last set bit.
__device__ __forceinline__ Running tile_share(const Selection& selection, i64 word, u32* bits, u32* chosen) {
    bool inside = 32 * word < selection.count;
    *bits = inside ? selection.bits[word] : 0;
    *chosen = inside ? chosen_of(selection, word) : 0;
    return {(u32)__popc(*chosen), *bits ? (u32)(32 * word) + 32 - __clz((int)*bits) : 0};
}

// The words of this block's tile, in shared memory.
__device__ __forceinline__ const TileWord* load_tile(const Selection& selection) {
    TileWord* words = (TileWord*)shared_memory;
    Running all;
    u32 bits, chosen;
    Running own = tile_share(selection, (i64)blockIdx.x * TILE_WORDS + threadIdx.x, &bits, &chosen);
    Running before = scan_block(own, (Running*)(words + TILE_WORDS), &all);
    u32 head = selection.head_before[blockIdx.x];
    words[threadIdx.x] = {bits, chosen, selection.chosen_before[blockIdx.x] + before.sum,
                          before.most ? before.most : head};
    __syncthreads();
    return words;
}

// Lists the matches around the hits of a window's seeds in a page, one thread per hit. Matches are counted first, and
// then written to the places that the scan of the counts gives.
// -DKEEP=1: the reach that counting finds for each hit is kept for writing; else it is computed again.
#include "quire/algorithms/mems/mems.cuh"

constexpr u32 ALL_LANES = 0xFFFFFFFFu;

// The place of a hit on the axis, and the reach of its match.
struct Hit {
    i64 axis;
    Reach reach;
};

__device__ __forceinline__ Hit hit_at(const Page& page, const Sequence& queries, const Sequence& text,
                                      const Seeds& seeds, Seed seed, const Range& range, i64 row) {
    i64 start = locate(page, row), axis = page.start + start;
    if (start >= page.owned_length) return {0, {0, 0}};
    Reach reach = reach_of(queries, text, seeds, seed, axis);
    if (!range.holds(seed.position - reach.left, axis - reach.left)) reach.right = 0;
    return {axis, reach};
}

// The seed of a hit: offsets[seed] <= hit < offsets[seed + 1]. The block first searches for the seeds of its first and
// its last hit.
__device__ __forceinline__ i64 seed_of_hit(const i64* offsets, i64 seeds, i64 hit, i64 hits) {
    i64* bounds = (i64*)shared_memory;
    i64 first = (i64)blockIdx.x * blockDim.x, last = first + blockDim.x - 1;
    if (threadIdx.x == 0) bounds[0] = owner_of(offsets, seeds, first);
    if (threadIdx.x == blockDim.x - 1) bounds[1] = owner_of(offsets, seeds, last < hits ? last : hits - 1);
    __syncthreads();
    i64 low = bounds[0], high = bounds[1] + 1;
    while (high - low > 1) {
        i64 middle = (low + high) >> 1;
        if (offsets[middle] <= hit) low = middle; else high = middle;
    }
    return low;
}

// Hits of the first `seed_count` seeds of a window, `offsets[seed_count]` of them. Shared memory: two words, and one for
// every two warps.
extern "C" __global__ void count_matches(Page page, Sequence queries, Sequence text, Seeds seeds, Window window,
                                         Range range, const u32* low, const i64* offsets, i64 seed_count, u32* counts,
                                         u64* kept) {
    i64 hit = thread_index(), hits = offsets[seed_count];
    i64 index = seed_of_hit(offsets, seed_count, hit < hits ? hit : hits - 1, hits);
    Hit found = {0, {0, 0}};
    if (hit < hits) {
        Seed seed = seed_of(queries, seeds, window, index);
        found = hit_at(page, queries, text, seeds, seed, range, low[index] + (hit - offsets[index]));
        if (KEEP) kept[hit] = found.reach.right ? (u64)found.reach.left << 32 | (u64)found.reach.right : 0;
    }
    int number = __syncthreads_count(found.reach.right > 0);
    if (threadIdx.x == 0) counts[blockIdx.x] = (u32)number;
}

extern "C" __global__ void write_matches(Page page, Sequence queries, Sequence text, Seeds seeds, Window window,
                                         Range range, const u32* low, const i64* offsets, i64 seed_count,
                                         const i64* places, const u64* kept, Listed listed) {
    i64 place = places[blockIdx.x];
    if (places[blockIdx.x + 1] == place) return;
    i64 hit = thread_index(), hits = offsets[seed_count];
    i64 index = seed_of_hit(offsets, seed_count, hit < hits ? hit : hits - 1, hits);
    i64 row = low[index] + (hit - offsets[index]);
    Hit found = {0, {0, 0}};
    if (hit < hits && KEEP && kept[hit]) {
        found = {page.start + locate(page, row), {(i64)(kept[hit] >> 32), (i64)(kept[hit] & 0xFFFFFFFFull)}};
    } else if (hit < hits && !KEEP) {
        Seed seed = seed_of(queries, seeds, window, index);
        found = hit_at(page, queries, text, seeds, seed, range, row);
    }
    u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 *in_warps = (u32*)(shared_memory + 2), votes = __ballot_sync(ALL_LANES, found.reach.right > 0);
    if (lane == 0) in_warps[warp] = (u32)__popc(votes);
    __syncthreads();
    for (u32 other = 0; other < warp; other++) place += in_warps[other];
    place += __popc(votes & ((1u << lane) - 1));
    if (found.reach.right) listed.set(place, index, seeds, row, found.axis, found.reach);
}

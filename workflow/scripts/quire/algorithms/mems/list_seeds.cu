// Listing matches with LANES threads (-D; a power of two, at most a warp) per seed, which go through its hits in turn: see
// listing.cuh.
#include "quire/algorithms/mems/listing.cuh"

// The hits of this thread's seed, 32 / LANES seeds a warp; `give(place, row, hit)` is called for those that count, their
// place counted from the seed's first. Returns how many there are.
template <class Give>
__device__ __forceinline__ u32 go_through(const Page& page, const Sequence& queries, const Sequence& text,
                                          const Seeds& seeds, const Window& window, const Range& range, const u32* low,
                                          const i64* offsets, i64 index, bool active, const Give& give) {
    u32 lane = threadIdx.x & (LANES - 1), shift = (threadIdx.x & 31) - lane;
    u32 mine = LANES == 32 ? ALL_LANES : ((1u << (LANES & 31)) - 1) << shift;
    i64 rows = active ? offsets[index + 1] - offsets[index] : 0, row = active ? low[index] : 0;
    Seed seed = {0, 0, 0};
    if (rows) seed = seed_of(queries, seeds, window, index);
    u32 number = 0;
    for (i64 first = 0; __any_sync(ALL_LANES, first < rows); first += LANES) {
        Hit found = {0, {0, 0}};
        if (first + lane < rows) found = look_at(page, queries, text, seeds, seed, range, row + first + lane);
        u32 votes = __ballot_sync(ALL_LANES, found.reach.right > 0) & mine;
        if (found.reach.right) give(number + __popc(votes & ((1u << (threadIdx.x & 31)) - 1)), row + first + lane, found);
        number += (u32)__popc(votes);
    }
    return number;
}

extern "C" __global__ void count_matches(Page page, Sequence queries, Sequence text, Seeds seeds, Window window,
                                         Range range, const u32* low, const i64* offsets, i64 seed_count, u32* counts) {
    i64 index = thread_index() / LANES;
    bool active = index < seed_count;
    u32 number = go_through(page, queries, text, seeds, window, range, low, offsets, index, active,
                            [](u32, i64, const Hit&) {});
    if (active && (threadIdx.x & (LANES - 1)) == 0) counts[index] = number;
}

extern "C" __global__ void write_matches(Page page, Sequence queries, Sequence text, Seeds seeds, Window window,
                                         Range range, const u32* low, const i64* offsets, i64 seed_count,
                                         const i64* places, Listed listed) {
    i64 index = thread_index() / LANES;
    bool active = index < seed_count && places[index + 1] > places[index];
    i64 base = active ? places[index] : 0;
    go_through(page, queries, text, seeds, window, range, low, offsets, index, active,
               [&](u32 place, i64 row, const Hit& found) {
                   listed.set(base + place, index, seeds, row, found.axis, found.reach);
               });
}

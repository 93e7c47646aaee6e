// The print kernel in two designs: it goes through the hits of seeds in a page and lists the matches that are theirs to
// give. Matches are counted first, and written where the scan of the counts says. list_hits.cu has a thread for every hit,
// list_seeds.cu some threads for every seed; which is used is a policy (mems/tuning/policies.py).
#pragma once
#include "quire/algorithms/mems/mems.cuh"

constexpr u32 ALL_LANES = 0xFFFFFFFFu;

// What a hit gives: its place on the axis, and how far it reaches (0 to the right: nothing).
struct Hit {
    i64 axis;
    Reach reach;
};

__device__ __forceinline__ Hit look_at(const Page& page, const Sequence& queries, const Sequence& text,
                                       const Seeds& seeds, Seed seed, const Range& range, i64 row) {
    i64 start = locate(page, row), axis = page.start + start;
    if (start >= page.owned_length) return {0, {0, 0}};
    Reach reach = reach_of(queries, text, seeds, seed, axis);
    if (!range.holds(seed.position - reach.left, axis - reach.left)) reach.right = 0;
    return {axis, reach};
}

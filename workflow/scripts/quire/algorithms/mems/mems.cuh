// Shared by the kernels of maximal exact matches: the layout of queries, axis and seeds on a card, and the reach of a
// hit of a seed. The specification is mems/__init__.py, the sequence of kernels mems/gpu.py.
#pragma once
#include "quire/algorithms/fm_index/fm_index.cuh"
#include "quire/device/ragged.cuh"
#include "quire/sequence/words.cuh"

// Packed bases and their runs of known bases, as quire.algorithms.mems.gpu.CardRuns lays them out.
struct Sequence {
    const u64* words;       // two words longer than the bases
    i64 length;
    const longlong2* runs;  // [run_count]: start and end, ascending
    i64 run_count;

    // Index of the last run that starts at or before a position; 0 if none does.
    __device__ __forceinline__ i64 run_at(i64 position) const {
        i64 low = 0, high = run_count;
        while (high - low > 1) {
            i64 middle = (low + high) >> 1;
            if (runs[middle].x <= position) low = middle; else high = middle;
        }
        return low;
    }
};

// Seeds of the queries: `length` bases at every `step`-th base of a run, as long as matches of `min_length` can begin.
// Every such match contains a whole seed, since min_length >= length + step - 1.
struct Seeds {
    const i64* offsets;  // [run_count + 1]: seeds before each run
    i64 step, length, min_length;
};

// Neighbouring seeds that are searched together.
struct Window {
    i64 first;       // number of the first seed
    i64 count;
    const u32* run;  // [count]: the run of each
};

// The rows of a window's seeds in a page: counts[seed] rows from low[seed] on.
struct Hits {
    u32 *low, *counts;
};

// The matches that are wanted, in their order (start, axis): from `begin` on, before `stop`.
struct Range {
    i64 begin_start, begin_axis, stop_start, stop_axis;

    __device__ __forceinline__ bool holds(i64 start, i64 axis) const {
        bool before = start < begin_start || (start == begin_start && axis < begin_axis);
        return !before && (start < stop_start || (start == stop_start && axis < stop_axis));
    }
};

// A seed in its run.
struct Seed {
    i64 position, run_start, run_end;
};

__device__ __forceinline__ Seed seed_of(const Sequence& queries, const Seeds& seeds, const Window& window, i64 index) {
    i64 run = window.run[index];
    longlong2 bounds = queries.runs[run];
    return {bounds.x + (window.first + index - seeds.offsets[run]) * seeds.step, bounds.x, bounds.y};
}

// Number of equal bases before two positions, at most `most`, which may not reach before the first base of `one`.
__device__ __forceinline__ i64 left_match(const u64* one, i64 end, const u64* other, i64 other_end, i64 most) {
    i64 equal = 0;
#pragma unroll 1
    while (equal < most) {
        u64 difference = bases_before(one, end - equal) ^ bases_before(other, other_end - equal);
        if (difference) {
            equal += __clzll((i64)difference) >> 1;
            break;
        }
        equal += 32;
    }
    return equal < most ? equal : most;
}

// Number of equal bases from two positions on, at most `most`, which may not reach beyond the last base of either.
__device__ __forceinline__ i64 right_match(const u64* one, i64 begin, const u64* other, i64 other_begin, i64 most) {
    i64 equal = 0;
#pragma unroll 1
    while (equal < most) {
        u64 difference = packed_word(one, begin + equal) ^ packed_word(other, other_begin + equal);
        if (difference) {
            equal += (__ffsll((i64)difference) - 1) >> 1;
            break;
        }
        equal += 32;
    }
    return equal < most ? equal : most;
}

// The match around a hit of a seed: bases before the seed, and bases from its first one on. 0 to the right: there is no
// match, or it is reported by another seed.
struct Reach {
    i64 left, right;
};

// The reach of a hit of `seed` at `axis`. A match is reported by the first seed that it contains. The comparison ends
// `LOOK_AHEAD` bases beyond min_length: a match that reaches that far is completed by `lengthen_matches`.
__device__ __forceinline__ Reach reach_of(const Sequence& queries, const Sequence& text, const Seeds& seeds, Seed seed,
                                          i64 axis) {
    i64 room = seed.position - seed.run_start;
    i64 left = left_match(queries.words, seed.position, text.words, axis, room < seeds.step ? room : seeds.step);
    i64 most = seed.run_end - seed.position, cap = seeds.min_length + LOOK_AHEAD;
    if (most > text.length - axis) most = text.length - axis;
    if (most > cap) most = cap;
    i64 right = seeds.length + right_match(queries.words, seed.position + seeds.length, text.words, axis + seeds.length,
                                           most - seeds.length);
    if (left + right < seeds.min_length) return {0, 0};
    // The text between runs holds substitutes for unknown bases.
    longlong2 run = text.runs[text.run_at(axis)];
    if (axis < run.x || axis + seeds.length > run.y) return {0, 0};
    if (left > axis - run.x) left = axis - run.x;
    if (right > run.y - axis) right = run.y - axis;
    if (left == seeds.step || left + right < seeds.min_length) return {0, 0};
    return {left, right};
}

// Listed matches, to be sorted by one word: start in the query, counted from the first base at which a match of the
// window's first seed may begin and without the bases between runs; then start on the axis.
struct Listed {
    u64* keys;
    i64* lengths;     // negative if the match may be longer
    u32* rows;        // the row of the seed's hit in its page; null if not needed
    i64 axis_bits;

    __device__ __forceinline__ void set(i64 place, i64 index, const Seeds& seeds, i64 row, i64 axis, Reach reach) const {
        u64 start = (u64)(index * seeds.step + seeds.step - 1 - reach.left);
        keys[place] = start << axis_bits | (u64)(axis - reach.left);
        i64 length = reach.left + reach.right;
        lengths[place] = reach.right == seeds.min_length + LOOK_AHEAD ? -length : length;
        if (rows) rows[place] = (u32)row;
    }
};

// A listed match: its seed's index in the window, bases before the seed, start on the axis.
struct Place {
    i64 index, left, axis;
};

__device__ __forceinline__ Place place_of(const Seeds& seeds, const Listed& listed, i64 match) {
    u64 key = listed.keys[match];
    i64 start = (i64)(key >> listed.axis_bits), index = start / seeds.step;
    return {index, seeds.step - 1 - (start - index * seeds.step), (i64)(key & ((1ull << listed.axis_bits) - 1))};
}

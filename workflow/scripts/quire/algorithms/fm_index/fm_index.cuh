// Searching an FM-index on a card, a thread a query: the twins of fm_index/cpu.py. The format: fm_index/__init__.py.
#pragma once
#include "quire/device/types.cuh"

// As quire.algorithms.fm_index.gpu.CardPage lays it out.
struct Page {
    const u64* blocks;
    i64 words_per_block;
    const i64* C;  // [5]
    i64 primary;
    const u32* prefix_table;  // [4^prefix_length][2]
    i64 prefix_length;
    const u32* suffix_array;
    i64 sa_sampling;
    const u64* sampled_rows;
    const u32* unowned_rows;
    i64 unowned_count;
    i64 start;         // of the page on the axis
    i64 owned_length;  // hits that start from here on belong to the next page
};

struct Interval {
    i64 low, high;
};

// Where a row stands: first word of its block, group of 64 rows within the block, row within the group.
struct RowPlace {
    i64 first;
    int group, within;
};

__device__ __forceinline__ RowPlace place_of_row(int words_per_block, i64 row) {
    u64 group = (u64)row >> 6;
    int within = (int)(row & 63);
    // Divisors are constants, so that they become multiplications.
    switch (words_per_block) {
        case 4: return {(i64)(group << 2), 0, within};
        case 8: return {(i64)(group / 3 << 3), (int)(group % 3), within};
        case 16: return {(i64)(group / 7 << 4), (int)(group % 7), within};
        default: return {(i64)(group / 15 << 5), (int)(group % 15), within};
    }
}

// Rows among the first `rows` (0..63) of a group of 64 whose code is `symbol`, from the two bit planes.
__device__ __forceinline__ int count_in_group(ulonglong2 planes, int symbol, u64 mask) {
    u64 low = planes.x ^ (symbol & 1 ? 0 : ~0ull), high = planes.y ^ (symbol & 2 ? 0 : ~0ull);
    return __popcll(low & high & mask);
}

// How often code `symbol` (0..3) occurs in rows [0, row) of the BWT, the sentinel not counted.
__device__ __forceinline__ i64 occurrence(const Page& page, int symbol, i64 row) {
    RowPlace place = place_of_row((int)page.words_per_block, row);
    const ulonglong2* block = (const ulonglong2*)(page.blocks + place.first);
    ulonglong2 counters = __ldg(block);
    i64 count = (i64)((symbol & 2 ? counters.y : counters.x) >> (symbol & 1 ? 32 : 0) & 0xFFFFFFFFull);
    for (int group = 0; group < place.group; group++) count += count_in_group(__ldg(block + 1 + group), symbol, ~0ull);
    count += count_in_group(__ldg(block + 1 + place.group), symbol, (1ull << place.within) - 1);
    return count - (symbol == 0 && row > page.primary);
}

// Interval of `symbol` (0..3) put before the pattern of an interval.
__device__ __forceinline__ Interval backward_step(const Page& page, int symbol, Interval rows) {
    i64 first = page.C[symbol];
    return {first + occurrence(page, symbol, rows.low), first + occurrence(page, symbol, rows.high)};
}

// Row of the suffix that starts one base before the suffix of `row` (LF mapping); not for the row `primary`.
__device__ __forceinline__ i64 previous_row(const Page& page, i64 row) {
    RowPlace place = place_of_row((int)page.words_per_block, row);
    ulonglong2 planes = __ldg((const ulonglong2*)(page.blocks + place.first) + 1 + place.group);
    int symbol = (int)(planes.x >> place.within & 1) | (int)(planes.y >> place.within & 1) << 1;
    return page.C[symbol] + occurrence(page, symbol, row);
}

// Start of the suffix of a row in the page's text.
__device__ __forceinline__ i64 locate(const Page& page, i64 row) {
    if (page.sa_sampling == 1) return __ldg(page.suffix_array + row);
    for (i64 steps = 0;; steps++) {
        ulonglong2 sampled = __ldg((const ulonglong2*)page.sampled_rows + (row >> 6));
        int within = (int)(row & 63);
        if (sampled.x >> within & 1) {
            i64 rank = (i64)sampled.y + __popcll(sampled.x & ((1ull << within) - 1));
            return __ldg(page.suffix_array + rank) + steps;
        }
        row = previous_row(page, row);
    }
}

// How many rows of an interval belong to this page.
__device__ __forceinline__ i64 owned_count(const Page& page, Interval rows) {
    i64 first = 0, last = page.unowned_count;
    while (first < last) {
        i64 middle = (first + last) >> 1;
        if (page.unowned_rows[middle] < rows.low) first = middle + 1; else last = middle;
    }
    i64 count = rows.high - rows.low;
    for (; first < page.unowned_count && page.unowned_rows[first] < rows.high; first++) count--;
    return count;
}

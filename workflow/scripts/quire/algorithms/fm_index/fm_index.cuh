// Search of an FM-index on a card: the twins of fm_index/cpu.py. The format is in fm_index/__init__.py.
//
// One thread takes the steps of one query: occurrence, backward_step, locate, owned_count.
// -DWORDS_PER_BLOCK=n compiles for indexes of that block size only, which removes the switches.
// Rows are at most 2^32 - 1 (the format holds them in 32 bits), so steps count in u32, at half the cost of i64.
#pragma once
#include "quire/device/types.cuh"

// As quire.algorithms.fm_index.FmIndex lays it out.
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

// An interval as steps count it.
struct Rows {
    u32 low, high;
};

__device__ __forceinline__ int words_per_block_of(const Page& page) {
#ifdef WORDS_PER_BLOCK
    return WORDS_PER_BLOCK;
#else
    return (int)page.words_per_block;
#endif
}

// Calls `function<words>(arguments)` with the page's words as a constant.
#define FOR_WORDS_OF(page, function, ...)                    \
    switch (words_per_block_of(page)) {                      \
        case 4: return function<4>(__VA_ARGS__);             \
        case 8: return function<8>(__VA_ARGS__);             \
        case 16: return function<16>(__VA_ARGS__);           \
        default: return function<32>(__VA_ARGS__);           \
    }

// The place of a row: first word of its block, group of 64 rows within the block, row within the group.
struct RowPlace {
    i64 first;
    int group, within;
};

// A block is `words / 2` units of 16 bytes: unit 0 holds the counters, unit g + 1 the planes of group g.
template <int words> __device__ __forceinline__ u32 block_of_row(u32 row) {
    return (row >> 6) / (words / 2 - 1);  // a constant divisor becomes a multiplication
}

__device__ __forceinline__ RowPlace place_of_row(int words_per_block, i64 row) {
    u32 group = (u32)((u64)row >> 6);
    int within = (int)(row & 63);
    switch (words_per_block) {
        case 4: return {(i64)group << 2, 0, within};
        case 8: return {(i64)(group / 3) << 3, (int)(group % 3), within};
        case 16: return {(i64)(group / 7) << 4, (int)(group % 7), within};
        default: return {(i64)(group / 15) << 5, (int)(group % 15), within};
    }
}

// Bits of the 64 rows of a group that have code `symbol`, from the two bit planes.
__device__ __forceinline__ u64 rows_with(ulonglong2 planes, int symbol) {
    // All ones where the symbol's bit is 0; both halves of a word are one register.
    u32 low_flip = (u32)((symbol & 1) - 1), high_flip = (u32)((symbol >> 1) - 1);
    return (planes.x ^ ((u64)low_flip << 32 | low_flip)) & (planes.y ^ ((u64)high_flip << 32 | high_flip));
}

// Count of `symbol` before a block, from its counters.
__device__ __forceinline__ u32 counter_of(ulonglong2 counters, int symbol) {
    u64 pair = symbol & 2 ? counters.y : counters.x;
    return symbol & 1 ? (u32)(pair >> 32) : (u32)pair;
}

// word << count; 0 for a count of 64 or more, which C++ leaves undefined and the hardware defines.
__device__ __forceinline__ u64 shift_left_clamped(u64 word, u32 count) {
#ifdef __CUDA_ARCH__
    u64 shifted;
    asm("shl.b64 %0, %1, %2;" : "=l"(shifted) : "l"(word), "r"(count));
    return shifted;
#else
    return count < 64 ? word << count : 0;
#endif
}

// Set bits of `rows` among its lowest `count`, which may be negative or above 64.
__device__ __forceinline__ u32 ones_below(u64 rows, int count) {
    return (u32)__popcll(shift_left_clamped(rows, (u32)max(64 - count, 0)));
}

// Count of code `symbol` (0..3) in rows [0, row) of the BWT, without the sentinel.
__device__ __forceinline__ i64 occurrence(const Page& page, int symbol, i64 row) {
    RowPlace place = place_of_row(words_per_block_of(page), row);
    const ulonglong2* block = (const ulonglong2*)(page.blocks + place.first);
    u32 count = counter_of(__ldg(block), symbol);
    for (int group = 0; group < place.group; group++)
        count += (u32)__popcll(rows_with(__ldg(block + 1 + group), symbol));
    count += ones_below(rows_with(__ldg(block + 1 + place.group), symbol), place.within);
    return (i64)count - (symbol == 0 && row > page.primary);
}

// Occurrences before both rows of one block; offsets count from the block's first row, low_offset <= high_offset.
template <int words>
__device__ __forceinline__ Rows count_both(const ulonglong2* block, int symbol, int low_offset, int high_offset) {
    u32 counter = counter_of(__ldg(block), symbol);
    Rows counts = {counter, counter};
#pragma unroll(words == 32 ? 5 : words / 2 - 1)
    for (int group = 0; group < words / 2 - 1; group++) {
        if (64 * group < high_offset) {
            u64 rows = rows_with(__ldg(block + group + 1), symbol);
            counts.low += ones_below(rows, low_offset - 64 * group);
            counts.high += ones_below(rows, high_offset - 64 * group);
        }
    }
    return counts;
}

// Occurrences before both rows of an interval. If both are in one block, as in most intervals after the first dozen
// bases, that block is read once.
template <int words> __device__ __forceinline__ Rows occurrences_in_blocks(const Page& page, int symbol, Rows rows) {
    constexpr u32 DISTANCE = 32 * words - 64;
    const ulonglong2* units = (const ulonglong2*)page.blocks;
    u32 low_block = block_of_row<words>(rows.low), high_block = block_of_row<words>(rows.high);
    int low_offset = (int)(rows.low - low_block * DISTANCE), high_offset = (int)(rows.high - high_block * DISTANCE);
    bool apart = low_block != high_block;
    Rows counts = count_both<words>(units + (u64)low_block * (words / 2), symbol, low_offset,
                                    apart ? low_offset : high_offset);
    if (apart)
        counts.high = count_both<words>(units + (u64)high_block * (words / 2), symbol, high_offset, high_offset).high;
    // The sentinel is stored as an A: the counts of rows after it are one too many.
    u32 primary = (u32)page.primary;
    return {counts.low - (symbol == 0 && rows.low > primary), counts.high - (symbol == 0 && rows.high > primary)};
}

__device__ __forceinline__ Rows occurrences(const Page& page, int symbol, Rows rows) {
    FOR_WORDS_OF(page, occurrences_in_blocks, page, symbol, rows)
}

// Interval of `symbol` (0..3) prepended to the pattern of an interval.
__device__ __forceinline__ Interval backward_step(const Page& page, int symbol, Interval rows) {
    i64 first = page.C[symbol];
    Rows counts = occurrences(page, symbol, {(u32)rows.low, (u32)rows.high});
    return {first + counts.low, first + counts.high};
}

// Row of the suffix that starts one base before the suffix of `row` (LF mapping); not for the row `primary`.
__device__ __forceinline__ i64 previous_row(const Page& page, i64 row) {
    RowPlace place = place_of_row(words_per_block_of(page), row);
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

// Number of rows of an interval that belong to this page.
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

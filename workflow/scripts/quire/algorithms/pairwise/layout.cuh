// Where the parts of a launch lie: rectangles of matrices ("jobs"), the words on their borders, and values of cells.
//
// By -D: COLUMNS (of the matrix, per lane), STEPS (of a chunk: rows that are handed on together), LOCAL (mode LOCAL),
// VALUES (what all cells hold is kept), WIDE (scores that a signed byte does not hold).
//
// A lane owns COLUMNS neighbouring columns, a warp a strip of WIDTH; it goes down all rows of its job, alone: no warp
// meets another in a barrier. The strip on its right follows by the words on their common border, one a row: H, D of
// the next column, and a tag that says which strip wrote it. A word is there or it is not: it is stored and loaded
// whole, so that no order of two stores matters, and one column of words serves all strips in turn. They go by pairs,
// so that a job's first words have even places.
#pragma once
#include "quire/device/types.cuh"

constexpr int WARP = 32, WIDTH = WARP * COLUMNS;
constexpr u32 EVERY_LANE = 0xFFFFFFFFu;
// A lane does a row one step after the lane on its left; its last column is handed on one step later.
constexpr int SKEW = WARP;
// Selectors on both sides of a query that lanes look at, and that match nothing.
constexpr int QUERY_ROOM = 128;

// A rectangle of a matrix. Row 0 and column 0 of a job are its borders.
struct Job {
    i64 rows, columns;
    i64 query, target;   // place of its first row's selector, and of its first column's letter
    i64 left, left_tag;  // place and tag of the words on its left border, a row each
    i64 border;          // place of the words on its strips' right borders, with room for WARP more on both sides
    i64 border_strips;   // strips that share a column of words; the next one is
    i64 border_stride;   // so many words further
    i64 top;             // place of the kept row on its upper border: column 0
    i64 keep;            // rows between two rows that are kept, each
    i64 keep_stride;     // places behind the other, with room for whole strips; the last row is kept too; 0: none is
    i64 values, values_stride;  // place of the cells' values, and what a strip takes
};

// H and I of the next row, of a cell on a kept row.
typedef int2 Kept;

struct Jobs {
    const i64* strips_before;  // [owners + 1]
    const Job* jobs;
    i64 owners;
    u32* ticket;  // strips that are taken, in order
};

// Steps of a strip, by whole chunks: the last one hands on the last row at least.
__device__ __forceinline__ int steps_of(int rows) { return (rows + SKEW + STEPS - 1) / STEPS * STEPS; }

// ---- letters ----

// What chooses a column's score of a row's letter: for permute_bytes the byte of the letter, and its sign three times.
__device__ __forceinline__ u32 selector_of(u32 code) { return code * 0x1111 + 0x8880; }

// ---- words on borders ----

// Of strip 1 and further; the left border of a matrix has tag 0.
__device__ __forceinline__ u32 tag_of(i64 strip) { return (u32)((strip - 1) % 65535 + 1); }

// D, and how far H is above it: 1 to 65535, the price of a gap's first base at most.
__device__ __forceinline__ u64 pack_word(i32 best, i32 deletion, u32 tag) {
    return (u64)(u32)deletion << 32 | (((u32)(best - deletion) << 16) + tag);
}
__device__ __forceinline__ i32 deletion_of(u64 word) { return (i32)(u32)(word >> 32); }
__device__ __forceinline__ i32 best_of(u64 word) { return deletion_of(word) + (i32)((u32)word >> 16); }

// Two neighbouring words as they are in memory now, from a place of an even number. Each of them is there or it is not.
__device__ __forceinline__ void load_words(const u64* place, u64& first, u64& second) {
#if defined(__CUDA_ARCH__)
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(place) : "memory");
#else
    ulonglong2 words = *(const ulonglong2*)place;
    first = words.x;
    second = words.y;
#endif
}
// A word, from the lanes that store theirs; a branch around it would take longer.
__device__ __forceinline__ void store_word(bool stores, u64* place, u64 word) {
#if defined(__CUDA_ARCH__)
    asm volatile("{ .reg .pred stores; setp.ne.u32 stores, %2, 0; @stores st.volatile.global.u64 [%0], %1; }"
                 : : "l"(place), "l"(word), "r"((u32)stores) : "memory");
#else
    if (stores) *(volatile u64*)place = word;
#endif
}

// ---- values of cells ----

// What a path needs to know of a cell, in one word that takes one multiplication with 65,537: H in its upper half, and
// how far I is below H in the lower one, both modulo 65,536. The words of a strip stand step by step, a step's lane by
// lane. Differences between neighbouring cells are smaller than 65,536 (gpu.py: fits), so that nothing is ambiguous.
__device__ __forceinline__ u32 value_of(i32 best, i32 insertion, u32 factor) {
    return (u32)best * factor - (u32)insertion;
}
__device__ __forceinline__ u32 best_of(u32 value) { return value >> 16; }
__device__ __forceinline__ u32 above_insertion(u32 value) { return value & 0xFFFF; }

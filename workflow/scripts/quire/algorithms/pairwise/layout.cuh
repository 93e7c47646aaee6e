// Memory layout of a launch: rectangles of a matrix ("jobs"), the words on their borders, and values of cells.
//
// By -D: COLUMNS (of the matrix, per lane), STEPS (of a chunk: rows that are handed on together), LOCAL (mode LOCAL),
// VALUES (the values of all cells are kept).
//
// A lane owns COLUMNS neighbouring columns, a warp a strip of WIDTH columns, whose rows it computes without barriers.
// The strip on its right follows with the words on their common border, one per row: H, D of the next column, and a tag
// of the strip that wrote it. A word is stored and loaded whole, so the order of stores does not matter, and one column
// of words serves all strips in turn. Words are read in pairs, so a job's first word has an even place.
#pragma once
#include "quire/device/types.cuh"

constexpr int WARP = 32, WIDTH = WARP * COLUMNS;
constexpr u32 EVERY_LANE = 0xFFFFFFFFu;
// A lane computes a row one step after the lane on its left; its last column is handed on one step later.
constexpr int SKEW = WARP;
// Selectors before and after a query that lanes read, and that match nothing.
constexpr int QUERY_ROOM = 128;

// A rectangle of a matrix. Row 0 and column 0 of a job are its borders.
struct Job {
    i64 rows, columns;
    i64 query, target;   // place of its first row's selector, and of its first column's letter
    i64 left, left_tag;  // place and tag of the words on its left border, one per row
    i64 border;          // place of the words on its strips' right borders, with space for WARP more on both sides
    i64 border_strips;   // strips that share a column of words
    i64 border_stride;   // words from one such column to the next
    i64 top;             // place of the kept row on its upper border: column 0
    i64 keep;            // rows between two kept rows; the last row is kept too; 0: none is
    i64 keep_stride;     // places from one kept row to the next, with space for whole strips
    i64 values, values_stride;  // place of the cells' values, and the words of a strip
};

// A cell of a kept row: H, and I of the next row.
typedef int2 Kept;

struct Jobs {
    const i64* strips_before;  // [owners + 1]
    const Job* jobs;
    i64 owners;
    u32* ticket;  // number of strips taken, in order
};

// Steps of a strip, in whole chunks; the last row is handed on within them.
__device__ __forceinline__ int steps_of(int rows) { return (rows + SKEW + STEPS - 1) / STEPS * STEPS; }

// ---- letters ----

// Selects a column's score for a row's letter: for permute_bytes the byte of the letter, and its sign three times.
__device__ __forceinline__ u32 selector_of(u32 code) { return code * 0x1111 + 0x8880; }

// ---- words on borders ----

// The tag of strip 1 or a later strip; the left border of a matrix has tag 0.
__device__ __forceinline__ u32 tag_of(i64 strip) { return (u32)((strip - 1) % 65535 + 1); }

// Packs D, H - D (1 to 65535, at most the price of a gap's first base) and the tag.
__device__ __forceinline__ u64 pack_word(i32 best, i32 deletion, u32 tag) {
    return (u64)(u32)deletion << 32 | (((u32)(best - deletion) << 16) + tag);
}
__device__ __forceinline__ i32 deletion_of(u64 word) { return (i32)(u32)(word >> 32); }
__device__ __forceinline__ i32 best_of(u64 word) { return deletion_of(word) + (i32)((u32)word >> 16); }

// Loads the current content of two neighbouring words from an even place; each is read whole.
__device__ __forceinline__ void load_words(const u64* place, u64& first, u64& second) {
#if defined(__CUDA_ARCH__)
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(first), "=l"(second) : "l"(place) : "memory");
#else
    ulonglong2 words = *(const ulonglong2*)place;
    first = words.x;
    second = words.y;
#endif
}
// Stores a word in the lanes where `stores` is set; a branch would take longer.
__device__ __forceinline__ void store_word(bool stores, u64* place, u64 word) {
#if defined(__CUDA_ARCH__)
    asm volatile("{ .reg .pred stores; setp.ne.u32 stores, %2, 0; @stores st.volatile.global.u64 [%0], %1; }"
                 : : "l"(place), "l"(word), "r"((u32)stores) : "memory");
#else
    if (stores) *(volatile u64*)place = word;
#endif
}

// ---- values of cells ----

// The value of a cell, from which a path is followed: H in the upper half of a word and H - I in the lower half, both
// modulo 65,536. It takes one multiplication by 65,537. The words of a strip are ordered by step, then by lane.
// Differences between neighbouring cells are smaller than 65,536 (gpu.py: fits), so values are unambiguous.
__device__ __forceinline__ u32 value_of(i32 best, i32 insertion, u32 factor) {
    return (u32)best * factor - (u32)insertion;
}
__device__ __forceinline__ u32 best_of(u32 value) { return value >> 16; }
__device__ __forceinline__ u32 above_insertion(u32 value) { return value & 0xFFFF; }

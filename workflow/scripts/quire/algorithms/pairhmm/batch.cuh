// What PairHMM's kernels are given, as quire/algorithms/pairhmm/gpu.py lays it out.
#pragma once
#include "quire/device/types.cuh"

struct Reads {
    const u8 *bases, *base_qualities, *insertion_qualities, *deletion_qualities;
    const i64* offsets;
};

struct Haplotypes {
    const u8* bases;
    const i64* offsets;
};

// Tasks in the order in which they are scored, and where each one's columns stand in the streams.
struct Tasks {
    const i32* pairs;         // read, haplotype
    const i64* word_offsets;  // one more than there are tasks
    __device__ i64 read(i64 task) const { return pairs[2 * task]; }
    __device__ i64 haplotype(i64 task) const { return pairs[2 * task + 1]; }
};

// Items, each of which is a run of tasks with the same read.
struct Items {
    const i64* order;  // of those of one launch: which items
    const i64* first;  // their first tasks, and behind the last item the number of tasks
};

// Columns of a haplotype, as a byte each in a stream of words: twice the code of its letter. BLANKS columns without a
// letter or some more follow, whose bytes have BLANK set, and the last one, at the end of a word, END.
constexpr u32 LETTER_N = 4, NOTHING = 5, LETTERS = 6, BLANK = 0x40, END = 0x80, COLUMNS_OF_WORD = 4, BLANKS = 4;
constexpr u32 NOTHINGS = (2 * NOTHING | BLANK) * 0x01010101u;

// Inputs of PairHMM's kernels, as arranged by quire/algorithms/pairhmm/gpu.py.
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

// Tasks in the order of scoring, and the offsets of their columns in the streams.
struct Tasks {
    const i32* pairs;         // read, haplotype
    const i64* word_offsets;  // one more than there are tasks
    __device__ i64 read(i64 task) const { return pairs[2 * task]; }
    __device__ i64 haplotype(i64 task) const { return pairs[2 * task + 1]; }
};

// Items; an item is a run of tasks with the same read.
struct Items {
    const i64* order;  // items of one launch
    const i64* first;  // first task of every item, and the number of tasks
};

// Columns of a haplotype, one byte each in a stream of words: twice the code of its letter. At least BLANKS columns
// without a letter follow, whose bytes have BLANK set; the last one, at the end of a word, has END set.
constexpr u32 LETTER_N = 4, NOTHING = 5, LETTERS = 6, BLANK = 0x40, END = 0x80, COLUMNS_OF_WORD = 4, BLANKS = 4;
constexpr u32 NOTHINGS = (2 * NOTHING | BLANK) * 0x01010101u;

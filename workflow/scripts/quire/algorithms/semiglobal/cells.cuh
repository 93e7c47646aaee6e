// Cells of the matrix as differences to their neighbours (Suzuki and Kasahara 2018), which are small in any matrix.
//
// For a cell with H = H[i,j]:
//   score     = H - H[i-1,j-1] = max(match or mismatch, deletion, insertion)
//   across    = H - H[i,j-1]   = score - down of the cell on the left
//   down      = H - H[i-1,j]   = score - across of the cell above
//   deletion  = D - H[i-1,j-1], where D is the best score of a gap that ends here from above; for the cell below
//               max(score + gap_open, deletion + gap_extend) - down of the cell on the left
//   insertion, likewise; for the cell on the right max(score + gap_open, insertion + gap_extend) - across of the cell
//               above
// All are multiplied by 16. The lower four bits of the operands of a maximum encode its origin, and decide ties: 12 a
// match (or 15), 8 an insertion, 0 a deletion; 2 an extended insertion, 1 an extended deletion.
//
// A word holds these numbers of two tasks. Whole words are added and subtracted, and the results are right in
// both halves as long as no half leaves [0, 65535], so numbers have a bias (score_bias: score, deletion, insertion;
// half of it: across, down). A match has 65535, the largest, so that letters are compared by one operation and one
// maximum: letters are multiples of 8192, the complement of the differing bits is at most 65535 - 8192, and a mismatch
// has more. Maxima compare signed numbers, since scores are in the upper half of the range: sums within them do
// not wrap. gpu.py checks which scores fit.
#pragma once
#include "quire/algorithms/semiglobal/layout.cuh"
#include "quire/device/dpx.cuh"

constexpr u32 EVERY_TASK = 0x00010001u;

// The same number for each task of a word.
__device__ __forceinline__ u32 of_each(i32 value) { return (value & 0xFFFFu) * EVERY_TASK; }

// Scores as cells use them.
struct Terms {
    i32 score_bias, difference_bias;
    u32 match, mismatch, free;  // scores of letters, and of padding
    u32 longer, open_deletion, open_insertion;

    __device__ explicit Terms(const Scores& scores) {
        i32 bonus = (i32)scores.match, open = (i32)scores.gap_open, extend = (i32)scores.gap_extend;
        score_bias = 65520 - 16 * bonus;
        difference_bias = 32760 - 8 * bonus;
        match = of_each(score_bias + 16 * bonus + 15);
        mismatch = of_each(score_bias + 16 * (i32)scores.mismatch + 15);
        free = of_each(score_bias + 15);
        longer = of_each(difference_bias + 16 * extend);
        open_deletion = of_each(16 * (open - extend));
        open_insertion = of_each(16 * (open - extend) + (i32)BY_INSERTION);
    }
    __device__ u32 difference(i32 value) const { return of_each(difference_bias + 16 * value); }
    // The score of a gap that opens at an edge, along which H is 0.
    __device__ u32 opened(i32 open, u32 code) const { return of_each(score_bias + 16 * open + (i32)code); }
    // 16 times a difference, for one task of a word.
    __device__ i32 value(u32 word, int half) const {
        return (i32)(word >> (16 * half) & 0xFFFF) - difference_bias;
    }
};

// The score of two letters, for each task of a word; `least` is that of a mismatch.
__device__ __forceinline__ u32 of_letters(u32 a, u32 b, u32 least) {
    return max_unsigned_16x2(~(a ^ b), least);
}

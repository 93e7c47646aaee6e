// The cells of a lane: COLUMNS neighbouring cells of a row.
//
// X = max(H[i-1,j-1] + s, I) is H without D, and deletions are opened only from X: opening one directly after a
// deletion is no better than extending that deletion. So D passes each column of a lane with one instruction.
//
// On sm_90 a cell takes five instructions of the arithmetic units (64 lanes per cycle and multiprocessor), one more in
// mode LOCAL; the multipliers compute sums and the values of cells. That limits an H200 to 3.3 T cells/s.
#pragma once
#include "quire/algorithms/pairwise/layout.cuh"
#include "quire/device/dpx.cuh"

struct Scores {
    i64 match, mismatch, gap_open, gap_extend;
    // 16 and 65,537, hidden from the compiler, so that the otherwise idle multipliers are used.
    i64 key, value;
};

// Scores as cells use them.
struct Terms {
    i32 match, mismatch, open, extend, key, value;

    __device__ explicit Terms(const Scores& scores) {
        match = (i32)scores.match;
        mismatch = (i32)scores.mismatch;
        open = (i32)scores.gap_open;
        extend = (i32)scores.gap_extend;
        key = (i32)scores.key;
        value = (i32)scores.value;
    }
    __device__ u32 mismatches() const { return (mismatch & 255) * 0x01010101u; }
};

struct Cells {
    u32 letter[COLUMNS];  // the column's scores by the row's letter, a byte each
    i32 best[COLUMNS];    // H of the row above
    i32 insertion[COLUMNS];
    i32 corner;    // H left of it
    i32 deletion;  // D of the column after the last one

    __device__ __forceinline__ void begin(const Job& job, int first, const u8* target, const Kept* kept,
                                          const Terms& terms) {
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            int column = first + k;
            bool inside = column < job.columns;
            u32 code = inside ? target[job.target + column] : 5;
            letter[k] = terms.mismatches();
            if (code < 4) {
                u32 shift = 8 * code;
                letter[k] = (letter[k] & ~(255u << shift)) | (u32)(terms.match & 255) << shift;
            }
            Kept above = inside ? kept[job.top + 1 + column] : make_int2(0, 0);
            best[k] = above.x;
            insertion[k] = above.y;
        }
        corner = first <= job.columns ? kept[job.top + first].x : 0;
        deletion = 0;
    }

    __device__ __forceinline__ i32 of_letters(int k, u32 row_letter, const Terms& terms) const {
        return (i32)permute_bytes(letter[k], terms.mismatches(), row_letter);
    }

    // Computes the next row from its letter's selector, H of the column on the left in it, and D of the first column.
    __device__ __forceinline__ void step(u32 row_letter, i32 left, i32 first_deletion, const Terms& terms,
                                         u32 (&values)[COLUMNS]) {
        i32 diagonal = corner;
        corner = left;
        deletion = first_deletion;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            i32 score = of_letters(k, row_letter, terms), above = best[k];
            i32 without = LOCAL ? add_max_relu(diagonal, score, insertion[k]) : add_max(diagonal, score, insertion[k]);
            best[k] = max(without, deletion);
            if (VALUES) values[k] = value_of(best[k], insertion[k], (u32)terms.value);
            deletion = add_max(deletion, terms.extend, without + terms.open);
            insertion[k] = add_max(insertion[k], terms.extend, best[k] + terms.open);
            diagonal = above;
        }
    }

    // Undoes a step outside of the matrix, except for its values: they have a place of their own and are never read.
    __device__ __forceinline__ void keep_if(bool inside, const Cells& above) {
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            best[k] = inside ? best[k] : above.best[k];
            insertion[k] = inside ? insertion[k] : above.insertion[k];
        }
        corner = inside ? corner : above.corner;
        deletion = inside ? deletion : above.deletion;
    }
};

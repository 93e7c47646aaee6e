// The cells that a lane owns: COLUMNS of them in a row.
//
// X = max(H[i-1,j-1] + s, I) is H without D, and deletions are opened from it alone: one that follows a deletion at
// once is no better than that deletion made longer. So D goes through the columns of a lane by one instruction each.
//
// BITS: numbers are four times as large, and the lower two bits of what H is a maximum of say what it comes from; they
// decide ties as the rules of the package do. 3 is a zero of mode LOCAL, 2 a pair, 1 an insertion (I always has it),
// 0 a deletion. Whether a gap goes on is the sign of a difference. Both are shifted into words by one instruction.
//
// On sm_90 a cell takes five instructions of the arithmetic units (64 lanes a cycle and multiprocessor), one more in
// mode LOCAL, and seven more with BITS; sums are left to the multipliers. That is a ceiling of 3.3 T cells/s on an
// H200, and of 1.4 T with directions.
#pragma once
#include "quire/algorithms/pairwise/layout.cuh"
#include "quire/device/dpx.cuh"

constexpr int SCALE = BITS ? 4 : 1;
constexpr i32 PAIR_CODE = BITS ? (i32)BY_PAIR : 0, INSERTION_CODE = BITS ? (i32)BY_INSERTION : 0;

struct Scores {
    i64 match, mismatch, gap_open, gap_extend;
    i64 key;  // 16 / SCALE, unknown to the compiler: multiplied by units that have nothing else to do
};

// Scores as cells need them.
struct Terms {
    i32 match, mismatch, open, extend, key;

    __device__ explicit Terms(const Scores& scores) {
        match = SCALE * (i32)scores.match + PAIR_CODE;
        mismatch = SCALE * (i32)scores.mismatch + PAIR_CODE;
        open = SCALE * (i32)scores.gap_open;
        extend = SCALE * (i32)scores.gap_extend;
        key = (i32)scores.key;
    }
    __device__ u32 mismatches() const { return (mismatch & 255) * 0x01010101u; }
};

struct Cells {
    u32 letter[COLUMNS];  // WIDE: the column's selector; else its scores by the row's letter, a byte each
    i32 best[COLUMNS];    // H of the row above
    i32 insertion[COLUMNS];
    i32 corner;    // H left of it
    i32 deletion;  // D of the column behind the last one
    u32 from, longer;

    __device__ __forceinline__ void begin(const Job& job, int first, const u8* target, const Kept* kept,
                                          const Terms& terms) {
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            int column = first + k;
            bool inside = column < job.columns;
            u32 code = inside ? target[job.target + column] : 5;
            letter[k] = WIDE ? selector_of(code) : terms.mismatches();
            if (!WIDE && code < 4) {
                u32 shift = 8 * code;
                letter[k] = (letter[k] & ~(255u << shift)) | (u32)(terms.match & 255) << shift;
            }
            Kept above = inside ? kept[job.top + 1 + column] : make_int2(0, 0);
            best[k] = SCALE * above.x;
            insertion[k] = SCALE * above.y + INSERTION_CODE;
        }
        corner = first <= job.columns ? SCALE * kept[job.top + first].x : 0;
        deletion = 0;
        from = longer = 0;
    }

    __device__ __forceinline__ i32 of_letters(int k, u32 row_letter, const Terms& terms) const {
        if (WIDE) return letter[k] == row_letter ? terms.match : terms.mismatch;
        return (i32)permute_bytes(letter[k], terms.mismatches(), row_letter);
    }

    // The next row: its selector; H of the column on the left there, and D of the first column.
    __device__ __forceinline__ void step(u32 row_letter, i32 left, i32 first_deletion, const Terms& terms) {
        i32 diagonal = corner;
        corner = left;
        deletion = first_deletion;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            i32 score = of_letters(k, row_letter, terms), above = best[k];
            if (BITS) {
                i32 without = add_max(diagonal, score, insertion[k]);
                if (LOCAL) without = max(without, (i32)BY_NOTHING);
                from = __funnelshift_r(from, (u32)max(without, deletion), 2);
                without &= ~3;
                i32 largest = max(without, deletion);
                i32 opened = without + terms.open, longer_deletion = deletion + terms.extend;
                longer = __funnelshift_l((u32)(opened - longer_deletion), longer, 1);
                deletion = max(opened, longer_deletion);
                opened = largest + (terms.open + INSERTION_CODE);
                i32 longer_insertion = insertion[k] + terms.extend;
                longer = __funnelshift_l((u32)(opened - longer_insertion), longer, 1);
                insertion[k] = max(opened, longer_insertion);
                best[k] = largest;
            } else {
                i32 without = LOCAL ? add_max_relu(diagonal, score, insertion[k])
                                    : add_max(diagonal, score, insertion[k]);
                best[k] = max(without, deletion);
                deletion = add_max(deletion, terms.extend, without + terms.open);
                insertion[k] = add_max(insertion[k], terms.extend, best[k] + terms.open);
            }
            diagonal = above;
        }
    }

    // Takes back a step outside of the matrix, but for its directions: these have a place of their own, and no reader.
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

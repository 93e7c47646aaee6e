// The banded affine matrix of one read, swept by neighbouring lanes of a warp: cells, their letters and their layout.
//
// Row = base of the read, column = diagonal of the band. A lane owns `blocks` runs of 8 neighbouring columns and is
// one row behind the lane to its left: at step s, lane l of its group works on row s - l. A deletion comes from the
// left neighbour's previous step; an insertion (one row up, one column right) from the right neighbour's first column
// in the same step. So two shuffles per step exchange all that the lanes need of each other.
//
// Scores are multiplied by 16, and the lowest four bits break ties: so a plain maximum also gives the term that won,
// with the preferences of extension/cpu.py. Candidates for a cell carry 3 (stop), 2 (diagonal), 1 (insertion), 0
// (deletion); a gap that is opened carries a bit that an extended one does not. Values of row r are FRAME * r higher
// than their scores, so that extending an insertion, which advances one row, costs nothing. An insertion or a deletion
// of score zero or less never matters: a cell is at least zero. Lane l begins l rows before the read, in rows that hold
// every cell at END_BONUS.
//
// By -D from quire.algorithms.extension: MATCH, MISMATCH, AMBIGUOUS, GAP_OPEN, GAP_EXTEND, END_BONUS; from its gpu.py:
// COLUMNS (of a block), HEADER_WORDS (before an alignment's letters), HEAD_WORDS (of letters before the read).
#pragma once
#include "quire/device/dpx.cuh"

constexpr i32 SCALE = 16, TAGS = SCALE - 1, STOP = 3, DIAGONAL = 2, INSERTION = 1, DELETION = 0;
constexpr i32 MOVE = 3, INSERTION_OPENED = 4, DELETION_OPENED = 8;  // the four bits of a cell that are kept
constexpr i32 FRAME = -GAP_EXTEND * SCALE;
constexpr i32 OPEN_INSERTION = (GAP_OPEN + GAP_EXTEND) * SCALE + FRAME + INSERTION_OPENED + INSERTION;
constexpr i32 OPEN_DELETION = (GAP_OPEN + GAP_EXTEND) * SCALE + DELETION_OPENED;
constexpr i32 NEVER = -(1 << 28);
constexpr u32 EVERY_LANE = 0xFFFFFFFFu;

// Letters are nibbles. Of the axis: 0..3, 4 for an ambiguous base, 8 where the read may not be aligned. Of the
// read: 0..3, 4 for N, plus 8 for its last base; or one of these, for rows outside it.
constexpr u32 AMBIGUOUS_LETTER = 4, FORBIDDEN = 8, LAST = 8, BEHIND = 14, BEFORE = 15;
constexpr i64 HEAD = 8 * HEAD_WORDS;  // letters before the read

// Layout of the alignments of one launch; none is wider or has more steps.
struct Band {
    i64 width;        // columns: BAND_STEP times a power of two
    i64 lanes;        // lanes that share an alignment
    i64 blocks;       // blocks that a lane owns
    i64 groups;       // alignments per warp
    i64 steps;        // steps for which a warp has room
    i64 query_words;  // of a read's letters
    i64 words;        // of all letters of an alignment: HEADER_WORDS, the read's letters, the axis'
    i64 operations;   // CIGAR operations for which an alignment has room

    // Index of the bits of a block of columns of a lane.
    __device__ __forceinline__ i64 place(i64 warp, i64 step, i64 block, i64 lane) const {
        return ((warp * steps + step) * blocks + block) * 32 + lane;
    }
};

struct Block {
    i32 match[COLUMNS];      // of the row above
    i32 insertion[COLUMNS];  // as it leaves the row above, to the left
};

// Values that all cells of a lane's row share.
struct Row {
    u32 scores;   // of the letters 0..3, a byte each, with the tag of the diagonal
    i32 floor;    // a cell's least value, with the tag of a stop
    i32 frame;    // FRAME * row
    i32 reward;   // of an alignment that ends here; NEVER outside the read
};

// The best cell so far, the first in the order of rows and columns.
struct Best {
    i32 value, frame;  // value: with the tag of column_tag
    i32 block;
};

// Entry of a row's letter in the table in shared memory: scores, the amount by which the floor is raised, reward.
__device__ __forceinline__ uint4 letter_entry(u32 letter) {
    constexpr u32 differ = (u8)(MISMATCH * SCALE + FRAME + DIAGONAL), agree = (u8)(MATCH * SCALE + FRAME + DIAGONAL);
    constexpr u32 unclear = (u8)(AMBIGUOUS * SCALE + FRAME + DIAGONAL);
    if (letter >= BEHIND) return make_uint4(0, letter == BEFORE ? END_BONUS * SCALE : 0, (u32)NEVER, 0);
    u32 base = letter & 7, scores = 0;
    for (u32 other = 0; other < 4; other++)
        scores |= (base > 3 ? unclear : base == other ? agree : differ) << (8 * other);
    return make_uint4(scores, 0, letter >= LAST ? END_BONUS * SCALE : 0, 0);
}

__device__ __forceinline__ Row row_of(const uint4& entry, i32 frame) {
    return {entry.x, frame + (i32)entry.y + STOP, frame, (i32)entry.z};
}

// The insertion before row 0 and at the right border of the band: none.
__device__ __forceinline__ i32 no_insertion() { return NEVER | INSERTION; }

// Cells FIRST to END of a block's next row. `letters` are the axis' (the first column in the lowest nibble), `beyond`
// is the insertion that leaves the first column after the block, `deletion` is read and written; `directions` receives
// the bits of a cell in its highest four, and `top` becomes the greatest value.
template <int FIRST, int END>
__device__ __forceinline__ void fill(Block& block, i32 beyond, i32& deletion, const Row& row, u32 letters,
                                     u32& directions, i32& top) {
    constexpr u32 unclear = (u8)(AMBIGUOUS * SCALE + FRAME + DIAGONAL);
    u32 near = permute_bytes(row.scores, unclear, letters), far = permute_bytes(row.scores, unclear, letters >> 16);
#pragma unroll
    for (int column = FIRST; column < END; column++) {
        constexpr u32 sign = 0x8880;
        i32 score = (i32)permute_bytes(column < 4 ? near : far, 0, (column & 3) * 0x1111 | sign);
        i32 inserted = column + 1 < COLUMNS ? block.insertion[(column + 1) % COLUMNS] : beyond;
        i32 paired = add_max(block.match[column], score, inserted);
        i32 value = max3(paired, deletion, row.floor);
        block.match[column] = value & ~TAGS;
        i32 leaving = add_max(block.match[column], OPEN_INSERTION, inserted);
        block.insertion[column] = leaving & ~INSERTION_OPENED;
        // A deletion is never opened from a deletion, so `paired` suffices in place of `value`, which is known later.
        i32 longer = add_max(paired, OPEN_DELETION, deletion + GAP_EXTEND * SCALE);
        u32 bits = select_bits(DELETION_OPENED - 1, select_bits(MOVE, (u32)value, (u32)leaving), (u32)longer);
        directions = __funnelshift_r(directions, bits, 4);
        deletion = longer & ~TAGS;
        top = add_max(block.match[column], COLUMNS - 1 - column, top);
    }
}

// Forbid diagonal steps in columns where the read may not be aligned.
__device__ __forceinline__ void forbid(Block& block, u32 letters) {
#pragma unroll
    for (int column = 0; column < COLUMNS; column++)
        if (letters >> (4 * column) & FORBIDDEN) block.match[column] = NEVER;
}

// Take the greatest value of a block's row if it is better than all before.
__device__ __forceinline__ void improve(Best& best, i32 top, const Row& row, i32 block) {
    i32 value = top - row.frame, rewarded = value + row.reward;
    if (value > TAGS && rewarded > (best.value | TAGS)) best = {rewarded, row.frame, block};
}

// The best cell of a group as one number, greater for a better cell: by score, then lowest row, then lowest column.
constexpr int KEY_BITS = 20;
constexpr i64 KEY_MASK = (1 << KEY_BITS) - 1;
__device__ __forceinline__ i64 key_of(const Best& best, i64 first_column) {
    if (best.value <= TAGS) return 0;
    i64 row = best.frame / FRAME, column = first_column + best.block * COLUMNS + COLUMNS - 1 - (best.value & TAGS);
    return (i64)(best.value / SCALE) << (2 * KEY_BITS) | (KEY_MASK - row) << KEY_BITS | (KEY_MASK - column);
}

// The greatest key of a group, in its first lane.
__device__ __forceinline__ i64 best_of_group(i64 key, int lane_of_group, int lanes) {
    for (int distance = 16; distance; distance >>= 1) {
        i64 other = __shfl_down_sync(EVERY_LANE, key, distance);
        if (lane_of_group + distance < lanes && other > key) key = other;
    }
    return key;
}

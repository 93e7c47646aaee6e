// Rows of the trie on a card: the twins of trie/rows_cpu.py, which defines the bits of a row.
#pragma once
#include "quire/algorithms/complete/windows/windows.cuh"
#include "quire/algorithms/fm_index/fm_index.cuh"

// Pieces with one limit, as quire.algorithms.complete.trie.gpu.CardPieces lays it out.
struct Pieces {
    const i32* oriented;  // 2 * read + strand
    const i32* begins;    // in the oriented read
    const i32* ends;
    const i32* bounds;    // [count][limit + 1], see CardPieces in trie/gpu.py; 0 for none
    i64 limit;
    i64 count;
};

struct Piece {
    i64 read;
    i32 strand, length, behind;  // behind: bases of the read after the piece

    __device__ __forceinline__ Piece(const Reads& reads, const Pieces& pieces, i64 index) {
        i32 oriented = pieces.oriented[index], end = pieces.ends[index];
        read = oriented >> 1;
        strand = oriented & 1;
        length = end - pieces.begins[index];
        behind = (i32)reads.length(read) - end;
    }
    // Code of the base x from the piece's end; above 3 for an N.
    __device__ __forceinline__ i32 code(const Reads& reads, i32 x) const {
        return reads.codes_of(strand, read)[(i32)reads.length(read) - behind - 1 - x];
    }
    // 32 bases from base x on, counted from the piece's end; arbitrary where x is negative and for an N. The other
    // strand holds them in this order, complemented.
    __device__ __forceinline__ u64 bases(const Reads& reads, i32 x) const {
        const u64* packed = reads.packed_of(strand ^ 1, read);
        i32 first = behind + x;
        if (first <= -32) return 0;
        return ~(first >= 0 ? packed_word(packed, first) : packed[0] << (-2 * first));
    }
};

// The bases that the cells of the last level align next: low and high bits of their codes, and which are known.
struct Cells {
    u32 low, high, known;

    __device__ __forceinline__ u32 equal(i32 symbol) const {
        return ~(low ^ (0u - (symbol & 1))) & ~(high ^ (0u - (symbol >> 1))) & known;
    }
};

__device__ __forceinline__ Cells cells_at(const Reads& reads, const Piece& piece, i32 depth, i32 limit) {
    u64 bases = piece.bases(reads, depth - limit);
    Cells cells = {even_bits(bases), even_bits(bases >> 1), (2u << 2 * limit) - 1};
    if (reads.ambiguous[piece.read])
        for (i32 c = 0; c <= 2 * limit; c++) {
            i32 x = depth - limit + c;
            if (x >= 0 && x < piece.length && piece.code(reads, x) > 3) cells.known &= ~(1u << c);
        }
    return cells;
}

__device__ __forceinline__ u64 first_row(i32 limit) {
    u64 row = 0;
    for (i32 i = 0; i <= limit; i++) row |= ((2ull << i) - 1) << (i * i + i);
    return row;
}

// The row of a child; `left` are the bases of the piece before the child's cell 0.
__device__ __forceinline__ u64 next_row(u64 row, u32 equal, i32 limit, i32 left) {
    u64 made = 0;
    u32 above = 0, beside = 0;  // of the level before: the parent's cells and the child's
    for (i32 i = 0; i <= limit; i++) {
        u32 every = (2u << 2 * i) - 1;
        u32 cells = (u32)(row >> i * i) & every;
        u32 fresh = (cells & equal >> (limit - i)) | above | above << 1 | beside << 2;
        if (left < i) fresh &= (1u << max(left + i + 1, 0)) - 1;
        made |= (u64)(fresh & every) << i * i;
        above = cells;
        beside = fresh & every;
    }
    return made;
}

// A row without the cells that cannot be completed.
__device__ __forceinline__ u64 bounded(u64 row, const Pieces& pieces, i64 piece, i32 depth) {
    if (!pieces.bounds) return row;
    i32 limit = (i32)pieces.limit;
    for (i32 missing = 1; missing <= limit; missing++) {
        i32 reach = pieces.bounds[piece * (limit + 1) + missing];
        if (reach < depth - limit) break;
        i32 i = limit - missing + 1;
        i32 dead = min(max(reach - depth + i + 1, 0), 2 * i + 1);
        row &= ~(((1ull << dead) - 1) << i * i);
    }
    return row;
}

__device__ __forceinline__ bool is_complete(u64 row, i32 limit, i32 left) {
    return left <= limit && left >= -limit && (row >> (limit * limit + limit + left) & 1);
}

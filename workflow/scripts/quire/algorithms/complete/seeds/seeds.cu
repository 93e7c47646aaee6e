// Seeds on a card: one thread per piece looks it up, one thread per row makes a candidate of it.
// Compiled for one size of occurrence blocks (WORDS_PER_BLOCK).
#include "quire/algorithms/complete/windows/windows.cuh"
#include "quire/algorithms/fm_index/fm_index.cuh"
#include "quire/device/ragged.cuh"

constexpr i64 DIRECT_ROWS = 4;  // at most this many rows are compared with the text instead of narrowed further

// A piece of a read on a strand; `index` counts the pieces of the batch, 2 * `pieces` for each read.
struct Piece {
    i64 read;
    i32 strand, length, begin, end;

    __device__ __forceinline__ Piece(const Reads& reads, i64 index, u32 pieces) {
        u32 number = (u32)index % pieces;
        u32 oriented = (u32)index / pieces;
        read = oriented >> 1;
        strand = (i32)(oriented & 1);
        length = (i32)reads.length(read);
        begin = (i32)((i64)length * number / pieces);
        end = (i32)((i64)length * (number + 1) / pieces);
    }
};

// Rows of each piece in a page: the first row and the number of rows of the last `depths` bases of the piece.
struct Found {
    u32* rows;
    i32* counts;
    i32* depths;
};

// Searches the pieces, one thread per piece.
extern "C" __global__ void search_pieces(
        Page page, Reads reads, i64 differences, i64 count, Found found) {
    i64 index = thread_index();
    if (index >= count) return;
    Piece piece(reads, index, (u32)differences + 1);
    const u64* packed = reads.packed_of(piece.strand, piece.read);
    found.counts[index] = 0;
    if (reads.ambiguous[piece.read]) {
        const u8* codes = reads.codes_of(piece.strand, piece.read);
        for (i32 i = piece.begin; i < piece.end; i++)
            if (codes[i] > 3) return;
    }
    i32 position = piece.end;
    Interval rows = {0, page.C[4]};
    if (piece.end - piece.begin >= page.prefix_length) {
        u32 kmer = 0;
        for (i32 i = piece.end - (i32)page.prefix_length; i < piece.end; i++) kmer = 4 * kmer + (u32)code_at(packed, i);
        uint2 both = __ldg((const uint2*)page.prefix_table + kmer);
        rows = {(i64)both.x, (i64)both.y};
        position = piece.end - (i32)page.prefix_length;
    }
    while (position > piece.begin && rows.low < rows.high && rows.high - rows.low > DIRECT_ROWS) {
        position--;
        rows = backward_step(page, code_at(packed, position), rows);
    }
    found.rows[index] = (u32)rows.low;
    found.counts[index] = (i32)(rows.high - rows.low);
    found.depths[index] = piece.end - position;
}

// Returns true if bases [begin, end) of a packed read equal the bases of the axis from `position` >= 0 on.
__device__ __forceinline__ bool agree(const u64* packed, i32 begin, i32 end, const u64* text, i64 position) {
    for (; begin < end; begin += 32, position += 32) {
        u64 other = packed_word(packed, begin) ^ packed_word(text, position);
        if (end - begin < 32) other <<= 64 - 2 * (end - begin);
        if (other) return false;
    }
    return true;
}

// One thread per row, from row `first` of all pieces on: writes a candidate, or NO_CANDIDATE if the piece does not
// occur there or the page does not own the place. `offsets` are the offsets of the rows of pieces.
extern "C" __global__ void locate_pieces(
        Page page, Reads reads, Axis axis, i64 differences, Found found, const i64* offsets, i64 piece_count, i64 first,
        i64 count, u64* candidates) {
    i64 item = thread_index();
    if (item >= count) return;
    candidates[item] = NO_CANDIDATE;
    i64 index = owner_of(offsets, piece_count, first + item);
    Piece piece(reads, index, (u32)differences + 1);
    i64 row = (i64)found.rows[index] + (first + item - offsets[index]);
    i32 unsearched = piece.end - piece.begin - found.depths[index];
    i64 begin = locate(page, row) - unsearched;
    if (begin < 0 || begin >= page.owned_length) return;
    begin += page.start;
    if (!agree(reads.packed_of(piece.strand, piece.read), piece.begin, piece.begin + unsearched, axis.text, begin))
        return;
    i64 end = begin + piece.length - piece.begin;
    candidates[item] = candidate_at(axis, 2 * piece.read + piece.strand, begin + piece.end - piece.begin - 1, end, differences);
}

// The arrays of an FM-index from a text and its suffix array: see fm_index/construction/gpu.py, and fm_index/__init__.py
// for the format.
#include "quire/algorithms/fm_index/fm_index.cuh"
#include "quire/algorithms/suffix_array/selection.cuh"
#include "quire/algorithms/suffix_array/text.cuh"

// ---- occurrence blocks ----

// Writes the bit planes of the Burrows-Wheeler transform, one thread per row, including the rows that pad the last block;
// and the row of the whole text, which gets the sentinel's code (0).
extern "C" __global__ void write_planes(Text text, const u32* order, i64 rows, i64 words_per_block, i64 block_count,
                                        u64* blocks, i64* primary) {
    i64 row = thread_index();
    int code = 0;
    if (row < rows) {
        i64 position = order[row];
        if (position == 0) *primary = row; else code = text.code(position - 1);
    }
    u32 low = __ballot_sync(~0u, code & 1), high = __ballot_sync(~0u, code >> 1);
    if ((threadIdx.x & 31) != 0) return;
    RowPlace place = place_of_row((int)words_per_block, row);
    if (place.first >= block_count * words_per_block) return;
    u32* planes = (u32*)(blocks + place.first + 2 + 2 * place.group);
    planes[place.within >> 5] = low;
    planes[2 + (place.within >> 5)] = high;
}

// Counts of two codes per word, the second in the upper half, as words 0 and 1 of a block hold them.
struct Counts {
    u64 low, high;
};

// Counts of the codes in the rows of a block. The sentinel and the padding of the last block are stored as A; the
// sentinel is counted, the padding is not.
__device__ __forceinline__ Counts counts_of_block(const u64* blocks, i64 words_per_block, i64 block, i64 rows) {
    i64 distance = 32 * words_per_block - 64, first_row = block * distance;
    u64 c = 0, g = 0, t = 0;
    for (const u64* planes = blocks + block * words_per_block + 2; planes < blocks + (block + 1) * words_per_block;
         planes += 2) {
        u64 low = planes[0], high = planes[1];
        c += __popcll(low & ~high);
        g += __popcll(high & ~low);
        t += __popcll(low & high);
    }
    i64 inside = rows - first_row < distance ? rows - first_row : distance;
    return {((u64)inside - c - g - t) | c << 32, g | t << 32};
}

// Exclusive prefix sum of the counts over the threads of a block; `all` gets the sum of the whole block.
__device__ __forceinline__ Counts sum_before(Counts own, Counts* partial, Counts* all) {
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Counts here = own;
    for (int distance = 1; distance < 32; distance *= 2) {
        u64 low = __shfl_up_sync(~0u, here.low, distance), high = __shfl_up_sync(~0u, here.high, distance);
        if (lane >= distance) here = {here.low + low, here.high + high};
    }
    if (lane == 31) partial[warp] = here;
    __syncthreads();
    Counts before = {here.low - own.low, here.high - own.high};
    *all = {0, 0};
    for (int other = 0; other < WARPS; other++) {
        if (other == warp) before = {before.low + all->low, before.high + all->high};
        *all = {all->low + partial[other].low, all->high + partial[other].high};
    }
    return before;
}

// Sums the counts of each tile of TILE_WORDS blocks.
extern "C" __global__ void __launch_bounds__(TILE_WORDS)
sum_counts(const u64* blocks, i64 words_per_block, i64 block_count, i64 rows, u64* low_sums, u64* high_sums) {
    i64 block = thread_index();
    Counts own = {0, 0}, all;
    if (block < block_count) own = counts_of_block(blocks, words_per_block, block, rows);
    sum_before(own, (Counts*)shared_memory, &all);
    if (threadIdx.x != 0) return;
    low_sums[blockIdx.x] = all.low;
    high_sums[blockIdx.x] = all.high;
}

// Writes the counters of every block; low_to_end and high_to_end are the sums up to the end of each tile.
extern "C" __global__ void __launch_bounds__(TILE_WORDS)
write_counters(u64* blocks, i64 words_per_block, i64 block_count, i64 rows, const u64* low_to_end,
               const u64* high_to_end) {
    i64 block = thread_index();
    Counts own = {0, 0}, all;
    if (block < block_count) own = counts_of_block(blocks, words_per_block, block, rows);
    Counts before = sum_before(own, (Counts*)shared_memory, &all);
    if (block >= block_count) return;
    u64* words = blocks + block * words_per_block;
    words[0] = low_to_end[blockIdx.x] - all.low + before.low;
    words[1] = high_to_end[blockIdx.x] - all.high + before.high;
}

// ---- prefix table ----

// First row, from `low` on, whose suffix is at or after the texts that begin with a k-mer (`past`: after them). A suffix
// shorter than k sorts before the k-mer that it becomes when padded with A.
__device__ __forceinline__ i64 bound_of_prefix(const Text& text, const u32* order, i64 low, i64 rows, i64 length,
                                               u64 kmer, bool past) {
    i64 high = rows;
    while (low < high) {
        i64 middle = (low + high) >> 1, position = order[middle];
        u64 prefix = text.padded_key(position) >> (64 - 2 * length);
        bool less = prefix < kmer || (prefix == kmer && (past || position + length > text.length));
        if (less) low = middle + 1; else high = middle;
    }
    return low;
}

// Rows [first, last) of every k-mer, by two binary searches; neighbouring threads take nearly the same path.
extern "C" __global__ void prefix_intervals(Text text, const u32* order, i64 rows, i64 length, u32* table) {
    i64 kmer = thread_index();
    if (kmer >= 1ll << (2 * length)) return;
    i64 first = bound_of_prefix(text, order, 0, rows, length, (u64)kmer, false);
    i64 last = bound_of_prefix(text, order, first, rows, length, (u64)kmer, true);
    table[2 * kmer] = (u32)first;
    table[2 * kmer + 1] = (u32)last;
}

// ---- selections of rows ----

// Marks the rows whose suffix starts at a multiple of `sampling`.
extern "C" __global__ void mark_sampled(const u32* order, i64 rows, i64 sampling, u32* bits) {
    i64 row = thread_index();
    u32 chosen = __ballot_sync(~0u, row < rows && order[row] % (u32)sampling == 0);
    if ((threadIdx.x & 31) == 0 && row < rows) bits[row >> 5] = chosen;
}

// Writes the sampled suffixes, and for each 64 rows the bits of the sampled ones and the number of those before them.
extern "C" __global__ void __launch_bounds__(TILE_WORDS)
write_sampled(Selection selection, const u32* order, u32* values, u64* sampled_rows) {
    const TileWord* words = load_tile(selection);
    int lane = threadIdx.x & 31;
    for (int word = threadIdx.x >> 5; word < TILE_WORDS; word += WARPS) {
        i64 row = ((i64)blockIdx.x * TILE_WORDS + word) * 32 + lane;
        if (words[word].is_chosen(lane)) values[words[word].place(lane)] = order[row];
    }
    i64 group = (i64)blockIdx.x * (TILE_WORDS / 2) + threadIdx.x;
    if (threadIdx.x >= TILE_WORDS / 2 || 64 * group >= selection.count) return;
    const TileWord* pair = words + 2 * threadIdx.x;
    sampled_rows[2 * group] = pair[0].chosen | (u64)pair[1].chosen << 32;
    sampled_rows[2 * group + 1] = pair[0].chosen_before;
}

// Marks the rows whose suffix starts at or after `position`.
extern "C" __global__ void mark_from(const u32* order, i64 rows, i64 position, u32* bits) {
    i64 row = thread_index();
    u32 chosen = __ballot_sync(~0u, row < rows && order[row] >= position);
    if ((threadIdx.x & 31) == 0 && row < rows) bits[row >> 5] = chosen;
}

// Writes the marked rows, ascending.
extern "C" __global__ void __launch_bounds__(TILE_WORDS)
write_rows(Selection selection, u32* chosen_rows) {
    const TileWord* words = load_tile(selection);
    int lane = threadIdx.x & 31;
    for (int word = threadIdx.x >> 5; word < TILE_WORDS; word += WARPS) {
        i64 row = ((i64)blockIdx.x * TILE_WORDS + word) * 32 + lane;
        if (words[word].is_chosen(lane)) chosen_rows[words[word].place(lane)] = (u32)row;
    }
}

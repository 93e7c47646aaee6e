// Kernels of bench.gpu_search: a random index, queries that occur in it, their search with one thread per query, the
// blocks that a search visits, and random reads of as many blocks.
//
// Any sequence of bases is the Burrows-Wheeler transform of some set of cyclic texts (Mantaci et al. 2007), so random
// planes with the counters that belong to them are an FM-index, and the bases met on a walk by LF mapping are a piece
// of its texts: where the walk starts at random, a random piece.
#include "quire/algorithms/fm_index/fm_index.cuh"

// splitmix64: a random word for each number.
__device__ __forceinline__ u64 random_word(u64 number) {
    u64 value = number * 0x9E3779B97F4A7C15ull;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}

// Planes of random bases in all blocks but the last, which stays empty, and how often a block holds each code
// (counts: [4][block_count]). One thread per block. The sentinel is stored as an A in row `primary`.
extern "C" __global__ void random_planes(u64* blocks, i64 words_per_block, i64 block_count, i64 primary, i64 seed,
                                         i64* counts) {
    i64 block = thread_index();
    if (block >= block_count) return;
    i64 held[4] = {0, 0, 0, 0};
    for (i64 word = 2; word < words_per_block; word += 2) {
        i64 at = block * words_per_block + word, group = block * (words_per_block / 2 - 1) + word / 2 - 1;
        ulonglong2 planes = {0, 0};
        if (block < block_count - 1) {
            u64 sentinel = group == primary >> 6 ? 1ull << (primary & 63) : 0;
            planes.x = random_word((u64)seed + (u64)at) & ~sentinel;
            planes.y = random_word((u64)seed + (u64)at + 1) & ~sentinel;
            for (int code = 0; code < 4; code++) held[code] += __popcll(rows_with(planes, code));
        }
        *(ulonglong2*)(blocks + at) = planes;
    }
    for (int code = 0; code < 4; code++) counts[code * block_count + block] = held[code];
}

// Writes the counters of one code: before[block], how often it occurs before each block. One thread per block.
extern "C" __global__ void write_counters(u64* blocks, i64 words_per_block, i64 block_count, i64 code,
                                          const i64* before) {
    i64 block = thread_index();
    if (block >= block_count) return;
    ((u32*)(blocks + block * words_per_block))[code] = (u32)before[block];  // A, C, G, T: low half first
}

// Queries of `length` (1..32) bases of the texts, each from a random place; base i in bits 2i and 2i + 1. One thread
// per query. A walk that meets the sentinel continues at row 0 after an A, and its query may not occur.
extern "C" __global__ void sample_queries(Page page, i64 length, i64 count, i64 seed, u64* queries) {
    i64 query = thread_index();
    if (query >= count) return;
    i64 row = (i64)__umul64hi(random_word((u64)seed + (u64)query), (u64)page.C[4]);
    u64 bases = 0;
    for (i64 i = 0; i < length; i++) {
        RowPlace place = place_of_row(words_per_block_of(page), row);
        ulonglong2 planes = *((const ulonglong2*)(page.blocks + place.first) + 1 + place.group);
        u64 code = (planes.x >> place.within & 1) | (planes.y >> place.within & 1) << 1;
        bases = bases << 2 | code;
        row = row == page.primary ? 0 : previous_row(page, row);
    }
    queries[query] = bases;
}

// Intervals (found: low, high) of `count` queries of `length` (1..32) bases, searched from their last base on without the
// prefix table. One thread per query, with the steps that seeds take.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) search_packed(Page page, const u64* queries, i64 length,
                                                                             i64 count, Interval* found) {
    i64 query = thread_index();
    if (query >= count) return;
    u64 bases = queries[query] << (64 - 2 * length);
    // The last base needs no block: all rows that begin with it.
    int symbol = (int)(bases >> 62);
    Interval rows = {page.C[symbol], page.C[symbol + 1]};
    for (i64 left = length - 1; left > 0 && rows.low < rows.high; left--) {
        bases <<= 2;
        rows = backward_step(page, (int)(bases >> 62), rows);
    }
    found[query] = rows;
}

// The number of blocks that the steps of each query visit; a block that holds both ends of an interval counts once.
extern "C" __global__ void count_visits(Page page, const u64* queries, i64 length, i64 count, i64* visits) {
    i64 query = thread_index();
    if (query >= count) return;
    u64 bases = queries[query];
    int symbol = (int)(bases >> (2 * length - 2)) & 3;
    Interval rows = {page.C[symbol], page.C[symbol + 1]};
    i64 visited = 0;
    for (i64 i = length - 2; i >= 0 && rows.low < rows.high; i--) {
        int words = words_per_block_of(page);
        visited += 1 + (place_of_row(words, rows.low).first != place_of_row(words, rows.high).first);
        rows = backward_step(page, (int)(bases >> (2 * i)) & 3, rows);
    }
    visits[query] = visited;
}

// The card's random-access bandwidth: `reads` random blocks of `units` * 16 bytes (units: a power of two up to 32), all
// independent, by each group of `units` lanes. The sums keep the compiler from removing the loads.
extern "C" __global__ void read_random_blocks(const ulonglong2* blocks, i64 block_count, i64 units, i64 reads,
                                              i64 groups, u64* sums) {
    u32 thread = (u32)thread_index(), group = thread / (u32)units, lane = thread & ((u32)units - 1);
    if (group >= groups) return;
    u32 state = (u32)random_word(group);
    u64 sum = 0;
#pragma unroll 8
    for (i64 i = 0; i < reads; i++) {
        state = state * 1664525u + 1013904223u;
        u64 block = (u64)state * (u64)block_count >> 32;
        ulonglong2 unit = __ldg(blocks + block * units + lane);
        sum += unit.x ^ unit.y;
    }
    sums[thread] = sum;
}

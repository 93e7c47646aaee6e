// Searches the seeds of a window in a page. Compiled for one size of occurrence blocks (WORDS_PER_BLOCK). See mems/gpu.py.
#include "quire/algorithms/mems/mems.cuh"

constexpr u64 EVEN_BITS = 0x5555555555555555ull;

// The match kernel: one thread per seed finds its rows. It searches from the last base
// backwards and takes the first steps from the prefix table.
extern "C" __global__ void search_seeds(Page page, Sequence queries, Seeds seeds, Window window, Hits hits) {
    i64 index = thread_index();
    if (index >= window.count) return;
    i64 end = seed_of(queries, seeds, window, index).position + seeds.length, depth = 0;
    u64 bases = bases_before(queries.words, end);
    Interval rows = {0, page.C[4]};
    if (page.prefix_length <= seeds.length) {
        u64 mirrored = __brevll(bases);  // first base most significant, but the two bits of each base exchanged
        u64 kmer = (mirrored >> 1 & EVEN_BITS) | (mirrored & EVEN_BITS) << 1;
        kmer &= (1ull << (2 * page.prefix_length)) - 1;
        uint2 found = __ldg((const uint2*)page.prefix_table + kmer);
        rows = {(i64)found.x, (i64)found.y};
        depth = page.prefix_length;
    }
    for (; depth < seeds.length && rows.low < rows.high; depth++) {
        if (depth && (depth & 31) == 0) bases = bases_before(queries.words, end - depth);
        rows = backward_step(page, (int)(bases >> (62 - 2 * (depth & 31))) & 3, rows);
    }
    hits.low[index] = (u32)rows.low;
    hits.counts[index] = rows.low < rows.high ? (u32)(rows.high - rows.low) : 0;
}

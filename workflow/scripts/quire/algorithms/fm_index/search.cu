// Searching an FM-index in one of three designs (Chacon et al. 2015, "Boosting the FM-index on the GPU"):
//   SHARE_LOAD=0 SHARE_COUNT=0   task-parallel: one thread per query
//   SHARE_LOAD=1 SHARE_COUNT=0   memory-cooperative: one thread per query, LANES of them load the blocks of all in turn
//   SHARE_LOAD=1 SHARE_COUNT=1   fully cooperative: LANES threads per query share its loads and its counts, by shuffles
// Also given by -D: WORDS_PER_BLOCK; STREAM (1: past the multiprocessor's own cache); THREADS a block.
//
// What bounds it: memory. A step of a query visits one block, two while its interval is wide. A group of four lanes at
// a distance of 192 spends 85 instructions (sm_90; 100 with two blocks) on a step, of its eight queries at once: 340 to
// 400 thread instructions of the 950 that an H200 can issue in the time of a step at 31 G steps/s (1 G queries/s of 32
// bases). 32 registers leave room for 2,048 threads, 512 queries, on a multiprocessor: 67,000 visits in flight, where
// 40 G/s at 1 us need 40,000.
#include "quire/algorithms/fm_index/fm_index.cuh"

#if __CUDA_ARCH__ == 750
constexpr int MOST_THREADS = 1024;  // of a multiprocessor
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1100
constexpr int MOST_THREADS = 1536;
#else
constexpr int MOST_THREADS = 2048;
#endif
constexpr u32 ALL_LANES = 0xFFFFFFFFu;
constexpr int UNITS = WORDS_PER_BLOCK / 2;
constexpr int LANES_PER_QUERY = SHARE_COUNT ? LANES : 1;
// As many threads as the registers for the units that one keeps leave room for: 32 registers, 40, 64 or 80.
constexpr int UNITS_KEPT = SHARE_COUNT ? UNITS / LANES : SHARE_LOAD ? UNITS : UNITS / 2;
constexpr int ROOMY = SHARE_LOAD && !SHARE_COUNT ? 768 : 1024;
constexpr int WANTED_THREADS = UNITS_KEPT == 1 ? 2048 : UNITS_KEPT == 2 ? 1536 : ROOMY;
constexpr int RESIDENT = (WANTED_THREADS < MOST_THREADS ? WANTED_THREADS : MOST_THREADS) / THREADS;

struct UnitsInSlot {
    const ulonglong2* slot;
    __device__ __forceinline__ ulonglong2 operator()(int unit) const { return slot[unit]; }
};

// One slot a thread, a unit longer than a block: neighbours' units then lie in different banks.
constexpr int SLOT = UNITS + 1;

// Brings the block of every lane that wants one into its slot; the lanes of a group load one block together at a time.
__device__ __forceinline__ void fetch_blocks(const ulonglong2* blocks, u32 block, bool wanted, ulonglong2* slots,
                                             int lane) {
    constexpr int PARTS = UNITS / LANES, AT_ONCE = PARTS > 1 || LANES < 4 ? 2 : 4;
    int first = lane & ~(LANES - 1), within = lane & (LANES - 1);
    __syncwarp();  // the slots have been read
#pragma unroll 1
    for (int owner = 0; owner < LANES; owner += AT_ONCE) {
        ulonglong2 units[AT_ONCE][PARTS];
        bool given[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            u64 theirs = __shfl_sync(ALL_LANES, block, owner + i, LANES);
            given[i] = __shfl_sync(ALL_LANES, (int)wanted, owner + i, LANES);
            if (given[i])
#pragma unroll
                for (int part = 0; part < PARTS; part++)
                    units[i][part] = load_block<STREAM>(blocks + theirs * UNITS + part * LANES + within);
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            if (given[i])
#pragma unroll
                for (int part = 0; part < PARTS; part++)
                    slots[(first + owner + i) * SLOT + part * LANES + within] = units[i][part];
    }
    __syncwarp();
}

__device__ __forceinline__ Rows occurrences_of_fetched(const Page& page, int symbol, Rows rows, bool active, int lane) {
    constexpr u32 DISTANCE = 32 * WORDS_PER_BLOCK - 64;
    const ulonglong2* blocks = (const ulonglong2*)page.blocks;
    ulonglong2* slots = (ulonglong2*)shared_memory + (threadIdx.x - lane) * SLOT;
    UnitsInSlot mine = {slots + lane * SLOT};
    u32 low_block = block_of_row<WORDS_PER_BLOCK>(rows.low), high_block = block_of_row<WORDS_PER_BLOCK>(rows.high);
    int low_offset = (int)(rows.low - low_block * DISTANCE), high_offset = (int)(rows.high - high_block * DISTANCE);
    bool apart = active && low_block != high_block;
    Rows counts = {0, 0};
    fetch_blocks(blocks, low_block, active, slots, lane);
    if (active) counts = count_both<WORDS_PER_BLOCK>(mine, symbol, low_offset, apart ? low_offset : high_offset);
    if (__any_sync(ALL_LANES, apart)) {
        fetch_blocks(blocks, high_block, apart, slots, lane);
        if (apart) counts.high = count_both<WORDS_PER_BLOCK>(mine, symbol, high_offset, high_offset).high;
    }
    return without_sentinel(page, symbol, rows, counts);
}

// One step of this thread's query. Where lanes share, the whole warp comes here together, active or not.
__device__ __forceinline__ Rows step(const Page& page, u32 first_row, int symbol, Rows rows, bool active) {
    int lane = threadIdx.x & 31;
    Rows counts = rows;
    if constexpr (SHARE_COUNT)
        counts = occurrences_by_group<WORDS_PER_BLOCK, LANES, STREAM>(page, symbol, rows, active, lane & (LANES - 1));
    else if constexpr (SHARE_LOAD)
        counts = occurrences_of_fetched(page, symbol, rows, active, lane);
    else if (active)
        counts = occurrences_alone<WORDS_PER_BLOCK>(page, symbol, rows);
    if (active) rows = {first_row + counts.low, first_row + counts.high};
    return rows;
}

// Launches are of fewer than 2^32 queries.
__device__ __forceinline__ u32 query_of_thread() {
    return blockIdx.x * (THREADS / LANES_PER_QUERY) + threadIdx.x / LANES_PER_QUERY;
}

// Whether any lane goes on: of the warp where lanes share, of itself where they do not.
__device__ __forceinline__ bool goes_on(bool active) {
    return SHARE_LOAD ? __any_sync(ALL_LANES, active) : active;
}

// Intervals (found: low, high) of `count` queries of `length` (1..32) bases; base i in bits 2i and 2i + 1 of its word.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) search_packed(
    Page page, const u64* queries, i64 length, i64 count, longlong2* found) {
    u32 query = query_of_thread();
    u64 bases = (query < count ? __ldg(queries + query) : 0) << (64 - 2 * length);
    // Lane c keeps C[c]: a shuffle finds the first row of a base.
    u32 first_row = (u32)page.C[threadIdx.x & 3];
    int symbol = (int)(bases >> 62);
    // The last base needs no block: all rows that begin with it.
    Rows rows = {(u32)page.C[symbol], (u32)page.C[symbol + 1]};
    for (int left = (int)length - 1; left > 0; left--) {
        bases <<= 2;
        symbol = (int)(bases >> 62);
        rows = step(page, __shfl_sync(ALL_LANES, first_row, symbol), symbol, rows, rows.low < rows.high);
    }
    if (query < count && (threadIdx.x & (LANES_PER_QUERY - 1)) == 0) found[query] = {rows.low, rows.high};
}

// Intervals (found: low, high) of patterns[offsets[i], offsets[i + 1]), codes of a byte; see fm_index/cpu.py: intervals.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) search_patterns(
    Page page, const u8* patterns, const i64* offsets, i64 count, longlong2* found) {
    u32 query = query_of_thread();
    u32 first_row = (u32)page.C[threadIdx.x & 3];
    i64 start = 0, position = 0;
    Rows rows = {0, 0};
    if (query < count) {
        start = offsets[query];
        position = offsets[query + 1];
        bool unknown = false;
        for (i64 i = start; i < position; i++) unknown |= patterns[i] > 3;
        if (unknown) {
            position = start;
        } else if (position - start < page.prefix_length) {
            rows.high = (u32)page.C[4];
        } else {
            u32 kmer = 0;
            for (i64 i = position - page.prefix_length; i < position; i++) kmer = 4 * kmer + patterns[i];
            rows = {page.prefix_table[2 * kmer], page.prefix_table[2 * kmer + 1]};
            position -= page.prefix_length;
        }
    }
    while (true) {
        bool active = position > start && rows.low < rows.high;
        if (!goes_on(active)) break;
        if (active) position--;
        int symbol = active ? patterns[position] : 0;
        u32 first = SHARE_LOAD ? __shfl_sync(ALL_LANES, first_row, symbol) : (u32)page.C[symbol];
        rows = step(page, first, symbol, rows, active);
    }
    if (query < count && (threadIdx.x & (LANES_PER_QUERY - 1)) == 0) found[query] = {rows.low, rows.high};
}

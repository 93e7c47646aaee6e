// Steps of seeding a read on a card, one thread per seed: the twins of seeding/steps_cpu.py.
// By -D from quire.algorithms.seeding: SEED_LENGTH, MAXIMUM_SEEDS, DIAGONAL_BIAS, RAREST_LIMIT, FEW_HITS,
// RAREST_LIMIT_BESIDE, DEPTH_COUNT and PACKED_DEPTHS (a byte for each of DEPTHS, the first in the lowest bits).
#pragma once
#include "quire/algorithms/fm_index/fm_index.cuh"
#include "quire/algorithms/seeding/seed_positions.cuh"
#include "quire/reads/reads.cuh"
#include "quire/sequence/words.cuh"

constexpr i64 DIRECT_ROWS = 4;      // rows of an interval that may be compared with the text
constexpr i32 TABLE_OF_ROWS = 16;   // 4^16 is more than any page has rows
constexpr u64 EVEN_BITS = 0x5555555555555555ull;

static_assert(DEPTH_COUNT <= 8, "PACKED_DEPTHS has a byte for each depth");

__device__ __forceinline__ i32 depth_of_level(i32 level) { return (i32)(PACKED_DEPTHS >> (8 * level) & 255); }

// One seed of a read.
struct Seed {
    i32 end;        // in the oriented read, exclusive
    i32 longest;    // largest depth: to the read's begin, an N, or the deepest level
    u64 near, far;  // its last 32 bases and the 32 before them, as returned by bases_before

    // Code of the next base of a seed that is `depth` bases deep.
    __device__ __forceinline__ i32 symbol(i32 depth) const {
        return (i32)((depth < 32 ? near : far) >> (62 - 2 * (depth & 31))) & 3;
    }
};

// `index` counts the seeds of a read on both strands; each strand has half of them.
__device__ __forceinline__ Seed seed_of_read(const Reads& reads, i64 read, i32 index, i32 seeds, i32 stride) {
    i32 strand = index >= seeds >> 1, ordinal = strand ? index - (seeds >> 1) : index;
    const u64* packed = reads.packed_of(strand, read);
    Seed seed;
    seed.end = seed_end(ordinal, (i32)reads.length(read), stride);
    seed.near = bases_before(packed, seed.end);
    seed.far = bases_before(packed, seed.end - 32);
    i32 deepest = depth_of_level(DEPTH_COUNT - 1);
    seed.longest = seed.end < deepest ? seed.end : deepest;
    if (reads.ambiguous[read]) {
        const u8* last = reads.codes_of(strand, read) + seed.end - 1;
        i32 clear = 0;
        while (clear < seed.longest && last[-clear] <= 3) clear++;
        seed.longest = clear;
    }
    return seed;
}

// Seeds of the batch: those of read r have offsets[r] <= index < offsets[r + 1], strand 0 first.
struct Seeds {
    const i64* offsets;
    const i32* read;  // of each seed
    i64 stride;
    i64 maximum_hits;

    __device__ __forceinline__ Seed get(const Reads& reads, i64 index) const {
        i64 owner = read[index], first = offsets[owner];
        return seed_of_read(reads, owner, (i32)(index - first), (i32)(offsets[owner + 1] - first), (i32)stride);
    }
};

// Interval of the last `prefix_length` bases of a seed.
__device__ __forceinline__ Interval first_interval(const Page& page, const Seed& seed) {
    u64 mirrored = __brevll(seed.near);  // first base most significant, but the two bits of each base exchanged
    u64 kmer = (mirrored >> 1 & EVEN_BITS) | (mirrored & EVEN_BITS) << 1;
    kmer &= (1ull << (2 * page.prefix_length)) - 1;
    uint2 rows = __ldg((const uint2*)page.prefix_table + kmer);
    return {(i64)rows.x, (i64)rows.y};
}

// True if comparing the rows with the text is cheaper than narrowing them further. A row costs about two sectors of the
// text. A step costs one or two and leaves a quarter of the rows that match by chance: it pays until the depth excludes
// chance.
__device__ __forceinline__ bool few(const Page& page, Interval rows, i32 depth) {
    i64 number = rows.high - rows.low;
    if (number == 1) return true;
    return number <= DIRECT_ROWS && (depth >= TABLE_OF_ROWS || __ldg(page.C + 4) >> (2 * depth) == 0);
}

// Takes backward steps until a seed is `wanted` deep, or its interval is empty or (direct) small.
__device__ __forceinline__ void narrow(const Page& page, const Seed& seed, i32 wanted, bool direct, Interval& rows,
                                       i32& depth) {
    while (depth < wanted && rows.low < rows.high && !(direct && few(page, rows, depth))) {
        rows = backward_step(page, seed.symbol(depth), rows);
        depth++;
    }
}

// Number of bases (at most 64) that agree to the left of a seed's end and of a position of the axis.
__device__ __forceinline__ i32 left_match(const Seed& seed, const u64* text, i64 axis_end, i32 wanted) {
    i32 equal = __clzll((i64)(seed.near ^ bases_before(text, axis_end))) >> 1;
    if (equal < 32 || wanted <= 32) return equal;
    return 32 + (__clzll((i64)(seed.far ^ bases_before(text, axis_end - 32))) >> 1);
}

// Result of the search for one seed in a word: a row (or position), number of hits, depth, and kind of rows.
struct Found {
    enum Kind {
        NOTHING = 0,
        MARKED = 1,       // to 15: the rows, of DIRECT_ROWS, whose bit is set
        ALL_ROWS = 16,    // `number` rows from `row` on
        OWNED_ROWS = 17,  // the same, without rows that belong to the next page
        POSITION = 18,    // one hit; `row` is the position of its suffix in the page
        FREQUENT = 19     // number + 1 hits, too many to be located
    };
    u64 word;

    static __device__ __forceinline__ Found make(i64 row, i64 number, i32 depth, i32 kind) {
        return {(u64)row | (u64)number << 32 | (u64)depth << 48 | (u64)kind << 56};
    }
    __device__ __forceinline__ i64 row() const { return (i64)(word & 0xFFFFFFFFull); }
    __device__ __forceinline__ i32 number() const { return (i32)(word >> 32 & 0xFFFF); }
    __device__ __forceinline__ i32 depth() const { return (i32)(word >> 48 & 0xFF); }
    __device__ __forceinline__ i32 kind() const { return (i32)(word >> 56); }
    __device__ __forceinline__ i32 hits() const { return kind() == FREQUENT ? 0 : number(); }
};

// A seed with more occurrences than may be located; beyond RAREST_LIMIT it is never needed.
__device__ __forceinline__ Found too_frequent(i64 occurrences, i32 depth) {
    if (occurrences > RAREST_LIMIT) return {0};
    return Found::make(0, occurrences - 1, depth, Found::FREQUENT);
}

// The rows of an interval `wanted` deep, `owned` of which (at most 65,535) belong to this page.
__device__ __forceinline__ Found owned_rows(Interval rows, i64 owned, i32 wanted) {
    if (owned == 0) return {0};
    return Found::make(rows.low, owned, wanted, owned == rows.high - rows.low ? Found::ALL_ROWS : Found::OWNED_ROWS);
}

// The rows of a small interval that the page owns and whose text matches to the left to depth `wanted`.
__device__ __forceinline__ Found matching_rows(const Page& page, const u64* text, const Seed& seed, i32 wanted,
                                               Interval rows, i32 depth) {
    u32 marked = 0;
    i64 position = 0;
    for (i32 i = 0; i < (i32)(rows.high - rows.low); i++) {
        i64 start = locate(page, rows.low + i), begin = start - (wanted - depth);
        if (begin < 0 || begin >= page.owned_length) continue;
        if (left_match(seed, text, page.start + start + depth, wanted) < wanted) continue;
        marked |= 1u << i;
        position = start;
    }
    if (__popc(marked) == 1) return Found::make(position, 1, depth, Found::POSITION);
    return marked ? Found::make(rows.low, __popc(marked), depth, (i32)marked) : Found{0};
}

// Index of the first row that belongs to the next page and is not before `row`.
__device__ __forceinline__ i64 first_unowned(const Page& page, i64 row) {
    i64 first = 0, last = page.unowned_count;
    while (first < last) {
        i64 middle = (first + last) >> 1;
        if (page.unowned_rows[middle] < row) first = middle + 1; else last = middle;
    }
    return first;
}

// Position in the page of the suffix of hit `i` of a found seed.
__device__ __forceinline__ i64 start_of_hit(const Page& page, Found found, i32 i) {
    i64 row = found.row();
    switch (found.kind()) {
        case Found::POSITION: return row;
        case Found::ALL_ROWS: row += i; break;
        case Found::OWNED_ROWS: {
            i64 next = first_unowned(page, row);
            row += i;
            while (next < page.unowned_count && page.unowned_rows[next] <= row) next++, row++;
            break;
        }
        default: {
            u32 marked = (u32)found.kind();
            for (; i > 0; i--) marked &= marked - 1;
            row += __ffs((i32)marked) - 1;
        }
    }
    return locate(page, row);
}

// One hit in the encoding of quire.algorithms.seeding.
__device__ __forceinline__ u64 encode_hit(i32 strand, i64 diagonal, i32 ordinal) {
    return (u64)strand << 63 | (u64)(diagonal + DIAGONAL_BIAS) << 8 | (u64)ordinal;
}

__device__ __forceinline__ i64 diagonal_of_hit(u64 hit) { return (i64)(hit << 1 >> 9) - DIAGONAL_BIAS; }

// Candidates and windows on a card, as in windows/cpu.py. By -D from windows/gpu.py: FIRST_SHIFT and
// ORIENTED_SHIFT.
#pragma once
#include "quire/reads/reads.cuh"
#include "quire/sequence/words.cuh"

constexpr u64 NO_CANDIDATE = ~0ull;  // sorts after all others
constexpr u32 NO_END = 15;           // four bits of `distances_of`

// As quire.algorithms.complete.windows.gpu.CardAxis lays it out.
struct Axis {
    const u64* text;
    const i64* ambiguous;  // [spans][2]
    i64 spans;
    const i64* islands;  // [island_count + 1]
    i64 island_count;
};

struct Candidate {
    u64 word;

    static __device__ __forceinline__ Candidate make(i64 oriented, i64 first, i64 last) {
        return {(u64)oriented << ORIENTED_SHIFT | (u64)first << FIRST_SHIFT | (u64)(last - first)};
    }
    __device__ __forceinline__ i64 oriented() const { return (i64)(word >> ORIENTED_SHIFT); }
    __device__ __forceinline__ i64 first() const {
        return (i64)(word >> FIRST_SHIFT & ((1ull << (ORIENTED_SHIFT - FIRST_SHIFT)) - 1));
    }
    __device__ __forceinline__ i64 last() const { return first() + (i64)(word & ((1ull << FIRST_SHIFT) - 1)); }
};

// Number of the island that holds a position of the axis.
__device__ __forceinline__ i64 island_of(const Axis& axis, i64 position) {
    i64 low = 0, high = axis.island_count;
    while (high - low > 1) {
        i64 middle = (low + high) >> 1;
        if (__ldg(axis.islands + middle) <= position) low = middle; else high = middle;
    }
    return low;
}

// The candidate of a read that would end at `end` without gaps, `base` being a base of the axis that it aligns.
__device__ __forceinline__ u64 candidate_at(const Axis& axis, i64 oriented, i64 base, i64 end, i64 differences) {
    i64 island = island_of(axis, base);
    i64 first = max(end - differences, axis.islands[island] + 1);
    i64 last = min(end + differences, axis.islands[island + 1]);
    return first > last ? NO_CANDIDATE : Candidate::make(oriented, first, last).word;
}

// The even bits of a word, side by side.
__device__ __forceinline__ u32 even_bits(u64 word) {
    word &= 0x5555555555555555ull;
    word = (word | word >> 1) & 0x3333333333333333ull;
    word = (word | word >> 2) & 0x0F0F0F0F0F0F0F0Full;
    word = (word | word >> 4) & 0x00FF00FF00FF00FFull;
    word = (word | word >> 8) & 0x0000FFFF0000FFFFull;
    return (u32)(word | word >> 16);
}

// 32 bases, a bit each: the low and the high bits of their codes, and a mark for bases that match nothing.
struct Bases {
    u32 low, high, unknown;
};

// Bases of the axis from `base` on; bases before the axis are arbitrary. `span` is the first span of ambiguous bases
// that ends after `base`, or an earlier one.
__device__ __forceinline__ Bases bases_of_axis(const Axis& axis, i64 base, i64 span) {
    u64 word = base >= 0 ? packed_word(axis.text, base) : base > -32 ? axis.text[0] << (-2 * base) : 0;
    Bases bases = {even_bits(word), even_bits(word >> 1), 0};
    for (; span < axis.spans && axis.ambiguous[2 * span] < base + 32; span++) {
        i64 begin = max(axis.ambiguous[2 * span] - base, 0ll), end = min(axis.ambiguous[2 * span + 1] - base, 32ll);
        if (begin < end) bases.unknown |= (u32)((1ull << end) - (1ull << begin));
    }
    return bases;
}

// Bases of a read from `first`, a multiple of 32, on.
__device__ __forceinline__ Bases bases_of_read(const Reads& reads, i64 strand, i64 read, i64 first) {
    u64 word = reads.packed_of(strand, read)[first >> 5];
    Bases bases = {even_bits(word), even_bits(word >> 1), 0};
    if (reads.ambiguous[read]) {
        const u8* codes = reads.codes_of(strand, read) + first;
        i64 left = min(reads.length(read) - first, 32ll);
        for (i32 i = 0; i < left; i++) bases.unknown |= (u32)(codes[i] > 3) << i;
    }
    return bases;
}

// Index of the first span of ambiguous bases that ends after a position.
__device__ __forceinline__ i64 first_span_after(const Axis& axis, i64 position) {
    i64 low = 0, high = axis.spans;
    while (low < high) {
        i64 middle = (low + high) >> 1;
        if (axis.ambiguous[2 * middle + 1] <= position) low = middle + 1; else high = middle;
    }
    return low;
}

// The distances of a window's ends (of the first in the lowest four bits), NO_END for more than DIFFERENCES.
template <i32 DIFFERENCES>
__device__ __forceinline__ u64 distances_of(const Reads& reads, const Axis& axis, Candidate window) {
    i64 read = window.oriented() >> 1, strand = window.oriented() & 1, length = reads.length(read);
    i32 count = (i32)(window.last() - window.first()) + 1;
    // Diagonal x begins at base + x of the axis, and ends at first - DIFFERENCES + x.
    i64 base = window.first() - DIFFERENCES - length;
    i64 before = axis.islands[island_of(axis, window.first() - 1)] - base;  // diagonals that begin before the island
    u32 alive = (1u << (count + 2 * DIFFERENCES)) - 1;
    if (before > 0) alive = before < 32 ? alive >> before << before : 0;
    u32 rows[DIFFERENCES + 1];
#pragma unroll
    for (i32 level = 0; level <= DIFFERENCES; level++) rows[level] = alive;
    i64 span = first_span_after(axis, base);
    Bases here = bases_of_axis(axis, base, span);
    for (i64 block = 0; block < length && alive; block += 32) {
        Bases next = bases_of_axis(axis, base + block + 32, span);
        Bases own = bases_of_read(reads, strand, read, block);
        i32 steps = (i32)min(length - block, 32ll);
        for (i32 i = 0; i < steps && alive; i++) {
            u32 other = __funnelshift_r(here.low, next.low, i) ^ (0u - (own.low >> i & 1));
            other |= __funnelshift_r(here.high, next.high, i) ^ (0u - (own.high >> i & 1));
            other |= __funnelshift_r(here.unknown, next.unknown, i) | (0u - (own.unknown >> i & 1));
            // From the row before with one difference less: a substitution, or an insertion of the read's base. From
            // this row with one less: a deletion of the axis' base.
            u32 old = rows[0];
            rows[0] &= ~other;
#pragma unroll
            for (i32 level = 1; level <= DIFFERENCES; level++) {
                u32 above = old;
                old = rows[level];
                rows[level] = (old & ~other) | above | above >> 1 | rows[level - 1] << 1;
            }
            alive = rows[DIFFERENCES];
        }
        here = next;
    }
    u64 distances = ~0ull;
    if (!alive) return distances;
#pragma unroll
    for (i32 level = DIFFERENCES; level >= 0; level--)
        for (i32 x = 0; x < count; x++)
            if (rows[level] >> (DIFFERENCES + x) & 1)
                distances = (distances & ~(15ull << 4 * x)) | (u64)level << 4 * x;
    return distances;
}

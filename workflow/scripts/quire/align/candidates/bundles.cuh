// Bundles of hits on close diagonals; see candidates.cu.
// -D: BUNDLE_BYTES, BUNDLE_GAP, DIAGONAL_BIAS, MAXIMUM_SEEDS, SEED_LENGTH, WIDEST_BUNDLE.
#pragma once
#include "quire/algorithms/seeding/seed_positions.cuh"
#include "quire/reference/reference.cuh"

static_assert(WIDEST_BUNDLE < 256, "diagonals of a bundle are kept as bytes from its lowest one on");
static_assert(MAXIMUM_SEEDS <= 64, "a bit for each seed of a read");

const u32 ALL_LANES = 0xFFFFFFFFu;
const i32 FAR = 1 << 20;  // more than the longest read

// Hits on close diagonals of one strand and island.
struct Bundle {
    u64 seeds;  // a bit for each seed of the read
    i64 low;    // lowest diagonal
    i32 place;  // 2 * island + strand
    u8 span;    // highest diagonal - lowest
    u8 peak;    // most frequent diagonal - lowest
};
static_assert(sizeof(Bundle) == BUNDLE_BYTES, "gpu.py allocates them");

// One read for the functions below.
struct Query {
    const u64* hits;
    i32 hit_count, length, stride;
};

__device__ __forceinline__ i64 diagonal_of(u64 hit) { return (i64)(hit << 1 >> 9) - DIAGONAL_BIAS; }

// End of a hit's seed on the axis.
__device__ __forceinline__ i64 last_of(u64 hit, const Query& query) {
    return diagonal_of(hit) + seed_end((i32)(hit & 255), query.length, query.stride);
}

// Island of a match that ends at `last`; -1 outside the axis and across the border of two islands.
__device__ __forceinline__ i32 island_of_match(const Reference& reference, i64 last) {
    if (last < SEED_LENGTH || last > reference.axis_length()) return -1;
    i64 island = island_of(reference, last - SEED_LENGTH);
    return last <= reference.island_axis[island + 1] ? (i32)island : -1;
}

// The bundle that begins with hit i in `island`. As the CPU's loop over its hits, but with distances from its lowest
// diagonal. Hits are sorted by strand and diagonal, so hits of different strands are far apart.
__device__ __forceinline__ Bundle gather_bundle(const Query& query, const Reference& reference, i32 i, i32 island) {
    u64 first = query.hits[i];
    i64 low = diagonal_of(first);
    // Bounds of a seed's end; a border of the island beyond the reach of any seed does not matter.
    i32 earliest = (i32)max(reference.island_axis[island] - low + SEED_LENGTH, (i64)-FAR);
    i32 latest = (i32)min(reference.island_axis[island + 1] - low, (i64)FAR);
    u64 seeds = 0;
    i32 high = 0, current = 0, peak = 0, run = 0, longest_run = 0;
    for (; i < query.hit_count; i++) {
        u64 hit = query.hits[i], distance = (hit >> 8) - (first >> 8);
        if (distance > WIDEST_BUNDLE || (i32)distance - high > BUNDLE_GAP) break;
        i32 diagonal = (i32)distance, last = diagonal + seed_end((i32)(hit & 255), query.length, query.stride);
        if (last < earliest || last > latest) {
            if (island_of_match(reference, low + last) < 0) continue;
            break;  // a hit of another island: a bundle begins there
        }
        high = diagonal;
        seeds |= 1ull << (hit & 63);
        run = diagonal == current ? run + 1 : 1;
        current = diagonal;
        if (run > longest_run) {
            longest_run = run;
            peak = diagonal;
        }
    }
    return {seeds, low, 2 * island + (i32)(first >> 63), (u8)high, (u8)peak};
}

// Groups the hits of a read, 32 at a time; returns the number of bundles. All lanes of a warp call it together.
//
// The previous hit determines whether a hit begins a bundle, unless a bundle becomes too wide: the ends of such bundles
// are found from the left, one per round in each chain of close hits. The lane of a bundle's first hit then walks along
// the bundle.
__device__ __forceinline__ i32 bundle_hits(const Query& query, const Reference& reference, Bundle* bundles) {
    int lane = threadIdx.x & 31;
    u32 before = (1u << lane) - 1;
    i32 bundled = 0;
    // Diagonal and place of the last hit in an island before these 32, and the lowest diagonal of its bundle.
    i64 last_diagonal = 0, last_low = 0;
    i32 last_place = -1;
    for (i32 base = 0; base < query.hit_count; base += 32) {
        i32 i = base + lane;
        u64 hit = i < query.hit_count ? query.hits[i] : 0;
        i64 diagonal = diagonal_of(hit);
        i32 island = i < query.hit_count ? island_of_match(reference, last_of(hit, query)) : -1;
        i32 place = island < 0 ? -1 : 2 * island + (i32)(hit >> 63);
        u32 inside = __ballot_sync(ALL_LANES, place >= 0);
        if (!inside) continue;
        int previous = inside & before ? 31 - __clz(inside & before) : 32;
        i64 previous_diagonal = __shfl_sync(ALL_LANES, diagonal, previous & 31);
        i32 previous_place = __shfl_sync(ALL_LANES, place, previous & 31);
        if (previous == 32) previous_diagonal = last_diagonal, previous_place = last_place;
        bool begins = place >= 0 && (place != previous_place || diagonal - previous_diagonal > BUNDLE_GAP);
        u32 first_hits = __ballot_sync(ALL_LANES, begins);
        i64 low;
        while (true) {
            u32 up_to_here = first_hits & (before | 1u << lane);
            int first = up_to_here ? 31 - __clz(up_to_here) : 0;
            low = __shfl_sync(ALL_LANES, diagonal, first);
            if (!up_to_here) low = last_low;
            u32 too_far = __ballot_sync(ALL_LANES, place >= 0 && diagonal - low > WIDEST_BUNDLE);
            if (!too_far) break;
            bool next = (too_far >> lane & 1) && !(too_far & before & ALL_LANES << first);
            first_hits |= __ballot_sync(ALL_LANES, next);
        }
        if (first_hits >> lane & 1)
            bundles[bundled + __popc(first_hits & before)] = gather_bundle(query, reference, i, island);
        bundled += __popc(first_hits);
        int final = 31 - __clz(inside);
        last_diagonal = __shfl_sync(ALL_LANES, diagonal, final);
        last_place = __shfl_sync(ALL_LANES, place, final);
        last_low = __shfl_sync(ALL_LANES, low, final);
    }
    return bundled;
}

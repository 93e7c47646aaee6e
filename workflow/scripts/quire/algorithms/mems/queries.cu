// Queries on a card: reverse complements, packing, runs of known bases and seeds; and the matches as they are returned.
// Nothing here reads an index. See mems/gpu.py.
#include "quire/algorithms/mems/mems.cuh"

constexpr u64 LOW_BITS = 0x0101010101010101ull;

// Reverse complements: one thread per base.
extern "C" __global__ void turn_codes(const u8* codes, const i64* offsets, i64 count, i64 length, u8* turned) {
    i64 base = thread_index();
    if (base >= length) return;
    i64 query = owner_of(offsets, count, base);
    u8 code = codes[base];
    turned[offsets[query] + offsets[query + 1] - 1 - base] = code > 3 ? 4 : (u8)(3 - code);
}

// Sets the bit of the first base of every query. One thread per query.
extern "C" __global__ void mark_borders(const i64* offsets, i64 count, i64 length, u32* borders) {
    i64 query = thread_index();
    if (query >= count || offsets[query] >= length) return;
    atomicOr(borders + (offsets[query] >> 5), 1u << (offsets[query] & 31));
}

// Packs 32 bases and sets the bits of the known ones. One thread per word, including the padding.
extern "C" __global__ void pack_codes(const u8* codes, i64 length, i64 word_count, u64* words, u32* known) {
    i64 word = thread_index();
    if (word >= word_count) return;
    u64 packed = 0;
    u32 clear = 0;
    for (int eight = 0; eight < 4; eight++) {
        i64 first = 32 * word + 8 * eight;
        u64 bytes = 4 * LOW_BITS;  // bases after the end are unknown
        if (first + 8 <= length) {
            bytes = *(const u64*)(codes + first);
        } else {
            for (i64 i = first; i < length; i++) {
                int shift = 8 * (int)(i - first);
                bytes = (bytes & ~(255ull << shift)) | (u64)codes[i] << shift;
            }
        }
        // The lowest bit of byte i becomes bit i; the two lowest bits of byte i become bits 2i and 2i + 1.
        u64 unknown = bytes >> 2 & LOW_BITS, codes_only = bytes & 3 * LOW_BITS;
        clear |= ((u32)((unknown * 0x0102040810204080ull) >> 56) ^ 255u) << (8 * eight);
        codes_only = (codes_only | codes_only >> 6) & 0x000F000F000F000Full;
        codes_only = (codes_only | codes_only >> 12) & 0x000000FF000000FFull;
        packed |= ((codes_only | codes_only >> 24) & 0xFFFF) << (16 * eight);
    }
    words[word] = packed;
    known[word] = clear;
}

// Bits of the first base and of the last base of each run, among 32. The arrays are a word longer than the bases.
__device__ __forceinline__ u32 begins(const u32* known, const u32* borders, i64 word) {
    u32 before = known[word] << 1 | (word ? known[word - 1] >> 31 : 0);
    return known[word] & (borders[word] | ~before);
}

__device__ __forceinline__ u32 ends(const u32* known, const u32* borders, i64 word) {
    u32 next = known[word] >> 1 | known[word + 1] << 31, border = borders[word] >> 1 | borders[word + 1] << 31;
    return known[word] & (border | ~next);
}

// One thread per word: counts the runs that begin and end in it.
extern "C" __global__ void count_runs(const u32* known, const u32* borders, i64 words, u32* begin_counts,
                                      u32* end_counts) {
    i64 word = thread_index();
    if (word >= words) return;
    begin_counts[word] = (u32)__popc(begins(known, borders, word));
    end_counts[word] = (u32)__popc(ends(known, borders, word));
}

// One thread per word: writes where runs begin and end in it.
extern "C" __global__ void write_runs(const u32* known, const u32* borders, i64 words, const i64* begin_places,
                                      const i64* end_places, longlong2* runs) {
    i64 word = thread_index();
    if (word >= words) return;
    i64 place = begin_places[word];
    for (u32 bits = begins(known, borders, word); bits; bits &= bits - 1)
        runs[place++].x = 32 * word + __ffs((i32)bits) - 1;
    place = end_places[word];
    for (u32 bits = ends(known, borders, word); bits; bits &= bits - 1) runs[place++].y = 32 * word + __ffs((i32)bits);
}

// One thread per run: counts its seeds.
extern "C" __global__ void count_seeds(const longlong2* runs, i64 run_count, i64 step, i64 min_length, i64* counts) {
    i64 run = thread_index();
    if (run >= run_count) return;
    i64 begins = runs[run].y - runs[run].x - min_length;  // the last base that a match may begin with
    counts[run] = begins < 0 ? 0 : (begins + step - 1) / step + 1;
}

// Number of seeds that begin before a position of the queries.
__device__ __forceinline__ i64 seeds_before(const Sequence& queries, const Seeds& seeds, i64 position) {
    i64 run = queries.run_at(position - 1), start = queries.runs[run].x;
    if (start >= position) return seeds.offsets[run];
    i64 inside = (position - start + seeds.step - 1) / seeds.step, all = seeds.offsets[run + 1] - seeds.offsets[run];
    return seeds.offsets[run] + (inside < all ? inside : all);
}

// A single thread: the seeds [first, end) of matches that start in [begin, end).
extern "C" __global__ void bound_seeds(Sequence queries, Seeds seeds, i64 begin, i64 end, i64* bounds) {
    if (thread_index() > 0) return;
    bounds[0] = seeds_before(queries, seeds, begin);
    bounds[1] = seeds_before(queries, seeds, end + seeds.step - 1);
}

// One thread per seed of a window: finds its run.
extern "C" __global__ void own_seeds(Sequence queries, Seeds seeds, i64 first, i64 count, u32* run) {
    i64 index = thread_index();
    if (index < count) run[index] = (u32)owner_of(seeds.offsets, queries.run_count, first + index);
}

// A single thread: the number of a window's first seeds that have at most `most` hits together (a first seed with more
// is taken alone), their hits, and the base at or after which the matches of all later seeds begin.
extern "C" __global__ void choose_seeds(Sequence queries, Seeds seeds, Window window, const i64* hits, i64 most,
                                        i64* chosen) {
    if (thread_index() > 0) return;
    i64 low = 1, high = window.count;
    while (low < high) {
        i64 middle = (low + high + 1) >> 1;
        if (hits[middle] <= most) low = middle; else high = middle - 1;
    }
    chosen[0] = low;
    chosen[1] = hits[low];
    chosen[2] = seed_of(queries, seeds, window, low - 1).position + 1;
}

// Finds the ends of matches that were compared in part. One warp per 32 matches compares 1,024 bases at a time.
extern "C" __global__ void lengthen_matches(Sequence queries, Sequence text, Seeds seeds, Window window, Listed listed,
                                            i64 count) {
    i64 match = thread_index(), first = match & ~31ll;
    i64* lengths = listed.lengths;
    int lane = threadIdx.x & 31;
    if (first >= count) return;
    u32 open = __ballot_sync(~0u, match < count && lengths[match < count ? match : first] < 0);
    for (; open; open &= open - 1) {
        i64 mine = first + __ffs((i32)open) - 1;
        Place place = place_of(seeds, listed, mine);
        Seed seed = seed_of(queries, seeds, window, place.index);
        i64 start = seed.position - place.left, length = -lengths[mine];
        i64 most = seed.run_end - start, axis_end = text.runs[text.run_at(place.axis)].y;
        if (most > axis_end - place.axis) most = axis_end - place.axis;
        u32 differing = 0;
        while (length < most && !differing) {
            i64 at = length + 32 * lane;
            u64 difference = 0;
            if (at < most)
                difference = packed_word(queries.words, start + at) ^ packed_word(text.words, place.axis + at);
            differing = __ballot_sync(~0u, difference != 0);
            int where = differing ? __ffs((i32)differing) - 1 : 0;
            i64 equal = __shfl_sync(~0u, (__ffsll((i64)difference) - 1) >> 1, where);
            length += differing ? 32 * where + equal : 1024;
        }
        if (lane == 0) lengths[mine] = length < most ? length : most;
    }
}

// Layout of quire.algorithms.mems.Matches.
struct Matches {
    i64 *start, *axis, *length;
};

// One thread per match: writes the sorted matches. Match i is the listed match order[i].
extern "C" __global__ void give_matches(Sequence queries, Seeds seeds, Window window, Listed listed, const i64* order,
                                        i64 count, Matches matches) {
    i64 match = thread_index();
    if (match >= count) return;
    Place place = place_of(seeds, listed, order[match]);
    matches.start[match] = seed_of(queries, seeds, window, place.index).position - place.left;
    matches.axis[match] = place.axis;
    matches.length[match] = listed.lengths[order[match]];
}

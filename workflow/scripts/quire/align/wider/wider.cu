// Wider bands: the twin of quire/align/wider/cpu.py; see quire/align/wider/__init__.py for the rules.
//
// -D: BAND_STEP, END_BONUS, GAP_EXTEND, GAP_OPEN, LARGEST_GAP, MATCH, MISMATCH, NEAR_BEST, OUTER_BASES,
// OUTER_DIFFERENCES, SHORTEST_CLIP, SHORTEST_SCORE.
#include "quire/algorithms/extension/jobs.cuh"
#include "quire/reads/reads.cuh"
#include "quire/sequence/words.cuh"

constexpr u64 PAIRS = 0x5555555555555555ull, OUTER = PAIRS >> (64 - 2 * OUTER_BASES);
constexpr i64 NONE = -(1ll << 62);  // no diagonal

// A clipped end of a read (its words on one strand, `length` bases): `clip` bases at its begin or end. `own` is the
// diagonal of the alignment there, [low, high] the band, [axis_low, axis_high) the part of the axis that may be used.
struct End {
    const u64* packed;
    i64 length, clip;
    bool is_begin;
    i64 own, low, high, axis_low, axis_high;
};

// One bit, the lower one of two, for each base that differs between two words.
__device__ __forceinline__ u64 differing_bases(u64 a, u64 b) { return ((a ^ b) | (a ^ b) >> 1) & PAIRS; }

// Value of a diagonal for a clipped end; 0 if too few bases lie on it.
__device__ __forceinline__ i64 value_of(const End& end, const u64* text, i64 diagonal) {
    i64 gap = diagonal < end.own ? end.own - diagonal : diagonal - end.own;
    i64 matched = (diagonal < end.own) == end.is_begin ? end.clip : end.clip - gap;
    i64 begin = end.is_begin ? 0 : end.length - matched;
    if (matched < OUTER_BASES) return 0;
    if (diagonal + begin < end.axis_low || diagonal + begin + matched > end.axis_high) return 0;
    i64 differing = 0;
    for (i64 place = begin; place < begin + matched; place += 32) {
        u64 difference = differing_bases(packed_word(end.packed, place), packed_word(text, diagonal + place));
        i64 rest = begin + matched - place;
        if (rest < 32) difference &= (1ull << 2 * rest) - 1;
        differing += __popcll(difference);
    }
    return matched * MATCH - (MATCH - MISMATCH) * differing + END_BONUS + GAP_OPEN + gap * GAP_EXTEND;
}

// Diagonal of a clipped end if its value is at least `least`, else NONE.
__device__ __noinline__ i64 end_diagonal(const End& end, const u64* text, i64 least) {
    i64 found = NONE, most = least - 1;
    if (end.clip < SHORTEST_CLIP || end.clip * MATCH + END_BONUS + GAP_OPEN + GAP_EXTEND <= most) return found;
    i64 outer = end.is_begin ? 0 : end.length - OUTER_BASES;
    u64 bases = packed_word(end.packed, outer);
    i64 first = max(end.own - LARGEST_GAP, end.axis_low - outer);
    i64 last = min(end.own + LARGEST_GAP, end.axis_high - outer - OUTER_BASES);
    for (i64 diagonal = first; diagonal <= last; diagonal++) {
        if (diagonal >= end.low && diagonal <= end.high) {
            diagonal = end.high;
            continue;
        }
        u64 difference = differing_bases(bases, packed_word(text, diagonal + outer)) & OUTER;
        if (__popcll(difference) > OUTER_DIFFERENCES) continue;
        i64 value = value_of(end, text, diagonal);
        if (value > most) found = diagonal, most = value;
    }
    return found;
}

// One thread per alignment: whether it is realigned, and the first and last diagonal of its wider band.
// best: [reads][2], best scores of each read on the primary assembly and on alternate contigs.
extern "C" __global__ void find_wider(ExtensionJobs jobs, Extensions found, i64 count, Reads reads, const u64* text,
                                      const i32* best, u8* chosen, i64* lows, i64* highs) {
    i64 i = thread_index();
    if (i >= count) return;
    chosen[i] = 0;
    i64 read = jobs.read[i], length = reads.length(read), begin = found.read_begin[i], end = found.read_end[i];
    i64 score = found.score[i];
    if (score < SHORTEST_SCORE || max(begin, length - end) < SHORTEST_CLIP) return;
    i64 least = max((i64)best[2 * read] - NEAR_BEST - score, (i64)1);
    i64 low = jobs.diagonal_low[i], high = jobs.diagonal_high[i];
    high = low + (high - low + BAND_STEP) / BAND_STEP * BAND_STEP - 1;  // as extension widens it
    End clipped = {reads.packed_of(jobs.strand[i], read), length, begin, true, found.axis_begin[i] - begin, low, high,
                   jobs.axis_low[i], jobs.axis_high[i]};
    i64 diagonal = end_diagonal(clipped, text, least);
    clipped.clip = length - end;
    clipped.is_begin = false;
    clipped.own = found.axis_end[i] - end;
    i64 other = end_diagonal(clipped, text, least);
    chosen[i] = diagonal != NONE || other != NONE;
    if (diagonal != NONE) low = min(low, diagonal), high = max(high, diagonal);
    if (other != NONE) low = min(low, other), high = max(high, other);
    lows[i] = low;
    highs[i] = high;
}

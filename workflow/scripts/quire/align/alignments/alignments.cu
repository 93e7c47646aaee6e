// The alignments of a batch: the twin of quire/align/alignments/cpu.py, and of unique_template_lengths.
//
// -D: END_BONUS, LEAST_SCORE, LONGEST_INSERT, SHORT_READ_MARGIN, UNIQUE_DENOMINATOR, UNIQUE_NUMERATOR.
#include "quire/algorithms/extension/jobs.cuh"
#include "quire/align/alignments/alignments.cuh"
#include "quire/device/ragged.cuh"
#include "quire/reads/reads.cuh"
#include "quire/reference/reference.cuh"
#include "quire/sequence/ties/ties.cuh"

// Extensions with the read and strand of their jobs, round after round.
struct Found {
    i32* read;
    u8* strand;
    i32 *score, *read_begin, *read_end;
    i64 *axis_begin, *axis_end, *cigar_begin;
    i32* cigar_length;
    i64 count;
};

// One thread per extension and per operation of a round: copies them to `found` from extension `begin` on, and to
// `cigar` from operation `cigar_begin` on.
extern "C" __global__ void append_round(ExtensionJobs jobs, Extensions round, i64 count, i64 operations, i64 begin,
                                        i64 cigar_begin, Found found, u32* cigar) {
    i64 i = thread_index();
    if (i < operations) cigar[cigar_begin + i] = round.cigar[i];
    if (i >= count) return;
    i64 target = begin + i;
    found.read[target] = jobs.read[i];
    found.strand[target] = jobs.strand[i];
    found.score[target] = round.score[i];
    found.read_begin[target] = round.read_begin[i];
    found.read_end[target] = round.read_end[i];
    found.axis_begin[target] = round.axis_begin[i];
    found.axis_end[target] = round.axis_end[i];
    found.cigar_begin[target] = cigar_begin + round.cigar_begin[i];
    found.cigar_length[target] = round.cigar_length[i];
}

// True if an extension is kept; END_BONUS is added to the score of an extension of the whole read.
__device__ __forceinline__ bool is_good(const Found& found, i64 i, i64 length) {
    i64 least = length - SHORT_READ_MARGIN, score = found.score[i];
    if (found.read_begin[i] == 0 && found.read_end[i] == length) score += END_BONUS;
    return score >= (least < LEAST_SCORE ? least : LEAST_SCORE);
}

// One thread per extension: counts the good ones of each read, and links each run of extensions of a read into the list
// of the read: heads[read] (-1: none) and next[first extension of the run]. The order of the runs is undefined; the
// order of a read's alignments does not depend on it (goes_before is a total order).
extern "C" __global__ void link_runs(Found found, Reads reads, i32* heads, i32* next, i32* counts) {
    i64 i = thread_index();
    if (i >= found.count) return;
    i32 read = found.read[i];
    if (is_good(found, i, reads.length(read))) atomicAdd(&counts[read], 1);
    if (i == 0 || found.read[i - 1] != read) next[i] = atomicExch(&heads[read], (i32)i);
}

// True if extension a (given with its score, axis position and hash) precedes extension b of the same read: as _before
// on the CPU; of equal extensions, the one that was found first precedes.
__device__ __forceinline__ bool goes_before(const Found& found, const Reference& reference, i32 a, i32 score,
                                            i64 position, u64 hash, i32 b, u64 name_hash) {
    if (reference.alternate) {
        bool alternate = on_alternate(reference, position), other_alternate = on_alternate(reference, found.axis_begin[b]);
        if (alternate != other_alternate) return other_alternate;
    }
    i32 other_score = found.score[b];
    if (score != other_score) return score > other_score;
    i64 other_position = found.axis_begin[b];
    u64 other_hash = tie_hash(name_hash, other_position);
    if (hash != other_hash) return hash < other_hash;
    if (position != other_position) return position < other_position;
    if (found.strand[a] != found.strand[b]) return found.strand[a] < found.strand[b];
    return a < b;
}

// True if two extensions of a read begin or end at the same place.
__device__ __forceinline__ bool is_repeat(const Found& found, i32 a, i32 b) {
    if (found.strand[a] != found.strand[b]) return false;
    if (found.axis_begin[a] == found.axis_begin[b] && found.read_begin[a] == found.read_begin[b]) return true;
    return found.axis_end[a] == found.axis_end[b] && found.read_end[a] == found.read_end[b];
}

// One thread per read: writes the indices of its good extensions, best first and without duplicates, from
// order[offsets[read]] on, and their number. Extensions are nearly sorted, as candidates are, so insertion is fast.
extern "C" __global__ void order_by_read(Found found, Reads reads, Reference reference, const i32* heads,
                                         const i32* next, const i64* offsets, i32* order, i32* kept) {
    i64 read = thread_index();
    if (read >= reads.count) return;
    i32* mine = order + offsets[read];
    i64 length = reads.length(read);
    u64 name_hash = reads.name_hash[read];
    i32 used = 0;
    for (i32 run = heads[read]; run >= 0; run = next[run]) {
        for (i32 i = run; i < found.count && found.read[i] == read; i++) {
            if (!is_good(found, i, length)) continue;
            i32 score = found.score[i];
            i64 position = found.axis_begin[i];
            u64 hash = tie_hash(name_hash, position);
            i32 place = used++;
            for (; place > 0 && goes_before(found, reference, i, score, position, hash, mine[place - 1], name_hash);
                 place--)
                mine[place] = mine[place - 1];
            mine[place] = i;
        }
    }
    i32 different = 0;
    for (i32 k = 0; k < used; k++) {
        bool repeated = false;
        for (i32 j = 0; j < different && !repeated; j++) repeated = is_repeat(found, mine[k], mine[j]);
        if (!repeated) mine[different++] = mine[k];
    }
    kept[read] = different;
}

// Rows of Alignments that are being written (all fields of quire.align.model.Alignments but the first and the last).
struct Rows {
    i32* read;
    u8* strand;
    i32 *score, *read_begin, *read_end;
    i64 *axis_begin, *axis_end;
    i32* contig;
    i64 *position, *cigar_begin;
    i32* cigar_length;
};

// One thread per alignment: copies an extension to its row, and determines its contig.
// order_offsets: where a read's extensions begin in `order`; offsets: where its rows begin; both [reads + 1].
extern "C" __global__ void gather(Found found, Reference reference, const i32* order, const i64* order_offsets,
                                  const i64* offsets, i64 reads, i64 alignments, Rows rows) {
    i64 target = thread_index();
    if (target >= alignments) return;
    i64 owner = owner_of(offsets, reads, target);
    i64 i = order[order_offsets[owner] + target - offsets[owner]];
    i64 begin = found.axis_begin[i], island = island_of(reference, begin);
    rows.read[target] = (i32)owner;
    rows.strand[target] = found.strand[i];
    rows.score[target] = found.score[i];
    rows.read_begin[target] = found.read_begin[i];
    rows.read_end[target] = found.read_end[i];
    rows.axis_begin[target] = begin;
    rows.axis_end[target] = found.axis_end[i];
    rows.contig[target] = reference.island_contig[island];
    rows.position[target] = reference.island_start[island] + begin - reference.island_axis[island];
    rows.cigar_begin[target] = found.cigar_begin[i];
    rows.cigar_length[target] = found.cigar_length[i];
}

// One thread per extension: raises the best score of its read on the primary assembly or on alternate contigs;
// best[reads][2] is initially 0.
extern "C" __global__ void take_best(Found found, Reads reads, Reference reference, i32* best) {
    i64 i = thread_index();
    if (i >= found.count) return;
    i32 read = found.read[i];
    if (!is_good(found, i, reads.length(read))) return;
    bool alternate = reference.alternate && on_alternate(reference, found.axis_begin[i]);
    atomicMax(&best[2 * read + alternate], found.score[i]);
}

// One thread per read: determines whether the read takes part in a later pass.
extern "C" __global__ void find_poor(const i32* best, Reads reads, i64 numerator, i64 denominator,
                                     i64 shortest_clear, i64 shortest_certain, i64 all_versions, u8* poor) {
    i64 read = thread_index();
    if (read >= reads.count) return;
    // A read that was placed only on alternate contigs still misses its place on the primary assembly.
    i64 length = reads.length(read), score = best[2 * read];
    bool is_short = length < shortest_certain || (length < shortest_clear && score < length);
    bool has_version = all_versions && best[2 * read + 1] > 0;
    poor[read] = score * denominator < length * numerator || is_short || has_version;
}

// True if a read has an alignment, and no second one with a similar score.
__device__ __forceinline__ bool is_unique(const Alignments& alignments, i64 read) {
    i64 first = alignments.offsets[read], count = alignments.offsets[read + 1] - first;
    if (count < 2) return count == 1;
    return (i64)alignments.score[first + 1] * UNIQUE_DENOMINATOR <= (i64)alignments.score[first] * UNIQUE_NUMERATOR;
}

// One thread per pair: writes 4 * template length + orientation; -1 unless both mates are unique, on one contig.
extern "C" __global__ void unique_lengths(Alignments alignments, Reads reads, i64 pairs, i64* lengths) {
    i64 pair = thread_index();
    if (pair >= pairs) return;
    lengths[pair] = -1;
    if (!is_unique(alignments, pair) || !is_unique(alignments, pairs + pair)) return;
    i64 first = alignments.offsets[pair], second = alignments.offsets[pairs + pair];
    if (alignments.contig[first] != alignments.contig[second]) return;
    i64 distance = mates_distance(alignments, first, second, reads.length(pair), reads.length(pairs + pair));
    i64 length = absolute(distance);
    if (length > 0 && length <= LONGEST_INSERT)
        lengths[pair] = length << 2 | orientation_of(alignments.strand[first], alignments.strand[second], distance);
}

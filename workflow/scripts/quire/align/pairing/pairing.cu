// Choice of the reported alignments: the twin of quire/align/pairing/cpu.py, in three kernels with one thread per read,
// per pair and per read. -D: those of mapping_quality.cuh and standing.cuh, MOST_CANDIDATES, MOST_SUPPLEMENTARY,
// NEAR_BEST, PAIR_BONUS_LIMIT, SHORTEST_CERTAIN, SIMPLE_WORD, SIMPLE_SHARE, UNPAIRED_COST, WEIGHT_ALONE, WEIGHT_PROPER,
// WEIGHT_SUPPORTED.
#include "quire/align/alignments/alignments.cuh"
#include "quire/align/alignments/standing.cuh"
#include "quire/align/pairing/mapping_quality.cuh"
#include "quire/align/pairing/selection.cuh"
#include "quire/reads/reads.cuh"
#include "quire/sequence/ties/ties.cuh"
#include "quire/sequence/words.cuh"

// For each alignment: the better one that overlaps it on the read (-1: none). If there is none: the best score of the
// alignments that it overlaps, and the number of these that are nearly as good.
struct Competition {
    i64* overlapped_by;
    i32* suboptimal_score;
    i32* near_best_count;
    i64* five_prime_end;  // on the contig, clips included; template lengths are differences of these
};

// Marks of alternate contigs: [contigs]; null if there are none.
struct Contigs {
    const u8* alternate;

    __device__ __forceinline__ bool is_alternate(i32 contig) const { return alternate && alternate[contig]; }
};

// End of a read's alignments on the primary assembly, which come first.
__device__ __forceinline__ i64 primary_end(const Alignments& alignments, const Contigs& contigs, i64 first, i64 last) {
    while (last > first && contigs.is_alternate(alignments.contig[last - 1])) last--;
    return last;
}

// Part of the read that an alignment covers, in the direction as read.
__device__ __forceinline__ void part_as_read(const Alignments& alignments, i64 i, i64 length, i64& begin, i64& end) {
    begin = alignments.read_begin[i];
    end = alignments.read_end[i];
    if (alignments.strand[i] == 1) {
        i64 forward_begin = begin;
        begin = length - end;
        end = length - forward_begin;
    }
}

// True if two parts of a read share at least half of the shorter one.
__device__ __forceinline__ bool overlap(i64 begin_a, i64 end_a, i64 begin_b, i64 end_b) {
    i64 shared = (end_a < end_b ? end_a : end_b) - (begin_a > begin_b ? begin_a : begin_b);
    i64 shorter = end_a - begin_a < end_b - begin_b ? end_a - begin_a : end_b - begin_b;
    return 2 * shared >= shorter;
}

// 1 if a read shorter than SHORTEST_CERTAIN has at least MOST_CANDIDATES alignments, else 0. Only alignments that
// compete with its alignment i count: if i is on the primary assembly, none on alternate contigs.
__device__ __forceinline__ int has_many_places(const Alignments& alignments, const Contigs& contigs, i64 i,
                                               i64 length) {
    if (length >= SHORTEST_CERTAIN) return 0;
    i64 read = alignments.read[i], first = alignments.offsets[read], last = alignments.offsets[read + 1];
    if (!contigs.is_alternate(alignments.contig[i])) last = primary_end(alignments, contigs, first, last);
    return last - first >= MOST_CANDIDATES;
}

__device__ __forceinline__ i64 quality_of(const Alignments& alignments, const Contigs& contigs,
                                          const QualityTables& tables, i64 i, i64 length,
                                          i64 suboptimal_score, i64 near_best_count) {
    return single_quality(tables, alignments.score[i], suboptimal_score, near_best_count,
                          alignments.read_end[i] - alignments.read_begin[i],
                          alignments.axis_end[i] - alignments.axis_begin[i],
                          has_many_places(alignments, contigs, i, length));
}

__device__ __forceinline__ bool overlap_on_read(const Alignments& alignments, i64 i, i64 j, i64 length) {
    i64 begin_i, end_i, begin_j, end_j;
    part_as_read(alignments, i, length, begin_i, end_i);
    part_as_read(alignments, j, length, begin_j, end_j);
    return overlap(begin_i, end_i, begin_j, end_j);
}

// Records that the better alignment j overlaps alignment i.
__device__ __forceinline__ void yield_to(const Alignments& alignments, const Competition& competition, i64 i, i64 j) {
    i32 score = alignments.score[i];
    competition.overlapped_by[i] = j;
    if (competition.suboptimal_score[j] == 0) competition.suboptimal_score[j] = score;
    if (alignments.score[j] - score <= NEAR_BEST) competition.near_best_count[j]++;
}

// The better one of the first elements of two sorted lists, one of which may be empty.
__device__ __forceinline__ i64 next_by_score(const i32* score, i64 a, i64 end_a, i64 b, i64 end_b) {
    return b == end_b || (a < end_a && score[a] >= score[b]) ? a : b;
}

// Lets all alignments of a read, on any contigs, compete by score; of equal ones those on the primary assembly first.
__device__ __forceinline__ void compete_by_score(const Alignments& alignments, const Competition& competition,
                                                 i64 first, i64 primary_end, i64 last, i64 length) {
    i64 next_primary = first, next_alternate = primary_end;
    while (next_primary < primary_end || next_alternate < last) {
        i64 i = next_by_score(alignments.score, next_primary, primary_end, next_alternate, last);
        i64 primary = first, other = primary_end;
        while (primary < next_primary || other < next_alternate) {
            i64 j = next_by_score(alignments.score, primary, next_primary, other, next_alternate);
            if (competition.overlapped_by[j] < 0 && overlap_on_read(alignments, i, j, length)) {
                yield_to(alignments, competition, i, j);
                break;
            }
            if (j < primary_end) primary++;
            else other++;
        }
        if (i < primary_end) next_primary++;
        else next_alternate++;
    }
}

// One thread per read: lets its alignments compete (those on the primary assembly among themselves, those on alternate
// contigs with all), and chooses the best one as if it had no mate.
extern "C" __global__ void compete(Alignments alignments, Reads reads, Contigs contigs, QualityTables tables,
                                   Competition competition, Selection selection) {
    i64 read = thread_index();
    if (read >= reads.count) return;
    i64 first = alignments.offsets[read], last = alignments.offsets[read + 1], length = reads.length(read);
    i64 end = primary_end(alignments, contigs, first, last);
    if (end == first || end == last) {
        end = last;
    } else {
        for (i64 i = first; i < last; i++) {
            competition.overlapped_by[i] = -1;
            competition.suboptimal_score[i] = competition.near_best_count[i] = 0;
        }
        compete_by_score(alignments, competition, first, end, last, length);
        for (i64 i = end; i < last; i++) competition.five_prime_end[i] = five_prime_end(alignments, i, length);
    }
    for (i64 i = first; i < end; i++) {
        competition.five_prime_end[i] = five_prime_end(alignments, i, length);
        competition.overlapped_by[i] = -1;
        competition.suboptimal_score[i] = competition.near_best_count[i] = 0;
        for (i64 j = first; j < i; j++) {
            if (competition.overlapped_by[j] >= 0 || !overlap_on_read(alignments, i, j, length)) continue;
            yield_to(alignments, competition, i, j);
            break;
        }
    }
    bool mapped = first < last;
    selection.primary[read] = mapped ? first : -1;
    i32 suboptimal_score = mapped ? competition.suboptimal_score[first] : 0;
    selection.quality[read] =
        mapped ? (u8)quality_of(alignments, contigs, tables, first, length, suboptimal_score,
                                competition.near_best_count[first])
               : 0;
    selection.suboptimal_score[read] = suboptimal_score;
    selection.proper[read] = 0;
}

// The score of a pair at the most probable distance.
__device__ __forceinline__ i64 most_of_pair(const Alignments& alignments, i64 i, i64 j) {
    return (i64)alignments.score[i] + alignments.score[j];
}

// True if alignments i and j of the first and the second mate are a proper pair; `score` is their score minus the
// cost of their distance.
__device__ __forceinline__ bool scored_pair(const Alignments& alignments, const Competition& competition,
                                            const ProperLengths& proper, i64 i, i64 j, i64& score) {
    if (alignments.contig[i] != alignments.contig[j]) return false;
    i64 distance = competition.five_prime_end[j] - competition.five_prime_end[i];
    if (alignments.strand[i] == 1) distance = -distance;
    int orientation = orientation_of(alignments.strand[i], alignments.strand[j], distance);
    i64 length = absolute(distance);
    if (!proper.hold(orientation, length)) return false;
    i64 cost = proper.penalties[proper.first[orientation] + length - proper.low[orientation]];
    score = (i64)alignments.score[i] + alignments.score[j] - cost;
    return true;
}

// True if at least MOST_CANDIDATES alignments of a read are as good as the chosen one: there may be more. If this holds
// for both mates, other pairs may be as good as theirs.
__device__ __forceinline__ bool is_crowded(const Alignments& alignments, i64 first, i64 last, i64 chosen) {
    i32 as_good = 0;
    for (i64 i = first; i < last; i++) as_good += alignments.score[i] >= alignments.score[chosen];
    return as_good >= MOST_CANDIDATES;
}

// True if fewer than one in SIMPLE_SHARE of the words of bases [begin, end) are different (N counts as A, as in `codes &
// 3`). The bases of a word are in the opposite order as on the CPU, which does not change the count.
__device__ __forceinline__ bool is_simple(const u64* packed, i64 begin, i64 end) {
    const int kinds = 1 << (2 * SIMPLE_WORD), words_at_once = 32 - SIMPLE_WORD + 1;
    u64 seen[kinds / 64];
#pragma unroll
    for (int part = 0; part < kinds / 64; part++) seen[part] = 0;
    i64 last = end - SIMPLE_WORD + 1;
    for (i64 from = begin; from < last; from += words_at_once) {
        u64 bases = packed_word(packed, from);
        int words = last - from < words_at_once ? (int)(last - from) : words_at_once;
        for (int i = 0; i < words; i++, bases >>= 2) {
            int word = (int)(bases & (kinds - 1));
            u64 bit = 1ull << (word & 63);
#pragma unroll
            for (int part = 0; part < kinds / 64; part++) seen[part] |= part == word >> 6 ? bit : 0;
        }
    }
    i64 different = 0;
#pragma unroll
    for (int part = 0; part < kinds / 64; part++) different += __popcll(seen[part]);
    return different * SIMPLE_SHARE < last - begin;
}

// True if the aligned part of a read is simple sequence.
__device__ __forceinline__ bool is_simple_alignment(const Alignments& alignments, const Reads& reads, i64 read, i64 i) {
    return is_simple(reads.packed_of(alignments.strand[i], read), alignments.read_begin[i], alignments.read_end[i]);
}

// Best score of a read that counts against a pair in which it has the chosen alignment. Simple sequence in another part
// of the read does not count: the poly-A that a sequencer reads after an adapter aligns somewhere.
__device__ __forceinline__ i64 telling_score(const Alignments& alignments, const Reads& reads,
                                          const Competition& competition, i64 read, i64 chosen) {
    i64 better = competition.overlapped_by[chosen], part = better < 0 ? chosen : better;
    for (i64 i = alignments.offsets[read]; i < part; i++)
        if (competition.overlapped_by[i] < 0 && !is_simple_alignment(alignments, reads, read, i))
            return alignments.score[i];
    return alignments.score[part];
}

// One thread per pair: chooses the alignments of two mates as a pair if the best proper pair outscores their best
// alignments. Alignments on alternate contigs form no pairs.
extern "C" __global__ void pair(Alignments alignments, Reads reads, Contigs contigs, QualityTables tables,
                                ProperLengths lengths, Competition competition,
                                Selection selection) {
    i64 read1 = thread_index(), read2 = reads.count / 2 + read1;
    if (read1 >= reads.count / 2) return;
    i64 first1 = alignments.offsets[read1], last1 = alignments.offsets[read1 + 1];
    i64 first2 = alignments.offsets[read2], last2 = alignments.offsets[read2 + 1];
    if (first1 == last1 || first2 == last2) return;
    last1 = primary_end(alignments, contigs, first1, last1);
    last2 = primary_end(alignments, contigs, first2, last2);
    bool off_primary = first1 == last1 || first2 == last2;  // a mate is only on alternate contigs
    u64 name_hash = reads.name_hash[read1], best_hash = 0;
    i64 best = -1, best1 = -1, best2 = -1, score;
    // Alignments are in the order of their scores, and no distance adds to a score: later pairs are worse than `best`.
    for (i64 i = first1; i < last1; i++) {
        for (i64 j = first2; j < last2; j++) {
            if (most_of_pair(alignments, i, j) < best) break;
            if (!scored_pair(alignments, competition, lengths, i, j, score) || score < best) continue;
            u64 rank = tie_hash(name_hash, alignments.axis_begin[i] + alignments.axis_begin[j]);
            if (score == best && rank >= best_hash) continue;
            best = score;
            best_hash = rank;
            best1 = i;
            best2 = j;
        }
    }
    if (best < 0 && !off_primary) return;
    i64 unpaired = (i64)alignments.score[first1] + alignments.score[first2] - UNPAIRED_COST;
    if (best <= unpaired && !off_primary)
        unpaired = telling_score(alignments, reads, competition, read1, best1) +
                   telling_score(alignments, reads, competition, read2, best2) - UNPAIRED_COST;
    if (best <= unpaired || off_primary) {
        bool proper = scored_pair(alignments, competition, lengths, first1, first2, score);
        selection.proper[read1] = selection.proper[read2] = proper;
        return;
    }
    // The second best pair (0: none), and the number of pairs that are nearly as good.
    i64 other = 0, count = 0;
    for (int round = 0; round < 2; round++) {
        for (i64 i = first1; i < last1; i++) {
            for (i64 j = first2; j < last2; j++) {
                i64 most = most_of_pair(alignments, i, j);
                if (round == 0 ? most <= other : other - most > NEAR_BEST) break;
                if ((i == best1 && j == best2) || !scored_pair(alignments, competition, lengths, i, j, score)) continue;
                if (round == 0) other = other > score ? other : score;
                else if (other - score <= NEAR_BEST) count++;
            }
        }
    }
    i64 pair_quality = raw_quality(best - (other > unpaired ? other : unpaired));
    if (count > 0) pair_quality -= count_cost(tables, count);
    int crowded = has_many_places(alignments, contigs, best1, reads.length(read1)) +
                  has_many_places(alignments, contigs, best2, reads.length(read2));
    pair_quality = lowered(pair_quality, crowded);
    if (is_crowded(alignments, first1, last1, best1) && is_crowded(alignments, first2, last2, best2)) pair_quality = 0;
    for (int mate = 0; mate < 2; mate++) {
        i64 read = mate == 0 ? read1 : read2, chosen = mate == 0 ? best1 : best2;
        i64 better = competition.overlapped_by[chosen];
        i64 competitor = better >= 0 ? alignments.score[better] : competition.suboptimal_score[chosen];
        i64 near_best_count = better >= 0 ? 0 : competition.near_best_count[chosen];
        i64 quality = quality_of(alignments, contigs, tables, chosen, reads.length(read), competitor,
                                 near_best_count);
        if (quality < pair_quality)
            quality = quality + PAIR_BONUS_LIMIT < pair_quality ? quality + PAIR_BONUS_LIMIT : pair_quality;
        selection.primary[read] = chosen;
        selection.quality[read] = (u8)quality;
        selection.suboptimal_score[read] = (i32)competitor;
        selection.proper[read] = 1;
    }
}

// One thread per read: drops an alignment that is too short to be reported without a mate, reduces the quality of
// simple sequence and of alignments of a small part of the read, and chooses supplementary alignments: the best ones of
// other parts of the read, with at most the quality of the primary one, and those on alternate contigs that are better
// than all alignments that they overlap, with their own quality.
extern "C" __global__ void complete_selection(Alignments alignments, Reads reads, Contigs contigs,
                                              QualityTables tables, Competition competition,
                                              Selection selection) {
    i64 read = thread_index();
    if (read >= reads.count) return;
    i64 first = alignments.offsets[read], last = alignments.offsets[read + 1], chosen = selection.primary[read];
    i64 used = read * MOST_SUPPLEMENTARY, full = used + MOST_SUPPLEMENTARY, length = reads.length(read);
    bool proper = selection.proper[read];
    if (chosen >= 0 && !proper && !stands_alone(alignments.score[chosen], length)) {
        // The first alignment on an alternate contig replaces it if that is good enough.
        chosen = primary_end(alignments, contigs, first, last);
        if (chosen == last || !stands_alone(alignments.score[chosen], length)) chosen = -1;
        i32 suboptimal_score = chosen < 0 ? 0 : competition.suboptimal_score[chosen];
        selection.primary[read] = chosen;
        selection.suboptimal_score[read] = suboptimal_score;
        selection.quality[read] = chosen < 0 ? 0
                                             : (u8)quality_of(alignments, contigs, tables, chosen, length,
                                                              suboptimal_score,
                                                              competition.near_best_count[chosen]);
    }
    i64 score = chosen >= 0 ? alignments.score[chosen] : 0, most = selection.quality[read];
    // A read that aligns well at a proper distance from its mate may be simple sequence.
    bool is_supported = proper && 4 * score >= 3 * length;
    if (chosen >= 0 && !is_supported && is_simple_alignment(alignments, reads, read, chosen)) most = 0;
    i64 weight = WEIGHT_ALONE;
    if (proper) {
        // Alignments of a proper pair are not dropped.
        i64 mate = (read + reads.count / 2) % reads.count, mate_score = alignments.score[selection.primary[mate]];
        weight = stands_alone(mate_score, reads.length(mate)) ? WEIGHT_SUPPORTED : WEIGHT_PROPER;
    }
    i64 weighted = score * weight;
    if (chosen >= 0 && weighted < length) most = most * weighted / length;
    selection.quality[read] = (u8)most;
    if (chosen >= 0 && last - first > 1) {
        i64 root = competition.overlapped_by[chosen] < 0 ? chosen : competition.overlapped_by[chosen];
        for (i64 i = first; i < last && used < full; i++) {
            if (i == chosen || i == root || competition.overlapped_by[i] >= 0) continue;
            if (!stands_alone(alignments.score[i], length)) continue;
            bool is_alternate = contigs.is_alternate(alignments.contig[i]);
            if (!is_alternate && overlap_on_read(alignments, i, chosen, length)) continue;
            i32 suboptimal_score = competition.suboptimal_score[i];
            i64 quality = quality_of(alignments, contigs, tables, i, length, suboptimal_score,
                                     competition.near_best_count[i]);
            selection.supplementary[used] = i;
            selection.supplementary_quality[used] = (u8)(is_alternate || quality < most ? quality : most);
            selection.supplementary_suboptimal_score[used] = suboptimal_score;
            used++;
        }
    }
    for (; used < full; used++) {
        selection.supplementary[used] = -1;
        selection.supplementary_quality[used] = 0;
        selection.supplementary_suboptimal_score[used] = 0;
    }
}

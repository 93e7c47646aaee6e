"""Mate rescue: where a read has a place and its mate has none beside it, the mate is looked for there.

So it is, too, beside the places of a read that has few where the mate has as many places as are looked at at most: the
one that is known there need not be the best, nor the only one.

The windows that the insert sizes allow, one for each orientation, are scanned for 8-mers of the mate; the diagonal with
most of them becomes an extension job, and so does the best one beyond its band that has nearly as many: where a tandem
repeat holds the mate twice, the pair must not get a high mapping quality. So a rescue costs a scan of some hundred
bases, not a full Smith-Waterman matrix. A k-mer votes for the diagonal of its last place in the mate. Those of a
microsatellite have many places in it; there a diagonal has a vote for each k-mer of it in the stretch under the mate.
"""

import numpy as np

from quire.algorithms.extension import ExtensionJobs
from quire.align.alignments.cpu import stands_alone
from quire.align.insert_size import ORIENTATIONS, InsertSizes, proper_lengths
from quire.align.model import Alignments
from quire.align.pairing.template_length import orientation_of, pair_distance
from quire.align.parameters import (
    BAND_MARGIN,
    FEWEST_KMERS,
    KMER,
    MONOTONOUS_KMERS,
    MOST_ANCHORS,
    MOST_CANDIDATES,
    SECOND_KMERS,
    UNPAIRED_COST,
)
from quire.reads import Reads
from quire.reference import Reference
from quire.sequence.words import code_at
from quire.simd.compiled import compiled, inlined
from quire.simd.search import interval_of

# A place beside an anchor where its mate may lie, and the island that it lies on.
PLACE = np.dtype([(name, np.int64) for name in ("mate", "strand", "diagonal", "axis_low", "axis_high")])


def rescue_jobs(alignments: Alignments, reads: Reads, reference: Reference, insert_sizes: InsertSizes) -> ExtensionJobs:
    """Extension jobs for mates that have no alignment at a proper distance from an anchor.

    Args:
        alignments: of a paired batch of 2n reads (mates r and n + r).
        reads: the batch.
        reference: the axis.
        insert_sizes: the unit's models; without any there is nothing to rescue.
    """
    planned = np.empty(0, PLACE)
    if insert_sizes.are_known:
        low, high = proper_lengths(insert_sizes)[:2]
        planned = _plan(alignments, reads.offsets, reads.codes, reference.text, reference.island_axis, low, high)
    return ExtensionJobs(
        read=planned["mate"].astype(np.int32),
        strand=planned["strand"].astype(np.uint8),
        diagonal=np.ascontiguousarray(planned["diagonal"]),
        diagonal_low=planned["diagonal"] - BAND_MARGIN,
        diagonal_high=planned["diagonal"] + BAND_MARGIN,
        axis_low=np.ascontiguousarray(planned["axis_low"]),
        axis_high=np.ascontiguousarray(planned["axis_high"]),
    )


@compiled
def _plan(alignments, offsets, codes, text, island_axis, low, high):
    """Where mates are looked for (PLACE[]): template lengths of proper pairs are low to high, by orientation."""
    pairs = (len(offsets) - 1) // 2
    jobs = np.empty(pairs + 64, PLACE)
    count = 0
    table = np.full(1 << (2 * KMER), -1, np.int16)
    for pair in range(pairs):
        for side in range(2):
            anchor_read, mate = (pair, pairs + pair) if side == 0 else (pairs + pair, pair)
            first, last = alignments.offsets[anchor_read], alignments.offsets[anchor_read + 1]
            best = np.int64(0)  # which need not be the first: alternate contigs stand behind
            for anchor in range(first, last):
                best = max(best, np.int64(alignments.score[anchor]))
            length = offsets[anchor_read + 1] - offsets[anchor_read]
            mate_places = alignments.offsets[mate + 1] - alignments.offsets[mate]
            looks_again = last - first < MOST_CANDIDATES <= mate_places
            for anchor in range(first, min(last, first + MOST_ANCHORS)):
                score = np.int64(alignments.score[anchor])
                if score < best - UNPAIRED_COST:
                    continue
                # What half of the read does not even agree with may lie there by chance.
                if 2 * score < length and not stands_alone(score, length):
                    continue
                if not looks_again and _has_partner(alignments, anchor, side, anchor_read, mate, offsets, low, high):
                    continue
                for orientation in range(len(ORIENTATIONS)):
                    if low[orientation] > high[orientation]:
                        continue
                    strand, begin, end = _window(
                        alignments, anchor, side, anchor_read, mate, offsets, orientation, low[orientation],
                        high[orientation], island_axis,
                    )  # fmt: skip
                    codes_of_mate = codes[strand, offsets[mate] : offsets[mate + 1]]
                    best_and_second = _best_diagonals(codes_of_mate, text, begin, end, table)
                    if count + 2 > len(jobs):
                        larger = np.empty(2 * len(jobs), PLACE)
                        larger[:count] = jobs[:count]
                        jobs = larger
                    for diagonal in best_and_second:
                        if diagonal < 0:
                            continue
                        island = interval_of(island_axis, begin)
                        job = jobs[count]
                        job.mate, job.strand, job.diagonal = mate, strand, diagonal + begin
                        job.axis_low, job.axis_high = island_axis[island], island_axis[island + 1]
                        count += 1
    return jobs[:count]


@inlined
def _has_partner(alignments, anchor, side, anchor_read, mate, offsets, low, high):
    """Whether the mate has an alignment that makes a proper pair with the anchor, whose read is mate `side` (0, 1)."""
    anchor_length = offsets[anchor_read + 1] - offsets[anchor_read]
    mate_length = offsets[mate + 1] - offsets[mate]
    for other in range(alignments.offsets[mate], alignments.offsets[mate + 1]):
        if alignments.contig[other] != alignments.contig[anchor]:
            continue
        if side == 0:
            distance = pair_distance(alignments, anchor, other, anchor_length, mate_length)
        else:
            distance = pair_distance(alignments, other, anchor, mate_length, anchor_length)
        orientation = orientation_of(alignments.strand[anchor], alignments.strand[other], distance)
        if low[orientation] <= abs(distance) <= high[orientation]:
            return True
    return False


@inlined
def _window(alignments, anchor, side, anchor_read, mate, offsets, orientation, low, high, island_axis):
    """Strand of the mate, and the span of the anchor's island in which it lies in a proper pair of this orientation.

    FF and RR are named from the first mate: seen from the second (side 1), the first of an FF pair lies before it.
    """
    mate_length = offsets[mate + 1] - offsets[mate]
    island = interval_of(island_axis, alignments.axis_begin[anchor])
    anchor_strand = np.int64(alignments.strand[anchor])
    if anchor_strand == 0:
        five_prime_end = alignments.axis_begin[anchor] - alignments.read_begin[anchor]
    else:
        anchor_length = offsets[anchor_read + 1] - offsets[anchor_read]
        five_prime_end = alignments.axis_end[anchor] + anchor_length - alignments.read_end[anchor]
    same_strand = orientation in (0, 3)
    ahead = orientation in (0, 1)  # of the anchor, in its direction
    if same_strand and side == 1:
        ahead = not ahead
    strand = anchor_strand if same_strand else 1 - anchor_strand
    # Where the mate's 5' end may lie.
    begin, end = five_prime_end + low, five_prime_end + high
    if ahead == (anchor_strand == 1):
        begin, end = five_prime_end - high, five_prime_end - low
    if strand == 1:
        begin -= mate_length
    else:
        end += mate_length
    return strand, max(begin, island_axis[island]), min(end, island_axis[island + 1])


@compiled
def _best_diagonals(read, text, begin, end, table):
    """Diagonals (relative to `begin`) with most k-mers in common; -1 for none.

    The best is the first to reach the most. The second is the lowest of those that have most of all beyond the band of
    the best (for a microsatellite beyond twice as much), if they are at most SECOND_KMERS less.

    `table` is all -1 on entry and on return.
    """
    length = len(read)
    if end - begin < KMER or length < KMER:
        return np.int64(-1), np.int64(-1)
    mask = (1 << (2 * KMER)) - 1
    kmer, valid, different = 0, 0, 0
    for i in range(length):
        valid = valid + 1 if read[i] < 4 else 0
        kmer = (kmer << 2 | np.int64(read[i] & 3)) & mask
        if valid >= KMER:
            different += table[kmer] < 0
            table[kmer] = i - KMER + 1
    votes = np.zeros(end - begin + length, np.int16)
    beyond = BAND_MARGIN
    if different <= MONOTONOUS_KMERS:
        best, best_votes = _count_known(length, text, begin, end, table, votes)
        beyond = 2 * BAND_MARGIN  # a place that fits both bands as well would be found twice, and look like one
    else:
        best, best_votes = _vote(text, begin, end, table, votes)
    kmer = 0
    for i in range(length):
        kmer = (kmer << 2 | np.int64(read[i] & 3)) & mask
        if i >= KMER - 1:
            table[kmer] = -1
    second, second_votes = np.int64(-1), max(FEWEST_KMERS, best_votes - SECOND_KMERS) - 1
    if best >= 0:
        for diagonal in range(len(votes)):
            if votes[diagonal] > second_votes and abs(diagonal - best) > beyond:
                second, second_votes = np.int64(diagonal), np.int64(votes[diagonal])
    return best, second


@inlined
def _vote(text, begin, end, table, votes):
    """Let the k-mers of a window vote, each for the diagonal of its last place in the mate.

    Returns the diagonal that is the first to reach the most votes, and these; -1 if none has FEWEST_KMERS.
    """
    best, best_votes, window = np.int64(-1), FEWEST_KMERS - 1, 0
    for position in range(begin, end):
        window = (window << 2 | np.int64(code_at(text, position))) & ((1 << (2 * KMER)) - 1)
        if position - begin < KMER - 1:
            continue
        place = np.int64(table[window])
        if place >= 0:
            diagonal = position - KMER + 1 - begin - place
            if diagonal >= 0:
                votes[diagonal] += 1
                if votes[diagonal] > best_votes:
                    best, best_votes = diagonal, np.int64(votes[diagonal])
    return best, best_votes


@inlined
def _count_known(length, text, begin, end, table, votes):
    """Give each diagonal as many votes as the stretch under a mate of this length has k-mers of it.

    Stretches that reach beyond the window have none.

    Returns the first diagonal of most votes, and these; -1 if none has FEWEST_KMERS.
    """
    best, best_votes, window = np.int64(-1), FEWEST_KMERS - 1, 0
    kmers, last_place = end - begin - KMER + 1, length - KMER
    for position in range(begin, end):
        window = (window << 2 | np.int64(code_at(text, position))) & ((1 << (2 * KMER)) - 1)
        if position - begin >= KMER - 1:
            votes[position - begin - KMER + 1] = table[window] >= 0
    known = np.int64(0)
    for place in range(min(last_place, kmers)):
        known += votes[place]
    for diagonal in range(kmers):
        leaving, votes[diagonal] = np.int64(votes[diagonal]), 0
        if diagonal + last_place < kmers:
            known += leaving if last_place == 0 else np.int64(votes[diagonal + last_place])
            votes[diagonal] = known
            if known > best_votes:
                best, best_votes = np.int64(diagonal), known
            known -= leaving
    return best, best_votes

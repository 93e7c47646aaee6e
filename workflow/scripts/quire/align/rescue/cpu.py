"""Mate rescue: where a read has a place and its mate has none beside it, the mate is looked for there.

So it is, too, beside the places of a read that has few where the mate's best place is not the only one, or where it has
as many places as are looked at at most: the one that is known there need not be the best, nor the only one.

The windows that the insert sizes allow, one for each orientation, are scanned for 8-mers of the mate; the diagonal with
most of them becomes an extension job, and so does the best one beyond its band that has nearly as many: where a tandem
repeat holds the mate twice, the pair must not get a high mapping quality. So a rescue costs a scan of some hundred
bases, not a full Smith-Waterman matrix. A k-mer votes for the diagonals of all its places in the mate: in a tandem
repeat a mate has it in each copy. Of equal diagonals the one is taken whose template length is nearest the mean. The
second one's band reaches into the best one's, up to its diagonal: of a repeat that is little longer than the mate,
all of whose places lie in one band, it finds another that is as good.
"""

import numpy as np

from quire.algorithms.extension import ExtensionJobs
from quire.align.alignments.cpu import borrowed_alignments, stands_alone
from quire.align.insert_size import ORIENTATIONS, InsertSizes, proper_lengths
from quire.align.model import Alignments
from quire.align.pairing.template_length import orientation_of, pair_distance
from quire.align.parameters import (
    BAND_MARGIN,
    MOST_ANCHORS,
    MOST_CANDIDATES,
    UNPAIRED_COST,
)
from quire.align.rescue.votes import best_diagonals, borrowed_room, forget, learn, make_room
from quire.reads import Reads
from quire.reference import Reference
from quire.simd.borrowed import borrowed
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
        lengths = proper_lengths(insert_sizes)
        longest = int(np.diff(reads.offsets).max(initial=0))
        room = make_room(longest, int((lengths.high - lengths.low).max()) + 2 * longest + 1)
        planned = _plan(alignments, reads.offsets, reads.codes, reference.text, reference.island_axis, lengths, room)
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
def _plan(alignments, offsets, codes, text, island_axis, lengths, room):
    """Where mates are looked for (PLACE[]); lengths: `ProperLengths`."""
    alignments, offsets, codes = borrowed_alignments(alignments), borrowed(offsets), borrowed(codes)
    text, island_axis, room = borrowed(text), borrowed(island_axis), borrowed_room(room)
    low, high, mean = borrowed(lengths.low), borrowed(lengths.high), borrowed(lengths.mean)
    pairs = (len(offsets) - 1) // 2
    jobs = np.empty(pairs + 64, PLACE)
    count = 0
    for pair in range(pairs):
        for side in range(2):
            anchor_read, mate = (pair, pairs + pair) if side == 0 else (pairs + pair, pair)
            first, last = alignments.offsets[anchor_read], alignments.offsets[anchor_read + 1]
            best = np.int64(0)  # which need not be the first: alternate contigs stand behind
            for anchor in range(first, last):
                best = max(best, np.int64(alignments.score[anchor]))
            length = offsets[anchor_read + 1] - offsets[anchor_read]
            near = 0
            for anchor in range(first, last):
                near += np.int64(alignments.score[anchor]) >= best - UNPAIRED_COST
            learnt = -1  # the strand of the mate whose k-mers are known
            looks_again = near < MOST_CANDIDATES and _may_have_better(alignments, mate)
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
                    strand, begin, end, target = _window(
                        alignments, anchor, side, anchor_read, mate, offsets, orientation, low[orientation],
                        high[orientation], mean[orientation], island_axis,
                    )  # fmt: skip
                    if strand != learnt:
                        if learnt >= 0:
                            forget(codes, learnt, offsets[mate], offsets[mate + 1], room)
                        learn(codes, strand, offsets[mate], offsets[mate + 1], room)
                        learnt = strand
                    best_and_second = best_diagonals(
                        codes, strand, offsets[mate], offsets[mate + 1], text, begin, end, target, room
                    )
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
            if learnt >= 0:
                forget(codes, learnt, offsets[mate], offsets[mate + 1], room)
    return jobs[:count]


@inlined
def _may_have_better(alignments, mate):
    """Whether a mate may have better places than those known: its best is not the only one, or it has very many."""
    first, last = alignments.offsets[mate], alignments.offsets[mate + 1]
    if last - first >= MOST_CANDIDATES:
        return True
    best, number = np.int64(0), 0
    for place in range(first, last):
        score = np.int64(alignments.score[place])
        number = 1 if score > best else number + (score == best)
        best = max(best, score)
    return number > 1


@inlined
def _has_partner(alignments, anchor, side, anchor_read, mate, offsets, low, high):
    """Whether the mate has an alignment that makes a proper pair with the anchor, whose read is mate `side` (0, 1)."""
    anchor_length = offsets[anchor_read + 1] - offsets[anchor_read]
    mate_length = offsets[mate + 1] - offsets[mate]
    begin, farthest = alignments.axis_begin[anchor], max(high[0], high[1], high[2], high[3])
    reach = farthest + anchor_length + mate_length + alignments.axis_end[anchor] - begin
    for other in range(alignments.offsets[mate], alignments.offsets[mate + 1]):
        # As in pairing: most places of a repeat are known by this to be too far apart.
        other_begin = alignments.axis_begin[other]
        if abs(other_begin - begin) > reach + alignments.axis_end[other] - other_begin:
            continue
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
def _window(alignments, anchor, side, anchor_read, mate, offsets, orientation, low, high, mean, island_axis):
    """Strand of the mate, and the span of the anchor's island in which it lies in a proper pair of this orientation.

    And where in the span (from its begin on) the mate begins if the template length is the mean, which may be outside.
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
    begin, end, target = five_prime_end + low, five_prime_end + high, five_prime_end + mean
    if ahead == (anchor_strand == 1):
        begin, end, target = five_prime_end - high, five_prime_end - low, five_prime_end - mean
    if strand == 1:
        begin -= mate_length
        target -= mate_length
    else:
        end += mate_length
    begin = max(begin, island_axis[island])
    return strand, begin, min(end, island_axis[island + 1]), target - begin

"""Mate rescue, with Numba: if a read has an alignment and its mate has none beside it, the mate is searched for there.

A mate is also searched for beside the alignments of a read that has few, if the mate's best alignment is not unique or
the mate has reached the MOST_CANDIDATES cap, since the known place beside the read may be neither the best nor the only
one.

The windows that the insert sizes allow, one for each orientation, are scanned for 8-mers of the mate. The diagonal with
most of them becomes an extension job. So does the best one outside its band: if a tandem repeat contains the mate
twice, the pair must not get a high mapping quality. A rescue thus needs a scan of some hundred bases instead of a full
Smith-Waterman matrix. A k-mer votes for the diagonals of all its places in the mate, since a mate in a tandem repeat
has it in every copy. Of equal diagonals the one whose template length is closest to the mean wins. The band of the
second diagonal overlaps the first's band up to the first diagonal: in a repeat little longer than the mate, whose
places are all in one band, it finds another place that is as good.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.extension import ExtensionJobs
from quire.align.insert_size import ORIENTATIONS, InsertSizes, proper_lengths
from quire.align.model import Alignments
from quire.align.pairing.template_length_cpu import orientation_of, pair_distance
from quire.align.parameters import (
    BAND_MARGIN,
    MOST_ANCHORS,
    MOST_CANDIDATES,
    UNPAIRED_COST,
)
from quire.align.rescue.votes_cpu import best_diagonals, forget, learn, make_scratch
from quire.reads import Reads
from quire.reference import Reference
from quire.simd.bits import with_room
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.search import interval_of

# A place beside an anchor where its mate may align, and the place's island.
PLACE = np.dtype([(name, np.int64) for name in ("mate", "strand", "diagonal", "axis_low", "axis_high")])


def rescue_jobs(alignments: Alignments, reads: Reads, reference: Reference, insert_sizes: InsertSizes) -> ExtensionJobs:
    """Return jobs for mates (of reads r and n + r) that have no alignment at a proper distance from an anchor."""
    planned = np.empty(0, PLACE)
    if insert_sizes.are_known:
        lengths = proper_lengths(insert_sizes)
        longest = int(np.diff(reads.offsets).max(initial=0))
        scratch = make_scratch(longest, int((lengths.high - lengths.low).max()) + 2 * longest + 1)
        planned = _plan(alignments, reads.offsets, reads.codes, reference.text, reference.island_axis, lengths, scratch)
    return ExtensionJobs(
        read=planned["mate"].astype(np.int32),
        strand=planned["strand"].astype(np.uint8),
        diagonal=np.ascontiguousarray(planned["diagonal"]),
        diagonal_low=planned["diagonal"] - BAND_MARGIN,
        diagonal_high=planned["diagonal"] + BAND_MARGIN,
        axis_low=np.ascontiguousarray(planned["axis_low"]),
        axis_high=np.ascontiguousarray(planned["axis_high"]),
    )


class _Side(NamedTuple):
    """A read with anchors, and its mate, which is searched for beside them.

    Attributes:
        number: 0 if the read is the first of its pair, 1 if it is the second.
        read, mate: their indices in the batch.
        length, mate_length: their bases.
    """

    number: int
    read: int
    mate: int
    length: int
    mate_length: int


class _Window(NamedTuple):
    """Positions where a mate forms a proper pair with an anchor.

    Attributes:
        strand: strand of the mate.
        begin, end: range on the axis, inside the anchor's island; end may be less than begin.
        target: start of the mate if the template length is the mean, relative to `begin`; may be outside the window.
    """

    strand: int
    begin: int
    end: int
    target: int


@compiled
def _plan(alignments, offsets, codes, text, island_axis, lengths, scratch):
    """Return the places of mates to extend (PLACE[]); `lengths` is a `ProperLengths`."""
    alignments, offsets, codes, lengths = borrowed(alignments), borrowed(offsets), borrowed(codes), borrowed(lengths)
    text, island_axis, scratch = borrowed(text), borrowed(island_axis), borrowed(scratch)
    pairs = (len(offsets) - 1) // 2
    jobs = np.empty(pairs + 64, PLACE)
    count = 0
    for pair in range(pairs):
        for number in range(2):
            read, mate = (pair, pairs + pair) if number == 0 else (pairs + pair, pair)
            side = _Side(number, read, mate, offsets[read + 1] - offsets[read], offsets[mate + 1] - offsets[mate])
            first, last = alignments.offsets[read], alignments.offsets[read + 1]
            best = np.int64(0)  # not always that of the first, since alternate contigs come last
            for anchor in range(first, last):
                best = max(best, np.int64(alignments.score[anchor]))
            near = 0
            for anchor in range(first, last):
                near += np.int64(alignments.score[anchor]) >= best - UNPAIRED_COST
            learnt = -1  # the strand of the mate whose k-mers are in `scratch`
            is_uncertain = near < MOST_CANDIDATES and _may_have_better(alignments, mate)
            for anchor in range(first, min(last, first + MOST_ANCHORS)):
                score = np.int64(alignments.score[anchor])
                if score < best - UNPAIRED_COST:
                    continue
                if not is_uncertain and _has_partner(alignments, anchor, side, lengths):
                    continue
                for orientation in range(len(ORIENTATIONS)):
                    if lengths.low[orientation] > lengths.high[orientation]:
                        continue
                    window = _window(alignments, anchor, side, orientation, lengths, island_axis)
                    if window.strand != learnt:
                        if learnt >= 0:
                            forget(codes[learnt, offsets[mate] : offsets[mate + 1]], scratch)
                        learn(codes[window.strand, offsets[mate] : offsets[mate + 1]], scratch)
                        learnt = window.strand
                    bases = codes[window.strand, offsets[mate] : offsets[mate + 1]]
                    found = best_diagonals(bases, text, window.begin, window.end, window.target, scratch)
                    jobs = with_room(jobs, count, count + 2)
                    for diagonal in found:
                        if diagonal < 0:
                            continue
                        island = interval_of(island_axis, window.begin)
                        job = jobs[count]
                        job.mate, job.strand, job.diagonal = mate, window.strand, diagonal + window.begin
                        job.axis_low, job.axis_high = island_axis[island], island_axis[island + 1]
                        count += 1
            if learnt >= 0:
                forget(codes[learnt, offsets[mate] : offsets[mate + 1]], scratch)
    return jobs[:count]


@inlined
def _may_have_better(alignments, mate):
    """Return True if a mate may have better places than the known ones: its best is not unique, or it has very many."""
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
def _has_partner(alignments, anchor, side, lengths):
    """Return True if the mate has an alignment that forms a proper pair with the anchor."""
    farthest = max(lengths.high[0], lengths.high[1], lengths.high[2], lengths.high[3])
    begin = alignments.axis_begin[anchor]
    reach = farthest + side.length + side.mate_length + alignments.axis_end[anchor] - begin
    for other in range(alignments.offsets[side.mate], alignments.offsets[side.mate + 1]):
        # As in pairing, this test already rejects most places of a repeat as too far apart.
        other_begin = alignments.axis_begin[other]
        if abs(other_begin - begin) > reach + alignments.axis_end[other] - other_begin:
            continue
        if alignments.contig[other] != alignments.contig[anchor]:
            continue
        if side.number == 0:
            distance = pair_distance(alignments, anchor, other, side.length, side.mate_length)
        else:
            distance = pair_distance(alignments, other, anchor, side.mate_length, side.length)
        orientation = orientation_of(alignments.strand[anchor], alignments.strand[other], distance)
        if lengths.low[orientation] <= abs(distance) <= lengths.high[orientation]:
            return True
    return False


@inlined
def _window(alignments, anchor, side, orientation, lengths, island_axis):
    """Return the `_Window` of one orientation beside an anchor."""
    # FF and RR are named from the first mate: from the second mate's view, the first mate of an FF pair is before it.
    low, high, mean = lengths.low[orientation], lengths.high[orientation], lengths.mean[orientation]
    island = interval_of(island_axis, alignments.axis_begin[anchor])
    anchor_strand = np.int64(alignments.strand[anchor])
    if anchor_strand == 0:
        five_prime_end = alignments.axis_begin[anchor] - alignments.read_begin[anchor]
    else:
        five_prime_end = alignments.axis_end[anchor] + side.length - alignments.read_end[anchor]
    same_strand = orientation in (0, 3)
    ahead = orientation in (0, 1)  # True if the mate is ahead of the anchor, in the anchor's direction
    if same_strand and side.number == 1:
        ahead = not ahead
    strand = anchor_strand if same_strand else 1 - anchor_strand
    # The range of the mate's 5' end.
    begin, end, target = five_prime_end + low, five_prime_end + high, five_prime_end + mean
    if ahead == (anchor_strand == 1):
        begin, end, target = five_prime_end - high, five_prime_end - low, five_prime_end - mean
    if strand == 1:
        begin -= side.mate_length
        target -= side.mate_length
    else:
        end += side.mate_length
    begin = max(begin, island_axis[island])
    return _Window(strand, begin, min(end, island_axis[island + 1]), target - begin)

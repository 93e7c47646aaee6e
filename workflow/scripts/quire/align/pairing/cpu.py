"""Choice of the reported alignments, with Numba: primary and supplementary alignments, pairs and mapping qualities.

The rules are bwa mem's. Alignments of a read that overlap by half on the read compete, and the best of each group is
a primary candidate. A pair at a proper distance wins if its score minus the cost of its distance exceeds the sum of the
two best scores minus UNPAIRED_COST. One rule is Quire's own: simple sequence in other parts of the reads does not count
for these best scores. Ties go to the smaller hash of read name and positions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.align.alignments.cpu import overlaps, stands_alone
from quire.align.insert_size import InsertSizes, ProperLengths, proper_lengths
from quire.align.model import Alignments, Selection
from quire.align.pairing.competition_cpu import Competition, compete, has_many_places, is_crowded, primary_end
from quire.align.pairing.mapping_quality_cpu import (
    count_cost,
    is_simple_alignment,
    lowered,
    raw_quality,
    single_quality,
)
from quire.align.pairing.template_length_cpu import orientation_of, pair_distance
from quire.align.parameters import (
    MOST_QUALITY,
    MOST_SUPPLEMENTARY,
    NEAR_BEST,
    PAIR_BONUS_LIMIT,
    UNPAIRED_COST,
    WEIGHT_ALONE,
    WEIGHT_PROPER,
    WEIGHT_SUPPORTED,
)
from quire.reads import Reads
from quire.sequence.ties.cpu import tie_hash
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

_NO_PAIR = np.int64(-(1 << 62))
NO_ALTERNATE = np.empty(0, np.uint8)


class _Reads(NamedTuple):
    """The arrays of `Reads` that the kernels read."""

    offsets: np.ndarray
    codes: np.ndarray
    name_hash: np.ndarray


class _Batch(NamedTuple):
    """A batch while its alignments are chosen.

    Attributes:
        alignments: all alignments, including rescued ones.
        competition: their competition.
        reads: the reads; if `paired`, reads r and r + n / 2 are mates.
        paired: True if the batch contains pairs.
        alternate: uint8[contigs], 1 for alternate contigs; empty if there are none.
        lengths: template lengths of proper pairs.
        selection: the result; no read is mapped at first.
    """

    alignments: Alignments
    competition: Competition
    reads: _Reads
    paired: bool
    alternate: np.ndarray
    lengths: ProperLengths
    selection: Selection


def select(
    alignments: Alignments,
    reads: Reads,
    paired: bool,
    insert_sizes: InsertSizes,
    alternate: NDArray[np.uint8] = NO_ALTERNATE,
) -> Selection:
    """Choose the alignments to report.

    If `paired`, reads r and n + r are mates. `alternate` is uint8[contigs], 1 for alternate contigs; empty if there are
    none.
    """
    count = len(reads)
    selection = Selection(
        np.full(count, -1, np.int64),
        np.zeros(count, np.uint8),
        np.zeros(count, np.int32),
        np.zeros(count, np.bool_),
        np.full((count, MOST_SUPPLEMENTARY), -1, np.int64),
        np.zeros((count, MOST_SUPPLEMENTARY), np.uint8),
        np.zeros((count, MOST_SUPPLEMENTARY), np.int32),
    )
    _select(
        _Batch(
            alignments,
            compete(alignments, reads.offsets, alternate),
            _Reads(reads.offsets, reads.codes, reads.name_hash),
            paired,
            alternate,
            proper_lengths(insert_sizes),
            selection,
        )
    )
    return selection


@compiled
def _select(batch):
    """Fill the `Selection`: reads as if they had no mates, then pairs, then all that needs primary alignments."""
    batch = borrowed(batch)
    count = len(batch.reads.offsets) - 1
    for read in range(count):
        first, last = batch.alignments.offsets[read], batch.alignments.offsets[read + 1]
        if first < last:
            _make_primary(batch, read, first)
    if batch.paired:
        for pair in range(count // 2):
            _pair(batch, pair, count // 2 + pair)
    for read in range(count):
        if batch.selection.primary[read] >= 0:
            _complete(batch, read)


@inlined
def _length_of(batch, read):
    """Return the length of a read in bases."""
    return batch.reads.offsets[read + 1] - batch.reads.offsets[read]


@inlined
def _quality(batch, i, suboptimal_score, near_best_count):
    """Return the mapping quality of alignment i without regard to a mate."""
    alignments = batch.alignments
    read_span = alignments.read_end[i] - alignments.read_begin[i]
    axis_span = alignments.axis_end[i] - alignments.axis_begin[i]
    length = _length_of(batch, alignments.read[i])
    crowded = has_many_places(alignments, i, length, batch.alternate)
    score = np.int64(alignments.score[i])
    return single_quality(score, np.int64(suboptimal_score), np.int64(near_best_count), read_span, axis_span, crowded)


@inlined
def _make_primary(batch, read, i):
    """Make alignment i the primary one of a read, with its quality without regard to a mate."""
    selection, competition = batch.selection, batch.competition
    suboptimal_score = competition.suboptimal_score[i]
    selection.primary[read], selection.suboptimal_score[read] = i, suboptimal_score
    selection.quality[read] = _quality(batch, i, suboptimal_score, competition.near_best_count[i])


@inlined
def _complete(batch, read):
    """Drop the primary alignment of a read or reduce its quality, and choose the supplementary ones."""
    alignments, selection = batch.alignments, batch.selection
    first, last = alignments.offsets[read], alignments.offsets[read + 1]
    chosen, length = selection.primary[read], _length_of(batch, read)
    if not selection.proper[read] and not stands_alone(alignments.score[chosen], length):
        # The first alignment on an alternate contig replaces it if that is good enough.
        chosen = primary_end(alignments, first, last, batch.alternate)
        if chosen == last or not stands_alone(alignments.score[chosen], length):
            selection.primary[read], selection.quality[read], selection.suboptimal_score[read] = -1, 0, 0
            return
        _make_primary(batch, read, chosen)
    score = np.int64(alignments.score[chosen])
    # A read that aligns well at a proper distance from its mate may be simple sequence.
    is_supported = selection.proper[read] and 4 * score >= 3 * length
    if not is_supported and is_simple_alignment(alignments, batch.reads, read, chosen):
        selection.quality[read] = 0
    weight = WEIGHT_ALONE
    if selection.proper[read]:
        count = len(batch.reads.offsets) - 1
        mate = (read + count // 2) % count
        mate_score = alignments.score[selection.primary[mate]]
        weight = WEIGHT_SUPPORTED if stands_alone(mate_score, _length_of(batch, mate)) else WEIGHT_PROPER
    weighted = score * weight
    if weighted < length:  # the less of a read is aligned, the less certain its place is
        selection.quality[read] = np.int64(selection.quality[read]) * weighted // length
    if last - first > 1:
        _choose_supplementary(batch, read)


@inlined
def _pair_cost(alignments, i, j, lengths, template_lengths):
    """Return the cost of distance between alignments i and j of two mates; _NO_PAIR if they are not a proper pair."""
    # `lengths` holds the lengths of both mates and the longest template length of a proper pair.
    # A cheap test rejects most pairs of places in repeats as too far apart: a 5' end is no further from the start of
    # its alignment than the lengths of alignment and read together, and distances on the axis are never longer than on
    # a contig.
    begin, other_begin = alignments.axis_begin[i], alignments.axis_begin[j]
    spans = alignments.axis_end[i] - begin + alignments.axis_end[j] - other_begin
    if abs(begin - other_begin) > lengths[2] + lengths[0] + lengths[1] + spans:
        return _NO_PAIR
    if alignments.contig[i] != alignments.contig[j]:
        return _NO_PAIR
    distance = pair_distance(alignments, i, j, lengths[0], lengths[1])
    orientation = orientation_of(alignments.strand[i], alignments.strand[j], distance)
    more = abs(distance) - template_lengths.low[orientation]
    if more < 0 or abs(distance) > template_lengths.high[orientation]:
        return _NO_PAIR
    return np.int64(template_lengths.penalties[template_lengths.first[orientation] + more])


@inlined
def _pair_score(alignments, i, j, lengths, template_lengths):
    """Return the score of alignments i and j as a pair minus the cost of their distance; _NO_PAIR if not proper."""
    cost = _pair_cost(alignments, i, j, lengths, template_lengths)
    return cost if cost == _NO_PAIR else np.int64(alignments.score[i]) + alignments.score[j] - cost


@inlined
def _pair(batch, read1, read2):
    """Choose the alignments of two mates as a pair if the best proper pair outscores their best alignments."""
    # Otherwise set `proper` if their best alignments form a proper pair. Alignments on alternate contigs form no pairs.
    alignments, competition, selection = batch.alignments, batch.competition, batch.selection
    template_lengths = batch.lengths
    first1, last1 = alignments.offsets[read1], alignments.offsets[read1 + 1]
    first2, last2 = alignments.offsets[read2], alignments.offsets[read2 + 1]
    if first1 == last1 or first2 == last2:
        return
    last1 = primary_end(alignments, first1, last1, batch.alternate)
    last2 = primary_end(alignments, first2, last2, batch.alternate)
    lengths = (
        _length_of(batch, read1), _length_of(batch, read2),
        max(template_lengths.high[0], template_lengths.high[1], template_lengths.high[2], template_lengths.high[3]),
    )  # fmt: skip
    name_hash = batch.reads.name_hash[read1]
    best, best_hash, best1, best2 = np.int64(-1), np.uint64(0), np.int64(-1), np.int64(-1)
    for i in range(first1, last1):
        for j in range(first2, last2):
            score = _pair_score(alignments, i, j, lengths, template_lengths)
            if score < best:
                continue
            rank = tie_hash(name_hash, alignments.axis_begin[i] + alignments.axis_begin[j])
            if score > best or rank < best_hash:
                best, best_hash, best1, best2 = score, rank, i, j
    off_primary = last1 == first1 or last2 == first2  # a mate is only on alternate contigs
    if best1 < 0 and not off_primary:
        return
    unpaired = np.int64(alignments.score[first1]) + alignments.score[first2] - UNPAIRED_COST
    if best <= unpaired and not off_primary:
        unpaired = _telling_score(batch, read1, best1) + _telling_score(batch, read2, best2) - UNPAIRED_COST
    if best <= unpaired or off_primary:
        proper = _pair_cost(alignments, first1, first2, lengths, template_lengths) != _NO_PAIR
        selection.proper[read1] = selection.proper[read2] = proper
        return
    other, other_count = _other_pairs(
        alignments, (first1, last1), (first2, last2), (best1, best2), lengths, template_lengths
    )
    pair_quality = raw_quality(best - max(other, unpaired))
    if other_count > 0:
        pair_quality -= count_cost(other_count)
    crowded = has_many_places(alignments, best1, lengths[0], batch.alternate)
    crowded += has_many_places(alignments, best2, lengths[1], batch.alternate)
    pair_quality = lowered(pair_quality, crowded)
    if is_crowded(alignments, first1, last1, best1) and is_crowded(alignments, first2, last2, best2):
        pair_quality = np.int64(0)
    for read, chosen in ((read1, best1), (read2, best2)):
        better = competition.overlapped_by[chosen]
        suboptimal_score = np.int64(competition.suboptimal_score[chosen])
        near_best_count = np.int64(competition.near_best_count[chosen])
        if better >= 0:
            suboptimal_score, near_best_count = np.int64(alignments.score[better]), np.int64(0)
        quality = _quality(batch, chosen, suboptimal_score, near_best_count)
        if quality < pair_quality:
            quality = min(pair_quality, quality + PAIR_BONUS_LIMIT)
        selection.primary[read] = chosen
        selection.quality[read] = quality
        selection.suboptimal_score[read] = suboptimal_score
        selection.proper[read] = True


@inlined
def _telling_score(batch, read, chosen):
    """Return the best score of a read that counts against a pair in which it has the chosen alignment."""
    # Simple sequence in another part of the read does not count: the poly-A that a sequencer reads after an adapter
    # aligns somewhere, and may be longer than the sequenced part of the fragment.
    alignments, competition = batch.alignments, batch.competition
    first, better = alignments.offsets[read], competition.overlapped_by[chosen]
    part = chosen if better < 0 else better
    for i in range(first, part):
        if competition.overlapped_by[i] < 0 and not is_simple_alignment(alignments, batch.reads, read, i):
            return np.int64(alignments.score[i])
    return np.int64(alignments.score[part])


@inlined
def _other_pairs(alignments, span1, span2, best, lengths, template_lengths):
    """Return the score of the second best proper pair (0 for none), and the number of pairs that are nearly as good."""
    other, count = np.int64(0), np.int64(0)
    for round_ in range(2):
        for i in range(span1[0], span1[1]):
            for j in range(span2[0], span2[1]):
                if i == best[0] and j == best[1]:
                    continue
                score = _pair_score(alignments, i, j, lengths, template_lengths)
                if score == _NO_PAIR:
                    continue
                if round_ == 0:
                    other = max(other, score)
                elif other - score <= NEAR_BEST:
                    count += 1
    return other, count


@inlined
def _choose_supplementary(batch, read):
    """Choose the best alignments of other parts of the read; their quality is at most that of the primary alignment."""
    # An alignment on an alternate contig is also chosen, with its own quality, if none that it overlaps is better.
    alignments, selection, length = batch.alignments, batch.selection, _length_of(batch, read)
    overlapped_by, alternate = batch.competition.overlapped_by, batch.alternate
    chosen = selection.primary[read]
    root = chosen if overlapped_by[chosen] < 0 else overlapped_by[chosen]
    used = 0
    for i in range(alignments.offsets[read], alignments.offsets[read + 1]):
        if used == MOST_SUPPLEMENTARY:
            break
        if i in (chosen, root) or overlapped_by[i] >= 0:
            continue
        if not stands_alone(alignments.score[i], length):
            continue
        is_alternate = len(alternate) > 0 and alternate[alignments.contig[i]] != 0
        if not is_alternate and overlaps(alignments, i, chosen, length):
            continue
        suboptimal_score = batch.competition.suboptimal_score[i]
        quality = _quality(batch, i, suboptimal_score, batch.competition.near_best_count[i])
        selection.supplementary[read, used] = i
        most = np.int64(MOST_QUALITY) if is_alternate else np.int64(selection.quality[read])
        selection.supplementary_quality[read, used] = min(quality, most)
        selection.supplementary_suboptimal_score[read, used] = suboptimal_score
        used += 1

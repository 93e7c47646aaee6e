"""From alignments to what is reported: the primary alignment of each read, its mapping quality, and supplementary ones.

The rules are bwa mem's: alignments of one read that overlap by half on the read compete, the best of each group is a
primary candidate; a pair at a proper distance wins if its score less the cost of its distance beats the two best
alignments less UNPAIRED_COST. Ties go to the smaller hash of read name and positions.
"""

from typing import NamedTuple

import numpy as np

from quire.align.insert_size import InsertSizes, proper_lengths
from quire.align.model import Alignments, Selection
from quire.align.pairing.mapping_quality import count_cost, raw_quality, single_quality
from quire.align.pairing.template_length import orientation_of, pair_distance
from quire.align.parameters import (
    MOST_QUALITY,
    MOST_SUPPLEMENTARY,
    NEAR_BEST,
    PAIR_BONUS_LIMIT,
    SIMPLE_SCORE,
    SIMPLE_SHARE,
    SIMPLE_SHARE_OF_SHORT,
    SIMPLE_WORD,
    UNPAIRED_COST,
    UNSUPPORTED_DENOMINATOR,
    UNSUPPORTED_NUMERATOR,
    UNSUPPORTED_QUALITY,
)
from quire.reads import Reads
from quire.sequence.ties.cpu import tie_hash
from quire.simd.compiled import compiled, inlined

_NO_PAIR = np.int64(-(1 << 62))


class Competition(NamedTuple):
    """How the alignments of a read compete for it: one entry for each alignment.

    Attributes:
        overlapped_by: int64[m], the better alignment of the read that it overlaps by half, -1 for none.
        suboptimal_score: int32[m], of one that overlaps no better one: the score of the best that overlaps it, 0: none.
        near_best_count: int32[m], how many that overlap it score within NEAR_BEST of it.
    """

    overlapped_by: np.ndarray
    suboptimal_score: np.ndarray
    near_best_count: np.ndarray


class _Reads(NamedTuple):
    """The arrays of `Reads` that the kernels read."""

    offsets: np.ndarray
    codes: np.ndarray
    name_hash: np.ndarray


def select(alignments: Alignments, reads: Reads, paired: bool, insert_sizes: InsertSizes) -> Selection:
    """Choose the alignments to report.

    Args:
        alignments: of the batch, rescued ones included.
        reads: the batch; for pairs of 2n reads (mates r and n + r).
        paired: whether the batch holds pairs.
        insert_sizes: the unit's models.
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
    competition = _compete(alignments, reads.offsets)
    read_arrays = _Reads(reads.offsets, reads.codes, reads.name_hash)
    _select(alignments, read_arrays, paired, proper_lengths(insert_sizes), competition, selection)
    return selection


@inlined
def _overlaps(alignments, a, b, length):
    """Whether two alignments of one read share at least half of the shorter one, in the direction as read."""
    begin_a, end_a = alignments.read_begin[a], alignments.read_end[a]
    if alignments.strand[a] == 1:
        begin_a, end_a = length - alignments.read_end[a], length - alignments.read_begin[a]
    begin_b, end_b = alignments.read_begin[b], alignments.read_end[b]
    if alignments.strand[b] == 1:
        begin_b, end_b = length - alignments.read_end[b], length - alignments.read_begin[b]
    shared = min(end_a, end_b) - max(begin_a, begin_b)
    return 2 * shared >= min(end_a - begin_a, end_b - begin_b)


@compiled
def _compete(alignments, read_offsets):
    """The `Competition` of all alignments."""
    count = len(alignments.score)
    overlapped_by = np.full(count, -1, np.int64)
    suboptimal_score = np.zeros(count, np.int32)
    near_best_count = np.zeros(count, np.int32)
    for read in range(len(alignments.offsets) - 1):
        first, last = alignments.offsets[read], alignments.offsets[read + 1]
        length = read_offsets[read + 1] - read_offsets[read]
        for i in range(first + 1, last):
            for j in range(first, i):
                if overlapped_by[j] < 0 and _overlaps(alignments, i, j, length):
                    overlapped_by[i] = j
                    if suboptimal_score[j] == 0:
                        suboptimal_score[j] = alignments.score[i]
                    if alignments.score[j] - alignments.score[i] <= NEAR_BEST:
                        near_best_count[j] += 1
                    break
    return Competition(overlapped_by, suboptimal_score, near_best_count)


@inlined
def _quality(alignments, i, suboptimal_score, near_best_count):
    """Mapping quality of alignment i by itself."""
    read_span = alignments.read_end[i] - alignments.read_begin[i]
    axis_span = alignments.axis_end[i] - alignments.axis_begin[i]
    score = np.int64(alignments.score[i])
    return single_quality(score, np.int64(suboptimal_score), near_best_count, read_span, axis_span)


@compiled
def _is_simple(codes, share):
    """Whether a sequence has so few different words (poly-A, poly-G) that it must lie in many places.

    bwa mem lowers the quality of such reads by the share of its seeds that are too frequent; here the words themselves
    are counted: less than one in `share` of them different.
    """
    seen = np.zeros(1 << (2 * SIMPLE_WORD), np.bool_)
    word, different = 0, 0
    for i in range(len(codes)):
        word = (word << 2 | np.int64(codes[i] & 3)) & ((1 << (2 * SIMPLE_WORD)) - 1)
        if i >= SIMPLE_WORD - 1 and not seen[word]:
            seen[word] = True
            different += 1
    return different * share < len(codes) - SIMPLE_WORD + 1


@compiled
def _select(alignments, reads, paired, template_lengths, competition, selection):
    """Fill the `Selection`: each read as if it had no mate, then pairs, then what depends on the primary alignment.

    Args:
        alignments: of the batch.
        reads: of the batch.
        paired: whether reads r and r + n / 2 are mates.
        template_lengths: of proper pairs, `ProperLengths`.
        competition: of the alignments.
        selection: to fill; no read is mapped before.
    """
    count = len(reads.offsets) - 1
    for read in range(count):
        first, last = alignments.offsets[read], alignments.offsets[read + 1]
        if first < last:
            suboptimal_score = competition.suboptimal_score[first]
            selection.primary[read] = first
            selection.quality[read] = _quality(alignments, first, suboptimal_score, competition.near_best_count[first])
            selection.suboptimal_score[read] = suboptimal_score
    if paired:
        for pair in range(count // 2):
            _pair(alignments, reads, pair, count // 2 + pair, template_lengths, competition, selection)
    for read in range(count):
        chosen = selection.primary[read]
        length = reads.offsets[read + 1] - reads.offsets[read]
        if chosen >= 0 and alignments.score[chosen] < SIMPLE_SCORE:
            codes = reads.codes[alignments.strand[chosen], reads.offsets[read] : reads.offsets[read + 1]]
            is_short = 2 * np.int64(alignments.score[chosen]) < length
            share = SIMPLE_SHARE_OF_SHORT if is_short else SIMPLE_SHARE
            if _is_simple(codes[alignments.read_begin[chosen] : alignments.read_end[chosen]], share):
                selection.quality[read] = 0
        if paired and chosen >= 0 and not selection.proper[read]:
            mate = read + count // 2 if read < count // 2 else read - count // 2
            weak = alignments.score[chosen] * UNSUPPORTED_DENOMINATOR < length * UNSUPPORTED_NUMERATOR
            if weak and selection.primary[mate] >= 0:
                selection.quality[read] = min(np.int64(selection.quality[read]), np.int64(UNSUPPORTED_QUALITY))
        if alignments.offsets[read + 1] - alignments.offsets[read] > 1:
            _choose_supplementary(alignments, read, length, competition, selection)


@inlined
def _pair_cost(alignments, i, j, lengths, template_lengths):
    """Cost of the distance of alignments i and j of the first and the second mate; _NO_PAIR if they are not proper."""
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
    """Scores of alignments i and j of two mates less the cost of their distance; _NO_PAIR if the pair is not proper."""
    cost = _pair_cost(alignments, i, j, lengths, template_lengths)
    return cost if cost == _NO_PAIR else np.int64(alignments.score[i]) + alignments.score[j] - cost


@inlined
def _pair(alignments, reads, read1, read2, template_lengths, competition, selection):
    """Choose the alignments of two mates together where the best proper pair beats their best alignments by themselves.

    The primary alignments, their qualities and suboptimal scores, and `proper` of both reads are changed then; `proper`
    alone where the best alignments by themselves make a proper pair.
    """
    first1, last1 = alignments.offsets[read1], alignments.offsets[read1 + 1]
    first2, last2 = alignments.offsets[read2], alignments.offsets[read2 + 1]
    lengths = (reads.offsets[read1 + 1] - reads.offsets[read1], reads.offsets[read2 + 1] - reads.offsets[read2])
    name_hash = reads.name_hash[read1]
    best, best_hash, best1, best2 = np.int64(-1), np.uint64(0), np.int64(-1), np.int64(-1)
    for i in range(first1, last1):
        for j in range(first2, last2):
            score = _pair_score(alignments, i, j, lengths, template_lengths)
            if score < best:
                continue
            rank = tie_hash(name_hash, alignments.axis_begin[i] + alignments.axis_begin[j])
            if score > best or rank < best_hash:
                best, best_hash, best1, best2 = score, rank, i, j
    if best1 < 0:
        return
    unpaired = np.int64(alignments.score[first1]) + alignments.score[first2] - UNPAIRED_COST
    if best <= unpaired:
        proper = _pair_cost(alignments, first1, first2, lengths, template_lengths) != _NO_PAIR
        selection.proper[read1] = selection.proper[read2] = proper
        return
    other, other_count = _other_pairs(
        alignments, (first1, last1), (first2, last2), (best1, best2), lengths, template_lengths
    )
    pair_quality = raw_quality(best - max(other, unpaired))
    if other_count > 0:
        pair_quality -= count_cost(other_count)
    pair_quality = max(np.int64(0), min(pair_quality, np.int64(MOST_QUALITY)))
    for read, chosen in ((read1, best1), (read2, best2)):
        better = competition.overlapped_by[chosen]
        suboptimal_score = np.int64(competition.suboptimal_score[chosen])
        near_best_count = np.int64(competition.near_best_count[chosen])
        if better >= 0:
            suboptimal_score, near_best_count = np.int64(alignments.score[better]), np.int64(0)
        quality = _quality(alignments, chosen, suboptimal_score, near_best_count)
        if quality < pair_quality:
            quality = min(pair_quality, quality + PAIR_BONUS_LIMIT)
        selection.primary[read] = chosen
        selection.quality[read] = quality
        selection.suboptimal_score[read] = suboptimal_score
        selection.proper[read] = True


@inlined
def _other_pairs(alignments, span1, span2, best, lengths, template_lengths):
    """Score of the second best proper pair (0: none), and how many are nearly as good as that.

    span1, span2: (first, last) alignment of each mate; best: the alignments of the best pair.
    """
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
def _choose_supplementary(alignments, read, length, competition, selection):
    """The best alignments of other parts of the read; their quality is at most that of the primary one."""
    overlapped_by = competition.overlapped_by
    chosen = selection.primary[read]
    root = chosen if overlapped_by[chosen] < 0 else overlapped_by[chosen]
    used = 0
    for i in range(alignments.offsets[read], alignments.offsets[read + 1]):
        if used == MOST_SUPPLEMENTARY:
            break
        if i in (chosen, root) or overlapped_by[i] >= 0:
            continue
        if _overlaps(alignments, i, chosen, length):
            continue
        suboptimal_score = competition.suboptimal_score[i]
        quality = _quality(alignments, i, suboptimal_score, competition.near_best_count[i])
        selection.supplementary[read, used] = i
        selection.supplementary_quality[read, used] = min(quality, np.int64(selection.quality[read]))
        selection.supplementary_suboptimal_score[read, used] = suboptimal_score
        used += 1

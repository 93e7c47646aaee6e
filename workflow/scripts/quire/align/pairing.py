"""From alignments to what is reported: the primary alignment of each read, its mapping quality, and supplementary ones.

The rules are bwa mem's: alignments of one read that overlap by half on the read compete, the best of each group is a
primary candidate; a pair at a proper distance wins if its score less the cost of its distance beats the two best
alignments less UNPAIRED_COST. Ties go to the smaller hash of read name and positions.
"""

import numpy as np
from numba import njit

from quire.align.insert_size import InsertSize
from quire.align.mapping_quality import count_cost, raw_quality, single_quality
from quire.align.model import Alignments, Selection
from quire.align.parameters import (
    MOST_QUALITY,
    MOST_SUPPLEMENTARY,
    NEAR,
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
from quire.align.template_length import template_length
from quire.oriented import Reads
from quire.oriented.cpu import tie_hash


def select(alignments: Alignments, reads: Reads, paired: bool, insert_size: InsertSize) -> Selection:
    """Choose the alignments to report.

    Args:
        alignments: of the batch, rescued ones included.
        reads: the batch; for pairs of 2n reads (mates r and n + r).
        paired: whether the batch holds pairs.
        insert_size: the unit's model.
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
    parent, second, near = _mark(alignments, reads.offsets)
    _select(alignments, reads.offsets, reads.codes, reads.name_hash, paired, insert_size.low, insert_size.high,
            insert_size.penalties(), parent, second, near, selection)  # fmt: skip
    return selection


@njit(cache=True, nogil=True, forceinline=True)
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


@njit(cache=True, nogil=True)
def _mark(alignments, read_offsets):
    """Each alignment's better competitor (-1: none), and for those without one the second score and near count."""
    count = len(alignments.score)
    parent = np.full(count, -1, np.int64)
    second = np.zeros(count, np.int32)
    near = np.zeros(count, np.int32)
    for read in range(len(alignments.offsets) - 1):
        first, last = alignments.offsets[read], alignments.offsets[read + 1]
        length = read_offsets[read + 1] - read_offsets[read]
        for i in range(first + 1, last):
            for j in range(first, i):
                if parent[j] < 0 and _overlaps(alignments, i, j, length):
                    parent[i] = j
                    if second[j] == 0:
                        second[j] = alignments.score[i]
                    if alignments.score[j] - alignments.score[i] <= NEAR:
                        near[j] += 1
                    break
    return parent, second, near


@njit(cache=True, nogil=True, forceinline=True)
def _quality(alignments, i, second, near):
    span = alignments.axis_end[i] - alignments.axis_begin[i]
    return single_quality(
        np.int64(alignments.score[i]), np.int64(second), near, alignments.read_end[i] - alignments.read_begin[i], span
    )


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _select(alignments, offsets, both, name_hash, paired, low, high, penalties, parent, second, near, selection):
    count = len(offsets) - 1
    for read in range(count):
        first, last = alignments.offsets[read], alignments.offsets[read + 1]
        if first < last:
            selection.primary[read] = first
            selection.quality[read] = _quality(alignments, first, second[first], near[first])
            selection.second[read] = second[first]
    if paired:
        for pair in range(count // 2):
            _pair(alignments, offsets, name_hash[pair], pair, count // 2 + pair, low, high, penalties, parent, second,
                  near, selection)  # fmt: skip
    for read in range(count):
        chosen = selection.primary[read]
        if chosen >= 0 and alignments.score[chosen] < SIMPLE_SCORE:
            codes = both[alignments.strand[chosen], offsets[read] : offsets[read + 1]]
            is_short = 2 * np.int64(alignments.score[chosen]) < len(codes)
            share = SIMPLE_SHARE_OF_SHORT if is_short else SIMPLE_SHARE
            if _is_simple(codes[alignments.read_begin[chosen] : alignments.read_end[chosen]], share):
                selection.quality[read] = 0
        if paired and chosen >= 0 and not selection.proper[read]:
            mate = read + count // 2 if read < count // 2 else read - count // 2
            length = offsets[read + 1] - offsets[read]
            weak = alignments.score[chosen] * UNSUPPORTED_DENOMINATOR < length * UNSUPPORTED_NUMERATOR
            if weak and selection.primary[mate] >= 0:
                selection.quality[read] = min(np.int64(selection.quality[read]), np.int64(UNSUPPORTED_QUALITY))
        if alignments.offsets[read + 1] - alignments.offsets[read] > 1:
            _choose_supplementary(alignments, read, offsets[read + 1] - offsets[read], parent, second, near, selection)


@njit(cache=True, nogil=True, forceinline=True)
def _proper_length(alignments, i, j, offsets, read_i, read_j):
    """Template length of two alignments of mates; 0 where contigs or strands do not fit."""
    if alignments.contig[i] != alignments.contig[j] or alignments.strand[i] == alignments.strand[j]:
        return np.int64(0)
    if alignments.strand[i] == 0:
        return template_length(alignments, i, j, offsets[read_j + 1] - offsets[read_j])
    return template_length(alignments, j, i, offsets[read_i + 1] - offsets[read_i])


@njit(cache=True, nogil=True, forceinline=True)
def _pair(alignments, offsets, name_hash, read1, read2, low, high, penalties, parent, second, near, selection):
    first1, last1 = alignments.offsets[read1], alignments.offsets[read1 + 1]
    first2, last2 = alignments.offsets[read2], alignments.offsets[read2 + 1]
    best, best_hash, best1, best2 = np.int64(-1), np.uint64(0), np.int64(-1), np.int64(-1)
    for i in range(first1, last1):
        for j in range(first2, last2):
            length = _proper_length(alignments, i, j, offsets, read1, read2)
            if length < low or length > high:
                continue
            score = np.int64(alignments.score[i]) + alignments.score[j] - penalties[length - low]
            rank = tie_hash(name_hash, alignments.axis_begin[i] + alignments.axis_begin[j])
            if score > best or (score == best and rank < best_hash):
                best, best_hash, best1, best2 = score, rank, i, j
    if best1 < 0:
        return
    unpaired = np.int64(alignments.score[first1]) + alignments.score[first2] - UNPAIRED_COST
    if best <= unpaired:
        length = _proper_length(alignments, first1, first2, offsets, read1, read2)
        selection.proper[read1] = selection.proper[read2] = low <= length <= high
        return
    other, other_count = _other_pairs(alignments, offsets, read1, read2, low, high, penalties, best1, best2)
    pair_quality = raw_quality(best - max(other, unpaired))
    if other_count > 0:
        pair_quality -= count_cost(other_count)
    pair_quality = max(np.int64(0), min(pair_quality, np.int64(MOST_QUALITY)))
    for read, chosen in ((read1, best1), (read2, best2)):
        competitor, near_count = np.int64(second[chosen]), np.int64(near[chosen])
        if parent[chosen] >= 0:
            competitor, near_count = np.int64(alignments.score[parent[chosen]]), np.int64(0)
        quality = _quality(alignments, chosen, competitor, near_count)
        if quality < pair_quality:
            quality = min(pair_quality, quality + PAIR_BONUS_LIMIT)
        selection.primary[read] = chosen
        selection.quality[read] = quality
        selection.second[read] = competitor
        selection.proper[read] = True


@njit(cache=True, nogil=True, forceinline=True)
def _other_pairs(alignments, offsets, read1, read2, low, high, penalties, best1, best2):
    """Score of the second best proper pair (0: none), and how many are nearly as good as that."""
    other, count = np.int64(0), np.int64(0)
    for round_ in range(2):
        for i in range(alignments.offsets[read1], alignments.offsets[read1 + 1]):
            for j in range(alignments.offsets[read2], alignments.offsets[read2 + 1]):
                if i == best1 and j == best2:
                    continue
                length = _proper_length(alignments, i, j, offsets, read1, read2)
                if length < low or length > high:
                    continue
                score = np.int64(alignments.score[i]) + alignments.score[j] - penalties[length - low]
                if round_ == 0:
                    other = max(other, score)
                elif other - score <= NEAR:
                    count += 1
    return other, count


@njit(cache=True, nogil=True, forceinline=True)
def _choose_supplementary(alignments, read, length, parent, second, near, selection):
    """The best alignments of other parts of the read; their quality is at most that of the primary one."""
    chosen = selection.primary[read]
    root = chosen if parent[chosen] < 0 else parent[chosen]
    used = 0
    for i in range(alignments.offsets[read], alignments.offsets[read + 1]):
        if used == MOST_SUPPLEMENTARY:
            break
        if i in (chosen, root) or parent[i] >= 0:
            continue
        if _overlaps(alignments, i, chosen, length):
            continue
        selection.supplementary[read, used] = i
        quality = _quality(alignments, i, second[i], near[i])
        selection.supplementary_quality[read, used] = min(quality, np.int64(selection.quality[read]))
        selection.supplementary_second[read, used] = second[i]
        used += 1

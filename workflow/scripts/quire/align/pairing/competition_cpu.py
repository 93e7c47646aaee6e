"""Competition between the alignments of a read that cover the same part of it, and signs that it has further places."""

from typing import NamedTuple

import numpy as np

from quire.align.alignments.cpu import overlaps
from quire.align.parameters import MOST_CANDIDATES, NEAR_BEST, SHORTEST_CERTAIN
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined


class Competition(NamedTuple):
    """Competition between the alignments of each read, one entry for each alignment.

    Alignments on the primary assembly compete among themselves, and alignments on alternate contigs with all.

    Attributes:
        overlapped_by: int64[m], index of the better alignment that overlaps it by half on the read; -1 for none.
        suboptimal_score: int32[m], if no better one does: best score of the alignments that it overlaps; 0 for none.
        near_best_count: int32[m], number of these that score within NEAR_BEST of it.
    """

    overlapped_by: np.ndarray
    suboptimal_score: np.ndarray
    near_best_count: np.ndarray


@compiled
def compete(alignments, read_offsets, alternate):
    """Return the `Competition` of all alignments."""
    alignments = borrowed(alignments)
    count = len(alignments.score)
    owned = Competition(np.full(count, -1, np.int64), np.zeros(count, np.int32), np.zeros(count, np.int32))
    competition = borrowed(owned)
    for read in range(len(alignments.offsets) - 1):
        first, last = alignments.offsets[read], alignments.offsets[read + 1]
        length = read_offsets[read + 1] - read_offsets[read]
        end = primary_end(alignments, first, last, alternate)
        if first < end < last:
            _compete_by_score(alignments, first, end, last, length, competition)
            for i in range(first, end):
                competition.overlapped_by[i] = -1
                competition.suboptimal_score[i], competition.near_best_count[i] = 0, 0
        else:
            end = last
        for i in range(first + 1, end):
            for j in range(first, i):
                if competition.overlapped_by[j] < 0 and overlaps(alignments, i, j, length):
                    _yield_to(alignments, i, j, competition)
                    break
    return owned


@inlined
def _yield_to(alignments, i, j, competition):
    """Record that the better alignment j overlaps alignment i."""
    competition.overlapped_by[i] = j
    if competition.suboptimal_score[j] == 0:
        competition.suboptimal_score[j] = alignments.score[i]
    if alignments.score[j] - alignments.score[i] <= NEAR_BEST:
        competition.near_best_count[j] += 1


@compiled
def _compete_by_score(alignments, first, primary_end, last, length, competition):
    """Let all alignments of a read, on any contigs, compete by descending score."""
    # Of equal scores, those on the primary assembly come first.
    score = alignments.score
    next_primary, next_alternate = first, primary_end
    while next_primary < primary_end or next_alternate < last:
        i = _next_by_score(score, next_primary, primary_end, next_alternate, last)
        primary, other = first, primary_end
        while primary < next_primary or other < next_alternate:
            j = _next_by_score(score, primary, next_primary, other, next_alternate)
            if competition.overlapped_by[j] < 0 and overlaps(alignments, i, j, length):
                _yield_to(alignments, i, j, competition)
                break
            if j < primary_end:
                primary += 1
            else:
                other += 1
        if i < primary_end:
            next_primary += 1
        else:
            next_alternate += 1


@inlined
def _next_by_score(score, a, end_a, b, end_b):
    """Return the better one of the first elements of two sorted lists, one of which may be empty."""
    if b == end_b or (a < end_a and score[a] >= score[b]):
        return a
    return b


@inlined
def primary_end(alignments, first, last, alternate):
    """Return the end of a read's alignments on the primary assembly, which come first."""
    if len(alternate) > 0:
        while last > first and alternate[alignments.contig[last - 1]] != 0:
            last -= 1
    return last


@inlined
def has_many_places(alignments, i, length, alternate):
    """Return 1 if a read shorter than SHORTEST_CERTAIN has at least MOST_CANDIDATES alignments, else 0.

    Only alignments that compete with its alignment i count: if i is on the primary assembly, none on alternate contigs.
    """
    read = alignments.read[i]
    first, last = alignments.offsets[read], alignments.offsets[read + 1]
    if len(alternate) > 0 and alternate[alignments.contig[i]] == 0:
        last = primary_end(alignments, first, last, alternate)
    return np.int64(last - first >= MOST_CANDIDATES and length < SHORTEST_CERTAIN)


@inlined
def is_crowded(alignments, first, last, chosen):
    """Return True if at least MOST_CANDIDATES alignments of a read are as good as the chosen one.

    If this holds for both mates, other pairs may be as good as theirs.
    """
    as_good = 0
    for i in range(first, last):
        as_good += alignments.score[i] >= alignments.score[chosen]
    return as_good >= MOST_CANDIDATES

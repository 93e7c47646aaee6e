"""Mode LOCAL in narrow scores: the matrix is swept in the strips of `cpu_strips`, in bytes as far as they hold scores.

The cell where the alignment ends is known when the sweep is through. Where the path from there has gaps it is followed
between the rows that the sweep kept (`cpu_blocks`).
"""

import numpy as np

from quire.algorithms.pairwise.cpu_blocks import follow_blocks
from quire.algorithms.pairwise.cpu_strips import (
    fits_in_bytes,
    fits_in_words,
    largest_in_bytes,
    nothing_yet,
    strips_of,
    sweep_bytes,
    sweep_words,
    widened,
    work_of,
)
from quire.sam import CIGAR_MATCH
from quire.sequence.cigar import element_of
from quire.simd.compiled import compiled, inlined


@inlined
def fits_in_strips(rows, columns, scoring, least, room):
    """Whether a matrix can be swept in bytes or in 16 bits, and so many bytes; of bytes, until they are too narrow."""
    in_bytes = least <= largest_in_bytes(scoring) and fits_in_bytes(rows, columns, scoring, room)
    return in_bytes or fits_in_words(rows, columns, scoring, room)


@compiled
def align_strips(query, target, scoring, least, room):
    """Align two sequences, neither empty, in mode LOCAL.

    Args:
        query, target: uint8, as a `Pair` has them.
        scoring: `Scoring`.
        least: what the alignment's score is at least.
        room: bytes that rows may be kept in.

    Returns:
        The alignment's score, row and column (from 1) of its end and of where it begins, and uint32, its CIGAR
        elements, backwards. The score is -1 where neither bytes nor 16 bits hold some score: nothing is known then.
    """
    rows, columns = len(query), len(target)
    strip, step = np.int64(0), np.int64(0)
    if fits_in_bytes(rows, columns, scoring, room) and least <= largest_in_bytes(scoring):
        strips = strips_of(query, target, scoring, np.int8, room)
        work = work_of(strips)
        strips, end, strip, step = sweep_bytes(strips, scoring, work)
        if strip == len(strips.upper):
            return _answer(strips, query, target, scoring, end)
        if not fits_in_words(rows, columns, scoring, room):
            return _none()
        wide, wide_work = widened(strips, query, target, scoring, strip, step, work)
    else:
        if not fits_in_words(rows, columns, scoring, room):
            return _none()
        wide = strips_of(query, target, scoring, np.int16, room)
        wide_work, end = work_of(wide), nothing_yet(wide)
    end = sweep_words(wide, scoring, wide_work, end, strip, step)
    return _answer(wide, query, target, scoring, end)


@compiled
def _none():
    """What is returned where nothing is known."""
    return np.int64(-1), np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.empty(0, np.uint32)


@compiled
def _answer(strips, query, target, scoring, end):
    """The alignment that ends there; see `align_strips`."""
    if end.score <= 0:
        return end.score, np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.empty(0, np.uint32)
    length = _without_gaps(query, target, scoring, end)
    if length > 0:
        begin_row, begin_column = end.row - length, end.column - length
        cigar = np.full(1, element_of(length, CIGAR_MATCH), np.uint32)
    else:
        begin_row, begin_column, cigar = follow_blocks(strips, query, target, scoring, end)
    return end.score, end.row + 1, end.column + 1, begin_row + 1, begin_column + 1, cigar


@compiled
def _without_gaps(query, target, scoring, end):
    """The path's bases if it has no gap, else 0.

    If the bases before the end have its score without a gap, H is along them what they have so far: with more anywhere
    the end would have more. So the path takes the diagonal everywhere, up to the first 0. A path's last bases never
    have less than 0.
    """
    rest, row, column = end.score, end.row, end.column
    while row >= 0 and column >= 0 and rest <= end.score:
        rest -= scoring.match if query[row] == target[column] else scoring.mismatch
        if rest == 0:
            return end.row - row + 1
        row, column = row - 1, column - 1
    return np.int64(0)

"""Mode LOCAL in bytes, for sequences that are not alike: the matrix is swept in the strips of `cpu_strips`.

The cell where the alignment ends is known when the sweep is through. Where the path from there has gaps it is followed
through windows or strips whose directions are computed again.
"""

import numpy as np

from quire.algorithms.pairwise import LARGEST
from quire.algorithms.pairwise.cpu_follow import follow_tile
from quire.algorithms.pairwise.cpu_layout import BITS as TILE_BITS
from quire.algorithms.pairwise.cpu_layout import WIDTH, Border, direction_words, height_of, space_for
from quire.algorithms.pairwise.cpu_strips import (
    BITS,
    LANES,
    StripsEnd,
    begin,
    steps_with_directions,
    strips_of,
    sweep,
    work_of,
)
from quire.algorithms.pairwise.cpu_tiles import solve_tile
from quire.sam import CIGAR_MATCH
from quire.sequence.cigar import element_of
from quire.simd.compiled import compiled

FIRST_WINDOW, WIDER = 32, 2
"""Rows and columns that are computed again before where a path is; how many times as many where that is too few."""
CELLS_OF_BYTES = 12  # with directions, in the time of one of a window
STRIP = 32 << 20  # bytes of directions of a strip, at most


@compiled
def align_strips(query, target, scoring):
    """Align two sequences, neither empty, in mode LOCAL.

    Args:
        query, target: uint8, as a `Pair` has them.
        scoring: `Scoring`.

    Returns:
        The alignment's score, row and column (from 1) of its end and of where it begins, and uint32, its CIGAR
        elements, backwards. The score is -1 where bytes do not hold some score: nothing is known then.
    """
    strips, end = sweep(strips_of(query, target, scoring), scoring)
    if end.score <= 0:
        return end.score, 0, 0, 0, 0, np.empty(0, np.uint32)
    length = _without_gaps(query, target, scoring, end)
    if length > 0:
        begin_row, begin_column = end.row - length, end.column - length
        cigar = np.full(1, element_of(length, CIGAR_MATCH), np.uint32)
    else:
        begin_row, begin_column, cigar = _path(strips, query, target, scoring, end)
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


@compiled
def _path(strips, query, target, scoring, end):
    """Row and column of the cell before the path's first one (from 0), and its CIGAR elements, backwards.

    It is looked for in windows, whose cells are computed again in 16 bits, or in a whole strip in bytes, up to the
    column where it is. What stands on the left of a window, and above one that does not begin where its strip does, is
    taken for the alignment's score, the most that it can be. So no cell of a window has less than in the whole matrix;
    where the path comes in, it must have the same. A path that begins at a 0 inside has along it what it has in the
    whole matrix, and what it does not take there, as it is less, is not taken in that either. A path that comes to such
    a border, or does not have the same where it comes in, is followed again in a strip, or in a wider window.
    """
    tall, nothing = strips.height * LANES, np.empty(0, np.uint32)
    row, column, state, score = end.row, end.column, np.int64(0), end.score
    entered, cigar = score, nothing
    # A path has a match for each of its score's, and what is taken for the score falls with each base of a gap.
    window = FIRST_WINDOW + 2 * score
    while True:
        strip = row // tall
        steps = column + (row - strip * tall) // strips.height + 1
        if window * window * CELLS_OF_BYTES < steps * tall or steps * tall * 4 > 8 * STRIP:
            top, left = max(strip * tall, row + 1 - window), max(0, column + 1 - window)
            found, i, j, state_there, ended, more = _path_in_window(
                strips, strip, top, left, query[top : row + 1], target[left : column + 1], scoring, end.score,
                state, score, entered,
            )  # fmt: skip
            window *= WIDER
            if not found:
                continue
        else:
            top, left = strip * tall, np.int64(0)
            i, j, state_there, ended, more = _path_in_strip(
                strips, strip, steps, query[top : row + 1], target[: column + 1], scoring, state, score
            )
        cigar = more if len(cigar) == 0 else np.concatenate((cigar, more))
        row, column, state = top + i, left + j, state_there
        if ended or row < 0 or column < 0:
            return row, column, cigar
        # A path that comes in with a gap goes on with it: the gap behind the border is one base longer.
        entered = np.int64(strips.upper[strip, 1 if state == 1 else 0, column]) - strips.zero
        score = entered - (scoring.gap_extend if state == 1 else 0)
        window = FIRST_WINDOW + 2 * score


@compiled
def _path_in_strip(strips, strip, steps, query, target, scoring, state, score):
    """The path from the last of some rows and columns of a strip, see `follow_tile`."""
    directions = np.empty(steps * strips.height * 4, BITS)
    work = work_of(strips)
    begin(strips, scoring, work)
    steps_with_directions(
        strips, strip, scoring, work, StripsEnd(np.int64(0), np.int64(0), np.int64(0)), 0, steps, directions
    )
    border = _border(strips, strip, strip * strips.height * LANES, 0, len(query), len(target), scoring, np.int64(0))
    return follow_tile(
        query, target, directions, strips.height, 1, border, scoring, True, len(query) - 1, len(target) - 1, state,
        score,
    )  # fmt: skip


@compiled
def _path_in_window(strips, strip, top, left, query, target, scoring, most, state, score, entered):
    """The same in a window from row `top` and column `left` on: whether it is the path, and it."""
    rows, columns = len(query), len(target)
    border = _border(strips, strip, top, left, rows, columns, scoring, most)
    directions = np.empty(direction_words(rows, columns), TILE_BITS)
    spaces = space_for(rows, columns, np.int16), space_for(0, 0, np.int32)
    solve_tile(spaces, query, target, border, scoring, True, LARGEST, 0, directions)
    i, j, state_there, ended, cigar = follow_tile(
        query, target, directions, height_of(rows), WIDTH, border, scoring, True, rows - 1, columns - 1, state, score
    )
    known = ended or not ((j < 0 < left) or (i < 0 and top > strip * strips.height * LANES))
    found = known and border.lower[1 if state == 1 else 0, -1] == entered
    return found, i, j, state_there, ended, cigar


@compiled
def _border(strips, strip, top, left, rows, columns, scoring, most):
    """The border of a part of a strip from row `top` and column `left` on; `most` where it is not known."""
    upper, before = np.empty((2, columns + 1), np.int32), np.empty((2, rows + 1), np.int32)
    before[0], before[1] = (most, most) if left > 0 else (0, scoring.gap_open)
    if top > strip * strips.height * LANES:
        upper[:] = most
        if left == 0:
            upper[:, 0] = 0
    else:
        upper[:, 0] = before[0, 0]
        for j in range(columns):
            upper[0, j + 1] = np.int32(strips.upper[strip, 0, left + j]) - strips.zero
            upper[1, j + 1] = np.int32(strips.upper[strip, 1, left + j]) - strips.zero
    return Border(upper, before, np.empty((2, columns + 1), np.int32), np.empty((2, 0), np.int32))

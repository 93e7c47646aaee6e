"""Mode LOCAL in bytes, for sequences that are not alike: 64 bands of rows (32 without AVX-512), one a vector lane.

A byte holds H + `Strips.zero`, which is as low as it may be so that no sum leaves what a byte holds: I and D are never
lower than a gap opened at 0. So plain sums do, which processors have more of than of sums that saturate (Intel's take
two of the first in a cycle and one of the second), and all scores are exact. Where some H comes within a match of what
a byte holds the sweep is given up, at once.

The matrix is cut into strips of rows, all columns wide; the row above each is kept. In a strip lane k holds `height`
rows and is one column behind lane k - 1; columns before the first and behind the last one have a letter of their own.
The cell where the alignment ends is known when the sweep is through. Where the path from there has gaps it is followed
through windows or strips whose directions are computed again.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import LARGEST
from quire.algorithms.pairwise.cpu_follow import follow_tile
from quire.algorithms.pairwise.cpu_layout import BITS as TILE_BITS
from quire.algorithms.pairwise.cpu_layout import WIDTH, Border, direction_words, height_of, space_for
from quire.algorithms.pairwise.cpu_tiles import solve_tile
from quire.sam import CIGAR_MATCH
from quire.sequence.cigar import element_of
from quire.simd.bits import trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import (
    CACHE_LINE,
    add,
    bits_greater,
    choose_equal,
    has_avx512,
    load,
    maximum,
    moved_up,
    splat,
    store,
)

LANES = 64 if has_avx512() else 32  # one register of bytes: no answer depends on it
TALLEST = 8
"""Rows of a lane at most: the taller, the less is lost between strips, and the more is computed again for the path."""
LOWEST, HIGHEST = -128, 127  # of a byte
BITS: np.typing.DTypeLike = np.uint64 if LANES == 64 else np.uint32
"""Type of a word of a strip's directions: a bit for each lane."""
FIRST_WINDOW, WIDER = 32, 4
"""Rows and columns that are computed again before where a path is; how many times as many where that is too few."""
CELLS_OF_BYTES = 12  # with directions, in the time of one of a window
STRIP = 32 << 20  # bytes of directions of a strip, at most
LARGEST_MATCH, LOWEST_SCORE = 10, -100  # half of what a byte holds is left for H
_ROW_PADDING, _COLUMN_PADDING = 6, 7  # letters of their own, which match nothing


class Strips(NamedTuple):
    """A matrix as strips.

    Attributes:
        query: int8[down * height * LANES], the letters of each strip's lanes, row by row, lanes innermost.
        target: int8[steps + LANES - 1], the letters of the columns, backwards.
        upper: int8[down, 2, steps], H of the row above each strip and I of its first row, in bytes.
        height: rows of a lane.
        zero: H of 0 in bytes.
    """

    query: np.ndarray
    target: np.ndarray
    upper: np.ndarray
    height: int
    zero: int


class StripsEnd(NamedTuple):
    """The cell with the largest H so far, the first by column and row: of the matrix, from 0; of none with score 0."""

    score: int
    row: int
    column: int


@compiled
def fits_in_bytes(rows, columns, scoring, room):
    """Whether a matrix can be swept in bytes, its strips in so many of them."""
    kept = 2 * (columns + 2 * LANES) * ((rows + TALLEST * LANES - 1) // (TALLEST * LANES) + 1)
    lowest = min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)
    # Where mismatches are free, what lies behind a matrix would count.
    return scoring.match <= LARGEST_MATCH and lowest >= LOWEST_SCORE and scoring.mismatch < 0 and kept <= room


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
    strips = _strips_of(query, target, scoring)
    end = _sweep(strips, scoring)
    if end.score <= 0:
        return end.score, 0, 0, 0, 0, np.empty(0, np.uint32)
    length = _without_gaps(query, target, scoring, end)
    if length > 0:
        begin_row, begin_column = end.row - length, end.column - length
        cigar = np.full(1, element_of(length, CIGAR_MATCH), np.uint32)
    else:
        begin_row, begin_column, cigar = _path(strips, query, target, scoring, end)
    return end.score, end.row + 1, end.column + 1, begin_row + 1, begin_column + 1, cigar


@inlined
def _zero(scoring):
    """What stands for H of 0: the lowest sum that is formed is LOWEST, or above it."""
    return LOWEST - min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)


@inlined
def largest_in_bytes(scoring):
    """The largest score that the sweep holds."""
    return HIGHEST - scoring.match - _zero(scoring)


@compiled
def _strips_of(query, target, scoring):
    """The strips before the sweep."""
    down = (len(query) + TALLEST * LANES - 1) // (TALLEST * LANES)
    height = (len(query) + down * LANES - 1) // (down * LANES)
    columns = len(target)
    steps = columns + LANES - 1
    zero = _zero(scoring)
    letters = np.full(down * height * LANES, _ROW_PADDING, np.int8)
    i = 0
    for strip in range(down):
        for lane in range(LANES):
            for row in range(min(height, len(query) - i)):
                letters[(strip * height + row) * LANES + lane] = query[i]
                i += 1
    backwards = np.empty(steps + LANES - 1, np.int8)
    backwards[: LANES - 1] = _COLUMN_PADDING
    backwards[steps:] = _COLUMN_PADDING
    for j in range(columns):
        backwards[steps - 1 - j] = target[j]
    upper = np.empty((down, 2, steps), np.int8)
    upper[:, 0] = zero
    upper[:, 1] = zero + scoring.gap_open
    return Strips(letters, backwards, upper, height, zero)


@compiled
def _sweep(strips, scoring):
    """The `StripsEnd` of all strips; its score is -1 where bytes do not hold some score."""
    end, nothing = StripsEnd(np.int64(0), np.int64(0), np.int64(len(strips.target))), np.empty(0, BITS)
    room = _work(strips)
    work = room[_first_line(room) :]
    for strip in range(len(strips.upper)):
        _begin(strips, scoring, work)
        end = _steps_without(strips, strip, scoring, work, end, len(strips.upper[0, 0]), nothing)
        if end.score < 0:
            break
    return end


@inlined
def _work(strips):
    """Room for the scores of a strip's lanes."""
    return np.empty((2 * strips.height + 2) * LANES + CACHE_LINE, np.int8)


@inlined
def _first_line(room):
    """Where its first cache line begins."""
    return (CACHE_LINE - room.ctypes.data % CACHE_LINE) % CACHE_LINE


@inlined
def _begin(strips, scoring, work):
    """Write H and D of the column before the first."""
    work[: strips.height * LANES] = strips.zero
    work[strips.height * LANES :] = strips.zero + scoring.gap_open


@compiled
def _steps_without(strips, strip, scoring, work, end, steps, directions):
    """The steps of a strip whose directions are not asked for."""
    return _steps(strips, strip, scoring, work, end, steps, directions, False)


@compiled
def _steps_with_directions(strips, strip, scoring, work, end, steps, directions):
    """The same with directions, and nothing else."""
    return _steps(strips, strip, scoring, work, end, steps, directions, True)


@inlined
def _steps(strips, strip, scoring, work, end, steps, directions, keep):
    """The `StripsEnd` so far, with one strip's first steps; `keep` is known where this is compiled.

    Where directions are not kept, the row above the next strip is written. `work` holds H and D of the column before,
    and room for two vectors.
    """
    query, target, height = strips.query, strips.target, strips.height
    upper, upper_gaps = strips.upper[strip, 0], strips.upper[strip, 1]
    below = min(strip + 1, len(strips.upper) - 1)
    lower, lower_gaps = strips.upper[below, 0], strips.upper[below, 1]
    hand_on = not keep and below > strip
    match, mismatch = splat(np.int8(scoring.match), LANES), splat(np.int8(scoring.mismatch), LANES)
    gap_open, gap_extend = splat(np.int8(scoring.gap_open), LANES), splat(np.int8(scoring.gap_extend), LANES)
    zero = splat(np.int8(strips.zero), LANES)
    first_letter, deletions, export = strip * height * LANES, height * LANES, 2 * height * LANES
    largest = HIGHEST - scoring.match - strips.zero
    corner, above, gap = zero, zero, add(zero, gap_open)
    noted = splat(np.int8(max(end.score, 1) - 1 + strips.zero), LANES)
    for step in range(steps):
        letter = load(target, len(upper) - 1 - step, LANES)
        diagonal = corner
        corner, gap = moved_up(above, upper[step]), moved_up(gap, upper_gaps[step])
        best = zero
        for row in range(height):
            at = row * LANES
            left, deletion = load(work, at, LANES), load(work, deletions + at, LANES)
            value = add(diagonal, choose_equal(load(query, first_letter + at, LANES), letter, match, mismatch))
            diagonal = left
            above = maximum(maximum(maximum(value, deletion), zero), gap)
            opened, longer_gap, longer = add(above, gap_open), add(gap, gap_extend), add(deletion, gap_extend)
            if keep:
                word = (step * height + row) * 4
                directions[word] = bits_greater(gap, value)
                directions[word + 1] = bits_greater(deletion, maximum(value, gap))
                directions[word + 2] = bits_greater(longer_gap, opened)
                directions[word + 3] = bits_greater(longer, opened)
            else:
                best = maximum(best, above)
            gap = maximum(opened, longer_gap)
            store(work, at, above)
            store(work, deletions + at, maximum(opened, longer))
        if keep:
            continue
        if hand_on and step >= LANES - 1:
            store(work, export, gap)
            lower[step - LANES + 1] = work[export - deletions - 1]
            lower_gaps[step - LANES + 1] = work[export + LANES - 1]
        lanes = np.uint64(bits_greater(best, noted))
        if lanes != 0:
            store(work, export + LANES, best)
            end = _note(work, height, strip, step, lanes, strips.zero, end)
            if end.score > largest:
                return StripsEnd(np.int64(-1), end.row, end.column)
            noted = splat(np.int8(end.score - 1 + strips.zero), LANES)
    return end


@compiled
def _note(work, height, strip, step, lanes, zero, end):
    """The `StripsEnd` so far, after a step in which these lanes have as large a score or a larger one."""
    best = (2 * height + 1) * LANES
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - np.uint64(1)
        score, column = np.int64(work[best + lane]) - zero, step - lane
        # A lane above one in the same column, and a strip above this one, came before.
        if score > end.score or (score == end.score and column < end.column):
            row = 0
            while work[row * LANES + lane] != work[best + lane]:
                row += 1
            end = StripsEnd(score, (strip * LANES + lane) * height + row, column)
    return end


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
    room = _work(strips)
    work = room[_first_line(room) :]
    _begin(strips, scoring, work)
    _steps_with_directions(
        strips, strip, scoring, work, StripsEnd(np.int64(0), np.int64(0), np.int64(0)), steps, directions
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

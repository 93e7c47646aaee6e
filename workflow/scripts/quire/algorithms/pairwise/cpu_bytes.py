"""Mode LOCAL in bytes, for sequences that are not alike: 64 bands of rows (32 without AVX-512), one a vector lane.

As long as no score reaches 255, a byte holds H: as H - 128, so that sums that saturate are 0 where H begins anew. I and
D below 0 become 0, too. That decides nothing: a gap is part of a path only where its score is above 0, and there it is
the sum of numbers above 0, which bytes hold. Where a score does reach 255 the sweep is given up, at once.

The matrix is cut into strips of rows, all columns wide; the row above each is kept. In a strip lane k holds `height`
rows and is two columns behind lane k - 1, as in `cpu_tiles`; columns before the first and behind the last one have a
letter of their own. The place of the largest H is known to a lane and two columns when the sweep is through. From
there the path is followed through strips whose directions are computed again, up to the column where it is.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import LARGEST, Mode, Pair
from quire.algorithms.pairwise.cpu_follow import follow_tile
from quire.algorithms.pairwise.cpu_small import forwards
from quire.algorithms.pairwise.cpu_tiles import BITS, MORE, Border, direction_words, solve_tile, space_for
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import (
    add_saturated,
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
ZERO, FULL = -128, 127  # H of 0 and of 255
FIRST_WINDOW, WIDER = 128, 4
"""Columns that are computed again before where a path is; and how many times as many where that is not enough."""
LARGEST_MATCH, LOWEST_SCORE = 10, -100  # a strip's scores fit in the 16 bits that directions are computed in
LONGEST_LOOK, WORD, LARGEST_SHIFT, FEWEST_WORDS = 1000, 12, 8, 3
"""Of the look at sequences before: their bases at most; words that are looked for so many bases away, and found."""
_ROW_PADDING, _COLUMN_PADDING = 6, 7  # letters of their own, which match nothing


class Strips(NamedTuple):
    """A matrix as strips.

    Attributes:
        query: int8[down * height * LANES], the letters of each strip's lanes, row by row, lanes innermost.
        even, odd: int8[steps + LANES - 1], the letters of columns 0, 2, ... and 1, 3, ..., backwards.
        upper: int8[down + 1, 2, 2 * steps], H of the row above each strip and I of its first row, less 128.
        best: int64[down], the largest H of each strip, if none before has a larger one; else 0.
        group, lane: int64[down], the first two columns that have it, and the last lane that has it there.
    """

    query: np.ndarray
    even: np.ndarray
    odd: np.ndarray
    upper: np.ndarray
    best: np.ndarray
    group: np.ndarray
    lane: np.ndarray


def fits(pair: Pair, room: int) -> bool:
    """Whether a pair can be swept in bytes, its strips in so many of them."""
    match, mismatch, gap_open, _ = pair.scoring
    rows, columns = len(pair.query), len(pair.target)
    kept = 2 * (columns + 2 * LANES) * (-(-rows // (TALLEST * LANES)) + 1)
    # Where mismatches are free, what lies behind a matrix would count.
    scores_fit = match <= LARGEST_MATCH and min(mismatch, gap_open) >= LOWEST_SCORE and mismatch < 0
    return pair.mode == Mode.LOCAL and scores_fit and kept <= room


@compiled
def align_strips(query, target, scoring):
    """Align two sequences, neither empty, in mode LOCAL.

    Args:
        query, target: uint8, as a `Pair` has them.
        scoring: `Scoring`.

    Returns:
        The alignment's score, row and column (from 1) of its end and of where it begins, and uint32, its CIGAR
        elements. The score is -1 where some score reached 255, or probably will: nothing is known then.
    """
    nothing = np.int64(-1), np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.empty(0, np.uint32)
    if _alike(query, target, scoring):
        return nothing
    strips = _strips_of(query, target)
    if not _sweep(strips, scoring):
        return nothing
    return _path(strips, query, target, scoring)


@compiled
def _alike(query, target, scoring):
    """Whether short sequences are probably so alike that a score reaches 255, by some of their words.

    Of longer ones the sweep finds out soon enough; here it would be at its end.
    """
    rows, columns = len(query), len(target)
    if max(rows, columns) > LONGEST_LOOK or min(rows, columns) * scoring.match < FULL - ZERO:
        return False
    words = 0
    for place in range(rows // 8, rows - WORD, max(1, rows // 8)):
        for shift in range(-LARGEST_SHIFT, LARGEST_SHIFT + 1):
            other = place + shift
            if other < 0 or other + WORD > columns:
                continue
            equal = 0
            while equal < WORD and query[place + equal] == target[other + equal]:
                equal += 1
            if equal == WORD:
                words += 1
                break
    return words >= FEWEST_WORDS


@compiled
def _strips_of(query, target):
    """A matrix before it is swept; query and target as a `Pair` has them, neither empty."""
    down = (len(query) + TALLEST * LANES - 1) // (TALLEST * LANES)
    height = (len(query) + down * LANES - 1) // (down * LANES)
    steps = (len(target) + 1) // 2 + LANES - 1
    letters = np.full(down * height * LANES, _ROW_PADDING, np.int8)
    i = 0
    for strip in range(down):
        for lane in range(LANES):
            for row in range(min(height, len(query) - i)):
                letters[(strip * height + row) * LANES + lane] = query[i]
                i += 1
    even = np.full(steps + LANES - 1, _COLUMN_PADDING, np.int8)
    odd = np.full(steps + LANES - 1, _COLUMN_PADDING, np.int8)
    for j in range(len(target) // 2):
        even[steps - 1 - j] = target[2 * j]
        odd[steps - 1 - j] = target[2 * j + 1]
    if len(target) % 2 == 1:
        even[steps - 1 - len(target) // 2] = target[-1]
    upper = np.full((down + 1, 2, 2 * steps), ZERO, np.int8)
    places = np.zeros((3, down), np.int64)
    return Strips(letters, even, odd, upper, places[0], places[1], places[2])


@compiled
def _sweep(strips, scoring):
    """Compute all strips; whether no score reached 255."""
    largest = np.int64(1)
    height = len(strips.query) // (LANES * len(strips.best))
    room = np.empty((2 * height + 5) * LANES, np.int8)
    scores = np.int8(scoring.match), np.int8(scoring.mismatch), np.int8(scoring.gap_open), np.int8(scoring.gap_extend)
    begin = (LANES - room.ctypes.data % LANES) % LANES
    work = room[begin : begin + (2 * height + 4) * LANES]
    for strip in range(len(strips.best)):
        work[:] = ZERO
        largest = _sweep_strip(strips, strip, height, scores, work, largest)
        if largest == FULL - ZERO:
            return False
    return True


@inlined
def _sweep_strip(strips, strip, height, scores, work, largest):
    """The largest H so far, with that of one strip; what stands in `strips` of it is set.

    `work` holds H of the column before and D of the column at hand, and room for four vectors.
    """
    query, even, odd = strips.query, strips.even, strips.odd
    upper, lower = strips.upper[strip], strips.upper[strip + 1]
    match, mismatch = splat(scores[0], LANES), splat(scores[1], LANES)
    gap_open, gap_extend = splat(scores[2], LANES), splat(scores[3], LANES)
    zero = splat(np.int8(ZERO), LANES)
    steps = upper.shape[1] // 2
    first_letter, deletions, export = strip * height * LANES, height * LANES, 2 * height * LANES
    corner, last_0, last_1, gaps_0, gaps_1 = zero, zero, zero, zero, zero
    below = splat(np.int8(largest + ZERO - 1), LANES)
    for step in range(steps):
        at = steps - 1 - step
        letter_0, letter_1 = load(even, at, LANES), load(odd, at, LANES)
        diagonal = corner
        above_0, corner = moved_up(last_0, upper[0, 2 * step]), moved_up(last_1, upper[0, 2 * step + 1])
        gap_0, gap_1 = moved_up(gaps_0, upper[1, 2 * step]), moved_up(gaps_1, upper[1, 2 * step + 1])
        above_1 = corner
        best = zero
        for row in range(height):
            at = row * LANES
            letter = load(query, first_letter + at, LANES)
            left, deletion = load(work, at, LANES), load(work, deletions + at, LANES)

            value = add_saturated(diagonal, choose_equal(letter, letter_0, match, mismatch))
            diagonal = above_0
            above_0 = maximum(maximum(value, deletion), gap_0)
            opened = add_saturated(above_0, gap_open)
            gap_0 = maximum(opened, add_saturated(gap_0, gap_extend))
            deletion = maximum(opened, add_saturated(deletion, gap_extend))

            value = add_saturated(diagonal, choose_equal(letter, letter_1, match, mismatch))
            diagonal = left
            above_1 = maximum(maximum(value, deletion), gap_1)
            opened = add_saturated(above_1, gap_open)
            gap_1 = maximum(opened, add_saturated(gap_1, gap_extend))
            deletion = maximum(opened, add_saturated(deletion, gap_extend))

            best = maximum(best, maximum(above_0, above_1))
            store(work, at, above_1)
            store(work, deletions + at, deletion)
        last_0, last_1, gaps_0, gaps_1 = above_0, above_1, gap_0, gap_1
        store(work, export, above_0)
        store(work, export + LANES, above_1)
        store(work, export + 2 * LANES, gap_0)
        store(work, export + 3 * LANES, gap_1)
        behind = step - LANES + 1
        if behind >= 0:
            lower[0, 2 * behind], lower[0, 2 * behind + 1] = work[export + LANES - 1], work[export + 2 * LANES - 1]
            lower[1, 2 * behind] = work[export + 3 * LANES - 1]
            lower[1, 2 * behind + 1] = work[export + 4 * LANES - 1]
        if bits_greater(best, below) != 0:
            store(work, export, best)
            largest = _note(strips, strip, work[export : export + LANES], step, largest)
            if largest == FULL - ZERO:
                break
            below = splat(np.int8(largest + ZERO - 1), LANES)
    return largest


@compiled
def _note(strips, strip, best, step, largest):
    """Note where a strip's largest H is, after a step in which some lane has the largest so far or a larger one."""
    for lane in range(LANES - 1, -1, -1):  # the last lane is the furthest to the left
        score = np.int64(best[lane]) - ZERO
        group = step - lane
        if score > strips.best[strip] and score >= largest:
            largest = score
            strips.best[strip], strips.group[strip], strips.lane[strip] = score, group, lane
        elif score == strips.best[strip] and score > 0:
            if group < strips.group[strip]:
                strips.group[strip], strips.lane[strip] = group, lane
            elif group == strips.group[strip]:
                strips.lane[strip] = max(strips.lane[strip], lane)
    return largest


@compiled
def _path(strips, query, target, scoring):
    """The alignment of a swept matrix, see `align_strips`."""
    score = strips.best.max()
    nothing = np.empty(0, np.uint32)
    if score == 0:
        return score, 0, 0, 0, 0, nothing
    group = np.int64(len(target))
    for strip in range(len(strips.best)):
        if strips.best[strip] == score:
            group = min(group, strips.group[strip])
    window = FIRST_WINDOW
    while True:
        found = _path_in_window(strips, query, target, scoring, score, group, window)
        if found[0]:
            return score, found[1], found[2], found[3], found[4], forwards(found[5])
        window *= WIDER


@compiled
def _path_in_window(strips, query, target, scoring, score, group, window):
    """The path to the first end in two columns, if it stays within windows that begin so many columns before it.

    What stands on the left of a window is taken for `score`, the most that it can be. So no cell of a window has less
    than in the whole matrix; where the path comes in, it must have the same. A path that begins at a 0 inside has along
    it what it has in the whole matrix, and what it does not take there, as it is less, is not taken in that either.
    """
    height = len(strips.query) // (len(strips.best) * LANES)
    columns = min(2 * group + 2, len(target))
    end_row, end_column = np.int64(-1), np.int64(-1)
    begin_row, begin_column, cigar = np.int64(-1), np.int64(-1), np.empty(0, np.uint32)
    for first in range(len(strips.best)):
        if strips.best[first] != score or strips.group[first] != group:
            continue
        strip, top, left = first, first * height * LANES, max(0, columns - window)
        bottom = min(top + (strips.lane[strip] + 1) * height, len(query))
        letters = query[top:bottom], target[left:columns]
        directions, border, row, column = _again(
            strips, strip, left, letters[0], letters[1], scoring, score, 2 * group - left
        )
        if row == MORE:
            return False, end_row, end_column, begin_row, begin_column, cigar
        if row < 0 or (end_row >= 0 and left + column >= end_column):
            continue
        end_row, end_column, cigar = top + row, left + column, cigar[:0]
        state, ended, going = 0, False, score
        while True:
            row, column, state, ended, more = follow_tile(
                letters[0], letters[1], directions, border, scoring, True, row, column, state, going
            )
            cigar = np.concatenate((cigar, more))
            if column < 0 < left:
                return False, end_row, end_column, begin_row, begin_column, cigar
            begin_row, begin_column = top + row, left + column
            if ended or begin_row < 0 or begin_column < 0:
                break
            # A path that comes in with a gap goes on with it: the gap behind the border is one base longer.
            which = 1 if state == 1 else 0
            below = np.int64(strips.upper[strip, which, begin_column]) - ZERO
            going = below - (scoring.gap_extend if state == 1 else 0)
            strip, top, left = strip - 1, top - height * LANES, max(0, begin_column + 1 - window)
            letters = query[top : begin_row + 1], target[left : begin_column + 1]
            directions, border, _, _ = _again(strips, strip, left, letters[0], letters[1], scoring, LARGEST, 0)
            if border.lower[which, -1] != below:
                return False, end_row, end_column, begin_row, begin_column, cigar
            row, column = begin_row - top, begin_column - left
    return True, end_row + 1, end_column + 1, begin_row + 1, begin_column + 1, cigar


@compiled
def _again(strips, strip, first, query, target, scoring, goal, goal_column):
    """Directions of a part of a strip from column `first` on, its border, and the first cell with a goal."""
    rows, columns = len(query), len(target)
    most = strips.best.max() if first > 0 else 0
    upper, left = np.empty((2, columns + 1), np.int32), np.full((2, rows + 1), most, np.int32)
    upper[:, 0] = most
    for j in range(columns):
        upper[0, j + 1] = np.int32(strips.upper[strip, 0, first + j]) - ZERO
        upper[1, j + 1] = np.int32(strips.upper[strip, 1, first + j]) - ZERO
    border = Border(upper, left, np.empty((2, columns + 1), np.int32), np.empty((2, 0), np.int32))
    directions = np.empty(direction_words(rows, columns), BITS)
    spaces = space_for(rows, columns, np.int16), space_for(0, 0, np.int32)
    _, row, column = solve_tile(spaces, query, target, border, scoring, True, goal, goal_column, directions)
    return directions, border, row, column

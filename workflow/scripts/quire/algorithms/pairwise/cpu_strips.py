"""Mode LOCAL in bytes: 64 bands of rows (32 without AVX-512), one a vector lane; `cpu_bytes` aligns with them.

A byte holds H + `Strips.zero`, which is as low as it may be so that no sum leaves what a byte holds: I and D are never
lower than a gap opened at 0. So plain sums do, which processors have more of than of sums that saturate (Intel's take
two of the first in a cycle and one of the second), and all scores are exact. Where some H comes within a match of what
a byte holds, H of 0 becomes the lowest that a byte holds and the sweep goes on with sums that saturate: what has less
than 0 is then taken for 0, and no path comes there. Where that is not enough the sweep is given up, at once.

The matrix is cut into strips of rows, all columns wide; the row above each is kept. In a strip lane k holds `height`
rows and is one column behind lane k - 1; columns before the first and behind the last one have a letter of their own.
"""

from typing import NamedTuple

import numpy as np

from quire.simd.bits import trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.letters import letter_scores, score_letters
from quire.simd.vectors import (
    CACHE_LINE,
    add,
    add_saturated,
    as_computed,
    bits_greater,
    has_avx512,
    load,
    maximum,
    moved_up,
    splat,
    store,
    store_bits,
)

LANES = 64 if has_avx512() else 32  # one register of bytes: no answer depends on it
TALLEST, TALLEST_OF_LONG = (16, 16) if LANES == 64 else (32, 64)
"""Rows of a lane at most: the taller, the less is lost between strips, and the more is computed again for the path."""
LONG = 2048  # rows; of more the path is rarely asked for, since bytes hold the scores of what is not alike
LOWEST, HIGHEST = -128, 127  # of a byte
BITS: np.typing.DTypeLike = np.uint64 if LANES == 64 else np.uint32
"""Type of a word of a strip's directions: a bit for each lane."""
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


@inlined
def first_zero(scoring):
    """What stands for H of 0 at first: the lowest sum that is formed is LOWEST, or above it."""
    return LOWEST - min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)


@inlined
def largest_in_bytes(scoring):
    """The largest score that the sweep holds for sure."""
    return HIGHEST - scoring.match - LOWEST


@inlined
def _largest(strips, scoring):
    """The largest score after which a step's sums are held: what has less is not noted, and may have a match more."""
    return HIGHEST - scoring.match - strips.zero


@compiled
def strips_of(query, target, scoring):
    """The strips before the sweep."""
    tallest = (TALLEST_OF_LONG if len(query) > LONG else TALLEST) * LANES
    down = (len(query) + tallest - 1) // tallest
    height = (len(query) + down * LANES - 1) // (down * LANES)
    columns = len(target)
    steps = columns + LANES - 1
    zero = first_zero(scoring)
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
    return Strips(letters, backwards, upper, height, np.int64(zero))


@compiled
def sweep(strips, scoring):
    """The strips as they are in the end, and the `StripsEnd` of all; its score is -1 where bytes do not hold some."""
    end, nothing = StripsEnd(np.int64(0), np.int64(0), np.int64(len(strips.target))), np.empty(0, BITS)
    work = work_of(strips)
    steps = len(strips.upper[0, 0])
    for strip in range(len(strips.upper)):
        begin(strips, scoring, work)
        step = np.int64(0)
        while step < steps:
            # The last step of the strip before may have found too much, and a lowered zero may not be enough.
            if end.score > _largest(strips, scoring):
                if strips.zero == LOWEST:
                    return strips, StripsEnd(np.int64(-1), end.row, end.column)
                strips = _lowered(strips, work)
            elif strips.zero > LOWEST:
                end, step = _steps_without(strips, strip, scoring, work, end, step, steps, nothing)
            else:
                end, step = _steps_saturated(strips, strip, scoring, work, end, step, steps, nothing)
    return strips, end


@inlined
def work_of(strips):
    """Room for the scores of a strip's lanes, from a cache line on: H and D of each row, and four vectors."""
    room = np.empty((2 * strips.height + 4) * LANES + CACHE_LINE, np.int8)
    return room[(CACHE_LINE - room.ctypes.data % CACHE_LINE) % CACHE_LINE :]


@inlined
def begin(strips, scoring, work):
    """Write H and D of the column before the first."""
    scores, gaps = strips.height * LANES, 2 * strips.height * LANES
    work[:scores] = strips.zero
    work[scores : gaps + LANES] = max(strips.zero + scoring.gap_open, LOWEST)
    work[gaps + LANES : gaps + 2 * LANES] = strips.zero


@compiled
def _lowered(strips, work):
    """The strips, and what is known in `work`, with H of 0 at LOWEST; what has less than 0 there has 0."""
    lower = strips.zero - LOWEST
    for down in range(len(strips.upper)):
        for which in range(2):
            row = strips.upper[down, which]
            for column in range(len(row)):
                row[column] = max(row[column] - lower, LOWEST)
    for at in range((2 * strips.height + 2) * LANES):
        work[at] = max(work[at] - lower, LOWEST)
    return Strips(strips.query, strips.target, strips.upper, strips.height, np.int64(LOWEST))


@compiled
def _steps_without(strips, strip, scoring, work, end, first, steps, directions):
    """The steps of a strip whose directions are not asked for."""
    return _steps(strips, strip, scoring, work, end, first, steps, directions, False, False)


@compiled
def _steps_saturated(strips, strip, scoring, work, end, first, steps, directions):
    """The same with sums that saturate, which H of 0 at LOWEST needs."""
    return _steps(strips, strip, scoring, work, end, first, steps, directions, False, True)


@compiled
def steps_with_directions(strips, strip, scoring, work, end, first, steps, directions):
    """The same with directions, and nothing else."""
    return _steps(strips, strip, scoring, work, end, first, steps, directions, True, True)


@inlined
def _steps(strips, strip, scoring, work, end, first, steps, directions, keep, saturated):
    """The `StripsEnd` so far, with a strip's steps from `first` on, and the step before which it stopped.

    That is one before `steps` where bytes do not hold a score of that: then it can go on `_lowered`. `keep` and
    `saturated` are known where this is compiled. Where directions are not kept, the row above the next strip is
    written. `work` holds H and D of the column before, then I below the last row, H above the first one, and room for
    two vectors.

    Every step's cells with more than any before are found, without a look at every row's: the largest H of a step that
    is more comes from a match, and a gap's H is less than that before it. So its row, or the one above it in the step
    before, has at least the largest so far less a match, and of the two one is looked at, or is above a lane's rows.
    """
    query, target, height = strips.query, strips.target, strips.height
    upper, upper_gaps = strips.upper[strip, 0], strips.upper[strip, 1]
    below = min(strip + 1, len(strips.upper) - 1)
    lower, lower_gaps = strips.upper[below, 0], strips.upper[below, 1]
    hand_on = not keep and below > strip
    first_letter, deletions, export = strip * height * LANES, height * LANES, 2 * height * LANES
    zero = splat(np.int8(strips.zero), LANES)
    constants = (
        letter_scores(np.int8(scoring.match), np.int8(scoring.mismatch), LANES),
        splat(np.int8(scoring.gap_open), LANES), splat(np.int8(scoring.gap_extend), LANES), zero, deletions,
    )  # fmt: skip
    largest = _largest(strips, scoring)
    gap, corner = load(work, export, LANES), load(work, export + LANES, LANES)
    above = load(work, deletions - LANES, LANES)
    noted, near = _limits(end, scoring, strips.zero)
    looked_at = np.int64(first)  # the last step of which every row is
    for step in range(first, steps):
        letter = load(target, len(upper) - 1 - step, LANES)
        diagonal = corner
        corner, gap = moved_up(above, upper[step]), moved_up(gap, upper_gaps[step])
        best = corner
        word = step * height * 4
        for row in range(0, height - 1, 2):  # two at once: else counting takes as long as a sum
            at = row * LANES
            diagonal, gap, above = _row(
                work, at, query, first_letter, letter, diagonal, gap, constants, directions, word + row * 4, keep,
                saturated,
            )  # fmt: skip
            diagonal, gap, above = _row(
                work, at + LANES, query, first_letter, letter, diagonal, gap, constants, directions, word + row * 4 + 4,
                keep, saturated,
            )  # fmt: skip
            if not keep:
                best = maximum(best, above)
        if height & 1:
            diagonal, gap, above = _row(
                work, deletions - LANES, query, first_letter, letter, diagonal, gap, constants, directions,
                word + (height - 1) * 4, keep, saturated,
            )  # fmt: skip
        if keep:
            continue
        if hand_on and step >= LANES - 1:
            store(work, export, gap)
            lower[step - LANES + 1] = work[export - deletions - 1]
            lower_gaps[step - LANES + 1] = work[export + LANES - 1]
        if end.score <= scoring.match or bits_greater(best, near) != 0:
            looked_at = step + 1
        if step <= looked_at:
            for row in range(0, height, 2):
                best = maximum(best, load(work, row * LANES, LANES))
            lanes = np.uint64(bits_greater(best, noted))
            if lanes != 0:
                store(work, export + 2 * LANES, best)
                end = _note(work, height, strip, step, lanes, strips.zero, end)
                if end.score > largest:
                    store(work, export, gap)
                    store(work, export + LANES, corner)
                    return end, step + 1
                noted, near = _limits(end, scoring, strips.zero)
    return end, steps


@inlined
def _limits(end, scoring, zero):
    """What a cell must have more of to be noted, and what a match less is, where that is 0 or more."""
    score = max(end.score, 1) - 1
    less = max(score - scoring.match, 0)
    return splat(np.int8(score + zero), LANES), splat(np.int8(less + zero), LANES)


@inlined
def _row(
    work, at, query, first_letter, letter, diagonal, gap, constants, directions, word, keep, saturated
):  # fmt: skip
    """Compute a row of lanes: H of the column before, which the row below needs, I below, and H."""
    scores, gap_open, gap_extend, zero, deletions = constants
    left, deletion = load(work, at, LANES), load(work, deletions + at, LANES)
    value = _sum(diagonal, score_letters(load(query, first_letter + at, LANES), letter, scores), saturated)
    # The gap is taken into account last: lanes wait for it.
    above = maximum(as_computed(maximum(maximum(value, deletion), zero)), gap)
    opened, longer_gap = _sum(above, gap_open, saturated), _sum(gap, gap_extend, saturated)
    longer = _sum(deletion, gap_extend, saturated)
    if keep:
        store_bits(directions, word, bits_greater(gap, value))
        store_bits(directions, word + 1, bits_greater(deletion, maximum(value, gap)))
        store_bits(directions, word + 2, bits_greater(longer_gap, opened))
        store_bits(directions, word + 3, bits_greater(longer, opened))
    store(work, at, above)
    store(work, deletions + at, maximum(opened, longer))
    return left, maximum(opened, longer_gap), above


@inlined
def _sum(a, b, saturated):
    """a + b; `saturated` is known where this is compiled."""
    if saturated:
        return add_saturated(a, b)
    return add(a, b)


@compiled
def _note(work, height, strip, step, lanes, zero, end):
    """The `StripsEnd` so far, after a step in which these lanes have as large a score or a larger one."""
    best = (2 * height + 2) * LANES
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

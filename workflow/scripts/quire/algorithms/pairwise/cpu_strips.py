"""Mode LOCAL in narrow scores: 64 bands of rows (32 without AVX-512), one a vector lane; `cpu_bytes` aligns with them.

A byte holds H + `Strips.zero`, which is as low as it may be so that no sum leaves what a byte holds: I and D are never
lower than a gap opened at 0. So plain sums do, which processors have more of than of sums that saturate (Intel's take
two of the first in a cycle and one of the second), and all scores are exact. Where some H comes within a match of what
a byte holds, H of 0 becomes the lowest that a byte holds and the sweep goes on with sums that saturate: what has less
than 0 is then taken for 0, and no path comes there. Where that is not enough either, it goes on in 16 bits from the
same step: two registers a row for one, and an alignment's score there is what `fits_in_words` allows.

The matrix is cut into strips of rows, all columns wide; the row above each is kept. In a strip lane k holds `height`
rows and is one column behind lane k - 1; columns before the first and behind the last one have a letter of their own.
Every lane's last row is kept, too: between two of them the path is followed (`cpu_blocks`).
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise.cpu_layout import LARGEST_SCORE
from quire.simd.bits import trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.letters import BOTH_BYTES, ROW_MARK, letter_scores, score_letters
from quire.simd.vectors import (
    CACHE_LINE,
    add,
    add_saturated,
    as_computed,
    bits_greater,
    convert,
    has_avx512,
    load,
    maximum,
    moved_up,
    splat,
    store,
)

LANES = 64 if has_avx512() else 32  # one register of bytes: no answer depends on it
TALLEST, TALLEST_OF_LONG = 16 if LANES == 64 else 32, 64
"""Rows of a lane at most: the taller, the less is lost between strips, and the more is computed again for the path."""
LONG = 2048  # rows
LOWEST, HIGHEST = -128, 127  # of a byte
HIGHEST_WORD = 32_000  # of an alignment's score in 16 bits, and what the path's bounds add to it
LARGEST_MATCH, LOWEST_SCORE = 10, -100  # half of what a byte holds is left for H
KEPT = 64 << 20  # bytes of lanes' last rows at most; of more two strips' are kept, and others are computed again
_ROW_PADDING, _COLUMN_PADDING = 6, 7  # letters of their own, which match nothing


class Strips(NamedTuple):
    """A matrix as strips, in scores of one type (E: int8 or int16).

    Attributes:
        query: E[down * height * LANES], the letters of each strip's lanes, row by row, lanes innermost.
        target: E[steps + LANES - 1], the letters of the columns, backwards.
        upper: E[down, 2, steps], H of the row above each strip and I of its first row, as they stand for scores.
        kept: E[slots * steps * 2 * LANES], of strips, step by step: H of each lane's last row, I of the row below it.
        held: int64[slots], the strip in each part of `kept` (strip s can only be in part s % slots), or -1.
        height: rows of a lane.
        zero: what stands for H of 0.
    """

    query: np.ndarray
    target: np.ndarray
    upper: np.ndarray
    kept: np.ndarray
    held: np.ndarray
    height: int
    zero: int


class StripsEnd(NamedTuple):
    """The cell with the largest H so far, the first by column and row: of the matrix, from 0; of none with score 0."""

    score: int
    row: int
    column: int


@compiled
def fits_in_bytes(rows, columns, scoring, room):
    """Whether a matrix can be swept in bytes, at first at least, its strips in so many of them."""
    lowest = min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)
    return scoring.match <= LARGEST_MATCH and lowest >= LOWEST_SCORE and _fits(rows, columns, scoring, room)


@compiled
def fits_in_words(rows, columns, scoring, room):
    """Whether 16 bits hold all scores of a matrix, and its strips fit in so many bytes."""
    price = -min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)
    most = (min(rows, columns) + TALLEST_OF_LONG) * scoring.match
    return max(price, scoring.match) <= LARGEST_SCORE and most <= HIGHEST_WORD and _fits(rows, columns, scoring, room)


@inlined
def _fits(rows, columns, scoring, room):
    """Whether the rows above strips and one strip's lanes' last rows fit, in 16 bits."""
    strips = (rows + TALLEST * LANES - 1) // (TALLEST * LANES)
    # Where mismatches are free, what lies behind a matrix would count.
    return scoring.mismatch < 0 and 6 * (columns + 2 * LANES) * (strips + 1 + LANES) <= room


@inlined
def first_zero(scoring):
    """What stands for H of 0 in bytes at first: the lowest sum that is formed is LOWEST, or above it."""
    return LOWEST - min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)


@inlined
def largest_in_bytes(scoring):
    """The largest score that the sweep holds for sure in bytes."""
    return HIGHEST - scoring.match - LOWEST


@inlined
def _largest(strips, scoring):
    """The largest score after which a step's sums are held: what has less is not noted, and may have a match more."""
    highest = HIGHEST if strips.upper.itemsize == 1 else 2 * HIGHEST_WORD  # no score comes there
    return highest - scoring.match - strips.zero


@compiled
def strips_of(query, target, scoring, dtype, room):
    """The strips before the sweep, of scores of a type; `kept` in so many bytes."""
    tallest = (TALLEST_OF_LONG if len(query) > LONG else TALLEST) * LANES
    down = (len(query) + tallest - 1) // tallest
    height = (len(query) + down * LANES - 1) // (down * LANES)
    columns = len(target)
    steps = columns + LANES - 1
    letters = np.empty(down * height * LANES, dtype)
    backwards = np.empty(steps + LANES - 1, dtype)
    upper = np.empty((down, 2, steps), dtype)
    words = upper.itemsize > 1
    scale, mark = (BOTH_BYTES, ROW_MARK) if words else (1, 0)
    zero = np.int64(0) if words else np.int64(first_zero(scoring))
    letters[:] = _ROW_PADDING * scale + mark
    # Numba asks of signed numbers whether they count from the end.
    for lane in range((len(query) + height - 1) // height):
        first = (lane // LANES * height * LANES) + lane % LANES
        for row in range(min(height, len(query) - lane * height)):
            letters[np.uint64(first + row * LANES)] = query[np.uint64(lane * height + row)] * scale + mark
    backwards[: LANES - 1] = _COLUMN_PADDING * scale
    backwards[steps:] = _COLUMN_PADDING * scale
    for j in range(columns):
        backwards[np.uint64(steps - 1 - j)] = target[np.uint64(j)] * scale
    upper[:, 0] = zero
    upper[:, 1] = zero + scoring.gap_open
    slots = min(down, min(room, KEPT) // (4 * LANES * steps))  # bytes may become words
    if slots < down:  # memory that is at hand is faster
        slots = max(1, min(slots, 2))
    kept = np.empty(slots * steps * 2 * LANES, dtype)
    return Strips(letters, backwards, upper, kept, np.full(slots, -1), height, zero)


@compiled
def sweep_bytes(strips, scoring, work):
    """Sweep in bytes, as far as they hold the scores.

    Returns:
        The strips as they are then, the `StripsEnd` so far, and the strip and the step from which it has to go on: all
        is done where there is no such strip.
    """
    end = nothing_yet(strips)
    steps = len(strips.upper[0, 0])
    for strip in range(len(strips.upper)):
        begin(strips, scoring, work)
        step = np.int64(0)
        while step < steps:
            # The last step of the strip before may have found too much, and a lowered zero may not be enough.
            if end.score > _largest(strips, scoring):
                if strips.zero == LOWEST:
                    return strips, end, np.int64(strip), step
                strips = _lowered(strips, strip, step, work)
            elif strips.zero > LOWEST:
                end, step = _steps_without(strips, strip, scoring, work, end, step, steps)
            else:
                end, step = _steps_saturated(strips, strip, scoring, work, end, step, steps)
    return strips, end, np.int64(len(strips.upper)), np.int64(0)


@compiled
def sweep_words(strips, scoring, work, end, first, step):
    """The `StripsEnd` of all, in 16 bits, from a strip and a step on."""
    steps = len(strips.upper[0, 0])
    for strip in range(first, len(strips.upper)):
        if step == 0:
            begin(strips, scoring, work)
        end, step = _steps_without(strips, strip, scoring, work, end, step, steps)
        step = np.int64(0)
    return end


@compiled
def sweep_again(strips, strip, scoring, end):
    """Compute a strip's lanes' last rows again, after the sweep, with the `StripsEnd` of all."""
    work = work_of(strips)
    begin(strips, scoring, work)
    steps = len(strips.upper[0, 0])
    if strips.zero == LOWEST and strips.upper.itemsize == 1:
        _steps_saturated(strips, strip, scoring, work, end, np.int64(0), steps)
    else:
        _steps_without(strips, strip, scoring, work, end, np.int64(0), steps)


@inlined
def nothing_yet(strips):
    """The `StripsEnd` before the sweep."""
    return StripsEnd(np.int64(0), np.int64(0), np.int64(len(strips.target)))


@inlined
def work_of(strips):
    """Room for the scores of a strip's lanes, from a cache line on: H and D of each row, and four vectors."""
    line = CACHE_LINE // strips.upper.itemsize
    room = np.empty((2 * strips.height + 4) * LANES + line, strips.upper.dtype)
    return room[(CACHE_LINE - room.ctypes.data % CACHE_LINE) % CACHE_LINE // strips.upper.itemsize :]


@inlined
def begin(strips, scoring, work):
    """Write H and D of the column before the first."""
    scores, gaps = strips.height * LANES, 2 * strips.height * LANES
    lowest = LOWEST if work.itemsize == 1 else -HIGHEST_WORD
    work[:scores] = strips.zero
    work[scores : gaps + LANES] = max(strips.zero + scoring.gap_open, lowest)
    work[gaps + LANES : gaps + 2 * LANES] = strips.zero


@compiled
def _lowered(strips, strip, step, work):
    """The strips, and what is known in `work`, with H of 0 at LOWEST; what has less than 0 there has 0."""
    lower = strips.zero - LOWEST
    for down in range(len(strips.upper)):
        for which in range(2):
            _lower(strips.upper[down, which], lower)
    _lower(work[: (2 * strips.height + 2) * LANES], lower)
    _lower(strips.kept[: _kept_until(strips, strip, step)], lower)
    return Strips(strips.query, strips.target, strips.upper, strips.kept, strips.held, strips.height, np.int64(LOWEST))


@inlined
def _lower(scores, lower):
    """Take so much from scores, as far as bytes hold what is left."""
    less = splat(np.int8(-lower), LANES)
    whole = len(scores) // LANES * LANES
    for at in range(0, whole, LANES):
        store(scores, at, add_saturated(load(scores, at, LANES), less))
    for at in range(whole, len(scores)):
        scores[at] = max(np.int64(scores[at]) - lower, LOWEST)


@compiled
def widened(strips, query, target, scoring, strip, step, work):
    """The strips, and what is known in `work`, in 16 bits."""
    room = 4 * LANES * len(strips.upper[0, 0]) * len(strips.held)
    wide = strips_of(query, target, scoring, np.int16, room)
    for down in range(len(strips.upper)):
        for which in range(2):
            _widen(strips.upper[down, which], wide.upper[down, which], strips.zero)
    until = _kept_until(strips, strip, step)
    _widen(strips.kept[:until], wide.kept, strips.zero)
    wide.held[:] = strips.held
    wide_work = work_of(wide)
    _widen(work[: (2 * strips.height + 2) * LANES], wide_work, strips.zero)
    return wide, wide_work


@inlined
def _widen(scores, wide, zero):
    """Write scores in bytes as 16 bits with a zero of 0."""
    less = splat(np.int16(-zero), LANES)
    whole = len(scores) // LANES * LANES
    for at in range(0, whole, LANES):
        store(wide, at, add(convert(load(scores, at, LANES), np.int16), less))
    for at in range(whole, len(scores)):
        wide[at] = np.int64(scores[at]) - zero


@inlined
def _kept_until(strips, strip, step):
    """How much of `kept` is written before a step."""
    if strip >= len(strips.held):
        return len(strips.kept)
    return (strip * len(strips.upper[0, 0]) + step) * 2 * LANES


@compiled
def _steps_without(strips, strip, scoring, work, end, first, steps):
    """The steps of a strip in plain sums."""
    return _steps(strips, strip, scoring, work, end, first, steps, False)


@compiled
def _steps_saturated(strips, strip, scoring, work, end, first, steps):
    """The same with sums that saturate, which H of 0 at LOWEST needs."""
    return _steps(strips, strip, scoring, work, end, first, steps, True)


@inlined
def _steps(strips, strip, scoring, work, end, first, steps, saturated):
    """The `StripsEnd` so far, with a strip's steps from `first` on, and the step before which it stopped.

    That is one before `steps` where bytes do not hold a score of that: then it can go on `_lowered` or `widened`.
    `saturated` is known where this is compiled. The row above the next strip is written, and what is kept of this one.
    `work` holds H and D of the column before, then I below the last row, H above the first one, and room for two
    vectors.

    Every step's cells with more than any before are found, without a look at every row's: the largest H of a step that
    is more comes from a match, and a gap's H is less than that before it. So its row, or the one above it in the step
    before, has at least the largest so far less a match, and of the two one is looked at, or is above a lane's rows.
    """
    query, target, height, kept = strips.query, strips.target, strips.height, strips.kept
    upper, upper_gaps = strips.upper[strip, 0], strips.upper[strip, 1]
    below = min(strip + 1, len(strips.upper) - 1)
    lower, lower_gaps = strips.upper[below, 0], strips.upper[below, 1]
    hand_on = below > strip
    slot = strip % len(strips.held)
    strips.held[slot] = strip
    first_kept = slot * steps * 2 * LANES
    first_letter, deletions, export = strip * height * LANES, height * LANES, 2 * height * LANES
    number = work.dtype.type
    zero = splat(number(strips.zero), LANES)
    constants = (
        letter_scores(number(scoring.match), number(scoring.mismatch), LANES),
        splat(number(scoring.gap_open), LANES), splat(number(scoring.gap_extend), LANES), zero, deletions,
    )  # fmt: skip
    largest = _largest(strips, scoring)
    gap, corner = load(work, export, LANES), load(work, export + LANES, LANES)
    above = load(work, deletions - LANES, LANES)
    noted, near = _limits(work, end, scoring, strips.zero)
    looked_at = np.int64(first)  # the last step of which every row is
    for step in range(first, steps):
        letter = load(target, len(upper) - 1 - step, LANES)
        diagonal = corner
        corner, gap = moved_up(above, upper[step]), moved_up(gap, upper_gaps[step])
        best = corner
        for row in range(0, height - 1, 2):  # two at once: else counting takes as long as a sum
            at = row * LANES
            diagonal, gap, above = _row(work, at, query, first_letter, letter, diagonal, gap, constants, saturated)
            diagonal, gap, above = _row(
                work, at + LANES, query, first_letter, letter, diagonal, gap, constants, saturated
            )
            best = maximum(best, above)
        if height & 1:
            diagonal, gap, above = _row(
                work, deletions - LANES, query, first_letter, letter, diagonal, gap, constants, saturated
            )
        at = first_kept + step * 2 * LANES
        store(kept, at, above)
        store(kept, at + LANES, gap)
        if hand_on and step >= LANES - 1:
            lower[step - LANES + 1] = kept[at + LANES - 1]
            lower_gaps[step - LANES + 1] = kept[at + 2 * LANES - 1]
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
                noted, near = _limits(work, end, scoring, strips.zero)
    return end, steps


@inlined
def _limits(work, end, scoring, zero):
    """What a cell must have more of to be noted, and what a match less is, where that is 0 or more."""
    score = max(end.score, 1) - 1
    less = max(score - scoring.match, 0)
    number = work.dtype.type
    return splat(number(score + zero), LANES), splat(number(less + zero), LANES)


@inlined
def _row(work, at, query, first_letter, letter, diagonal, gap, constants, saturated):
    """Compute a row of lanes: H of the column before, which the row below needs, I below, and H."""
    scores, gap_open, gap_extend, zero, deletions = constants
    left, deletion = load(work, at, LANES), load(work, deletions + at, LANES)
    value = _sum(diagonal, score_letters(load(query, first_letter + at, LANES), letter, scores), saturated)
    # The gap is taken into account last: lanes wait for it.
    above = maximum(as_computed(maximum(maximum(value, deletion), zero)), gap)
    opened, longer_gap = _sum(above, gap_open, saturated), _sum(gap, gap_extend, saturated)
    longer = _sum(deletion, gap_extend, saturated)
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

"""One tile of the matrix in Numba: bands of rows in lockstep, one per vector lane.

Lane k holds the rows k * height to (k + 1) * height - 1 of the tile and is two columns behind lane k - 1, so the row
above a lane's first row is the last row of the lane before, one step ago. A step computes two columns of all lanes
(`_steps`): the scores of both stay in registers, H and D of the second are read and written once per row.

Scores are relative to a base of the tile. In mode LOCAL they are int8 unless the tile has a score that a byte cannot
hold. Otherwise they are int16 if all scores of the tile fit, else int32. All are exact. Next to H a border holds I of
the row below (D of the column to the right), so that it is computed once.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import NEVER, Mode
from quire.algorithms.pairwise.layout_cpu import (
    BITS,
    BYTE_LANES,
    LANES,
    WIDTH,
    WORDS_PER_COLUMN,
    height_of,
    note,
    space_for,
    tiles_of,
)
from quire.simd.bits import trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import add, bits_greater, choose_equal, load_like, maximum, moved_up, splat, store

LARGEST_SCORE = 700
"""Largest price and match of tiles in int16, so that FLOOR minus the price of a gap does not overflow."""
FLOOR, CEILING = -32000, 32000  # of int16
LARGEST_BYTE_PRICE, LARGEST_BYTE_MATCH = 100, 10
"""Largest price and match of tiles in int8, so that half of a byte is left for H."""
_NO_GOAL = 1 << 30
_SWEEP, _SWEEP_LOCAL, _NOTE = range(3)  # purposes of `_solve`, constant where it is compiled for 8 and 16 bits
_LOCAL = int(Mode.LOCAL)
_OPEN, _EXTEND, _ZERO, _GOAL = range(4)  # constants of a tile
_LETTERS, _SCORES, _DELETIONS, _ROW = range(4)  # vectors of a row in `Space.cells`, and their number
_PADDING = 6  # a letter of rows that matches nothing; that of columns is the next one


class TileScale(NamedTuple):
    """Offset and limits of a tile's scores, which are stored as H - base.

    Attributes:
        base: the H that is stored as 0.
        floor: the lowest stored I and D of a border.
        zero: the lowest stored H; in mode LOCAL that of H = 0.
        goal: the search is for cells whose stored score is higher.
    """

    base: int
    floor: int
    zero: int
    goal: int


@compiled
def sweep_tiles(matrix, down, first, last):
    """Compute the borders and ends of the tiles first to last - 1 of a row of tiles."""
    tile, ends = tiles_of(matrix, down, first, last), matrix.ends
    above, before, own = ends[down, last], ends[down + 1, first], ends[down + 1, last]
    known = max(np.int64(1), above[0], before[0])
    spaces = spaces_for(len(tile.query), len(tile.target))
    score, row, column = _sweep_tile(spaces, tile, matrix.scoring, matrix.mode == _LOCAL, known)
    if column >= 0:
        own[0], own[1], own[2] = score, down * matrix.tile_rows + row + 1, first * matrix.tile_columns + column + 1
    for other in (above, before):
        earlier = other[2] < own[2] or (other[2] == own[2] and other[1] < own[1])
        if other[0] > own[0] or (other[0] == own[0] and earlier):
            own[:] = other
    for across in range(first + 1, last):
        ends[down + 1, across] = own


@compiled
def spaces_for(rows, columns):
    """Return the `Space`s in int8, int16 and int32 for tiles up to this size."""
    return (
        space_for(rows, columns, BYTE_LANES, np.int8),
        space_for(rows, columns, LANES, np.int16),
        space_for(rows, columns, LANES, np.int32),
    )


@compiled
def _sweep_tile(spaces, tile, scoring, local, known):
    """Compute a tile's lower and right borders, and in mode LOCAL find its largest H if that is `known` or more."""
    # Returns the largest H; the last row in the lane of the first cell that has it (smallest column, then smallest
    # row); and that cell's column, or -1 if no H is `known` or more.
    lowest, highest = _range(tile)
    if local:
        price = -min(scoring.mismatch, scoring.gap_open + scoring.gap_extend)
        base = 128 - price  # no sum is below -128
        limit = 127 - scoring.match + base  # a cell with more leads to one that a byte may not hold
        if price <= LARGEST_BYTE_PRICE and scoring.match <= LARGEST_BYTE_MATCH and highest <= limit:
            goal = min(np.int64(known), limit + 1) - 1 - base
            found = _sweep_bytes(spaces[0], tile, scoring, TileScale(base, scoring.gap_open - base, -base, goal))
            if found[2] < 0 or found[0] <= limit:
                return found
    scale, fits = _scale(tile, scoring, local, np.int64(known) if local else np.int64(_NO_GOAL), lowest, highest)
    if not fits:
        return _in_32_bits(spaces[2], tile, scoring, scale, np.empty(0, BITS))
    if local:
        return _sweep_words(spaces[1], tile, scoring, scale)
    return _sweep_words_unbounded(spaces[1], tile, scoring, scale)


@compiled
def note_tile(spaces, tile, scoring, local, goal, directions):
    """Write the directions of all cells of a tile (BITS[direction_words(rows, columns)]).

    Returns:
        The row within the tile of the first cell whose score reaches `goal` (smallest column, then smallest row), or
        -1;
        also -1 if `goal` is 0.
    """
    lowest, highest = _range(tile)
    scale, fits = _scale(tile, scoring, local, goal if goal > 0 else np.int64(_NO_GOAL), lowest, highest)
    if not fits:
        return _in_32_bits(spaces[2], tile, scoring, scale, directions)[1]
    return _note_words(spaces[1], tile, scoring, scale, directions)[1]


@inlined
def _range(tile):
    """Return the smallest and the largest H of the upper and the left border."""
    lowest, highest = tile.upper[0, 0], tile.upper[0, 0]
    for j in range(tile.upper.shape[1]):
        lowest, highest = min(lowest, tile.upper[0, j]), max(highest, tile.upper[0, j])
    for i in range(tile.left.shape[1]):
        lowest, highest = min(lowest, tile.left[0, i]), max(highest, tile.left[0, i])
    return np.int64(lowest), np.int64(highest)


@inlined
def _scale(tile, scoring, local, goal, lowest, highest):
    """Return the `TileScale` of a tile, and whether all its scores fit in int16."""
    # No H exceeds the border's largest H plus a match for each row or column. None is lower than a gap from the
    # border's smallest H, or than 0 in mode LOCAL. An I or D below every gap opened from an H cannot matter.
    shorter = min(len(tile.query), len(tile.target)) + 1
    highest += shorter * scoring.match
    lowest += scoring.gap_open + shorter * scoring.gap_extend
    if local:
        lowest = max(lowest, 0)
    price = -min(scoring.gap_open, scoring.mismatch)
    fits = highest - lowest + 2 * price < CEILING - FLOOR and max(price, scoring.match) <= LARGEST_SCORE
    base = highest - CEILING if fits else np.int64(0)
    floor = FLOOR if fits else NEVER
    zero = max(-base, floor) if local else floor
    return TileScale(base, np.int64(floor), np.int64(zero), min(max(goal - 1 - base, floor), -floor)), fits


@compiled
def _sweep_bytes(space, tile, scoring, scale):
    """Sweep a tile in int8; see `_sweep_tile`."""
    scores = splat(np.int8(scoring.match), BYTE_LANES), splat(np.int8(scoring.mismatch), BYTE_LANES)
    return _solve(space, tile, scoring, scale, scores, np.empty(0, BITS), _SWEEP_LOCAL)


@compiled
def _sweep_words(space, tile, scoring, scale):
    """Sweep a tile in int16; see `_sweep_tile`."""
    scores = splat(np.int16(scoring.match), LANES), splat(np.int16(scoring.mismatch), LANES)
    return _solve(space, tile, scoring, scale, scores, np.empty(0, BITS), _SWEEP_LOCAL)


@compiled
def _sweep_words_unbounded(space, tile, scoring, scale):
    """Sweep a tile in int16, in the modes without a lowest H, and without the search for the largest H."""
    scores = splat(np.int16(scoring.match), LANES), splat(np.int16(scoring.mismatch), LANES)
    return _solve(space, tile, scoring, scale, scores, np.empty(0, BITS), _SWEEP)


@compiled
def _note_words(space, tile, scoring, scale, directions):
    """Write directions in int16; see `note_tile`."""
    scores = splat(np.int16(scoring.match), LANES), splat(np.int16(scoring.mismatch), LANES)
    return _solve(space, tile, scoring, scale, scores, directions, _NOTE)


@compiled
def _in_32_bits(space, tile, scoring, scale, directions):
    """Sweep a tile in int32, or write its directions unless `directions` is empty; see `_solve`."""
    scores = splat(np.int32(scoring.match), LANES), splat(np.int32(scoring.mismatch), LANES)
    purpose = _NOTE if len(directions) > 0 else _SWEEP_LOCAL
    return _solve(space, tile, scoring, scale, scores, directions, purpose)


@inlined
def _solve(space, tile, scoring, scale, scores, directions, purpose):
    """Compute a tile in vectors of the type of `scores`, those of equal and of different letters."""
    # Returns the same as `_sweep_tile`; for _NOTE an unused score, and row and column of the first cell above the
    # goal, or -1 for both.
    _place(space, tile, scoring, scale)
    score, row, column = _steps(space, tile, scale, scores, directions, purpose)
    lanes, rows = len(space.carried) // 2, len(tile.query)
    last = WIDTH * ((rows - 1) // height_of(rows, lanes))
    if tile.lower.shape[1] > 0:
        tile.lower[0, 0] = tile.left[0, rows]
        for j in range(len(tile.target)):
            tile.lower[0, j + 1] = scale.base + space.lower[last + j]
            tile.lower[1, j + 1] = scale.base + space.lower_gaps[last + j]
    for number in range(len(tile.right)):
        tile.right[number, 0, 0] = tile.upper[0, (number + 1) * tile.width]
    return score + scale.base, row, column


@compiled
def _place(space, tile, scoring, scale):
    """Write constants, letters and the row above the tile to the working space."""
    lanes = len(space.carried) // 2
    space.constants[_OPEN * lanes : (_OPEN + 1) * lanes] = scoring.gap_open
    space.constants[_EXTEND * lanes : (_EXTEND + 1) * lanes] = scoring.gap_extend
    space.constants[_ZERO * lanes : (_ZERO + 1) * lanes] = scale.zero
    space.constants[_GOAL * lanes : (_GOAL + 1) * lanes] = scale.goal
    query, target = tile.query, tile.target
    height, groups = height_of(len(query), lanes), (len(target) + WIDTH - 1) // WIDTH
    for lane in range(lanes):
        for r in range(height):
            i = lane * height + r
            space.cells[(r * _ROW + _LETTERS) * lanes + lane] = query[i] if i < len(query) else _PADDING
    # Step s loads from steps - 1 - s on: lane k finds the letters of group s - k at steps - 1 - s + k.
    last = (len(query) - 1) // height + groups - 1
    space.even[: last + lanes] = _PADDING + 1
    space.odd[: last + lanes] = _PADDING + 1
    for j in range(len(target)):
        if j & 1:
            space.odd[last - (j >> 1)] = target[j]
        else:
            space.even[last - (j >> 1)] = target[j]
    space.upper[:] = scale.zero
    space.gaps[:] = scale.floor
    for j in range(len(target)):
        space.upper[j] = max(tile.upper[0, j + 1] - scale.base, scale.zero)
        space.gaps[j] = max(tile.upper[1, j + 1] - scale.base, scale.floor)


@inlined
def _enter(space, tile, lane, height, scale):
    """Write the left border of a lane before its first step."""
    left, lanes, rows, base = tile.left, len(space.carried) // 2, len(tile.query), scale.base
    space.carried[lane] = max(left[0, lane * height] - base, scale.zero)
    for r in range(height):
        i = lane * height + r + 1
        space.cells[(r * _ROW + _SCORES) * lanes + lane] = (
            max(left[0, i] - base, scale.zero) if i <= rows else scale.zero
        )
        space.cells[(r * _ROW + _DELETIONS) * lanes + lane] = (
            max(left[1, i] - base, scale.floor) if i <= rows else scale.floor
        )


@inlined
def _leave(space, tile, step, last_lane, height, base):
    """Write the right borders that lanes have reached in a step."""
    lanes, groups = len(space.carried) // 2, tile.width // WIDTH
    for lane in range((step + 1) % groups, last_lane + 1, groups):
        number = (step + 1 - lane) // groups - 1
        if 0 <= number < len(tile.right):
            for r in range(min(height, len(tile.query) - lane * height)):
                i = lane * height + r + 1
                tile.right[number, 0, i] = base + space.cells[(r * _ROW + _SCORES) * lanes + lane]
                tile.right[number, 1, i] = base + space.cells[(r * _ROW + _DELETIONS) * lanes + lane]


@inlined
def _steps(space, tile, scale, scores, directions, purpose):
    """Compute all steps; see `_solve`. The score is relative to the base."""
    equal, different = scores
    bounded, keep = purpose != _SWEEP, purpose == _NOTE
    cells, even, odd, upper, gaps, lower, lower_gaps, constants, carried, export = space
    rows, columns, lanes = len(tile.query), len(tile.target), len(carried) // 2
    height, groups, hands_on = height_of(rows, lanes), (columns + WIDTH - 1) // WIDTH, len(tile.right) > 0
    last_lane, last_row = (rows - 1) // height, (rows - 1) % height
    zero, goal = load_like(constants, _ZERO * lanes, equal), load_like(constants, _GOAL * lanes, equal)
    limits = load_like(constants, _OPEN * lanes, equal), load_like(constants, _EXTEND * lanes, equal), zero
    # Lanes that have not begun compute values that are never read.
    corner, last_0, last_1, gaps_0, gaps_1, best_0, best_1 = zero, zero, zero, zero, zero, zero, zero
    found = np.int64(scale.goal), np.int64(-1), np.int64(-1)
    for step in range(groups + last_lane):
        if step <= last_lane:
            store(carried, 0, corner)
            _enter(space, tile, step, height, scale)
            corner = load_like(carried, 0, equal)
        at = groups - 1 + last_lane - step
        letter_0, letter_1 = load_like(even, at, equal), load_like(odd, at, equal)
        diagonal = corner
        above_0, corner = moved_up(last_0, upper[2 * step]), moved_up(last_1, upper[2 * step + 1])
        gap_0, gap_1 = moved_up(gaps_0, gaps[2 * step]), moved_up(gaps_1, gaps[2 * step + 1])
        above_1 = corner
        for row in range(height):
            at = row * _ROW * lanes
            letter, left = load_like(cells, at, equal), load_like(cells, at + _SCORES * lanes, equal)
            deletion = load_like(cells, at + _DELETIONS * lanes, equal)
            word = (step * height + row) * WIDTH * WORDS_PER_COLUMN
            score = choose_equal(letter, letter_0, equal, different)
            cell = _cell(add(diagonal, score), gap_0, deletion, limits, bounded)
            if keep:
                note(directions, word, gap_0, deletion, cell)
            diagonal, above_0, gap_0, deletion = above_0, cell[0], cell[1], cell[2]
            score = choose_equal(letter, letter_1, equal, different)
            cell = _cell(add(diagonal, score), gap_1, deletion, limits, bounded)
            if keep:
                note(directions, word + WORDS_PER_COLUMN, gap_1, deletion, cell)
            diagonal, above_1, gap_1, deletion = left, cell[0], cell[1], cell[2]
            if keep:
                if bits_greater(maximum(above_0, above_1), goal) != 0:
                    store(carried, 0, above_0)
                    store(carried, lanes, above_1)
                    found = _first(carried, step, row, height, scale.goal, tile, found)
            elif bounded:
                best_0, best_1 = maximum(best_0, above_0), maximum(best_1, above_1)
            store(cells, at + _SCORES * lanes, above_1)
            store(cells, at + _DELETIONS * lanes, deletion)
            if row == last_row:
                store(export, 0, above_0)
                store(export, lanes, above_1)
                store(export, 2 * lanes, gap_0)
                store(export, 3 * lanes, gap_1)
        last_0, last_1, gaps_0, gaps_1 = above_0, above_1, gap_0, gap_1
        lower[2 * step], lower[2 * step + 1] = export[last_lane], export[lanes + last_lane]
        lower_gaps[2 * step], lower_gaps[2 * step + 1] = export[2 * lanes + last_lane], export[3 * lanes + last_lane]
        if hands_on:
            _leave(space, tile, step, last_lane, height, scale.base)
        if bounded and not keep:
            lanes_found = bits_greater(maximum(best_0, best_1), goal)
            if lanes_found != 0:
                store(carried, 0, best_0)
                store(carried, lanes, best_1)
                found = _best_end(carried, step, np.uint64(lanes_found), height, tile, found)
                constants[_GOAL * lanes : (_GOAL + 1) * lanes] = found[0] - (found[2] >= 0)
                goal, best_0, best_1 = load_like(constants, _GOAL * lanes, equal), zero, zero
    return found


@inlined
def _cell(value, gap, deletion, limits, bounded):
    """Compute a vector of cells from `value` (H of the diagonal plus the letters' score), I (`gap`) and D."""
    # Returns H, I of the row below, D of the column to the right, and the vectors that `note` compares.
    gap_open, gap_extend, zero = limits
    paired = maximum(value, gap)
    best = maximum(value, deletion)
    if bounded:
        best = maximum(best, zero)
    best = maximum(best, gap)
    opened, longer_gap, longer = add(best, gap_open), add(gap, gap_extend), add(deletion, gap_extend)
    return best, maximum(opened, longer_gap), maximum(opened, longer), value, paired, opened, longer_gap, longer


@compiled
def _first(carried, step, row, height, goal, tile, found):
    """Return the first cell above a goal among `found` and a row of all lanes, in both columns of a step."""
    lanes = len(carried) // 2
    for lane in range(lanes):
        i = np.int64(lane * height + row)
        if i >= len(tile.query):
            break
        for second in range(WIDTH):
            j = np.int64(WIDTH * (step - lane) + second)
            first = found[2] < 0 or j < found[2] or (j == found[2] and i < found[1])
            if first and 0 <= j < len(tile.target) and carried[second * lanes + lane] > goal:
                found = (found[0], i, j)
    return found


@compiled
def _best_end(carried, step, lanes_found, height, tile, found):
    """Return the better of `found` (score, last row of the lane, column or -1) and the largest H of lanes in a step."""
    lanes = len(carried) // 2
    while lanes_found != 0:
        lane = trailing_zeros(lanes_found)
        lanes_found &= lanes_found - np.uint64(1)
        i = np.int64(min((lane + 1) * height, len(tile.query)) - 1)
        for second in range(WIDTH):
            score, j = np.int64(carried[second * lanes + lane]), np.int64(WIDTH * (step - lane) + second)
            if not 0 <= j < len(tile.target) or lane * height >= len(tile.query):
                continue
            first = found[2] < 0 or j < found[2] or (j == found[2] and i < found[1])
            if score > found[0] or (score == found[0] and found[2] >= 0 and first):
                found = (score, i, j)
    return found

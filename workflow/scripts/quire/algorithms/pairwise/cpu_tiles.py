"""One tile of the matrix in Numba: 32 bands of rows (16 without AVX-512) in lockstep, one a vector lane.

Lane k holds the rows k * height to (k + 1) * height - 1 of the tile, and is two columns behind lane k - 1, so that the
row above a lane's first is the last row of the lane before, one step ago. A step computes two columns of all lanes
(`_steps`): scores of both stay in registers, H and D of the second are read and written once a row.

Scores are int16, relative to a base of the tile, where all of a tile's fit (`_base`); else int32. Both are exact.
What stands on a border beside H is I for the row below (D for the column to the right), so that it is computed once.

Directions of the cells of one row in one step: eight words, four for each column, a bit for each lane: whether an
insertion is better than the diagonal, whether a deletion is better than both, whether I of the row below and D of the
column to the right go on with a gap. Where a path of mode LOCAL ends is not among them: `follow_tile` keeps the score.
"""

import numpy as np

from quire.algorithms.pairwise import NEVER
from quire.algorithms.pairwise.cpu_layout import CEILING, FLOOR, LANES, LARGEST_SCORE, WIDTH, WORDS, height_of, note
from quire.simd.bits import trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.letters import BOTH_BYTES, ROW_MARK, letter_scores, score_letters
from quire.simd.vectors import (
    add,
    bits_greater,
    load,
    maximum,
    moved_up,
    splat,
    store,
)

_MATCH, _MISMATCH, _OPEN, _EXTEND, _ZERO, _GOAL = range(6)  # constants of a tile
_CORNER, _BEST = range(2)  # vectors of which a lane is written or read by itself
_PADDING = 6  # a letter of its own
MORE = -2  # for a row: the first cell with a goal has more


@inlined
def _base(border, scoring, local):
    """The score that int16 0 stands for, and whether all scores of the tile fit.

    Inside the tile no H is above the border's largest and a match for each row or column; none lies further below the
    border's smallest than a gap from there (or 0 in mode LOCAL). I and D that are worse than a gap from H could be are
    as good as none.
    """
    upper, left = border.upper, border.left
    lowest, highest = upper[0, 0], upper[0, 0]
    for j in range(upper.shape[1]):
        lowest, highest = min(lowest, upper[0, j]), max(highest, upper[0, j])
    for i in range(left.shape[1]):
        lowest, highest = min(lowest, left[0, i]), max(highest, left[0, i])
    shorter = min(upper.shape[1], left.shape[1])
    highest += shorter * scoring.match
    lowest += scoring.gap_open + shorter * scoring.gap_extend
    if local:
        lowest = max(lowest, 0)
    price = -min(scoring.gap_open, scoring.mismatch)
    fits = highest - lowest + 2 * price < CEILING - FLOOR and max(price, scoring.match) <= LARGEST_SCORE
    return highest - CEILING, fits


@compiled
def fits_in_16_bits(border, scoring, local):
    """Whether `solve_tile` computes a tile with such a border in int16."""
    return _base(border, scoring, local)[1]


@compiled
def solve_tile(spaces, query, target, border, scoring, local, goal, goal_column, directions):
    """Compute a tile from its upper and left border.

    Args:
        spaces: (Space of int16, Space of int32).
        query, target: uint8, the letters of its rows and columns.
        border: `Border`; the lower and right parts are written, but where their second dimension is 0. A right border
            needs an even number of columns.
        scoring: `Scoring`.
        local: whether the mode is LOCAL.
        goal, goal_column: a score; the first cell with it or a larger one is looked for, in this column of the tile
            and those behind it (only with directions, and in mode LOCAL).
        directions: BITS[direction_words(rows, columns)], written; or of length 0.

    Returns:
        The tile's largest H (mode LOCAL only), and row and column within the tile of the first cell whose H is `goal`
        or more (smallest column, then row), or -1. The row is MORE where that cell's H is more.
    """
    base, fits = _base(border, scoring, local)
    if not fits:
        return _solve(spaces[1], query, target, border, scoring, local, goal, goal_column, directions, 0, NEVER, False)
    if local:
        return _solve(
            spaces[0], query, target, border, scoring, local, goal, goal_column, directions, base, FLOOR, False
        )
    return _solve_unbounded(spaces[0], query, target, border, scoring, directions, base)


@compiled
def solve_for_end(spaces, query, target, border, scoring, directions):
    """`solve_tile` in mode LOCAL: the directions, the largest H, and the first cell that has it, in one sweep.

    Returns:
        The score, and row and column within the tile (smallest column, then row); 0, -1 and -1 where no H is above 0.
    """
    base, fits = _base(border, scoring, True)
    if fits:
        return _solve(spaces[0], query, target, border, scoring, True, 1, 0, directions, base, FLOOR, True)
    return _solve(spaces[1], query, target, border, scoring, True, 1, 0, directions, 0, NEVER, True)


@compiled
def _solve(space, query, target, border, scoring, local, goal, goal_column, directions, base, floor, end):
    """`solve_tile` in the type of `space`, or `solve_for_end`."""
    zero = max(-base, floor) if local else floor
    _place(space, query, target, border, scoring, base, floor, zero, min(max(goal - 1 - base, floor), -floor))
    rows, columns = len(query), len(target)
    if end:
        best, row, column = _steps_for_end(space, border, rows, columns, base, floor, directions, goal_column)
    elif len(directions) > 0:
        best, row, column = _steps_with_directions(space, border, rows, columns, base, floor, directions, goal_column)
    else:
        best, row, column = _steps_without(space, border, rows, columns, base, floor, directions, 0)
    _hand_on(space, border, rows, columns, base)
    return np.int64(best) + base, row, column


@compiled
def _solve_unbounded(space, query, target, border, scoring, directions, base):
    """`solve_tile` in int16 and in the modes that know no lowest and no largest H."""
    _place(space, query, target, border, scoring, base, FLOOR, FLOOR, FLOOR)
    rows, columns = len(query), len(target)
    if len(directions) > 0:
        _steps_unbounded_with_directions(space, border, rows, columns, base, directions)
    else:
        _steps_unbounded(space, border, rows, columns, base, directions)
    _hand_on(space, border, rows, columns, base)
    return np.int64(0), np.int64(-1), np.int64(-1)


@inlined
def _place(space, query, target, border, scoring, base, floor, zero, wanted):
    """Write what the steps read."""
    scores = (scoring.match, scoring.mismatch, scoring.gap_open, scoring.gap_extend, zero, wanted)
    for k in range(6):
        space.constants[k * LANES : (k + 1) * LANES] = scores[k]
    _place_letters(space, query, target, height_of(len(query)), (len(target) + WIDTH - 1) // WIDTH)
    _place_upper(space, border.upper, len(target), base, floor)


@inlined
def _hand_on(space, border, rows, columns, base):
    """Write the lower border and the corner of the right one."""
    lanes = (rows + height_of(rows) - 1) // height_of(rows)
    if border.lower.shape[1] > 0:
        border.lower[0, 0] = border.left[0, rows]
        for j in range(columns):
            border.lower[0, j + 1] = base + space.lower[WIDTH * (lanes - 1) + j]
            border.lower[1, j + 1] = base + space.lower_gaps[WIDTH * (lanes - 1) + j]
    if border.right.shape[1] > 0:
        border.right[0, 0] = border.upper[0, columns]


@inlined
def _place_letters(space, query, target, height, groups):
    """Write the sequences where the steps read them."""
    for lane in range(LANES):
        for r in range(height):
            i = lane * height + r
            space.query[r * LANES + lane] = (query[i] if i < len(query) else _PADDING) * BOTH_BYTES + ROW_MARK
    # Step s loads from steps - 1 - s on: lane k finds the letters of group s - k at steps - 1 - s + k.
    last = (len(query) + height - 1) // height - 1 + groups - 1
    space.even[: last + LANES] = (_PADDING + 1) * BOTH_BYTES
    space.odd[: last + LANES] = (_PADDING + 1) * BOTH_BYTES
    for j in range(len(target)):
        if j & 1:
            space.odd[last - (j >> 1)] = target[j] * BOTH_BYTES
        else:
            space.even[last - (j >> 1)] = target[j] * BOTH_BYTES


@inlined
def _place_upper(space, upper, columns, base, floor):
    """Write the row above the tile, relative to the base."""
    space.upper[:] = floor
    space.gaps[:] = floor
    for j in range(columns):
        space.upper[j] = max(upper[0, j + 1] - base, floor)
        space.gaps[j] = max(upper[1, j + 1] - base, floor)


@inlined
def _enter(scores, deletions, carried, left, lane, rows, height, base, floor):
    """Write the left border of a lane that begins with the next step."""
    carried[_CORNER * LANES + lane] = max(left[0, lane * height] - base, floor)
    carried[_BEST * LANES + lane] = floor
    for r in range(height):
        i = lane * height + r + 1
        scores[r * LANES + lane] = max(left[0, i] - base, floor) if i <= rows else floor
        deletions[r * LANES + lane] = max(left[1, i] - base, floor) if i <= rows else floor


@inlined
def _leave(scores, deletions, right, lane, rows, height, base):
    """Take the right border of a lane that is through."""
    for r in range(min(height, rows - lane * height)):
        i = lane * height + r + 1
        right[0, i] = base + scores[r * LANES + lane]
        right[1, i] = base + deletions[r * LANES + lane]


@compiled
def _steps_without(space, border, rows, columns, base, floor, directions, goal_column):
    """The steps of a tile whose directions are not asked for."""
    return _steps(space, border, rows, columns, base, floor, directions, goal_column, True, False, False)


@compiled
def _steps_with_directions(space, border, rows, columns, base, floor, directions, goal_column):
    """The same with directions."""
    return _steps(space, border, rows, columns, base, floor, directions, goal_column, True, True, False)


@compiled
def _steps_for_end(space, border, rows, columns, base, floor, directions, goal_column):
    """The same with directions, and a goal that rises with the largest H so far."""
    return _steps(space, border, rows, columns, base, floor, directions, goal_column, True, True, True)


@compiled
def _steps_unbounded(space, border, rows, columns, base, directions):
    """The same without directions, a lowest and a largest H."""
    return _steps(space, border, rows, columns, base, FLOOR, directions, 0, False, False, False)


@compiled
def _steps_unbounded_with_directions(space, border, rows, columns, base, directions):
    """The same with directions."""
    return _steps(space, border, rows, columns, base, FLOOR, directions, 0, False, True, False)


@inlined
def _constant(space, which):
    """One of the tile's constants in every lane."""
    return load(space.constants, which * LANES, LANES)


@inlined
def _steps(space, border, rows, columns, base, floor, directions, goal_column, bounded, keep, end):
    """All steps; `bounded`, `keep` and `end` are known where this is compiled.

    Returns:
        The largest H, relative to the base; row (or MORE) and column of the first cell that is above _GOAL (`keep`
        only), or -1. With `end` those of the first cell with the largest H. Nothing of that unless `bounded`.
    """
    query, even, odd, scores, deletions, upper, gaps, lower, lower_gaps, _, carried, export = space
    left_border, right_border = border.left, border.right
    height, groups = height_of(rows), (columns + WIDTH - 1) // WIDTH
    last_lane, last_row = (rows - 1) // height, (rows - 1) % height
    letters = letter_scores(space.constants[_MATCH * LANES], space.constants[_MISMATCH * LANES], LANES)
    gap_open, gap_extend = _constant(space, _OPEN), _constant(space, _EXTEND)
    zero, goal = _constant(space, _ZERO), _constant(space, _GOAL)
    # Lanes that have not begun compute what nobody reads.
    corner, best, last_0, last_1, gaps_0, gaps_1 = zero, zero, zero, zero, zero, zero
    largest, found = np.int64(floor), (np.int64(-1), np.int64(-1), np.int64(space.constants[_ZERO * LANES]))
    for step in range(groups + last_lane):
        if step <= last_lane:
            store(carried, _CORNER * LANES, corner)
            store(carried, _BEST * LANES, best)
            _enter(scores, deletions, carried, left_border, step, rows, height, base, floor)
            corner, best = load(carried, _CORNER * LANES, LANES), load(carried, _BEST * LANES, LANES)
        at = groups - 1 + last_lane - step
        letter_0, letter_1 = load(even, at, LANES), load(odd, at, LANES)
        diagonal = corner
        above_0, corner = moved_up(last_0, upper[2 * step]), moved_up(last_1, upper[2 * step + 1])
        gap_0, gap_1 = moved_up(gaps_0, gaps[2 * step]), moved_up(gaps_1, gaps[2 * step + 1])
        above_1 = corner
        for row in range(height):
            at = row * LANES
            letter = load(query, at, LANES)
            left, deletion = load(scores, at, LANES), load(deletions, at, LANES)
            word = (step * height + row) * WORDS

            value = add(diagonal, score_letters(letter, letter_0, letters))
            diagonal = above_0
            paired = maximum(value, gap_0)
            above_0 = maximum(paired, deletion)
            if bounded:
                above_0 = maximum(above_0, zero)
                best = maximum(best, above_0)
            opened, longer_gap, longer = add(above_0, gap_open), add(gap_0, gap_extend), add(deletion, gap_extend)
            if keep:
                note(directions, word, gap_0, value, deletion, paired, longer_gap, opened, longer)
            gap_0, deletion = maximum(opened, longer_gap), maximum(opened, longer)

            value = add(diagonal, score_letters(letter, letter_1, letters))
            diagonal = left
            paired = maximum(value, gap_1)
            above_1 = maximum(paired, deletion)
            if bounded:
                above_1 = maximum(above_1, zero)
                best = maximum(best, above_1)
            opened, longer_gap, longer = add(above_1, gap_open), add(gap_1, gap_extend), add(deletion, gap_extend)
            if keep:
                note(directions, word + 4, gap_1, value, deletion, paired, longer_gap, opened, longer)
            gap_1, deletion = maximum(opened, longer_gap), maximum(opened, longer)

            if bounded and keep and 2 * step + 1 >= goal_column and bits_greater(maximum(above_0, above_1), goal) != 0:
                store(carried, 0, above_0)
                store(carried, LANES, above_1)
                if end:
                    lanes = np.uint64(bits_greater(maximum(above_0, above_1), goal))
                    found = _first_best(carried, step, row, rows, height, columns, lanes, found)
                    if found[0] >= 0:
                        carried[0] = found[2] - 1
                        goal = splat(carried[0], LANES)
                else:
                    found = _first(space, step, row, rows, goal_column, columns, found)
            store(scores, at, above_1)
            store(deletions, at, deletion)
            if row == last_row:
                store(export, 0, above_0)
                store(export, LANES, above_1)
                store(export, 2 * LANES, gap_0)
                store(export, 3 * LANES, gap_1)
        last_0, last_1, gaps_0, gaps_1 = above_0, above_1, gap_0, gap_1
        lower[2 * step], lower[2 * step + 1] = export[last_lane], export[LANES + last_lane]
        lower_gaps[2 * step], lower_gaps[2 * step + 1] = export[2 * LANES + last_lane], export[3 * LANES + last_lane]
        lane = step - groups + 1
        if lane >= 0:
            if bounded:
                store(carried, _BEST * LANES, best)
                largest = max(largest, np.int64(carried[_BEST * LANES + lane]))
            if right_border.shape[1] > 0:
                _leave(scores, deletions, right_border, lane, rows, height, base)
    if end:
        return found[2], found[0], found[1]
    if found[0] >= 0 and found[2] > space.constants[_GOAL * LANES] + 1:
        return largest, np.int64(MORE), found[1]
    return largest, found[0], found[1]


@compiled
def _first(space, step, row, rows, goal_column, columns, found):
    """The first of `found` and the cells of a row of lanes, in both columns of a step, that are above _GOAL."""
    height = height_of(rows)
    for lane in range(LANES):
        i, j = np.int64(lane * height + row), np.int64(WIDTH * (step - lane))
        if i >= rows:
            break
        for second in range(WIDTH):
            score = space.carried[second * LANES + lane]
            if not (goal_column <= j + second < columns and score > space.constants[_GOAL * LANES]):
                continue
            if found[0] < 0 or j + second < found[1] or (j + second == found[1] and i < found[0]):
                found = (i, j + second, np.int64(score))
    return found


@inlined
def _first_best(carried, step, row, rows, height, columns, lanes, found):
    """The first of `found` and the cells of these lanes of a row, in both columns of a step, with the largest score."""
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - np.uint64(1)
        i, j = np.int64(lane * height + row), np.int64(WIDTH * (step - lane))
        if i >= rows:
            break
        for second in range(WIDTH):
            score = np.int64(carried[second * LANES + lane])
            if not 0 <= j + second < columns or score < found[2] or (score == found[2] and found[0] < 0):
                continue
            if score > found[2] or j + second < found[1] or (j + second == found[1] and i < found[0]):
                found = (i, j + second, score)
    return found

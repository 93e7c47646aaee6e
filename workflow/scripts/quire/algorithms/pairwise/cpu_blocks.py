"""A path of mode LOCAL through the rows that `cpu_strips` keeps: block by block, whose cells are computed again.

A block is what lies between two kept rows, in the columns where the path can be: as many lanes of the sweep as have
LANES rows together, at least one. It is computed in parts of LANES rows, an antidiagonal of a part a step: lane k is in
row k of it, and k columns behind lane 0.

The row above a block is known. What stands on its left is not, and is taken for the most that it can be there: a path
to a cell x rows below comes from the row above, at most x columns before the cell but for its gaps in the target, which
are in the row above, too; so it has at most what stands there and a match for each row, or begins in the block. So no
cell of a block has less than in the whole matrix. If the cell where the path comes in has the same, and the path that
is followed from there ends, or leaves the block at its top, all of it has what it has in the whole matrix; and what it
does not take, as it is less, is not taken in that either. Else the block is computed again, with more columns.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import State
from quire.algorithms.pairwise.cpu_strips import LANES as STRIP_LANES
from quire.algorithms.pairwise.cpu_strips import sweep_again
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH, CIGAR_SHIFT
from quire.sequence.cigar import append_operation
from quire.simd.compiled import compiled, inlined
from quire.simd.letters import BOTH_BYTES, ROW_MARK, letter_scores, score_letters
from quire.simd.vectors import (
    add,
    as_computed,
    choose_greater,
    load,
    maximum,
    moved_up,
    splat,
    store,
)

LANES = 32
"""Rows of a part, in lanes of int16: two registers of AVX2 take less than twice as long as one and do more."""
MARGIN, WIDER = 8, 4
"""Columns of a block more than it has rows; how many times as many where those are too few."""
CELLS = 2 * LANES  # numbers of a step: H of its cells, and I
_ROW_PADDING, _COLUMN_PADDING = 6, 7  # letters of their own, which match nothing
_PAIRED, _INSERTION, _DELETION = int(State.PAIRED), int(State.INSERTION), int(State.DELETION)


class Block(NamedTuple):
    """A block, whose last cell is where the path comes in, and where its numbers are in an int16 array, its room.

    Attributes:
        top, left: its first row and column, of the matrix, from 0.
        rows, columns: how many.
        steps: of a part.
        scores, gaps: of columns + LANES numbers: H of the row above a part, from the column before the block on, and I
            of the part's first row, from the block's first column on.
        letters: of columns + 2 * LANES: the target's, the last first, so that those of a step stand side by side.
        query: of LANES for each part: the rows' letters.
        before: of LANES for each part and one: the most that H can be in the column before the block, from the row
            above on.
        export: of 2 * LANES: vectors of which a lane is read.
        end: behind all of them.
    """

    top: int
    left: int
    rows: int
    columns: int
    steps: int
    scores: int
    gaps: int
    letters: int
    query: int
    before: int
    export: int
    end: int


@inlined
def _block(top, left, rows, columns):
    """A block, and where its numbers are."""
    whole, gaps = _parts(rows) * LANES, columns + LANES
    letters = gaps + columns + LANES
    query = letters + columns + 2 * LANES
    before = query + whole
    export = before + whole + 1
    steps = columns + LANES - 1
    return Block(top, left, rows, columns, steps, 0, gaps, letters, query, before, export, export + 2 * LANES)


@inlined
def _parts(rows):
    """Of a block."""
    return (rows + LANES - 1) // LANES


@compiled
def follow_blocks(strips, query, target, scoring, end):
    """Follow the path from where the alignment ends.

    Returns:
        Row and column of the cell before the path's first one (from 0), and uint32, its CIGAR elements, backwards.
    """
    height, upper = strips.height, strips.upper.reshape(-1)
    cigar = np.empty(end.row + end.column + 2, np.uint32)
    lanes = max(LANES // height, 1)  # of the sweep, of a block
    room, cells = _room(height * lanes, height * lanes + MARGIN)
    used, row, column, state, score = 0, end.row, end.column, _PAIRED, end.score
    entered, margin = score, MARGIN
    while True:
        top = max(row // height + 1 - lanes, 0) * height
        first, stride, gap = _above(strips, top, scoring, end)
        above = upper if stride == 1 else strips.kept
        if state == _PAIRED:
            i, j, rest = _along_diagonal(query, target, scoring, row, column, top, score)
            if rest == 0 or (i < top and j >= 0 and rest == np.int64(above[first + j * stride]) - strips.zero):
                used = _append_matches(cigar, used, row - i)
                row, column, score, entered = i, j, rest, rest
                if rest == 0:
                    return row, column, cigar[:used]
                continue
        rows, columns = row + 1 - top, min(row + 1 - top + margin, column + 1)
        block = _block(top, column + 1 - columns, rows, columns)
        if len(room) < block.end or len(cells) < _parts(rows) * block.steps * CELLS:
            room, cells = _room(rows, columns)
        _place(block, room, above, first, stride, gap, strips.zero, query, target, scoring)
        known, last = _solve(block, room, cells, scoring, state) == entered, cigar[max(used - 1, 0)]
        if known:
            i, j, state_there, rest, more = _follow(
                block, room, cells, above, first, stride, strips.zero, query, target, scoring, row, column, state,
                score, cigar, used,
            )  # fmt: skip
            ended = state_there == _PAIRED and rest == 0
            known = i < top or (ended and (j >= block.left or block.left == 0))
        if not known:
            cigar[max(used - 1, 0)] = last
            margin *= WIDER
            continue
        row, column, state, score, used, margin = i, j, state_there, rest, more, MARGIN
        if ended:
            return row, column, cigar[:used]
        # A path that leaves with a gap goes on with it: what is known of the row below is one base longer.
        entered = score + scoring.gap_extend if state == _INSERTION else score


@compiled
def _room(rows, columns):
    """Room for blocks up to this size: for what `Block` says, and for its cells."""
    block = _block(0, 0, rows, columns)
    return np.empty(block.end, np.int16), np.empty(_parts(rows) * block.steps * CELLS, np.int16)


@inlined
def _append_matches(cigar, used, bases):
    """Write so many paired bases behind what is used of a CIGAR; returns how much is used then."""
    used = append_operation(cigar, 0, used, CIGAR_MATCH)
    cigar[used - 1] += np.uint32((bases - 1) << CIGAR_SHIFT)
    return used


@inlined
def _above(strips, top, scoring, end):
    """Where the row above `top` is, in `upper` if the second number is 1, else in `kept`.

    Returns:
        The place of H in column 0, how much further that of the next column is, and that of I in the row `top`.
    """
    number, steps = top // strips.height, len(strips.upper[0, 0])
    strip, lane = number // STRIP_LANES, number % STRIP_LANES
    if lane == 0:
        return strip * 2 * steps, np.int64(1), steps
    slot = strip % len(strips.held)
    if strips.held[slot] != strip:
        sweep_again(strips, strip, scoring, end)
    return (slot * steps + lane - 1) * 2 * STRIP_LANES + lane - 1, np.int64(2 * STRIP_LANES), np.int64(STRIP_LANES)


@inlined
def _along_diagonal(query, target, scoring, row, column, top, score):
    """The cell before which a path without gaps has left the rows from `top` on, or has 0, and what it has there.

    If that is what the cell has, so have all of the path, and the diagonal is taken everywhere; a path's last bases
    never have less than 0.
    """
    while row >= top and column >= 0 and score > 0:
        score -= scoring.match if query[_at(row)] == target[_at(column)] else scoring.mismatch
        row, column = row - 1, column - 1
    return row, column, score


@compiled
def _place(block, room, above, first, stride, gap, zero, query, target, scoring):
    """Write what `_solve` reads."""
    columns, left, rows = block.columns, block.left, block.rows
    room[block.letters : block.letters + LANES] = _COLUMN_PADDING * BOTH_BYTES
    room[block.letters + LANES + columns : block.query] = _COLUMN_PADDING * BOTH_BYTES
    last = block.letters + LANES + columns - 1
    for j in range(columns):
        room[_at(last - j)] = target[_at(left + j)] * BOTH_BYTES
    for i in range(rows):
        room[_at(block.query + i)] = query[_at(block.top + i)] * BOTH_BYTES + ROW_MARK
    room[block.query + rows : block.before] = _ROW_PADDING * BOTH_BYTES + ROW_MARK
    here = first + left * stride
    for j in range(columns):
        room[_at(block.scores + 1 + j)] = above[_at(here + j * stride)] - zero
        room[_at(block.gaps + j)] = above[_at(here + j * stride + gap)] - zero
    room[block.scores + columns + 1 : block.gaps] = 0
    room[block.gaps + columns : block.letters] = 0
    most = np.int64(0)
    for i in range(min(rows + 1, left)):
        most = max(most, above[_at(here - (i + 1) * stride)] - zero + i * scoring.match)
        room[_at(block.before + i)] = most
    for i in range(min(rows + 1, left), rows + 1):
        most = max(most, i * scoring.match) if left > 0 else most
        room[_at(block.before + i)] = most
    room[block.before + rows + 1 : block.export] = most
    room[block.scores] = room[block.before]
    for lane in range(LANES):
        room[_at(block.export + lane)] = lane


@inlined
def _at(index):
    """An index that is not negative; Numba asks of others whether they count from the end."""
    return np.uint64(index)


@compiled
def _solve(block, room, cells, scoring, state):
    """Write H and I of all cells; returns H of the last one, or I of the one below it."""
    steps, export = block.steps, block.export
    scores, gaps = room[block.scores : block.gaps], room[block.gaps : block.letters]
    letters_scores = letter_scores(np.int16(scoring.match), np.int16(scoring.mismatch), LANES)
    gap_open, gap_extend = splat(np.int16(scoring.gap_open), LANES), splat(np.int16(scoring.gap_extend), LANES)
    zero, numbers = splat(np.int16(0), LANES), load(room, export, LANES)
    # In the first column of all D has been opened; else it is at most what it would be if all on the left were one.
    opened = splat(np.int16(scoring.gap_open if block.left == 0 else scoring.gap_extend), LANES)
    parts, last_lane = _parts(block.rows), (block.rows - 1) % LANES
    above, gap = numbers, numbers
    for part in range(parts):
        until = steps if part < parts - 1 else block.columns + last_lane
        row = load(room, block.query + part * LANES, LANES)
        border = load(room, block.before + part * LANES + 1, LANES)
        corner, behind = splat(scores[0], LANES), add(border, opened)
        above, deletion, gap = border, behind, border
        letters, at = block.letters + steps, part * steps * CELLS
        for step in range(until):
            diagonal = corner
            corner, gap = moved_up(above, scores[_at(step + 1)]), moved_up(gap, gaps[_at(step)])
            value = add(diagonal, score_letters(row, load(room, letters - step, LANES), letters_scores))
            above = maximum(as_computed(maximum(maximum(value, deletion), zero)), gap)
            store(cells, at, above)
            store(cells, at + LANES, gap)
            at += CELLS
            start = add(above, gap_open)
            gap, deletion = maximum(start, add(gap, gap_extend)), maximum(start, add(deletion, gap_extend))
            if step < LANES:  # lanes that have not begun
                now = splat(np.int16(step), LANES)
                above = choose_greater(numbers, now, border, above)
                deletion = choose_greater(numbers, now, behind, deletion)
            if part < parts - 1 and step >= LANES - 1:
                store(room, export, above)
                store(room, export + LANES, gap)
                scores[_at(step - LANES + 2)] = room[export + LANES - 1]
                gaps[_at(step - LANES + 1)] = room[export + 2 * LANES - 1]
        scores[0] = room[block.before + (part + 1) * LANES]
    store(room, export, above)
    store(room, export + LANES, gap)
    return np.int64(room[export + last_lane + (LANES if state == _INSERTION else 0)])


@compiled
def _follow(
    block, room, cells, above, first, stride, zero, query, target, scoring, row, column, state, score, cigar, used
):
    """Follow the path until it leaves the block or ends.

    Returns:
        Row and column (of the matrix), the state there and what the path has there, and how many elements of `cigar`
        are used. They are of no path where the column is before the block's first and the row is not.
    """
    top, left = block.top, block.left
    while row >= top and column >= left:
        if state == _PAIRED:
            if score == 0:
                break
            paired = scoring.match if query[_at(row)] == target[_at(column)] else scoring.mismatch
            # H of the cell on the diagonal.
            if row == top:
                other = np.int64(above[_at(first + (column - 1) * stride)]) - zero if column > 0 else np.int64(0)
            elif column == left:
                other = np.int64(room[_at(block.before + row - top)])
            else:
                other = np.int64(cells[_place_of(block, row - 1, column - 1)])
            if other + paired == score:
                used = append_operation(cigar, 0, used, CIGAR_MATCH)
                row, column, score = row - 1, column - 1, other
                continue
            state = _INSERTION if cells[_place_of(block, row, column) + np.uint64(LANES)] == score else _DELETION
        if state == _INSERTION:
            operation = CIGAR_INSERTION
            row -= 1
            if row < top:
                other = np.int64(above[_at(first + column * stride)]) - zero
            else:
                other = np.int64(cells[_place_of(block, row, column)])
        else:
            operation = CIGAR_DELETION
            column -= 1
            if column < left:
                other = np.int64(room[_at(block.before + row - top + 1)])
            else:
                other = np.int64(cells[_place_of(block, row, column)])
        longer = other + scoring.gap_open != score
        score -= scoring.gap_extend if longer else scoring.gap_open
        state = state if longer else _PAIRED
        used = append_operation(cigar, 0, used, operation)
    return row, column, state, score, used


@inlined
def _place_of(block, row, column):
    """Where a cell's H is."""
    i = row - block.top
    part, lane = i // LANES, i % LANES
    return _at((part * block.steps + column - block.left + lane) * CELLS + lane)

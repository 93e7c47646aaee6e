"""The traceback of a swept matrix: the alignment's end, and its path through tiles whose directions are recomputed."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import LARGEST, Mode, State
from quire.algorithms.pairwise.layout_cpu import BITS, LANES, direction_words, height_of, is_noted, tile_up_to
from quire.algorithms.pairwise.tiles_cpu import note_tile, spaces_for
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar_cpu import append_operation
from quire.simd.compiled import compiled, inlined

HEADER = 5  # numbers before the CIGAR
_LOCAL, _GLOBAL = int(Mode.LOCAL), int(Mode.GLOBAL)
_PAIRED, _INSERTION, _DELETION = int(State.PAIRED), int(State.INSERTION), int(State.DELETION)


class Path(NamedTuple):
    """A path that is followed backwards.

    Attributes:
        row, column: the current cell, from 1 in a matrix and from 0 in a tile.
        state: int of the `State` there.
        score: H, I or D there, by the state.
        ended: whether the alignment begins there: in mode LOCAL, a cell whose H is 0.
        used: number of elements of its CIGAR.
    """

    row: int
    column: int
    state: int
    score: int
    ended: bool
    used: int


@compiled
def trace(matrix, at_corner):
    """Find the alignment of a swept `Matrix`; `at_corner` as in `cpu.align`.

    Returns:
        uint32[HEADER + elements]: the score + LARGEST, row and column (from 1) of the last cell and of the cell before
        the first one, and the CIGAR elements.
    """
    scoring, local = matrix.scoring, matrix.mode == _LOCAL
    rows, columns = min(matrix.tile_rows, len(matrix.query)), min(matrix.tile_columns, len(matrix.target))
    spaces = spaces_for(rows, columns)
    directions = np.empty(direction_words(rows, columns), BITS)
    score, row, column = _end(matrix, at_corner)
    if local and score == 0:
        return np.array([LARGEST, 0, 0, 0, 0], np.uint32)
    goal = score if local and not at_corner else np.int64(0)
    cigar = np.empty(row + column, np.uint32)
    path = Path(row, column, _PAIRED, score, False, 0)
    while path.row > 0 and path.column > 0 and not path.ended:
        top = (path.row - 1) // matrix.tile_rows * matrix.tile_rows
        left = (path.column - 1) // matrix.tile_columns * matrix.tile_columns
        tile = tile_up_to(matrix, path.row, path.column)
        found = note_tile(spaces, tile, scoring, local, goal, directions)
        if goal > 0:
            row, goal = top + found + 1, np.int64(0)
        else:
            found = path.row - top - 1
        inside = Path(found, path.column - left - 1, path.state, path.score, False, path.used)
        inside = _follow_tile(tile, directions, scoring, local, inside, cigar)
        path = Path(
            top + inside.row + 1, left + inside.column + 1, inside.state, inside.score, inside.ended, inside.used
        )
    begin_row, begin_column, used = path.row, path.column, path.used
    if not local:
        for _ in range(begin_row):
            used = append_operation(cigar, 0, used, CIGAR_INSERTION)
        begin_row = 0
    if matrix.mode == _GLOBAL:
        for _ in range(begin_column):
            used = append_operation(cigar, 0, used, CIGAR_DELETION)
        begin_column = 0
    packed = np.empty(HEADER + used, np.uint32)
    packed[0], packed[1], packed[2], packed[3], packed[4] = score + LARGEST, row, column, begin_row, begin_column
    packed[HEADER:] = cigar[:used][::-1]
    return packed


@inlined
def _end(matrix, at_corner):
    """Return score, row and column (from 1) of the alignment's end; in mode LOCAL the row is that of `Matrix.ends`."""
    rows, columns, bottom = len(matrix.query), len(matrix.target), matrix.rows[-1, 0]
    if at_corner or matrix.mode == _GLOBAL:
        return np.int64(bottom[columns]), rows, columns
    if matrix.mode == _LOCAL:
        score, row, column = matrix.ends[-1, -1]
        return np.int64(score), np.int64(row), np.int64(column)
    column = np.int64(np.argmax(bottom))
    return np.int64(bottom[column]), rows, column


@compiled
def _follow_tile(tile, directions, scoring, local, path, cigar):
    """Follow a path from a cell of a tile until it ends or leaves the tile; append to `cigar`, last element first."""
    height, query, target = height_of(len(tile.query), LANES), tile.query, tile.target
    upper, left = tile.upper, tile.left
    row, column, state, score, ended, used = path
    while row >= 0 and column >= 0:
        if state == _PAIRED:
            if local and score == 0:
                ended = True
                break
            if is_noted(directions, height, row, column, 1):
                state = _DELETION
            elif is_noted(directions, height, row, column, 0):
                state = _INSERTION
        if state == _PAIRED:
            used = append_operation(cigar, 0, used, CIGAR_MATCH)
            score -= scoring.match if query[row] == target[column] else scoring.mismatch
            row, column = row - 1, column - 1
            continue
        if state == _INSERTION:
            used = append_operation(cigar, 0, used, CIGAR_INSERTION)
            row -= 1
            if row < 0:
                longer = upper[1, column + 1] > upper[0, column + 1] + scoring.gap_open
            else:
                longer = is_noted(directions, height, row, column, 2)
        else:
            used = append_operation(cigar, 0, used, CIGAR_DELETION)
            column -= 1
            if column < 0:
                longer = left[1, row + 1] > left[0, row + 1] + scoring.gap_open
            else:
                longer = is_noted(directions, height, row, column, 3)
        score -= scoring.gap_extend if longer else scoring.gap_open
        state = state if longer else _PAIRED
    return Path(row, column, state, score, ended, used)

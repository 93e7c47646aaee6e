"""A path through one tile in Numba, from the directions that `cpu_tiles` keeps."""

import numpy as np

from quire.algorithms.pairwise import State
from quire.algorithms.pairwise.cpu_layout import WIDTH, is_noted
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar import append_operation
from quire.simd.compiled import compiled, inlined

_PAIRED, _INSERTION, _DELETION = int(State.PAIRED), int(State.INSERTION), int(State.DELETION)


@compiled
def follow_tile(query, target, directions, height, border, scoring, local, row, column, state, score):
    """Follow a path from a cell until it leaves the tile or ends.

    Args:
        query, target: uint8, the letters of the tile's rows and columns.
        directions: of the tile, four words for each column of a step, for each row of a lane, for each step.
        height: rows of a lane.
        border: its `Border`; the upper and left parts are read.
        scoring: `Scoring`.
        local: whether the path ends where H is 0.
        row, column: of the cell, within the tile.
        state: int of the `State` there.
        score: of the path there (H, I or D by the state); only read if `local`.

    Returns:
        Row and column, -1 on a border; the state there; whether the path ended; uint32, CIGAR elements, backwards.
    """
    cigar = np.empty(row + column + 2, np.uint32)
    used = 0
    ended = False
    while row >= 0 and column >= 0:
        if state == _PAIRED:
            if local and score == 0:
                ended = True
                break
            if _bit(directions, height, row, column, 1):
                state = _DELETION
            elif _bit(directions, height, row, column, 0):
                state = _INSERTION
        if state == _PAIRED:
            operation = CIGAR_MATCH
            score -= scoring.match if query[row] == target[column] else scoring.mismatch
            row, column = row - 1, column - 1
        else:
            if state == _INSERTION:
                operation = CIGAR_INSERTION
                row -= 1
                if row < 0:
                    longer = border.upper[1, column + 1] > border.upper[0, column + 1] + scoring.gap_open
                else:
                    longer = _bit(directions, height, row, column, 2)
            else:
                operation = CIGAR_DELETION
                column -= 1
                if column < 0:
                    longer = border.left[1, row + 1] > border.left[0, row + 1] + scoring.gap_open
                else:
                    longer = _bit(directions, height, row, column, 3)
            score -= scoring.gap_extend if longer else scoring.gap_open
            state = state if longer else _PAIRED
        used = append_operation(cigar, 0, used, operation)
    return row, column, state, ended, cigar[:used].copy()


@inlined
def _bit(directions, height, row, column, which):
    """One of the four directions of a cell."""
    lane = row // height
    word = (((column // WIDTH + lane) * height + row % height) * WIDTH + column % WIDTH) * 4
    return is_noted(directions, word, lane, which)

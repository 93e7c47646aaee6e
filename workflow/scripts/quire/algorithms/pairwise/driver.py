"""From a swept matrix to the alignment: the end by the rules of ties, and the path tile by tile. Shared by the twins.

A twin sweeps the matrix once. It then holds the directions of every cell, or (in linear memory) the scores on the
tiles' borders, from which it computes the directions of those tiles again that the path goes through. The driver does
not know which.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, State
from quire.algorithms.pairwise.tiling import Tiling
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_SHIFT


class Cell(NamedTuple):
    """Where a path is: the cell, and in which matrix there."""

    row: int
    column: int
    state: State


class PathStretch(NamedTuple):
    """A part of a path, followed backwards.

    Attributes:
        cell: where it leads.
        ended: whether the path begins there: a cell of mode LOCAL whose H is 0.
        cigar: uint32[k], its elements as in BAM, the last of the alignment first.
    """

    cell: Cell
    ended: bool
    cigar: NDArray[np.uint32]


class Sweep(ABC):
    """A matrix that a twin has swept.

    Attributes:
        tiling: how the matrix is cut.
        maxima: int32[down, across], the largest H of each tile's cells; only mode LOCAL asks for it.
        bottom: int32[n + 1], H(m, j); modes GLOBAL and GLOCAL ask for it.
    """

    tiling: Tiling
    maxima: NDArray[np.int32]
    bottom: NDArray[np.int32]

    @abstractmethod
    def best_cell(self, down: int, across: int) -> tuple[int, int]:
        """Row and column (of the matrix) of the cell with the tile's largest H; the smallest column, then row, of
        several. Mode LOCAL alone asks for it, and for tiles with the largest maximum only.
        """

    @abstractmethod
    def follow(self, cell: Cell) -> PathStretch:
        """Follow the path from a cell of a tile (row and column at least 1), at least until it leaves the tile or ends.

        In state INSERTION (DELETION) the cell's own step is an insertion (deletion), whatever leads to its H. A path
        that leaves a tile stands on the tile's upper or left border, or at the corner of both.
        """


def trace(pair: Pair, sweep: Sweep, at_corner: bool = False) -> PairwiseAlignment:
    """The alignment of a swept matrix, m and n at least 1.

    Args:
        pair, sweep: what was swept.
        at_corner: whether the alignment must end at (m, n), as that of mode GLOBAL does.
    """
    rows, columns = sweep.tiling.rows, sweep.tiling.columns
    score, row, column = (int(sweep.bottom[columns]), rows, columns) if at_corner else _end(pair, sweep)
    if pair.mode == Mode.LOCAL and score == 0:
        return nothing(0)
    cell, ended = Cell(row, column, State.PAIRED), False
    parts = []
    while not ended and cell.row > 0 and cell.column > 0:
        cell, ended, cigar = sweep.follow(cell)
        parts.append(cigar)
    # In mode LOCAL a path does not come to row 0 or column 0 but where it begins.
    begin_row, begin_column = cell.row, cell.column
    if pair.mode != Mode.LOCAL:
        parts.append(_gap(begin_row, CIGAR_INSERTION))
        begin_row = 0
    if pair.mode == Mode.GLOBAL:
        parts.append(_gap(begin_column, CIGAR_DELETION))
        begin_column = 0
    return PairwiseAlignment(score, begin_row, row, begin_column, column, joined(parts)[::-1].copy())


def without_matrix(pair: Pair, at_corner: bool = False) -> PairwiseAlignment | None:
    """The alignment where the query or the target is empty; None where neither is. See `trace` for `at_corner`."""
    rows, columns = len(pair.query), len(pair.target)
    if rows > 0 and columns > 0:
        return None
    if pair.mode == Mode.LOCAL:
        return nothing(0)
    if pair.mode == Mode.GLOCAL and rows == 0:
        place = columns if at_corner else 0
        return PairwiseAlignment(0, 0, 0, place, place, np.empty(0, np.uint32))
    length, operation = (rows, CIGAR_INSERTION) if columns == 0 else (columns, CIGAR_DELETION)
    score = pair.scoring.gap_open + (length - 1) * pair.scoring.gap_extend if length > 0 else 0
    return PairwiseAlignment(score, 0, rows, 0, columns, _gap(length, operation))


def nothing(score: int) -> PairwiseAlignment:
    """An alignment of nothing."""
    return PairwiseAlignment(score, 0, 0, 0, 0, np.empty(0, np.uint32))


def joined(parts: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Elements of all parts, in their order; neighbours with one operation become one element."""
    elements = np.concatenate([np.empty(0, np.uint32), *parts])
    if len(elements) == 0:
        return elements
    operations, lengths = elements & CIGAR_MASK, (elements >> CIGAR_SHIFT).astype(np.int64)
    first = np.flatnonzero(np.append(True, operations[1:] != operations[:-1]))
    return (np.add.reduceat(lengths, first) << CIGAR_SHIFT | operations[first]).astype(np.uint32)


def _end(pair: Pair, sweep: Sweep) -> tuple[int, int, int]:
    """Score, row and column of the alignment's end."""
    rows, columns = sweep.tiling.rows, sweep.tiling.columns
    if pair.mode == Mode.GLOBAL:
        return int(sweep.bottom[columns]), rows, columns
    if pair.mode == Mode.GLOCAL:
        column = int(np.argmax(sweep.bottom))
        return int(sweep.bottom[column]), rows, column
    score = int(sweep.maxima.max())
    if score <= 0:
        return 0, 0, 0
    best = sweep.maxima == score
    across = int(np.flatnonzero(best.any(axis=0))[0])
    cells = [sweep.best_cell(int(down), across) for down in np.flatnonzero(best[:, across])]
    row, column = min(cells, key=lambda cell: (cell[1], cell[0]))
    return score, row, column


def _gap(length: int, operation: int) -> NDArray[np.uint32]:
    """The element of a gap, or none."""
    return np.array([length << CIGAR_SHIFT | operation] if length > 0 else [], np.uint32)

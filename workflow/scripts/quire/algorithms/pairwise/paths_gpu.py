"""Paths through directions on a card: many warps follow parts of one path at once, and the host joins the parts.

A part begins at the largest H of each kept row: if the path goes through that cell, the parts above and below meet
there. What does not meet goes on alone, so that guesses decide the time and never the path.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise.shapes import StripShape
from quire.algorithms.pairwise.sweep_gpu import (
    IN_BEST,
    CardMatrices,
    PathState,
    PlacedMatrix,
    TileGrid,
    upload_together,
)
from quire.device.card import CardArray
from quire.sam import CIGAR_SHIFT

ROWS_PER_ELEMENT, FEWEST_ELEMENTS = 4, 64
"""Room for the elements of a guessed part, by the rows between two kept rows; what has more goes on later."""
USUAL_ELEMENTS = 4096  # of the parts that begin where the paths are
_ROW, _COLUMN, _FIRST, _ROOM = (PathState._fields.index(name) for name in ("row", "column", "first", "room"))


class TileDirections(NamedTuple):
    """Directions of some tiles of a batch's matrices.

    Attributes:
        shape: of the kernel that made them.
        bits: uint64, on the card.
        grids: of each matrix; `tiles` and `starts` are set when paths are followed.
        places: int64[tiles], of each matrix: where a tile's directions begin in `bits`; -1: they are not there.
    """

    shape: StripShape
    bits: CardArray
    grids: list[TileGrid]
    places: list[NDArray[np.int64]]

    def has(self, matrix: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the directions of cells, rows and columns from 1, are there."""
        grid = self.grids[matrix]
        tiles = (rows - 1) // grid.tile_rows * grid.across + (columns - 1) // grid.tile_columns
        there: NDArray[np.bool_] = self.places[matrix][tiles] >= 0
        return there


@dataclass
class Walk:
    """A path as far as it is known.

    Attributes:
        row, column: of the cell where it is, from 1.
        state: in H there, or in a gap that may go on (trace.cu).
        complete: whether it has ended, or stands on row 0 or column 0.
        parts: uint32[], its elements, the last one first.
    """

    row: int
    column: int
    state: int = IN_BEST
    complete: bool = False
    parts: list[NDArray[np.uint32]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """A path on a border is complete."""
        self.complete = self.row == 0 or self.column == 0

    def advance(self, path: PathState, elements: NDArray[np.uint32]) -> None:
        """Take over a part that was followed from here."""
        self.parts.append(elements)
        self.row, self.column, self.state = path.row, path.column, path.state
        self.complete = bool(path.ended)


def whole_grid(matrix: PlacedMatrix, shape: StripShape) -> TileGrid:
    """One tile: all directions are there."""
    return TileGrid(matrix.rows, matrix.columns, 1, 0, shape.bits_stride(matrix.rows), matrix.keep, 0)


def tile_grid(matrix: PlacedMatrix, shape: StripShape) -> TileGrid:
    """Tiles between kept rows and columns."""
    return TileGrid(
        matrix.keep, matrix.tile_columns, matrix.across, 0, shape.bits_stride(matrix.keep), matrix.keep, 0
    )  # fmt: skip


def follow(batch: CardMatrices, tiles: TileDirections, peaks: list[NDArray[np.int32]], walks: list[Walk]) -> None:
    """Follow the paths of a batch's matrices as far as directions and room for elements go.

    Args:
        batch: with its matrices.
        tiles: what is there of their directions.
        peaks: `CardMatrices.peaks` of each.
        walks: of each; those that are not complete go on, by one base at least if their tile is there.
    """
    card = batch.card
    befores = np.cumsum([0, *(len(rows) for rows in peaks)]).tolist()
    firsts = np.cumsum([0, *(len(places) for places in tiles.places)]).tolist()
    starts = np.zeros(befores[-1], np.int64)
    begun = np.full(befores[-1], -1, np.int64)  # the part that begins on a kept row, likewise
    own: dict[int, int] = {}  # of each walk: its first part
    tables = [np.empty((0, len(PathState._fields)), np.int64)]
    count = 0
    for number, walk in enumerate(walks):
        if walk.complete:
            continue
        keep = batch.matrices[number].keep
        kept = np.arange((walk.row - 1) // keep, 0, -1)
        columns = peaks[number][kept, 1].astype(np.int64)
        kept, columns = (array[(columns > 0) & (columns <= walk.column)] for array in (kept, columns))
        known = tiles.has(number, kept * keep, columns)
        kept, columns = kept[known], columns[known]
        table = np.zeros((1 + len(kept), len(PathState._fields)), np.int64)
        table[0] = number, walk.row, walk.column, walk.state, 0, 2 * min(walk.row, walk.column) + 4, 0, 0
        table[1:] = number, 0, 0, IN_BEST, 0, keep // ROWS_PER_ELEMENT + FEWEST_ELEMENTS, 0, 0
        table[1:, _ROW], table[1:, _COLUMN] = kept * keep, columns
        starts[befores[number] + kept] = columns
        begun[befores[number] + kept] = count + 1 + np.arange(len(kept))
        own[number] = count
        count += len(table)
        tables.append(table)
    if count == 0:
        return
    # What little of the walks' own parts is usual stands beside the others' elements, so that it comes with them.
    paths = np.concatenate(tables)
    rooms, is_own = paths[:, _ROOM], np.isin(np.arange(count), list(own.values()))
    paths[~is_own, _FIRST] = np.cumsum(np.append(0, rooms[~is_own]))[:-1]
    guessed = int(rooms[~is_own].sum())
    paths[is_own, _FIRST] = guessed + np.cumsum(np.append(0, rooms[is_own]))[:-1]
    usual = min(guessed + USUAL_ELEMENTS, guessed + int(rooms[is_own].sum()))
    grids = [grid._replace(tiles=firsts[number], starts=befores[number]) for number, grid in enumerate(tiles.grids)]
    on_card, card_grids, places, card_starts = upload_together(
        card, [paths, np.array(grids, np.int64), np.concatenate(tiles.places), starts]
    )
    elements = card.empty(int(rooms.sum()), np.uint32)
    batch.follow(tiles.shape, on_card, card_grids, places, card_starts, tiles.bits, elements)
    followed = card.download(on_card).tolist()
    written = card.download(elements[:usual])
    for number, first in own.items():
        walk, keep, going = walks[number], batch.matrices[number].keep, first
        while going >= 0:
            path = PathState(*followed[going])
            last = path.first + path.elements
            walk.advance(
                path, written[path.first : last] if last <= usual else card.download(elements[path.first : last])
            )
            going = -1
            if walk.row % keep == 0 and walk.state == IN_BEST and not walk.complete:
                met = befores[number] + walk.row // keep
                going = int(begun[met]) if starts[met] == walk.column else -1


def element(length: int, operation: int) -> NDArray[np.uint32]:
    """The element of a CIGAR as BAM has it; none of no length."""
    return np.array([length << CIGAR_SHIFT | operation] if length > 0 else [], np.uint32)


def guess_tiles(
    matrix: PlacedMatrix, peaks: NDArray[np.int32], row: int, column: int, local: bool
) -> list[tuple[int, int]]:
    """Tiles (down, across) that a path probably goes through, from the one where it is.

    A path that crosses a kept row does so near the row's largest H, if it is the path of similar sequences. Where that
    is not near the diagonal through the place before, the diagonal is the better guess, and in mode LOCAL the path has
    probably begun.

    Args:
        matrix: with its tiles.
        peaks: int32[down + 1, 4], see `CardMatrices.peaks`.
        row, column: of the cell where the path is, from 1.
        local: whether it may begin anywhere.
    """
    tiles = []
    kept = peaks[:, :2].tolist()
    for down in range((row - 1) // matrix.keep, -1, -1):
        top = down * matrix.keep
        diagonal = column - (row - top)
        score, peak = kept[down]
        near = abs(peak - diagonal) <= matrix.tile_columns and peak <= column
        across = max(peak if near else diagonal, 1)
        first, last = (across - 1) // matrix.tile_columns, (column - 1) // matrix.tile_columns
        tiles += [(down, i) for i in range(last, first - 1, -1)]
        row, column = top, peak if near else diagonal
        if column < 1 or (local and (not near or score <= 0)):
            break
    return tiles

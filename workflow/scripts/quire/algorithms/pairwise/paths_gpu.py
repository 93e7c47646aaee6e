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

    def has(self, matrix: int, row: int, column: int) -> bool:
        """Whether the directions of a cell, row and column from 1, are there."""
        grid = self.grids[matrix]
        tile = (row - 1) // grid.tile_rows * grid.across + (column - 1) // grid.tile_columns
        return bool(self.places[matrix][tile] >= 0)


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
        self.parts += [elements, element(path.run, path.operation)]
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
    paths: list[PathState] = []
    begun: dict[tuple[int, int], int] = {}  # (matrix, kept row): path
    guessed = 0  # elements of guessed parts, which come first
    for number, walk in enumerate(walks):
        if walk.complete:
            continue
        keep = batch.matrices[number].keep
        begun[number, -1] = len(paths)
        paths.append(PathState(number, walk.row, walk.column, walk.state, 0, 0, -1, 2 * min(walk.row, walk.column) + 2))
        room = keep // ROWS_PER_ELEMENT + FEWEST_ELEMENTS
        for kept in range((walk.row - 1) // keep, 0, -1):
            row, column = kept * keep, int(peaks[number][kept, 1])
            if 0 < column <= walk.column and tiles.has(number, row, column):
                starts[befores[number] + kept] = column
                begun[number, kept] = len(paths)
                paths.append(PathState(number, row, column, IN_BEST, 0, 0, guessed, room))
                guessed += room
    taken = guessed
    for part, path in enumerate(paths):
        if path.first < 0:
            paths[part] = path._replace(first=taken)
            taken += path.room
    if not paths:
        return
    grids = [grid._replace(tiles=firsts[number], starts=befores[number]) for number, grid in enumerate(tiles.grids)]
    tables = [np.array(paths, np.int64), np.array(grids, np.int64), np.concatenate(tiles.places), starts]
    on_card, card_grids, places, card_starts = upload_together(card, tables)
    elements = card.empty(taken, np.uint32)
    batch.follow(tiles.shape, on_card, card_grids, places, card_starts, tiles.bits, elements)
    followed = [PathState(*row) for row in card.download(on_card).tolist()]
    written = card.download(elements[:guessed])
    for number, walk in enumerate(walks):
        keep = batch.matrices[number].keep
        going: int | None = begun.get((number, -1))
        while going is not None:
            path = followed[going]
            last = path.first + path.elements
            own = written[path.first : last] if last <= guessed else card.download(elements[path.first : last])
            walk.advance(path, own)
            going = None
            if walk.row % keep == 0 and walk.state == IN_BEST and not walk.complete:
                met = begun.get((number, walk.row // keep))
                if met is not None and paths[met].column == walk.column:
                    going = met


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
    for down in range((row - 1) // matrix.keep, -1, -1):
        top = down * matrix.keep
        diagonal = column - (row - top)
        score, peak = peaks[down, :2].tolist()
        near = abs(peak - diagonal) <= matrix.tile_columns and peak <= column
        across = max(peak if near else diagonal, 1)
        first, last = (across - 1) // matrix.tile_columns, (column - 1) // matrix.tile_columns
        tiles += [(down, i) for i in range(last, first - 1, -1)]
        row, column = top, peak if near else diagonal
        if column < 1 or (local and (not near or score <= 0)):
            break
    return tiles

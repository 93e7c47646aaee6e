"""The matrix as tiles, and what stands on the tiles' borders: shared by the twins.

Tile (d, a) holds the rows d * tile_rows + 1 to (d + 1) * tile_rows and the columns a * tile_columns + 1 to
(a + 1) * tile_columns (cut at m and n). What it needs from outside stands on its upper border, row d * tile_rows, and
on its left border, column a * tile_columns: H and I above, H and D on the left.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import NEVER, Mode, Pair
from quire.algorithms.scoring import Scoring

DIRECTION_BITS = 4  # of a cell: where H comes from (2), whether I and D go on with a gap (1 each)
BORDER_BYTES = 8  # of a cell on a border: two scores of 32 bits


class Tile(NamedTuple):
    """Place and extent of a tile.

    Attributes:
        down, across: which.
        top, left: its upper and left border (row and column of the matrix); its first cell is (top + 1, left + 1).
        rows, columns: how many it has.
    """

    down: int
    across: int
    top: int
    left: int
    rows: int
    columns: int


class Tiling(NamedTuple):
    """How a matrix is cut.

    Attributes:
        rows, columns: m and n, both at least 1.
        tile_rows, tile_columns: of a tile that is not cut.
    """

    rows: int
    columns: int
    tile_rows: int
    tile_columns: int

    @property
    def down(self) -> int:
        """How many tiles stand one below the other."""
        return -(-self.rows // self.tile_rows)

    @property
    def across(self) -> int:
        """How many tiles stand side by side."""
        return -(-self.columns // self.tile_columns)

    @property
    def border_bytes(self) -> int:
        """Memory of all borders."""
        return BORDER_BYTES * (self.down * (self.columns + 1) + self.across * (self.rows + 1))

    @property
    def direction_bytes(self) -> int:
        """Memory of the directions of all cells."""
        return self.rows * self.columns * DIRECTION_BITS // 8

    def tile(self, down: int, across: int) -> Tile:
        """One tile."""
        top, left = down * self.tile_rows, across * self.tile_columns
        rows, columns = min(self.tile_rows, self.rows - top), min(self.tile_columns, self.columns - left)
        return Tile(down, across, top, left, rows, columns)

    def tile_of(self, row: int, column: int) -> Tile:
        """The tile of a cell that does not lie in row 0 or column 0."""
        return self.tile((row - 1) // self.tile_rows, (column - 1) // self.tile_columns)


def top_border(pair: Pair) -> NDArray[np.int32]:
    """int32[2, n + 1]: H(0, j) and I(0, j)."""
    columns = len(pair.target)
    border = np.zeros((2, columns + 1), np.int32)
    if pair.mode == Mode.GLOBAL:
        border[0, 1:] = gap_scores(columns, pair.scoring)
    border[1] = NEVER
    return border


def left_border(pair: Pair) -> NDArray[np.int32]:
    """int32[2, m + 1]: H(i, 0) and D(i, 0)."""
    rows = len(pair.query)
    border = np.zeros((2, rows + 1), np.int32)
    if pair.mode != Mode.LOCAL:
        border[0, 1:] = gap_scores(rows, pair.scoring)
    border[1] = NEVER
    return border


def gap_scores(longest: int, scoring: Scoring) -> NDArray[np.int32]:
    """int32[longest]: the scores of gaps of 1, 2, ... bases."""
    return (scoring.gap_open + scoring.gap_extend * np.arange(longest)).astype(np.int32)

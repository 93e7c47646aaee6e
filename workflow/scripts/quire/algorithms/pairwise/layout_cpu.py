"""Memory layout of the CPU's matrix: tiles with their borders, the working space of one tile, and its directions.

Tile (d, a) holds the rows d * tile_rows + 1 to (d + 1) * tile_rows and the columns a * tile_columns + 1 to
(a + 1) * tile_columns, cut at m and n. It needs H and I of the row above it, and H and D of the column on its left.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Mode
from quire.algorithms.scoring import Scoring
from quire.simd.compiled import compiled, inlined
from quire.simd.processor import has_avx512
from quire.simd.vectors import CACHE_LINE, bits_greater, store_bits

LANES = 32 if has_avx512() else 16  # int16 in one register; the answer does not depend on it
BYTE_LANES = 2 * LANES
BITS: np.typing.DTypeLike = np.uint32 if LANES == 32 else np.uint16
"""Type of a word of directions: a bit for each lane."""
WIDTH = 2  # columns per step
WORDS_PER_COLUMN = 4  # of directions, per row of a lane
_LOCAL, _GLOBAL = int(Mode.LOCAL), int(Mode.GLOBAL)
_BORDER_BYTES = 8  # per cell on a border: two scores of 32 bits


class Tiling(NamedTuple):
    """Division of a matrix into tiles.

    Attributes:
        rows, columns: m and n, both at least 1.
        tile_rows, tile_columns: size of a tile that is not cut; `tile_columns` is even if there are several.
    """

    rows: int
    columns: int
    tile_rows: int
    tile_columns: int

    @property
    def down(self) -> int:
        """Number of tiles in a column of tiles."""
        return -(-self.rows // self.tile_rows)

    @property
    def across(self) -> int:
        """Number of tiles in a row of tiles."""
        return -(-self.columns // self.tile_columns)

    @property
    def border_bytes(self) -> int:
        """Memory of all borders."""
        return _BORDER_BYTES * (self.down * (self.columns + 1) + self.across * (self.rows + 1))


class Matrix(NamedTuple):
    """A matrix on the CPU; only the borders of its tiles are kept.

    Attributes:
        query, target: uint8, as in a `Pair`.
        scoring: the scores, as Python's integers.
        mode: int of the `Mode`.
        tile_rows, tile_columns: see `Tiling`.
        rows: int32[down + 1, 2, n + 1], H of the row above each row of tiles, and I of the row below that one.
        columns: int32[across + 1, 2, m + 1], H of the column before each column of tiles, and D of the column after
            that one.
        ends: int32[down + 1, across + 1, 3], mode LOCAL only: for each corner of tiles the best end in (at least) all
            tiles above and left of it, as score, row and column (from 1). The row may be a later one of the end's lane.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    scoring: Scoring
    mode: int
    tile_rows: int
    tile_columns: int
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    ends: NDArray[np.int32]


class Tile(NamedTuple):
    """A tile's letters and borders: views of a `Matrix`.

    Attributes:
        query, target: uint8, the letters of its rows and columns.
        upper: int32[2, columns + 1], H of the row above from the corner on, and I of the tile's first row.
        left: int32[2, rows + 1], H of the column before from the corner on, and D of the tile's first column.
        lower: int32[2, columns + 1], H of the last row from its left neighbour on, and I of the row below.
        right: int32[borders, 2, rows + 1], H of every `width`-th column from its upper neighbour on, and D of the
            column after it. `lower` and `right` are outputs, unless a dimension is 0.
        width: columns between two right borders, an even number if there are several.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    upper: NDArray[np.int32]
    left: NDArray[np.int32]
    lower: NDArray[np.int32]
    right: NDArray[np.int32]
    width: int


class Space(NamedTuple):
    """Working space for a tile in scores of one type (E: int8, int16 or int32); each lane holds `height` rows.

    Attributes:
        cells: E[height * 3 * lanes], for each row of the lanes its letters, H of the column before and D of the current
            column. The three are adjacent, since a store delays loads at a distance of 4 kB.
        even, odd: E[steps + lanes - 1], the letters of columns 0, 2, ... and 1, 3, ..., backwards, so that the letters
            of a step are adjacent.
        upper, gaps: E[2 * steps], H of the row above the tile, I of its first row.
        lower, lower_gaps: E[2 * steps], H of its last row, I of the row below; column c is at c + 2 * (last lane).
        constants: E[6 * lanes], scores and limits in every lane.
        carried: E[2 * lanes], vectors whose lanes are written or read one by one.
        export: E[4 * lanes], the vectors of the last row in a step.
    """

    cells: np.ndarray
    even: np.ndarray
    odd: np.ndarray
    upper: np.ndarray
    gaps: np.ndarray
    lower: np.ndarray
    lower_gaps: np.ndarray
    constants: np.ndarray
    carried: np.ndarray
    export: np.ndarray


@compiled
def matrix_of(query, target, scoring, mode, tile_rows, tile_columns):
    """Return a `Matrix` whose first row and first column are set."""
    rows, columns = len(query), len(target)
    down, across = (rows + tile_rows - 1) // tile_rows, (columns + tile_columns - 1) // tile_columns
    row_borders = np.empty((down + 1, 2, columns + 1), np.int32)
    column_borders = np.empty((across + 1, 2, rows + 1), np.int32)
    _set_first_border(row_borders[0], mode == _GLOBAL, scoring)
    _set_first_border(column_borders[0], mode != _LOCAL, scoring)
    for k in range(1, down + 1):
        row_borders[k, 0, 0] = column_borders[0, 0, min(k * tile_rows, rows)]
    ends = np.zeros((down + 1, across + 1, 3), np.int32)
    return Matrix(query, target, scoring, mode, tile_rows, tile_columns, row_borders, column_borders, ends)


@inlined
def _set_first_border(border, priced, scoring):
    """Write H of row 0 (column 0), and I (D) of the row (column) after it."""
    border[0, 0] = 0
    for k in range(1, border.shape[1]):
        border[0, k] = scoring.gap_open + (k - 1) * scoring.gap_extend if priced else 0
    border[1] = border[0] + scoring.gap_open


@inlined
def tiles_of(matrix, down, first, last):
    """Return the tiles first to last - 1 of a row of tiles as one `Tile`, which writes its lower and right borders."""
    top, left = down * matrix.tile_rows, first * matrix.tile_columns
    bottom = min(top + matrix.tile_rows, len(matrix.query))
    right = min(last * matrix.tile_columns, len(matrix.target))
    handed_on = min(last, len(matrix.columns) - 2)  # nothing reads the last column of the matrix
    return Tile(
        matrix.query[top:bottom],
        matrix.target[left:right],
        matrix.rows[down, :, left : right + 1],
        matrix.columns[first, :, top : bottom + 1],
        matrix.rows[down + 1, :, left : right + 1],
        matrix.columns[first + 1 : handed_on + 1, :, top : bottom + 1],
        matrix.tile_columns,
    )


@inlined
def tile_up_to(matrix, row, column):
    """Return the part of a tile above and left of a cell (from 1), with its row and column; it writes no borders."""
    down, across = (row - 1) // matrix.tile_rows, (column - 1) // matrix.tile_columns
    top, left = down * matrix.tile_rows, across * matrix.tile_columns
    return Tile(
        matrix.query[top:row],
        matrix.target[left:column],
        matrix.rows[down, :, left : column + 1],
        matrix.columns[across, :, top : row + 1],
        matrix.rows[down, :, :0],
        matrix.columns[:0, :, :0],
        matrix.tile_columns,
    )


@compiled
def space_for(rows, columns, lanes, dtype):
    """Return a `Space` for tiles up to this size; a tile of fewer rows may use more lanes and so more steps."""
    steps = (columns + WIDTH - 1) // WIDTH + lanes - 1
    cells, letters, across = (
        3 * height_of(rows, lanes) * lanes,
        _whole_lines(steps + lanes - 1),
        _whole_lines(WIDTH * steps),
    )
    buffer = np.empty(cells + 2 * letters + 4 * across + 12 * lanes + CACHE_LINE, dtype)
    # The space begins at a cache line, so that no vector of 64 bytes crosses one.
    a = (CACHE_LINE - buffer.ctypes.data % CACHE_LINE) % CACHE_LINE // buffer.itemsize
    b = a + cells
    c = b + 2 * letters
    d = c + 4 * across
    return Space(
        buffer[a:b], buffer[b : b + letters], buffer[b + letters : c], buffer[c : c + across],
        buffer[c + across : c + 2 * across], buffer[c + 2 * across : c + 3 * across], buffer[c + 3 * across : d],
        buffer[d : d + 6 * lanes], buffer[d + 6 * lanes : d + 8 * lanes], buffer[d + 8 * lanes : d + 12 * lanes],
    )  # fmt: skip


@inlined
def _whole_lines(length):
    """Round a length up so that elements of any type fill whole cache lines."""
    return (length + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE


@inlined
def height_of(rows, lanes):
    """Return the number of rows of a lane."""
    return (rows + lanes - 1) // lanes


@compiled
def direction_words(rows, columns):
    """Return the number of words (BITS) that the directions of a tile take."""
    height = height_of(rows, LANES)
    steps = (columns + WIDTH - 1) // WIDTH + (rows + height - 1) // height - 1
    return steps * height * WIDTH * WORDS_PER_COLUMN


@inlined
def note(directions, word, gap, deletion, cell):
    """Write the four words of directions of a vector of cells (`tiles_cpu._cell`), from `word` on.

    They say whether an insertion is better than the diagonal, whether a deletion is better than both, and whether I of
    the row below and D of the column to the right extend a gap.
    """
    _, _, _, value, paired, opened, longer_gap, longer = cell
    store_bits(directions, word, bits_greater(gap, value))
    store_bits(directions, word + 1, bits_greater(deletion, paired))
    store_bits(directions, word + 2, bits_greater(longer_gap, opened))
    store_bits(directions, word + 3, bits_greater(longer, opened))


@inlined
def is_noted(directions, height, row, column, which):
    """Return a direction of a cell of a tile whose lanes have `height` rows; `which` is its number in `note`."""
    lane = row // height
    step = column // WIDTH + lane
    word = ((step * height + row % height) * WIDTH + column % WIDTH) * WORDS_PER_COLUMN
    return (np.int64(directions[word + which]) >> lane) & 1 == 1

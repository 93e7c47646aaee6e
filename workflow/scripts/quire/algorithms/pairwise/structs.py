"""The structs of layout.cuh, pairwise.cu and trace.cu, with the same member names, and the layout of a matrix."""

from typing import NamedTuple

from quire.algorithms.pairwise.shapes import StripShape
from quire.device.card import CardArray

WORDS_AROUND = 32  # layout.cuh: Job.border; words begin there
QUERY_ROOM = 128  # layout.cuh; the query begins there


class PlacedMatrix(NamedTuple):
    """A matrix in the card's arrays.

    Attributes:
        rows, columns: m and n.
        keep, tile_columns: rows between two kept rows, and columns between two kept columns.
        keep_stride: cells of a kept row, including those of the last strip beyond the matrix; an even number.
    """

    rows: int
    columns: int
    keep: int
    tile_columns: int
    keep_stride: int

    @property
    def top(self) -> int:
        """Place of row 0 among the kept cells: odd, so that the pairs of cells after column 0 have even places."""
        return 1

    @property
    def stride(self) -> int:
        """Number of words of a column of borders."""
        return words_of(self.rows)

    @property
    def down(self) -> int:
        """Number of kept rows after row 0, and of tiles in a column of tiles."""
        return -(-self.rows // self.keep)

    @property
    def across(self) -> int:
        """Number of tiles in a row of tiles."""
        return -(-self.columns // self.tile_columns)


class StripJob(NamedTuple):
    """A rectangle to fill (layout.cuh: Job)."""

    rows: int
    columns: int
    query: int
    target: int
    left: int
    left_tag: int
    border: int
    border_strips: int
    border_stride: int
    top: int
    keep: int
    keep_stride: int
    values: int
    values_stride: int


class TileGrid(NamedTuple):
    """The tiles of a matrix, for the path through them (trace.cu: Grid)."""

    rows: int
    columns: int
    query: int
    tile_rows: int
    tile_columns: int
    across: int
    values_stride: int
    top: int
    top_stride: int
    left: int
    left_stride: int
    strips: int


class TilePlan(NamedTuple):
    """The places for the parts of planned tiles (trace.cu: Plan)."""

    row: int
    column: int
    most: int
    swept: int
    width: int
    border: int
    border_stride: int
    values: int


class PathState(NamedTuple):
    """A part of a path (trace.cu: Path): the cell that it has reached, from 1, and the cell where it began.

    If `column` is UNKNOWN, it begins at the row's largest H; if `row` is UNKNOWN too, where the alignment ends.
    """

    row: int
    column: int
    state: int
    score: int
    first: int
    room: int
    elements: int
    ended: int
    begin_row: int
    begin_column: int
    begin_score: int


class Walked(NamedTuple):
    """A path of one or more parts (trace.cu: Walked): its first cell, the cell that it has reached, its elements."""

    begin_row: int
    begin_column: int
    begin_score: int
    row: int
    column: int
    state: int
    score: int
    ended: int
    elements: int


class JobTables(NamedTuple):
    """Rectangles to fill, on the card (layout.cuh: Jobs).

    Attributes:
        strips_before: int64[owners + 1], number of strips of all jobs before each.
        jobs: int64[owners, 14], one `StripJob` per row.
        owners: number of jobs.
        ticket: uint32[1], 0.
    """

    strips_before: CardArray
    jobs: CardArray
    owners: int
    ticket: CardArray


class KernelInputs(NamedTuple):
    """Inputs of pairwise.cu."""

    query: CardArray
    target: CardArray
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    key: int
    value: int


class KernelMatrices(NamedTuple):
    """Matrices of pairwise.cu."""

    left: CardArray
    borders: CardArray
    kept: CardArray
    values: CardArray
    ends: CardArray
    track: int


class PathSources(NamedTuple):
    """Sources of trace.cu."""

    query: CardArray
    target: CardArray
    left: CardArray
    kept: CardArray
    tiles: CardArray
    values: CardArray
    peaks: CardArray
    ends: CardArray
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    mode: int


class TileValues(NamedTuple):
    """Values of the cells of some tiles of a matrix.

    Attributes:
        shape: of the kernel that computed them.
        values: uint32, on the card.
        grid: the tiles.
        places: int64[tiles], on the card: the place of a tile's first value in `values`, or -1 if it has none.
        peaks: int32[kept rows, 4], on the card, see `CardMatrix.peaks`.
        ends: int32[strips, 4], on the card, in mode LOCAL: the largest H of each strip, see `CardMatrix.launch`.
    """

    shape: StripShape
    values: CardArray
    grid: TileGrid
    places: CardArray
    peaks: CardArray
    ends: CardArray


def words_of(rows: int) -> int:
    """Return the number of words of a column of borders with the space around it that lanes write to; it is even."""
    return rows + rows % 2 + 2 * WORDS_AROUND

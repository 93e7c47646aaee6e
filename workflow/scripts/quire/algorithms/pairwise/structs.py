"""The structs of layout.cuh, pairwise.cu and trace.cu, and where a matrix lies in the arrays of its batch.

Names of members are those of the structs.
"""

from typing import NamedTuple

from quire.algorithms.pairwise import Pair
from quire.device.card import CardArray

WORDS_AROUND = 32  # layout.cuh: Job.border


class PlacedMatrix(NamedTuple):
    """A matrix of a batch.

    Attributes:
        pair: its sequences.
        keep, tile_columns: rows between two kept rows, and columns between two kept columns.
        keep_stride: cells of a kept row, with those of the last strip that lie behind the matrix: an even number.
        query, target, left, top: where its letters, its words of column 0 and its kept rows begin in the arrays; `left`
            is even and `top` odd, so that words and cells behind column 0 come by pairs.
    """

    pair: Pair
    keep: int
    tile_columns: int
    keep_stride: int
    query: int
    target: int
    left: int
    top: int

    @property
    def rows(self) -> int:
        """Of the matrix, without row 0."""
        return len(self.pair.query)

    @property
    def columns(self) -> int:
        """Of the matrix, without column 0."""
        return len(self.pair.target)

    @property
    def stride(self) -> int:
        """Words of a column."""
        return words_of(self.rows)

    @property
    def down(self) -> int:
        """Kept rows behind row 0, or tiles one below the other."""
        return -(-self.rows // self.keep)

    @property
    def across(self) -> int:
        """Tiles side by side."""
        return -(-self.columns // self.tile_columns)


class StripJob(NamedTuple):
    """A rectangle to fill."""

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
    """The tiles of a matrix for the path that is followed through them."""

    rows: int
    columns: int
    query: int
    target: int
    tile_rows: int
    tile_columns: int
    across: int
    tiles: int
    values_stride: int
    keep: int
    peaks: int
    top: int
    top_stride: int
    left: int
    left_stride: int
    ends: int
    strips: int


class TilePlan(NamedTuple):
    """Where the parts of planned tiles go; names as in trace.cu: Plan."""

    row: int
    column: int
    most: int
    swept: int
    width: int
    border: int
    border_stride: int
    values: int


class PathState(NamedTuple):
    """A path under way; row, column and score of the cell where it is, from 1, and where it was taken up.

    Column UNKNOWN: where the row's largest H is; row UNKNOWN too: where the alignment ends.
    """

    matrix: int
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
    """A walk of one or more parts: where it was taken up, what it came to, and its elements among those of all."""

    begin_row: int
    begin_column: int
    begin_score: int
    row: int
    column: int
    state: int
    score: int
    ended: int
    first: int
    elements: int


class JobTables(NamedTuple):
    """Rectangles to fill, on the card (layout.cuh: Jobs).

    Attributes:
        strips_before: int64[owners + 1], strips of all jobs before each.
        jobs: int64[owners, 14], a `StripJob` each.
        owners: how many.
        ticket: uint32[1], 0.

    Arrays, or their addresses.
    """

    strips_before: CardArray | int
    jobs: CardArray | int
    owners: int
    ticket: CardArray | int


class KernelInputs(NamedTuple):
    query: CardArray
    target: CardArray
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    key: int
    value: int


class KernelMatrices(NamedTuple):
    left: CardArray
    borders: CardArray
    kept: CardArray
    values: CardArray
    ends: CardArray
    track: int


class PathSources(NamedTuple):
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


def words_of(rows: int) -> int:
    """Words of a column of so many rows, with what lanes store around it; an even number."""
    return rows + rows % 2 + 2 * WORDS_AROUND

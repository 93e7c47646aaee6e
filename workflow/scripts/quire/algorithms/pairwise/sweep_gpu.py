"""The launches of pairwise alignment on a card: matrices of a batch, rectangles of them, and paths.

Arrays of a batch hold all its matrices, each at places of its own (`PlacedMatrix`). Names of members are those of the
structs in layout.cuh, pairwise.cu and trace.cu.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Mode, Pair
from quire.algorithms.pairwise.shapes import (
    SCORE_SHAPES,
    VALUE_SHAPES,
    WIDE_SCORE_SHAPES,
    WIDE_VALUE_SHAPES,
    StripShape,
)
from quire.algorithms.scoring import Scoring
from quire.device.card import THREADS, Card, CardArray, Kernel, bytes_of, places_in

SOURCE = "quire/algorithms/pairwise/pairwise.cu"
TRACE = "quire/algorithms/pairwise/trace.cu"
KERNELS = [
    *(
        (SOURCE, shape.defines(mode, wide))
        for wide, shapes in ((False, (*SCORE_SHAPES, *VALUE_SHAPES)), (True, (*WIDE_SCORE_SHAPES, *WIDE_VALUE_SHAPES)))
        for shape in shapes
        for mode in (Mode.LOCAL, Mode.GLOBAL)
    ),
    *((TRACE, shape.trace_defines()) for shape in VALUE_SHAPES),
]
IN_BEST, UNKNOWN = 0, -1  # trace.cu: a path's state, and its place before it is looked for
_PADDING = 128  # letters before and behind a query that lanes look at, and do nothing with
_FACTORS = 16, 65537  # cells.cuh: Scores
_WORDS_AROUND = 32  # layout.cuh: Job.border
_TAGS = 65535  # layout.cuh: tag_of
_EVERY_STRIP = 1 << 40  # strips that share a column of words: all
_PEAK_THREADS, _WARP = 256, 32


class PlacedMatrix(NamedTuple):
    """A matrix of a batch.

    Attributes:
        pair: its sequences.
        keep, tile_columns: rows between two kept rows, and columns between two kept columns.
        query, target, left, top: where its letters, its words of column 0 and its kept rows begin in the arrays.
    """

    pair: Pair
    keep: int
    tile_columns: int
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


class _Jobs(NamedTuple):
    strips_before: CardArray
    jobs: CardArray
    owners: int
    ticket: CardArray


class _Inputs(NamedTuple):
    query: CardArray
    target: CardArray
    match: int
    mismatch: int
    gap_open: int
    gap_extend: int
    key: int
    value: int


class _Matrices(NamedTuple):
    left: CardArray
    borders: CardArray
    kept: CardArray
    values: CardArray
    ends: CardArray
    track: int


class _Sources(NamedTuple):
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


class CardMatrices:
    """Matrices of one mode and scoring on the card.

    Attributes:
        matrices: where each lies.
        words: uint64, for each matrix those of column 0 and of the right border of each of its columns of tiles: on the
            way the borders of strips are handed on there, too.
        kept: int32[cells, 2], H and the next row's I, of row 0 and of the kept rows of all.
    """

    def __init__(self, card: Card, pairs: Sequence[Pair], tiles: Sequence[tuple[int, int]]) -> None:
        """Upload sequences, and take memory for what is kept.

        Args:
            card: where all lies.
            pairs: of one mode and scoring, neither sequence empty.
            tiles: rows and columns of a tile, of each matrix.
        """
        self.card, self.mode = card, pairs[0].mode
        self.scoring = Scoring(*map(int, pairs[0].scoring))
        self.matrices: list[PlacedMatrix] = []
        query = target = left = top = 0
        for pair, (rows, columns) in zip(pairs, tiles, strict=True):
            matrix = PlacedMatrix(pair, rows, columns, query + _PADDING, target, left + _WORDS_AROUND, top)
            self.matrices.append(matrix)
            query += matrix.rows + 2 * _PADDING
            target += matrix.columns
            left += matrix.stride * (1 + matrix.across)
            top += (matrix.down + 1) * (matrix.columns + 1)
        codes = np.zeros(query, np.uint16)
        for matrix in self.matrices:
            codes[matrix.query : matrix.query + matrix.rows] = matrix.pair.query
        targets = np.concatenate([np.asarray(pair.target, np.uint8) for pair in pairs])
        edges = np.array([self._edges(matrix) for matrix in self.matrices], np.int64)
        kept_rows = [
            (matrix.top + number * (matrix.columns + 1), matrix.columns)
            for matrix in self.matrices
            for number in range(matrix.down + 1)
        ]
        selectors = codes * np.uint16(0x1111) + np.uint16(0x8880)  # layout.cuh: selector_of
        self._query, self._target, edges, self._kept_rows = upload_together(
            card, [selectors, targets, edges, np.array(kept_rows, np.int64)]
        )
        self.words = card.zeros(left, np.uint64)
        self.kept = card.empty((top, 2), np.int32)
        longest = max(max(matrix.rows, matrix.columns) for matrix in self.matrices)
        grid = -(-(longest + 1) // THREADS), len(self.matrices)
        self._trace("begin")(grid, THREADS, edges, self.words, self.kept)

    def fill(
        self, shape: StripShape, jobs: NDArray[np.int64], borders: CardArray, values: CardArray, track: bool = False
    ) -> CardArray:
        """Compute rectangles.

        Args:
            shape: of the kernel.
            jobs: int64[k, 14], which: a `StripJob` each.
            borders: uint64, words on the borders of strips; their tags must be 0, or of strips further right.
            values: uint32, room for the values of cells.
            track: whether the largest H is wanted (mode LOCAL).

        Returns:
            int32[strips, 4]: largest H, column and row (from 1) of each strip, if wanted.
        """
        card, wide = self.card, is_wide(self.scoring)
        before = np.cumsum(np.append(0, -(-jobs[:, StripJob._fields.index("columns")] // shape.width)))
        strips = int(before[-1])
        ends = card.empty((strips if track else 0, 4), np.int32)
        tables = upload_together(card, [before, jobs, np.zeros(1, np.uint32)])
        launched = _Jobs(tables[0], tables[1], len(jobs), tables[2])
        inputs = _Inputs(self._query, self._target, *self.scoring, *_FACTORS)
        matrices = _Matrices(self.words, borders, self.kept, values, ends, int(track))
        # More warps than there are strips: the strips are spread over the multiprocessors.
        card.kernel(SOURCE, "fill", **shape.defines(self.mode, wide))(
            min(strips, card.multiprocessors * shape.resident), shape.block, launched, inputs, matrices,
            shared_bytes=shape.shared_bytes,
        )  # fmt: skip
        return ends

    def sweep(self, shape: StripShape, matrix: PlacedMatrix, values: int) -> StripJob:
        """The job of a whole matrix, whose borders are in `words` and whose cells' values begin at `values`."""
        strips = matrix.tile_columns // shape.width if matrix.across > 1 else _EVERY_STRIP
        return StripJob(
            matrix.rows, matrix.columns, matrix.query, matrix.target, matrix.left, 0, matrix.left + matrix.stride,
            strips, matrix.stride, matrix.top, matrix.keep, matrix.columns + 1, values,
            shape.values_stride(matrix.rows) if shape.values else 0,
        )  # fmt: skip

    def tiles(
        self, shape: StripShape, matrix: PlacedMatrix, chosen: NDArray[np.int64], values: NDArray[np.int64], swept: int
    ) -> tuple[NDArray[np.int64], int]:
        """The jobs of tiles of a matrix that was swept with strips of `swept` columns.

        Args:
            shape: of the kernel.
            matrix: with its tiles.
            chosen: int64[k, 2], tiles: how many are above and on the left.
            values: int64[k], where the values of each begin; they have the strides of a tile that is not cut.
            swept: columns.

        Returns:
            int64[k, 14], a `StripJob` each; and how many words of borders they share, in an array of their own.
        """
        tops, lefts = chosen[:, 0] * matrix.keep, chosen[:, 1] * matrix.tile_columns
        rows = np.minimum(matrix.keep, matrix.rows - tops)
        words = np.cumsum(np.append(0, rows + words_of(0)))
        first = StripJob(
            0, 0, matrix.query, matrix.target, matrix.left, 0, _WORDS_AROUND, _EVERY_STRIP, 0, matrix.top, 0, 0, 0,
            shape.values_stride(matrix.keep),
        )  # fmt: skip
        more = {
            "rows": rows, "columns": np.minimum(matrix.tile_columns, matrix.columns - lefts),
            "query": tops, "target": lefts, "left": chosen[:, 1] * matrix.stride + tops,
            "left_tag": tag_of(lefts // swept), "border": words[:-1],
            "top": chosen[:, 0] * (matrix.columns + 1) + lefts, "values": values,
        }  # fmt: skip
        jobs = np.tile(np.array(first, np.int64), (len(chosen), 1))
        for name, numbers in more.items():
            jobs[:, StripJob._fields.index(name)] += numbers
        return jobs, int(words[-1])

    def peaks(self) -> CardArray:
        """int32[kept rows, 4], of row 0 and each kept row of all: the largest H, its first column, the last H."""
        rows = len(self._kept_rows)
        found = self.card.empty((rows, 4), np.int32)
        self._trace("peaks")(
            rows, _PEAK_THREADS, self._kept_rows, self.kept, found, shared_bytes=_PEAK_THREADS // _WARP * 8
        )
        return found

    def grids(self, shape: StripShape, whole: bool) -> list[TileGrid]:
        """The tiles of each matrix, one of all its rows and columns if `whole`, but for where their tables begin."""
        return [
            TileGrid(
                matrix.rows, matrix.columns, matrix.query, matrix.target,
                matrix.rows if whole else matrix.keep, matrix.columns if whole else matrix.tile_columns,
                1 if whole else matrix.across, 0, shape.values_stride(matrix.rows if whole else matrix.keep),
                matrix.keep, 0, matrix.top, matrix.columns + 1, matrix.left, matrix.stride, 0, 0,
            )
            for matrix in self.matrices
        ]  # fmt: skip

    def follow(
        self, shape: StripShape, paths: CardArray, grids: CardArray, tiles: CardArray, values: CardArray,
        peaks: CardArray, ends: CardArray, followed: CardArray, elements: CardArray,
    ) -> None:  # fmt: skip
        """Follow paths through tiles.

        Args:
            shape: of the kernel that made the values.
            paths: int64[paths, 12], `PathState`.
            grids: int64[matrices, 17], `TileGrid`.
            tiles: int64, place of each tile's values; -1: they are not there.
            values: uint32, of cells.
            peaks: int32[kept rows, 4], see `peaks`; a path ends where another one begins: at a kept row's largest H.
            ends: int32[strips, 4], see `fill`.
            followed: int64[paths, 12], for what is reached.
            elements: uint32, the paths' elements, which come from their ends to their beginnings.
        """
        sources = _Sources(self._query, self._target, self.words, self.kept, tiles, values, peaks, ends,
                           *self.scoring, int(self.mode))  # fmt: skip
        kernel = self.card.kernel(TRACE, "follow", **shape.trace_defines())
        kernel(len(paths), _WARP, paths, grids, sources, followed, elements)

    def _trace(self, entry: str) -> Kernel:
        return self.card.kernel(TRACE, entry, **VALUE_SHAPES[0].trace_defines())

    def _edges(self, matrix: PlacedMatrix) -> tuple[int, ...]:
        """trace.cu: Edges."""
        return (matrix.rows, matrix.columns, self.scoring.gap_open, self.scoring.gap_extend, self.mode == Mode.GLOBAL,
                self.mode != Mode.LOCAL, matrix.keep, matrix.columns + 1, matrix.left, matrix.top)  # fmt: skip


def is_wide(scoring: Scoring) -> bool:
    """Whether a signed byte does not hold the scores of letters (cells.cuh)."""
    return any(not -128 <= score <= 127 for score in scoring[:2])


def words_of(rows: int) -> int:
    """Words of a column of so many rows, with what lanes store around it."""
    return rows + 2 * _WORDS_AROUND


def upload_together(card: Card, arrays: list[NDArray[Any]]) -> list[CardArray]:
    """Small arrays on the card, by one copy."""
    buffer = np.zeros(bytes_of(arrays), np.uint8)
    for place, array in zip(places_in(buffer, arrays), arrays, strict=True):
        place[...] = array
    return places_in(card.upload(buffer), arrays)


def tag_of(strip: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tags of the words that strips of these numbers read; the first one of a matrix reads those of column 0."""
    return np.where(strip > 0, (strip - 1) % _TAGS + 1, 0)

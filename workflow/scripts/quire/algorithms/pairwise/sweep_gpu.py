"""The launches of pairwise alignment on a card: matrices of a batch, rectangles of them, and paths.

Arrays of a batch hold all its matrices, each at places of its own (`PlacedMatrix`).
"""

from collections.abc import Sequence
from typing import Any

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
from quire.algorithms.pairwise.structs import (
    WORDS_AROUND,
    JobTables,
    KernelInputs,
    KernelMatrices,
    PathSources,
    PlacedMatrix,
    StripJob,
    TilePlan,
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
_EVERY_STRIP = 1 << 40  # strips that share a column of words: all
_PEAK_THREADS, _WARP = 256, 32


class CardMatrices:
    """Matrices of one mode and scoring on the card.

    Attributes:
        matrices: where each lies.
        words: uint64, for each matrix those of column 0 and of the right border of each of its columns of tiles: on the
            way the borders of strips are handed on there, too.
        kept: int32[cells, 2], H and the next row's I, of row 0 and of the kept rows of all.
    """

    def __init__(self, card: Card, pairs: Sequence[Pair], tiles: Sequence[tuple[int, int]], shape: StripShape) -> None:
        """Upload sequences, and take memory for what is kept.

        Args:
            card: where all lies.
            pairs: of one mode and scoring, neither sequence empty.
            tiles: rows and columns of a tile, of each matrix.
            shape: of the kernel that `fill_all` is for.
        """
        self.card, self.mode = card, pairs[0].mode
        self.scoring = Scoring(*map(int, pairs[0].scoring))
        self.matrices: list[PlacedMatrix] = []
        query = target = left = top = 0
        for pair, (rows, columns) in zip(pairs, tiles, strict=True):
            matrix = PlacedMatrix(pair, rows, columns, query + _PADDING, target, left + WORDS_AROUND, top)
            self.matrices.append(matrix)
            query += matrix.rows + 2 * _PADDING
            target += matrix.columns
            left += matrix.stride * (1 + matrix.across)
            top += (matrix.down + 1) * (matrix.columns + 1)
        selectors = np.full(query, 0x8880, np.uint16)  # layout.cuh: selector_of
        for matrix in self.matrices:
            selectors[matrix.query : matrix.query + matrix.rows] += matrix.pair.query * np.uint16(0x1111)
        targets = np.concatenate([np.asarray(pair.target, np.uint8) for pair in pairs])
        edges = np.array([self._edges(matrix) for matrix in self.matrices], np.int64)
        kept_rows = np.concatenate([self._kept_rows_of(matrix) for matrix in self.matrices])
        jobs, self.values = [], 0
        for matrix in self.matrices:
            jobs.append(self.sweep(shape, matrix, self.values))
            self.values += shape.values_size(matrix.rows, matrix.columns) if shape.values else 0
        # All by one copy: what the card waits for before it begins.
        tables = self._host_tables(shape, np.array(jobs, np.int64))
        self._query, self._target, edges, self._kept_rows, *tables = upload_together(
            card, [selectors, targets, edges, kept_rows, *tables]
        )
        self._shape, self._tables = shape, JobTables(tables[0], tables[1], len(jobs), tables[2])
        self.words = card.zeros(left, np.uint64)
        self.kept = card.empty((top, 2), np.int32)
        longest = max(max(matrix.rows, matrix.columns) for matrix in self.matrices)
        grid = -(-(longest + 1) // THREADS), len(self.matrices)
        self._trace("begin")(grid, THREADS, edges, self.words, self.kept)

    def fill_all(self, values: CardArray) -> CardArray:
        """Compute all matrices, once; the ends of their strips are wanted in mode LOCAL. See `fill`."""
        shape = self._shape
        strips = sum(shape.strips(matrix.columns) for matrix in self.matrices)
        return self.launch(shape, self._tables, strips, self.words, values, self.mode == Mode.LOCAL)

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
        tables = self._host_tables(shape, jobs)
        strips = int(tables[0][-1])
        before, on_card, ticket = upload_together(self.card, tables)
        return self.launch(shape, JobTables(before, on_card, len(jobs), ticket), strips, borders, values, track)

    def launch(
        self, shape: StripShape, tables: JobTables, strips: int, borders: CardArray, values: CardArray, track: bool
    ) -> CardArray:
        """Compute rectangles that the card knows, of so many strips at most; see `fill`."""
        card = self.card
        ends = card.empty((strips if track else 0, 4), np.int32)
        inputs = KernelInputs(self._query, self._target, *self.scoring, *_FACTORS)
        matrices = KernelMatrices(self.words, borders, self.kept, values, ends, int(track))
        # More warps than there are strips: the strips are spread over the multiprocessors.
        card.kernel(SOURCE, "fill", **shape.defines(self.mode, is_wide(self.scoring)))(
            min(strips, card.multiprocessors * shape.resident), shape.block, tables, inputs, matrices,
            shared_bytes=shape.shared_bytes,
        )  # fmt: skip
        return ends

    def _host_tables(self, shape: StripShape, jobs: NDArray[np.int64]) -> list[NDArray[Any]]:
        """What `JobTables` has on the card."""
        strips = -(-jobs[:, StripJob._fields.index("columns")] // shape.width)
        before = np.zeros(len(jobs) + 1, np.int64)
        np.cumsum(strips, out=before[1:])
        return [before, jobs, np.zeros(1, np.uint32)]

    def sweep(self, shape: StripShape, matrix: PlacedMatrix, values: int) -> StripJob:
        """The job of a whole matrix, whose borders are in `words` and whose cells' values begin at `values`."""
        strips = matrix.tile_columns // shape.width if matrix.across > 1 else _EVERY_STRIP
        return StripJob(
            matrix.rows, matrix.columns, matrix.query, matrix.target, matrix.left, 0, matrix.left + matrix.stride,
            strips, matrix.stride, matrix.top, matrix.keep, matrix.columns + 1, values,
            shape.values_stride(matrix.rows) if shape.values else 0,
        )  # fmt: skip

    def peaks(self) -> CardArray:
        """int32[kept rows, 4], of row 0 and each kept row of all: the largest H, its first column, the last H."""
        rows = len(self._kept_rows)
        found = self.card.empty((rows, 4), np.int32)
        self._trace("peaks")(
            rows, _PEAK_THREADS, self._kept_rows, self.kept, found, shared_bytes=_PEAK_THREADS // _WARP * 8
        )
        return found

    def plan_tiles(
        self, plan: TilePlan, grids: CardArray, peaks: CardArray, ends: CardArray, tiles: CardArray
    ) -> tuple[CardArray, CardArray]:
        """Plan the tiles that the path of the first matrix probably goes through, from where it is on.

        Args:
            plan: how many, and where their parts go.
            grids: int64[matrices, 17], `TileGrid`.
            peaks, ends: see `follow`.
            tiles: int64, for the place of each tile's values; -1: it is not planned.

        Returns:
            `JobTables.strips_before` and `.jobs` of `plan.most` tiles; behind the last one there are no strips.
        """
        jobs = self.card.empty((plan.most, len(StripJob._fields)), np.int64)
        before = self.card.empty(plan.most + 1, np.int64)
        sources = self._sources(tiles, tiles, peaks, ends)
        self._trace("plan_tiles")(1, _WARP, plan, grids, sources, jobs, before, tiles)
        return before, jobs

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
        kernel = self.card.kernel(TRACE, "follow", **shape.trace_defines())
        kernel(len(paths), _WARP, paths, grids, self._sources(tiles, values, peaks, ends), followed, elements)

    def _sources(self, tiles: CardArray, values: CardArray, peaks: CardArray, ends: CardArray) -> PathSources:
        return PathSources(self._query, self._target, self.words, self.kept, tiles, values, peaks, ends,
                        *self.scoring, int(self.mode))  # fmt: skip

    def _trace(self, entry: str) -> Kernel:
        return self.card.kernel(TRACE, entry, **VALUE_SHAPES[0].trace_defines())

    @staticmethod
    def _kept_rows_of(matrix: PlacedMatrix) -> NDArray[np.int64]:
        """trace.cu: KeptRow, of row 0 and all that are kept."""
        rows = np.full((matrix.down + 1, 2), matrix.columns, np.int64)
        rows[:, 0] = matrix.top + np.arange(matrix.down + 1) * (matrix.columns + 1)
        return rows

    def _edges(self, matrix: PlacedMatrix) -> tuple[int, ...]:
        """trace.cu: Edges."""
        return (matrix.rows, matrix.columns, self.scoring.gap_open, self.scoring.gap_extend, self.mode == Mode.GLOBAL,
                self.mode != Mode.LOCAL, matrix.keep, matrix.columns + 1, matrix.left, matrix.top)  # fmt: skip


def is_wide(scoring: Scoring) -> bool:
    """Whether a signed byte does not hold the scores of letters (cells.cuh)."""
    return any(not -128 <= score <= 127 for score in scoring[:2])


def upload_together(card: Card, arrays: list[NDArray[Any]]) -> list[CardArray]:
    """Small arrays on the card, by one copy."""
    buffer = np.zeros(bytes_of(arrays), np.uint8)
    for place, array in zip(places_in(buffer, arrays), arrays, strict=True):
        place[...] = array
    return places_in(card.upload(buffer), arrays)

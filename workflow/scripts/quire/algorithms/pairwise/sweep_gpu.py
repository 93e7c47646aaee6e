"""Kernel launches of pairwise alignment on a card: the sweep, rectangles of a matrix, and the parts of its path."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Mode, Pair
from quire.algorithms.pairwise.shapes import SCORE_SHAPES, VALUE_SHAPE, StripShape
from quire.algorithms.pairwise.structs import (
    QUERY_ROOM,
    WORDS_AROUND,
    JobTables,
    KernelInputs,
    KernelMatrices,
    PathSources,
    PlacedMatrix,
    StripJob,
    TileGrid,
    TilePlan,
)
from quire.algorithms.scoring import Scoring
from quire.device.card import THREADS, Card, CardArray, Kernel, bytes_of, places_in

SOURCE = "quire/algorithms/pairwise/pairwise.cu"
TRACE = "quire/algorithms/pairwise/trace.cu"
KERNELS = [
    *((SOURCE, shape.defines(mode)) for shape in (*SCORE_SHAPES, VALUE_SHAPE) for mode in (Mode.LOCAL, Mode.GLOBAL)),
    (TRACE, VALUE_SHAPE.trace_defines()),
]
_FACTORS = 16, 65537  # cells.cuh: Scores
_EVERY_STRIP = 1 << 40  # strips that share a column of words: all
_PEAK_THREADS, _AHEAD, _WARP = 1024, 8, 32  # trace.cu: peaks


class CardMatrix:
    """A matrix on the card.

    Attributes:
        placed: its size and place in the arrays.
        words: uint64, the words of column 0 and of the right border of each column of tiles; strips also hand on their
            borders there.
        kept: int32[cells, 2], H and the next row's I, of row 0 and of the kept rows.
    """

    def __init__(self, card: Card, pair: Pair, tile_rows: int, tile_columns: int, shape: StripShape) -> None:
        """Upload a pair, neither sequence empty; allocate kept rows and columns; `shape` is that of the sweep."""
        self.card, self.mode = card, pair.mode
        self.scoring = Scoring(*map(int, pair.scoring))
        stride = shape.strips(len(pair.target)) * shape.width + 2
        self.placed = matrix = PlacedMatrix(len(pair.query), len(pair.target), tile_rows, tile_columns, stride)
        # The card sets its words to 0 while the host prepares the other arrays.
        self.words = card.zeros(WORDS_AROUND + matrix.stride * (1 + matrix.across), np.uint64)
        self.kept = card.empty((matrix.top + (matrix.down + 1) * stride, 2), np.int32)
        self._query = card.empty(matrix.rows + 2 * QUERY_ROOM, np.uint16)
        self._shape, self._strips = shape, shape.strips(matrix.columns)
        tables = [np.array(table, np.int64) for table in ([0, self._strips], [self.sweep(shape)])]
        sequences = [np.asarray(codes, np.uint8) for codes in (pair.target, pair.query)]
        before, jobs, ticket, self._target, letters = upload_together(
            card, [*tables, np.zeros(1, np.uint32), *sequences]
        )
        self._tables = JobTables(before, jobs, 1, ticket)
        longest = max(matrix.rows + 2 * QUERY_ROOM, matrix.columns + 1)
        self.trace("begin")(
            -(-longest // THREADS), THREADS, self._edges(), letters, self._query, self.words,
            self.kept,
        )  # fmt: skip

    def fill_all(self) -> CardArray:
        """Sweep the matrix, once; return the ends of its strips in mode LOCAL (see `launch`)."""
        nothing = self.card.empty(0, np.uint32)
        return self.launch(self._shape, self._tables, self._strips, self.words, nothing, self.mode == Mode.LOCAL)

    def launch(
        self, shape: StripShape, tables: JobTables, strips: int, borders: CardArray, values: CardArray, track: bool
    ) -> CardArray:
        """Compute the rectangles of `tables`, which have at most `strips` strips.

        Words on the borders of strips (uint64) must have the tag 0, or one of strips further right. The values of cells
        are uint32.

        Returns:
            int32[strips, 4]: largest H, column and row (from 1) of each strip, if `track` (mode LOCAL).
        """
        card = self.card
        ends = card.empty((strips if track else 0, 4), np.int32)
        inputs = KernelInputs(self._query, self._target, *self.scoring, *_FACTORS)
        matrices = KernelMatrices(self.words, borders, self.kept, values, ends, int(track))
        # One block per strip, even if a block has several warps: this spreads the strips over the multiprocessors.
        card.kernel(SOURCE, "fill", **shape.defines(self.mode))(
            min(strips, card.multiprocessors * shape.resident), shape.block, tables, inputs, matrices
        )
        return ends

    def sweep(self, shape: StripShape) -> StripJob:
        """Return the job of the whole matrix, whose borders are in `words`."""
        matrix = self.placed
        strips = matrix.tile_columns // shape.width if matrix.across > 1 else _EVERY_STRIP
        return StripJob(
            matrix.rows, matrix.columns, QUERY_ROOM, 0, WORDS_AROUND, 0, WORDS_AROUND + matrix.stride, strips,
            matrix.stride, matrix.top, matrix.keep, matrix.keep_stride, 0,
            shape.values_stride(matrix.rows) if shape.values else 0,
        )  # fmt: skip

    def peaks(self) -> CardArray:
        """Return int32[kept rows, 4], per row 0 or kept row: largest H, its first column, H of the last column."""
        matrix = self.placed
        found = self.card.empty((matrix.down + 1, 4), np.int32)
        warps = min(matrix.columns // (_AHEAD * _WARP) + 1, _PEAK_THREADS // _WARP)
        self.trace("peaks")(matrix.down + 1, warps * _WARP, self._edges(), self.kept, found, shared_bytes=warps * 8)
        return found

    def plan_tiles(
        self, plan: TilePlan, grid: TileGrid, peaks: CardArray, ends: CardArray, tiles: CardArray
    ) -> tuple[CardArray, CardArray]:
        """Plan the tiles that the path probably goes through next, at most `plan.most`.

        `peaks` and `ends` are those of `TileValues`. `tiles` (int64[tiles]) receives the
        place of each tile's values, or -1 if it is not planned.

        Returns:
            `JobTables.strips_before` and `.jobs`; entries after the last planned tile have no strips.
        """
        jobs = self.card.empty((plan.most, len(StripJob._fields)), np.int64)
        before = self.card.empty(plan.most + 1, np.int64)
        sources = self.sources(tiles, tiles, peaks, ends)
        self.trace("plan_tiles")(1, _WARP, plan, grid, sources, jobs, before, tiles)
        return before, jobs

    def sources(self, tiles: CardArray, values: CardArray, peaks: CardArray, ends: CardArray) -> PathSources:
        """Return the sources of trace.cu with these tables of tiles (see `TileValues`)."""
        return PathSources(self._query, self._target, self.words, self.kept, tiles, values, peaks, ends,
                        *self.scoring, int(self.mode))  # fmt: skip

    def trace(self, entry: str, shape: StripShape = VALUE_SHAPE) -> Kernel:
        """Return a kernel of trace.cu for values of a shape."""
        return self.card.kernel(TRACE, entry, **shape.trace_defines())

    def _edges(self) -> tuple[int, ...]:
        """Return the `Edges` of trace.cu."""
        matrix = self.placed
        return (
            matrix.rows, matrix.columns, self.scoring.gap_open, self.scoring.gap_extend, int(self.mode == Mode.GLOBAL),
            int(self.mode != Mode.LOCAL), matrix.keep, matrix.keep_stride, QUERY_ROOM, WORDS_AROUND, matrix.top,
        )  # fmt: skip


def upload_together(card: Card, arrays: list[NDArray[Any]]) -> list[CardArray]:
    """Upload small arrays by one copy."""
    buffer = np.empty(bytes_of(arrays), np.uint8)
    for place, array in zip(places_in(buffer, arrays), arrays, strict=True):
        place[...] = array
    return places_in(card.upload(buffer), arrays)

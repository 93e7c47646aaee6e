"""The launches of pairwise alignment on a card: matrices of a batch, rectangles of them, and paths.

Arrays of a batch hold all its matrices, each at places of its own (`PlacedMatrix`).
"""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
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
_PADDING = 128  # layout.cuh: QUERY_ROOM
_FACTORS = 16, 65537  # cells.cuh: Scores
_WORD = 8  # bytes
_EVERY_STRIP = 1 << 40  # strips that share a column of words: all
_PEAK_THREADS, _AHEAD, _WARP = 1024, 8, 32  # trace.cu: peaks


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
        query = target = left = 0
        top = 1
        for pair, (rows, columns) in zip(pairs, tiles, strict=True):
            stride = shape.strips(len(pair.target)) * shape.width + 2
            matrix = PlacedMatrix(pair, rows, columns, stride, query + _PADDING, target, left + WORDS_AROUND, top)
            self.matrices.append(matrix)
            query += matrix.rows + 2 * _PADDING
            target += matrix.columns
            left += matrix.stride * (1 + matrix.across)
            top += (matrix.down + 1) * stride
        # The card sets its words to 0 while the host lays out what follows.
        self.words = card.zeros(left, np.uint64)
        self.kept = card.empty((top, 2), np.int32)
        self._query = card.empty(query, np.uint16)
        self.values = 0
        edges: list[int] = []
        jobs: list[StripJob] = []
        letters = peaks = 0
        for matrix in self.matrices:
            edges += self._edges(matrix, letters, peaks)
            jobs.append(self.sweep(shape, matrix, self.values))
            letters, peaks = letters + matrix.rows, peaks + matrix.down + 1
            self.values += shape.values_size(matrix.rows, matrix.columns) if shape.values else 0
        self._shape, self._strips, self._peaks = shape, sum(shape.strips(job.columns) for job in jobs), peaks
        # All by one copy: what the card waits for before it begins.
        tables = np.array([*edges, *self._job_table(shape, jobs)], np.int64).view(np.uint8)
        sequences = [np.asarray(pair.target, np.uint8) for pair in pairs]
        sequences += [np.asarray(pair.query, np.uint8) for pair in pairs]
        self._uploaded = card.upload(np.concatenate([tables, *sequences]))
        self._edges_table = self._uploaded[: _WORD * len(edges)].view(np.int64)
        self._target = self._uploaded[len(tables) :]
        self._tables = _placed_jobs(card.pointer(self._uploaded) + _WORD * len(edges), len(jobs))
        longest = max(max(matrix.rows + 2 * _PADDING, matrix.columns + 1) for matrix in self.matrices)
        grid = -(-longest // THREADS), len(self.matrices)
        self._trace("begin")(
            grid, THREADS, self._edges_table, self._target[target:], self._query, self.words, self.kept
        )

    def fill_all(self, values: CardArray) -> CardArray:
        """Compute all matrices, once; the ends of their strips are wanted in mode LOCAL. See `fill`."""
        return self.launch(self._shape, self._tables, self._strips, self.words, values, self.mode == Mode.LOCAL)

    def fill(
        self, shape: StripShape, jobs: Sequence[StripJob], borders: CardArray, values: CardArray, track: bool = False
    ) -> CardArray:
        """Compute rectangles.

        Args:
            shape: of the kernel.
            jobs: which.
            borders: uint64, words on the borders of strips; their tags must be 0, or of strips further right.
            values: uint32, room for the values of cells.
            track: whether the largest H is wanted (mode LOCAL).

        Returns:
            int32[strips, 4]: largest H, column and row (from 1) of each strip, if wanted.
        """
        table = self.card.upload(np.array(self._job_table(shape, jobs), np.int64))
        strips = sum(shape.strips(job.columns) for job in jobs)
        return self.launch(shape, _placed_jobs(self.card.pointer(table), len(jobs)), strips, borders, values, track)

    def launch(
        self, shape: StripShape, tables: JobTables, strips: int, borders: CardArray, values: CardArray, track: bool
    ) -> CardArray:
        """Compute rectangles that the card knows, of so many strips at most; see `fill`."""
        card = self.card
        ends = card.empty((strips if track else 0, 4), np.int32)
        inputs = KernelInputs(self._query, self._target, *self.scoring, *_FACTORS)
        matrices = KernelMatrices(self.words, borders, self.kept, values, ends, int(track))
        # More warps than there are strips: the strips are spread over the multiprocessors.
        card.kernel(SOURCE, "fill", **_defines(shape, self.mode, is_wide(self.scoring)))(
            min(strips, card.multiprocessors * shape.resident), shape.block, tables, inputs, matrices
        )
        return ends

    @staticmethod
    def _job_table(shape: StripShape, jobs: Sequence[StripJob]) -> list[int]:
        """What `_placed_jobs` finds on the card."""
        before = accumulate((shape.strips(job.columns) for job in jobs), initial=0)
        return [*before, 0, *chain.from_iterable(jobs)]

    def sweep(self, shape: StripShape, matrix: PlacedMatrix, values: int) -> StripJob:
        """The job of a whole matrix, whose borders are in `words` and whose cells' values begin at `values`."""
        strips = matrix.tile_columns // shape.width if matrix.across > 1 else _EVERY_STRIP
        return StripJob(
            matrix.rows, matrix.columns, matrix.query, matrix.target, matrix.left, 0, matrix.left + matrix.stride,
            strips, matrix.stride, matrix.top, matrix.keep, matrix.keep_stride, values,
            shape.values_stride(matrix.rows) if shape.values else 0,
        )  # fmt: skip

    def peaks(self) -> CardArray:
        """int32[kept rows, 4], of row 0 and each kept row of all: the largest H, its first column, the last H."""
        found = self.card.empty((self._peaks, 4), np.int32)
        longest, most = (max(getattr(matrix, name) for matrix in self.matrices) for name in ("columns", "down"))
        warps = min(longest // (_AHEAD * _WARP) + 1, _PEAK_THREADS // _WARP)
        self._trace("peaks")(
            (most + 1, len(self.matrices)), warps * _WARP, self._edges_table, self.kept, found, shared_bytes=warps * 8
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
        kernel = self.card.kernel(TRACE, "follow", **_trace_defines(shape))
        kernel(len(paths), _WARP, paths, grids, self._sources(tiles, values, peaks, ends), followed, elements)

    def join(
        self, owns: CardArray, grids: CardArray, paths: CardArray, followed: CardArray, elements: CardArray,
        walked: CardArray, taken: CardArray, joined: CardArray,
    ) -> None:  # fmt: skip
        """Join the parts of walks that follow one another.

        Args:
            owns: int64[walks + 1], the number of each walk's own part; the others are behind it, the lowest first.
            grids, paths, followed, elements: see `follow`.
            walked: int64[walks, 10], for a `Walked` each.
            taken: uint64[1], elements so far: 0.
            joined: uint32, for the walks' elements, in any order of walks.
        """
        kernel = self._trace("join")
        kernel(len(owns) - 1, _WARP, owns, grids, paths, followed, elements, walked, taken, joined)

    def _sources(self, tiles: CardArray, values: CardArray, peaks: CardArray, ends: CardArray) -> PathSources:
        return PathSources(self._query, self._target, self.words, self.kept, tiles, values, peaks, ends,
                        *self.scoring, int(self.mode))  # fmt: skip

    def _trace(self, entry: str) -> Kernel:
        return self.card.kernel(TRACE, entry, **_trace_defines(VALUE_SHAPES[0]))

    def _edges(self, matrix: PlacedMatrix, letters: int, peaks: int) -> tuple[int, ...]:
        """trace.cu: Edges; `letters` is the place of the query's first one, `peaks` that of row 0's."""
        return (matrix.rows, matrix.columns, self.scoring.gap_open, self.scoring.gap_extend, self.mode == Mode.GLOBAL,
                self.mode != Mode.LOCAL, matrix.keep, matrix.keep_stride, matrix.query, letters, matrix.left,
                matrix.top, peaks)  # fmt: skip


def is_wide(scoring: Scoring) -> bool:
    """Whether a signed byte does not hold the scores of letters (cells.cuh)."""
    return any(not -128 <= score <= 127 for score in scoring[:2])


@cache
def _defines(shape: StripShape, mode: Mode, wide: bool) -> dict[str, int]:
    return shape.defines(mode, wide)


@cache
def _trace_defines(shape: StripShape) -> dict[str, int]:
    return shape.trace_defines()


def _placed_jobs(address: int, jobs: int) -> JobTables:
    """The tables of rectangles on the card (`CardMatrices._job_table`), which begin at an address."""
    ticket = address + _WORD * (jobs + 1)
    return JobTables(address, ticket + _WORD, jobs, ticket)


def upload_together(card: Card, arrays: list[NDArray[Any]]) -> list[CardArray]:
    """Small arrays on the card, by one copy."""
    buffer = np.empty(bytes_of(arrays), np.uint8)
    for place, array in zip(places_in(buffer, arrays), arrays, strict=True):
        place[...] = array
    return places_in(card.upload(buffer), arrays)

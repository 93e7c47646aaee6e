"""One large alignment on a card: the whole chip sweeps the matrix, and warps follow parts of the path.

The sweep computes only scores and keeps rows and columns at intervals. From these, the values of all tiles that the
path goes through are computed again at once. The largest H of each kept row predicts these tiles. A wrong prediction
costs another round and never changes the answer.

Many warps follow parts of the path at once: a part begins at the largest H of each kept row. If the path goes through
that cell, the parts above and below meet there, and one warp joins them. A part that meets no other is followed alone.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, gap_element, joined, nothing, without_matrix
from quire.algorithms.pairwise.shapes import (
    LARGEST_DIFFERENCE,
    SCORE_SHAPES,
    VALUE_BYTES,
    VALUE_SHAPE,
    WARP,
    StripShape,
    fastest_shape,
)
from quire.algorithms.pairwise.structs import (
    QUERY_ROOM,
    WORDS_AROUND,
    JobTables,
    KernelInputs,
    KernelMatrices,
    PathSources,
    PathState,
    PlacedMatrix,
    StripJob,
    TileGrid,
    TilePlan,
    TileValues,
    Walked,
    words_of,
)
from quire.algorithms.scoring import Scoring
from quire.device.card import Card, CardArray, Kernel, bytes_of, places_in
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION

SOURCE = "quire/algorithms/pairwise/pairwise.cu"
TRACE = "quire/algorithms/pairwise/trace.cu"
KERNELS = [
    *((SOURCE, shape.defines(mode)) for shape in (*SCORE_SHAPES, VALUE_SHAPE) for mode in (Mode.LOCAL, Mode.GLOBAL)),
    (TRACE, VALUE_SHAPE.trace_defines()),
]
_FACTORS = 16, 65537  # cells.cuh: Scores
_EVERY_STRIP = 1 << 40  # strips that share a column of words: all
_PEAK_THREADS, _AHEAD = 1024, 8  # trace.cu: peaks
MOST_VALUES = 16 << 30
"""Most bytes of values on the card at once."""
SHORTEST_TILE, MOST_TILES = 1024, 256
"""Fewest rows of a tile and most tiles in a column of tiles, if their borders fit in memory. With shorter tiles less is
computed again, but planning takes longer and more rows are kept: tiles of 512 rows were slower at 8 to 100 kb."""
LARGEST_LETTER_SCORE = 127
"""Largest match and mismatch, of either sign: cells.cuh holds them in signed bytes. The configuration allows 100."""
MOST_SCORE = 1 << 27
"""Limit of (m + n + 2) times the largest absolute score: kernels compute with up to 16 times as much."""

IN_BEST, UNKNOWN = 0, -1  # trace.cu: a path's state, and its place before it is known
ROWS_PER_ELEMENT, FEWEST_ELEMENTS = 4, 64
"""A predicted part has space for an element per ROWS_PER_ELEMENT rows between kept rows, and for FEWEST_ELEMENTS more.
A part that needs more is continued later."""
_FIELDS = len(PathState._fields)
_ROW, _FIRST, _ROOM = (PathState._fields.index(name) for name in ("row", "first", "room"))


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
        self.trace("begin").for_each(longest, self._edges(), letters, self._query, self.words, self.kept)

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
        warps = min(matrix.columns // (_AHEAD * WARP) + 1, _PEAK_THREADS // WARP)
        self.trace("peaks")(matrix.down + 1, warps * WARP, self._edges(), self.kept, found, shared_bytes=warps * 8)
        return found

    def plan_tiles(
        self, plan: TilePlan, grid: TileGrid, peaks: CardArray, ends: CardArray, tiles: CardArray
    ) -> tuple[CardArray, CardArray]:
        """Plan the tiles that the path probably goes through next, at most `plan.most`.

        `peaks` and `ends` are those of `TileValues`. `tiles` (int64[tiles]) receives the place of each tile's values,
        or -1 if it is not planned.

        Returns:
            `JobTables.strips_before` and `.jobs`; entries after the last planned tile have no strips.
        """
        jobs = self.card.empty((plan.most, len(StripJob._fields)), np.int64)
        before = self.card.empty(plan.most + 1, np.int64)
        sources = self.sources(tiles, tiles, peaks, ends)
        self.trace("plan_tiles")(1, WARP, plan, grid, sources, jobs, before, tiles)
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


@dataclass
class Walk:
    """The known part of a path.

    Attributes:
        row, column: of the cell that it has reached, from 1; UNKNOWN: the cell where the alignment ends.
        score: H there; in a gap, see trace.cu.
        state: IN_BEST, or the gap that the path is in and that may be extended (trace.cu).
        complete: whether it has ended, or is in row 0 or column 0.
        parts: uint32[] each, its elements, the last one first.
        end: row, column and score of the cell where it began.
    """

    row: int = UNKNOWN
    column: int = UNKNOWN
    score: int = 0
    state: int = IN_BEST
    complete: bool = False
    parts: list[NDArray[np.uint32]] = field(default_factory=list)
    end: tuple[int, int, int] = (0, 0, 0)

    def advance(self, walked: Walked, part: NDArray[np.uint32]) -> None:
        """Append a part that was followed from here."""
        if self.row == UNKNOWN:
            self.end = walked.begin_row, walked.begin_column, walked.begin_score
        self.parts.append(part)
        self.row, self.column, self.score, self.state = walked.row, walked.column, walked.score, walked.state
        self.complete = bool(walked.ended)


def align(card: Card, pair: Pair) -> PairwiseAlignment:
    """Align two sequences, exactly as `quire.algorithms.pairwise.cpu.align`.

    Raises:
        OutOfDeviceMemory: the card has too little free memory.
        ValueError: scores too large for the card's kernels.
    """
    answer = without_matrix(pair)
    if answer is not None:
        return answer
    if not fits(pair):
        raise ValueError(f"pairwise alignment on a card: scores {tuple(pair.scoring)} are too large for these lengths")
    swept, matrix = matrix_on_card(card, pair)
    ends = matrix.fill_all()
    peaks = matrix.peaks()
    walk = Walk()
    while not walk.complete:
        follow(matrix, _compute_tiles(matrix, swept, walk, peaks, ends), walk)
    return _alignment(pair.mode, walk)


def fits(pair: Pair) -> bool:
    """Return True if the card's kernels hold all scores of a pair and all differences of neighbouring cells."""
    match, mismatch, gap_open, _ = pair.scoring
    largest = max(map(abs, pair.scoring))
    return (
        max(match, -mismatch) <= LARGEST_LETTER_SCORE
        and max(match - 2 * gap_open, match - mismatch) <= LARGEST_DIFFERENCE
        and (len(pair.query) + len(pair.target) + 2) * largest < MOST_SCORE
    )


def matrix_on_card(card: Card, pair: Pair) -> tuple[StripShape, CardMatrix]:
    """Return the shape of the kernel that sweeps a matrix, and the matrix on the card with space for its borders."""
    shape = fastest_shape(SCORE_SHAPES, card.multiprocessors, len(pair.target))
    longest, free = max(len(pair.query), len(pair.target)), card.free_bytes()
    # layout.cuh needs an even number of rows.
    size = max(SHORTEST_TILE, -(-longest // (2 * MOST_TILES)) * 2)
    while size < longest and 16 * len(pair.query) * len(pair.target) // size > free // 3:  # bytes of borders
        size *= 2
    return shape, CardMatrix(card, pair, min(size, len(pair.query)), -(-size // shape.width) * shape.width, shape)


def _compute_tiles(matrix: CardMatrix, swept: StripShape, walk: Walk, peaks: CardArray, ends: CardArray) -> TileValues:
    """Compute the values of the tiles that the path probably goes through, or of the first ones if memory is short."""
    card, placed, shape = matrix.card, matrix.placed, VALUE_SHAPE
    most = placed.down + placed.across  # a path goes up and to the left
    size = shape.values_size(placed.keep, placed.tile_columns)
    most = max(1, min(most, min(card.free_bytes() // 2, MOST_VALUES) // (size * VALUE_BYTES)))
    values = card.empty(most * size, np.uint32)
    stride = words_of(placed.keep)
    plan = TilePlan(walk.row, walk.column, most, swept.width, shape.width, WORDS_AROUND, stride, size)
    grid = placed_grid(matrix, swept, shape)
    places = card.empty(placed.down * placed.across, np.int64)
    before, jobs = matrix.plan_tiles(plan, grid, peaks, ends, places)
    borders = card.zeros(most * stride + 1, np.uint64)  # the last one is the ticket
    tables = JobTables(before, jobs, most, borders[most * stride :].view(np.uint32))
    matrix.launch(shape, tables, most * shape.strips(placed.tile_columns), borders, values, track=False)
    return TileValues(shape, values, grid, places, peaks, ends)


def _alignment(mode: Mode, walk: Walk) -> PairwiseAlignment:
    """Return the alignment of a path that has ended, or is in row 0 or column 0."""
    row, column, parts = walk.row, walk.column, list(walk.parts)
    end_row, end_column, score = walk.end
    if mode == Mode.LOCAL and score == 0:
        return nothing()
    if mode != Mode.LOCAL:
        parts.append(gap_element(row, CIGAR_INSERTION))
        row = 0
    if mode == Mode.GLOBAL:
        parts.append(gap_element(column, CIGAR_DELETION))
        column = 0
    return PairwiseAlignment(score, row, end_row, column, end_column, joined(parts)[::-1].copy())


def follow(matrix: CardMatrix, tiles: TileValues, walk: Walk) -> None:
    """Follow a path as far as the values of `tiles` and the space for elements allow, by at least one base."""
    card = matrix.card
    planned = _plan(matrix, walk)
    room = int(planned[:, _ROOM].sum())
    paths, followed = card.upload(planned), card.empty(planned.shape, np.int64)
    elements, joined_elements = (card.empty(room, np.uint32) for _ in range(2))
    found = card.empty(len(Walked._fields), np.int64)
    sources = matrix.sources(tiles.places, tiles.values, tiles.peaks, tiles.ends)
    matrix.trace("follow", tiles.shape)(len(planned), WARP, paths, tiles.grid, sources, followed, elements)
    matrix.trace("join")(1, WARP, len(planned), matrix.placed.keep, paths, followed, elements, found, joined_elements)
    walked = Walked(*card.download(found).tolist())
    walk.advance(walked, card.download(joined_elements[: walked.elements]))


def _plan(matrix: CardMatrix, walk: Walk) -> NDArray[np.int64]:
    """Return int64[parts, 11], `PathState`s: the walk's own part, then one per kept row above it, the lowest first."""
    placed, known = matrix.placed, walk.row != UNKNOWN
    row, column = (walk.row, walk.column) if known else (placed.rows, placed.columns)
    kept = np.arange((row - 1) // placed.keep, 0, -1)
    table = np.zeros((1 + len(kept), _FIELDS), np.int64)
    own_room, room = 2 * min(row, column) + 4, placed.keep // ROWS_PER_ELEMENT + FEWEST_ELEMENTS
    table[0] = PathState(walk.row, walk.column, walk.state, walk.score, 0, own_room, 0, 0, 0, 0, 0)
    table[1:] = PathState(0, UNKNOWN, IN_BEST, 0, 0, room, 0, 0, 0, 0, 0)
    table[1:, _ROW] = kept * placed.keep
    table[1:, _FIRST] = np.cumsum(table[:-1, _ROOM])
    return table


def placed_grid(matrix: CardMatrix, swept: StripShape, computed: StripShape) -> TileGrid:
    """Return the `TileGrid` of a matrix, given the shapes of the kernels that swept it and that compute values."""
    placed = matrix.placed
    return TileGrid(
        placed.rows, placed.columns, QUERY_ROOM, placed.keep, placed.tile_columns, placed.across,
        computed.values_stride(placed.keep), placed.top, placed.keep_stride, WORDS_AROUND, placed.stride,
        swept.strips(placed.columns),
    )  # fmt: skip

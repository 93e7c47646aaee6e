"""One large alignment on a card: the whole chip sweeps the matrix, and warps follow parts of the path.

The sweep computes only scores and keeps rows and columns at intervals. From these, the values of all tiles that the
path goes through are computed again at once. The largest H of each kept row predicts these tiles. A wrong prediction
costs another round and never changes the answer.

Many warps follow parts of the path at once: a part begins at the largest H of each kept row. If the path goes through
that cell, the parts above and below meet there, and one warp joins them. A part that meets no other is followed alone.
"""

from dataclasses import dataclass, field

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
    PathState,
    TileGrid,
    TilePlan,
    TileValues,
    Walked,
    words_of,
)
from quire.algorithms.pairwise.sweep_gpu import CardMatrix
from quire.device.card import Card, CardArray
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION

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

"""One large alignment on a card: the whole chip sweeps the matrix, and warps follow parts of the path.

The sweep computes only scores and keeps rows and columns at intervals. From these, the values of all tiles that the
path goes through are computed again at once. The largest H of each kept row predicts these tiles. A wrong prediction
costs another round and never changes the answer.
"""

from contextlib import suppress

import numpy as np

from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, gap_element, joined, nothing, without_matrix
from quire.algorithms.pairwise.paths_gpu import Walk, follow, placed_grid
from quire.algorithms.pairwise.shapes import (
    LARGEST_DIFFERENCE,
    SCORE_SHAPES,
    VALUE_BYTES,
    VALUE_SHAPE,
    StripShape,
    fastest_shape,
)
from quire.algorithms.pairwise.structs import WORDS_AROUND, JobTables, TilePlan, TileValues, words_of
from quire.algorithms.pairwise.sweep_gpu import CardMatrix
from quire.device.card import Card, CardArray, OutOfDeviceMemory
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION

MOST_VALUES = 16 << 30
"""Most bytes of values on the card at once."""
LITTLE = 4 << 30
"""Most bytes to allocate without a query of the free memory, which takes as long as a small alignment."""
SHORTEST_TILE, MOST_TILES = 1024, 256
"""Fewest rows of a tile and most tiles in a column of tiles, if their borders fit in memory. With shorter tiles less is
computed again, but planning takes longer and more rows are kept: tiles of 512 rows were slower at 8 to 100 kb."""
LARGEST_LETTER_SCORE = 127
"""Largest match and mismatch, of either sign: cells.cuh holds them in signed bytes. The configuration allows 100."""
MOST_SCORE = 1 << 27
"""Limit of (m + n + 2) times the largest absolute score: kernels compute with up to 16 times as much."""


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
    # layout.cuh needs an even number of rows.
    size = max(SHORTEST_TILE, -(-max(len(pair.query), len(pair.target)) // (2 * MOST_TILES)) * 2)
    if _border_bytes(pair, size) > LITTLE:
        size = _larger_tile(card, pair, size)
    with suppress(OutOfDeviceMemory):
        return shape, _tiled(card, pair, shape, size)
    return shape, _tiled(card, pair, shape, _larger_tile(card, pair, size))


def _larger_tile(card: Card, pair: Pair, size: int) -> int:
    """Return the rows of a tile whose borders fit in the card's free memory."""
    while size < max(len(pair.query), len(pair.target)) and _border_bytes(pair, size) > card.free_bytes() // 3:
        size *= 2
    return size


def _border_bytes(pair: Pair, size: int) -> int:
    return 16 * len(pair.query) * len(pair.target) // size


def _tiled(card: Card, pair: Pair, shape: StripShape, size: int) -> CardMatrix:
    return CardMatrix(card, pair, min(size, len(pair.query)), -(-size // shape.width) * shape.width, shape)


def _compute_tiles(matrix: CardMatrix, swept: StripShape, walk: Walk, peaks: CardArray, ends: CardArray) -> TileValues:
    """Compute the values of the tiles that the path probably goes through, or of the first ones if memory is short."""
    card, placed, shape = matrix.card, matrix.placed, VALUE_SHAPE
    most = placed.down + placed.across  # a path goes up and to the left
    size = shape.values_size(placed.keep, placed.tile_columns)
    values = None
    if most * size * VALUE_BYTES <= LITTLE:
        with suppress(OutOfDeviceMemory):
            values = card.empty(most * size, np.uint32)
    if values is None:
        most = max(1, min(most, min(card.free_bytes() // 2, MOST_VALUES) // (size * VALUE_BYTES)))
        values = card.empty(most * size, np.uint32)
    stride = words_of(placed.keep)
    plan = TilePlan(walk.row, walk.column, most, swept.width, shape.width, WORDS_AROUND, stride, size)
    grid = placed_grid(matrix, swept, shape)
    places = card.empty(placed.down * placed.across, np.int64)
    before, jobs = matrix.plan_tiles(plan, card.upload(np.array([grid], np.int64)), peaks, ends, places)
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

"""One large alignment on a card: the whole chip sweeps one matrix, or many small ones, and one warp follows each path.

The rules are the package's. Of a small matrix the values of all cells are kept, and the path is followed through them
before the host hears of anything. A larger one is swept for scores alone; what stands on every so-manieth row and
column is kept, and the values of those tiles that the path goes through are computed again from it, all at once: which
tiles these are is guessed from where the kept rows have their largest H. A guess that was wrong costs another round,
and nothing else.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from quire.algorithms.pairwise import Memory, Mode, Pair, PairwiseAlignment
from quire.algorithms.pairwise.driver import joined, nothing, without_matrix
from quire.algorithms.pairwise.paths_gpu import TileValues, Walk, element, follow, placed_grids
from quire.algorithms.pairwise.shapes import (
    LARGEST_DIFFERENCE,
    SCORE_SHAPES,
    VALUE_BYTES,
    VALUE_SHAPES,
    WIDE_SCORE_SHAPES,
    WIDE_VALUE_SHAPES,
    StripShape,
    fastest_shape,
    linear_is_faster,
)
from quire.algorithms.pairwise.structs import WORDS_AROUND, JobTables, TilePlan, words_of
from quire.algorithms.pairwise.sweep_gpu import CardMatrices, is_wide
from quire.algorithms.scoring import Scoring
from quire.device.card import Card, CardArray, OutOfDeviceMemory
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION

FASTEST_WHOLE = 5 << 28
"""Bytes of cells' values of several matrices: with fewer, keeping all at once is faster than linear memory one by one.
What is faster for one by itself `linear_is_faster` says."""
MOST_VALUES = 16 << 30
"""Bytes of values that are on the card at once."""
LITTLE = 4 << 30
"""Bytes that a card probably has: who needs no more takes it, and asks how much there is only if there was less. Asking
takes as long as a small alignment."""
MOST_PAIRS = 65_535
"""Pairs of one part: CUDA's limit of a grid's second dimension."""
WHOLE_KEEP = 512
"""Rows between those of a whole matrix from which its path is followed by several warps."""
SHORTEST_TILE, MOST_TILES = 1024, 256
"""Rows of a tile, and tiles one below the other, for which borders are kept where there is room. Shorter ones, of which
less is computed again, take longer to plan, and more rows are kept on the way: 512 were slower at 8 to 100 kb."""
MOST_SCORE = 1 << 27
"""Of (m + n + 2) times the largest score: kernels compute with up to 16 times as much."""


def align(card: Card, pair: Pair, memory: Memory = Memory.AUTO) -> PairwiseAlignment:
    """Align two sequences, exactly as `quire.algorithms.pairwise.cpu.align`.

    Args:
        card: where it is computed.
        pair: what to align, and how.
        memory: what is kept of the matrix; the answer does not depend on it.

    Raises:
        OutOfDeviceMemory: no room.
        ValueError: scores too large for the card's kernels.
    """
    return align_many(card, [pair], memory)[0]


def align_many(card: Card, pairs: Sequence[Pair], memory: Memory = Memory.AUTO) -> list[PairwiseAlignment]:
    """Align pairs; small ones of one mode and scoring together. See `align`."""
    answers = [without_matrix(pair) for pair in pairs]
    groups: dict[object, list[int]] = {}
    for number, pair in enumerate(pairs):
        if answers[number] is None:
            _check(pair)
            groups.setdefault((pair.mode, tuple(pair.scoring)), []).append(number)
    for numbers in groups.values():
        found = _align_group(card, [pairs[number] for number in numbers], memory)
        for number, answer in zip(numbers, found, strict=True):
            answers[number] = answer
    return [answer for answer in answers if answer is not None]


def _align_group(card: Card, pairs: list[Pair], memory: Memory) -> list[PairwiseAlignment]:
    """Pairs of one mode and scoring."""
    if memory == Memory.AUTO and len(pairs) == 1 and _linear_is_faster(card, pairs[0]):
        memory = Memory.LINEAR
    small = memory != Memory.LINEAR and len(pairs) <= MOST_PAIRS
    if small and sum(_whole_bytes(card, pair) for pair in pairs) <= FASTEST_WHOLE:
        with suppress(OutOfDeviceMemory):
            return _align_whole(card, pairs)
    answers: dict[int, PairwiseAlignment] = {}
    for part in _parts(card, pairs, memory):
        found = (_align_linear if part.linear else _align_whole)(card, [pairs[number] for number in part.numbers])
        answers.update(zip(part.numbers, found, strict=True))
    return [answers[number] for number in range(len(pairs))]


def fits(pair: Pair) -> bool:
    """Whether the card's kernels hold whatever scores a pair may have, and how far neighbouring cells are apart."""
    match, mismatch, gap_open, _ = pair.scoring
    largest = max(map(abs, pair.scoring))
    return (
        max(match - 2 * gap_open, match - mismatch) <= LARGEST_DIFFERENCE
        and (len(pair.query) + len(pair.target) + 2) * largest < MOST_SCORE
    )


def _check(pair: Pair) -> None:
    if not fits(pair):
        raise ValueError(f"pairwise alignment on a card: {tuple(pair.scoring)} are too large for these lengths")


# ---- plans ----


class _Part(NamedTuple):
    """Pairs that are computed together, or one in linear memory."""

    numbers: list[int]
    linear: bool


def _parts(card: Card, pairs: list[Pair], memory: Memory) -> list[_Part]:
    room = -1  # nobody has asked
    parts: list[_Part] = []
    together: list[int] = []
    taken = 0
    for number, pair in enumerate(pairs):
        size = _whole_bytes(card, pair)
        linear = memory == Memory.LINEAR or (memory == Memory.AUTO and size > FASTEST_WHOLE)
        if not linear and room < 0:
            room = min(card.free_bytes() // 2, MOST_VALUES)
        if linear or (memory == Memory.AUTO and size > room):
            parts.append(_Part([number], True))
            continue
        if together and (taken + size > room or len(together) == MOST_PAIRS):
            parts.append(_Part(together, False))
            together, taken = [], 0
        together.append(number)
        taken += size
    return [*parts, _Part(together, False)] if together else parts


def _shape(card: Card, scoring: Scoring, sizes: list[tuple[int, int]], values: bool) -> StripShape:
    """Of the kernel for matrices, or tiles, that are computed at once."""
    return fastest_shape(_shapes(scoring, values), card.multiprocessors, sizes)


def _shapes(scoring: Scoring, values: bool) -> tuple[StripShape, ...]:
    wide = is_wide(scoring)
    return (WIDE_VALUE_SHAPES if wide else VALUE_SHAPES) if values else (WIDE_SCORE_SHAPES if wide else SCORE_SHAPES)


def _linear_is_faster(card: Card, pair: Pair) -> bool:
    scores, values = (_shapes(pair.scoring, values) for values in (False, True))
    return linear_is_faster(scores, values, card.multiprocessors, len(pair.query), len(pair.target))


def _whole_bytes(card: Card, pair: Pair) -> int:
    """Of the values of all cells."""
    size = len(pair.query), len(pair.target)
    return _shape(card, pair.scoring, [size], values=True).values_size(*size) * VALUE_BYTES


def _tile_size(card: Card, pair: Pair) -> int:
    """Rows of a tile: the fewer, the less is computed again, as long as there is room for what is kept of borders."""
    rows, columns = len(pair.query), len(pair.target)
    size = max(SHORTEST_TILE, -(-max(rows, columns) // (2 * MOST_TILES)) * 2)  # an even number: layout.cuh
    if _border_bytes(pair, size) > LITTLE:
        size = _larger_tile(card, pair, size)
    return size


def _larger_tile(card: Card, pair: Pair, size: int) -> int:
    """Rows of a tile for whose borders there is room on the card."""
    while size < max(len(pair.query), len(pair.target)) and _border_bytes(pair, size) > card.free_bytes() // 3:
        size *= 2
    return size


def _border_bytes(pair: Pair, size: int) -> int:
    return 16 * len(pair.query) * len(pair.target) // size


# ---- whole matrices ----


def _align_whole(card: Card, pairs: list[Pair]) -> list[PairwiseAlignment]:
    """Keep the values of all cells."""
    shape = _shape(card, pairs[0].scoring, [(len(pair.query), len(pair.target)) for pair in pairs], values=True)
    tiles = [(min(WHOLE_KEEP, len(pair.query)), len(pair.target)) for pair in pairs]
    batch = CardMatrices(card, pairs, tiles, shape)
    values = card.empty(batch.values, np.uint32)
    ends = batch.fill_all(values)
    sizes = [shape.values_size(matrix.rows, matrix.columns) for matrix in batch.matrices]
    places = card.upload(np.cumsum(np.append(0, sizes), dtype=np.int64)[:-1])
    computed = TileValues(shape, values, placed_grids(batch, shape, shape, True), places, batch.peaks(), ends)
    walks = [Walk() for _ in pairs]
    while not all(walk.complete for walk in walks):
        follow(batch, computed, walks)
    return [_alignment(batch.mode, walk) for walk in walks]


def _alignment(mode: Mode, walk: Walk) -> PairwiseAlignment:
    """The alignment of a path that has ended, or stands on row 0 or column 0."""
    row, column, parts = walk.row, walk.column, list(walk.parts)
    end_row, end_column, score = walk.end
    if mode == Mode.LOCAL and score == 0:
        return nothing(0)
    if mode != Mode.LOCAL:
        parts.append(element(row, CIGAR_INSERTION))
        row = 0
    if mode == Mode.GLOBAL:
        parts.append(element(column, CIGAR_DELETION))
        column = 0
    return PairwiseAlignment(score, row, end_row, column, end_column, joined(parts)[::-1].copy())


# ---- linear memory ----


def _align_linear(card: Card, pairs: list[Pair]) -> list[PairwiseAlignment]:
    """Keep borders, and compute the path's tiles again."""
    return [_align_one_linear(card, pair) for pair in pairs]


def linear_batch(card: Card, pair: Pair) -> tuple[StripShape, CardMatrices]:
    """The shape of the kernel that sweeps a matrix for scores, and the matrix on the card with room for its borders."""
    shape = _shape(card, pair.scoring, [(len(pair.query), len(pair.target))], values=False)
    size = _tile_size(card, pair)
    with suppress(OutOfDeviceMemory):
        return shape, _tiled(card, pair, shape, size)
    return shape, _tiled(card, pair, shape, _larger_tile(card, pair, size))


def _tiled(card: Card, pair: Pair, shape: StripShape, size: int) -> CardMatrices:
    return CardMatrices(card, [pair], [(min(size, len(pair.query)), -(-size // shape.width) * shape.width)], shape)


def _align_one_linear(card: Card, pair: Pair) -> PairwiseAlignment:
    """The card plans tiles and follows the path without a word from the host, which waits for the whole."""
    swept, batch = linear_batch(card, pair)
    ends = batch.fill_all(card.empty(0, np.uint32))
    peaks = batch.peaks()
    walk = Walk()
    while not walk.complete:
        follow(batch, _compute_tiles(batch, swept, walk, peaks, ends), [walk])
    return _alignment(batch.mode, walk)


def _compute_tiles(batch: CardMatrices, swept: StripShape, walk: Walk, peaks: CardArray, ends: CardArray) -> TileValues:
    """The values of tiles that a path probably goes through, of the first ones if there is no room for more."""
    card, (matrix,) = batch.card, batch.matrices
    most = matrix.down + matrix.across  # a path goes up and to the left
    shape = _shape(card, batch.scoring, [(matrix.keep, matrix.tile_columns)] * most, values=True)
    size = shape.values_size(matrix.keep, matrix.tile_columns)
    values = None
    if most * size * VALUE_BYTES <= LITTLE:
        with suppress(OutOfDeviceMemory):
            values = card.empty(most * size, np.uint32)
    if values is None:
        most = max(1, min(most, min(card.free_bytes() // 2, MOST_VALUES) // (size * VALUE_BYTES)))
        values = card.empty(most * size, np.uint32)
    stride = words_of(matrix.keep)
    plan = TilePlan(walk.row, walk.column, most, swept.width, shape.width, WORDS_AROUND, stride, size)
    grids = placed_grids(batch, swept, shape, False)
    places = card.empty(matrix.down * matrix.across, np.int64)
    before, jobs = batch.plan_tiles(plan, card.upload(np.array(grids, np.int64)), peaks, ends, places)
    borders = card.zeros(most * stride + 1, np.uint64)  # the last one is the ticket
    tables = JobTables(before, jobs, most, borders[most * stride :].view(np.uint32))
    batch.launch(shape, tables, most * shape.strips(matrix.tile_columns), borders, values, track=False)
    return TileValues(shape, values, grids, places, peaks, ends)

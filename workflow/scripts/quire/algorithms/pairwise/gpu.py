"""One large alignment on a card: the whole chip sweeps one matrix, or many small ones, and one warp follows each path.

The rules are the package's. A matrix of few directions is swept once, and its path is followed through them. A larger
one is swept for scores alone; what stands on every so-manieth row and column is kept, and the directions of those tiles
that the path goes through are computed again from it, all at once: which tiles these are is guessed from where the kept
rows have their largest H. A guess that was wrong costs another round, and nothing else.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Memory, Mode, Pair, PairwiseAlignment
from quire.algorithms.pairwise.driver import joined, nothing, without_matrix
from quire.algorithms.pairwise.paths_gpu import (
    TileDirections,
    Walk,
    element,
    follow,
    guess_tiles,
    tile_grid,
    whole_grid,
)
from quire.algorithms.pairwise.shapes import (
    BITS_SHAPES,
    LARGEST_GAP_OPEN,
    PAIR_BYTES,
    SCORE_SHAPES,
    WIDE_BITS_SHAPES,
    WIDE_SCORE_SHAPES,
    StripShape,
    fastest_shape,
)
from quire.algorithms.pairwise.sweep_gpu import CardMatrices, StripJob, is_wide
from quire.algorithms.scoring import Scoring
from quire.device.card import Card, CardArray
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION

FASTEST_WHOLE = 1 << 27
"""Bytes of directions: with fewer, keeping all is faster than computing some again."""
MOST_BITS = 4 << 30
"""Bytes of directions that are on the card at once."""
MOST_PAIRS = 65_535
"""Pairs of one part: CUDA's limit of a grid's second dimension."""
WHOLE_KEEP = 512
"""Rows between those of a whole matrix from which its path is followed by several warps."""
SHORTEST_TILE, MOST_TILES = 2048, 256
"""Rows of a tile, and tiles one below the other, for which borders are kept where there is room. Shorter ones, of which
less is computed again, take longer to plan, and more rows are kept on the way: 512 were slower at 8 to 100 kb."""
MOST_SCORE = 1 << 27
"""Of (m + n + 2) times the largest score: kernels compute with up to 16 times as much."""


class _End(NamedTuple):
    score: int
    row: int
    column: int


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
        for part in _parts(card, [pairs[number] for number in numbers], memory):
            chosen = [numbers[i] for i in part.numbers]
            found = (_align_linear if part.linear else _align_whole)(card, [pairs[number] for number in chosen])
            for number, answer in zip(chosen, found, strict=True):
                answers[number] = answer
    return [answer for answer in answers if answer is not None]


def fits(pair: Pair) -> bool:
    """Whether the card's kernels hold whatever scores a pair may have."""
    largest = max(map(abs, pair.scoring))
    return (
        -pair.scoring.gap_open <= LARGEST_GAP_OPEN and (len(pair.query) + len(pair.target) + 2) * largest < MOST_SCORE
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
    room = min(card.free_bytes() // 2, MOST_BITS)
    parts: list[_Part] = []
    together: list[int] = []
    taken = 0
    for number, pair in enumerate(pairs):
        size = _whole_bytes(card, pair)
        if memory == Memory.LINEAR or (memory == Memory.AUTO and size > min(FASTEST_WHOLE, room)):
            parts.append(_Part([number], True))
            continue
        if together and (taken + size > room or len(together) == MOST_PAIRS):
            parts.append(_Part(together, False))
            together, taken = [], 0
        together.append(number)
        taken += size
    return [*parts, _Part(together, False)] if together else parts


def _shape(card: Card, scoring: Scoring, sizes: list[tuple[int, int]], bits: bool) -> StripShape:
    """Of the kernel for matrices, or tiles, that are computed at once."""
    wide = is_wide(scoring, bits)
    shapes = (WIDE_BITS_SHAPES if wide else BITS_SHAPES) if bits else (WIDE_SCORE_SHAPES if wide else SCORE_SHAPES)
    return fastest_shape(shapes, card.multiprocessors, sizes)


def _whole_bytes(card: Card, pair: Pair) -> int:
    """Of the directions of all cells."""
    size = len(pair.query), len(pair.target)
    return _shape(card, pair.scoring, [size], bits=True).bits_size(*size) * PAIR_BYTES


def _tile_size(card: Card, pair: Pair) -> int:
    """Rows of a tile: the fewer, the less is computed again, as long as there is room for what is kept of borders."""
    rows, columns = len(pair.query), len(pair.target)
    size = max(SHORTEST_TILE, -(-max(rows, columns) // MOST_TILES))
    while size < max(rows, columns) and 16 * rows * columns // size > card.free_bytes() // 3:
        size *= 2
    return size


# ---- whole matrices ----


def _align_whole(card: Card, pairs: list[Pair]) -> list[PairwiseAlignment]:
    """Keep all directions."""
    batch = CardMatrices(card, pairs, [(min(WHOLE_KEEP, len(pair.query)), len(pair.target)) for pair in pairs])
    sizes = [(matrix.rows, matrix.columns) for matrix in batch.matrices]
    shape = _shape(card, batch.scoring, sizes, bits=True)
    jobs, bits = [], 0
    for matrix in batch.matrices:
        jobs.append(batch.sweep(shape, matrix, bits))
        bits += shape.bits_size(matrix.rows, matrix.columns)
    directions = card.empty(bits, np.uint64)
    ends = batch.fill(shape, np.array(jobs, np.int64), batch.words, directions, batch.mode == Mode.LOCAL)
    peaks = batch.peaks()
    found = _ends(batch, shape, jobs, ends, peaks)
    tiles = TileDirections(shape, directions, [whole_grid(matrix, shape) for matrix in batch.matrices],
                  [np.array([job.bits], np.int64) for job in jobs])  # fmt: skip
    walks = [Walk(end.row, end.column) for end in found]
    while not all(walk.complete for walk in walks):
        follow(batch, tiles, peaks, walks)
    return [_alignment(batch.mode, end, walk) for end, walk in zip(found, walks, strict=True)]


def _ends(
    batch: CardMatrices, shape: StripShape, jobs: list[StripJob], ends: CardArray, peaks: list[NDArray[np.int32]]
) -> list[_End]:
    """Where each alignment ends."""
    if batch.mode != Mode.LOCAL:
        answers = []
        for matrix, (score, column, corner, _) in zip(
            batch.matrices, (rows[-1].tolist() for rows in peaks), strict=True
        ):
            glocal = batch.mode == Mode.GLOCAL
            answers.append(_End(score if glocal else corner, matrix.rows, column if glocal else matrix.columns))
        return answers
    best = batch.card.download(ends)
    found, begin = [], 0
    for job in jobs:
        end = begin + shape.strips(job.columns)
        strips = best[begin:end].reshape(-1, 4)
        score, column, row = strips[int(np.argmax(strips[:, 0])), :3].tolist()  # the first of several: the leftmost
        found.append(_End(score, row, column))
        begin = end
    return found


def _alignment(mode: Mode, end: _End, walk: Walk) -> PairwiseAlignment:
    """The alignment of a path that has ended, or stands on row 0 or column 0."""
    if mode == Mode.LOCAL and end.score == 0:
        return nothing(0)
    row, column, parts = walk.row, walk.column, list(walk.parts)
    if mode != Mode.LOCAL:
        parts.append(element(row, CIGAR_INSERTION))
        row = 0
    if mode == Mode.GLOBAL:
        parts.append(element(column, CIGAR_DELETION))
        column = 0
    return PairwiseAlignment(end.score, row, end.row, column, end.column, joined(parts)[::-1].copy())


# ---- linear memory ----


def _align_linear(card: Card, pairs: list[Pair]) -> list[PairwiseAlignment]:
    """Keep borders, and compute the path's tiles again."""
    return [_align_one_linear(card, pair) for pair in pairs]


def linear_batch(card: Card, pair: Pair) -> tuple[StripShape, CardMatrices]:
    """The shape of the kernel that sweeps a matrix for scores, and the matrix on the card with room for its borders."""
    size = len(pair.query), len(pair.target)
    shape = _shape(card, pair.scoring, [size], bits=False)
    tile = _tile_size(card, pair)
    return shape, CardMatrices(card, [pair], [(min(tile, size[0]), -(-tile // shape.width) * shape.width)])


def _align_one_linear(card: Card, pair: Pair) -> PairwiseAlignment:
    shape, batch = linear_batch(card, pair)
    (matrix,) = batch.matrices
    local = batch.mode == Mode.LOCAL
    job = batch.sweep(shape, matrix, 0)
    ends = batch.fill(shape, np.array([job], np.int64), batch.words, card.empty(0, np.uint64), local)
    peaks = batch.peaks()
    (end,) = _ends(batch, shape, [job], ends, peaks)
    walk = Walk(end.row, end.column)
    while not walk.complete:
        tiles = _compute_tiles(batch, shape, guess_tiles(matrix, peaks[0], walk.row, walk.column, local))
        follow(batch, tiles, peaks, [walk])
    return _alignment(batch.mode, end, walk)


def _compute_tiles(batch: CardMatrices, swept: StripShape, guessed: list[tuple[int, int]]) -> TileDirections:
    """The directions of tiles, of the first ones if there is no room for more."""
    card, (matrix,) = batch.card, batch.matrices
    shape = _shape(card, batch.scoring, [(matrix.keep, matrix.tile_columns)] * len(guessed), bits=True)
    size = shape.bits_size(matrix.keep, matrix.tile_columns)
    room = max(1, min(card.free_bytes() // 2, MOST_BITS) // (size * PAIR_BYTES))
    chosen = np.array(guessed[:room], np.int64)
    bits_places = np.arange(len(chosen)) * size
    places = np.full(matrix.down * matrix.across, -1, np.int64)
    places[chosen[:, 0] * matrix.across + chosen[:, 1]] = bits_places
    jobs, border = batch.tiles(shape, matrix, chosen, bits_places, swept.width)
    bits = card.empty(len(jobs) * size, np.uint64)
    batch.fill(shape, jobs, card.zeros(border, np.uint64), bits)
    return TileDirections(shape, bits, [tile_grid(matrix, shape)], [places])

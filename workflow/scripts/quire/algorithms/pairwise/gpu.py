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

from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment
from quire.algorithms.pairwise.driver import joined, nothing, without_matrix
from quire.algorithms.pairwise.shapes import (
    BITS_SHAPES,
    LARGEST_GAP_OPEN,
    PAIR_BYTES,
    SCORE_SHAPES,
    WIDE_BITS_SHAPES,
    WIDE_SCORE_SHAPES,
    FillShape,
    fastest_shape,
)
from quire.algorithms.pairwise.sweep_gpu import IN_BEST, Batch, Grid, Job, Path, Placed, is_wide
from quire.algorithms.scoring import Scoring
from quire.device.card import Card, CardArray
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_SHIFT

FASTEST_WHOLE = 1 << 27
"""Bytes of directions: with fewer, keeping all is faster than computing some again."""
MOST_BITS = 4 << 30
"""Bytes of directions that are on the card at once."""
SHORTEST_TILE, MOST_TILES = 2048, 256
"""Rows of a tile, and tiles one below the other, for which borders are kept where there is room."""
MOST_SCORE = 1 << 28
"""Of (m + n + 2) times the largest score: kernels with directions compute with four times as much."""


class _End(NamedTuple):
    score: int
    row: int
    column: int


def align(card: Card, pair: Pair, linear: bool | None = None) -> PairwiseAlignment:
    """Align two sequences, exactly as `quire.algorithms.pairwise.cpu.align`.

    Args:
        card: where it is computed.
        pair: what to align, and how.
        linear: whether the directions of all cells are kept (False) or those of some computed again (True); None:
            whichever is faster and fits. The answer does not depend on it.

    Raises:
        OutOfDeviceMemory: no room.
        ValueError: scores too large for the card's kernels.
    """
    return align_many(card, [pair], linear)[0]


def align_many(card: Card, pairs: Sequence[Pair], linear: bool | None = None) -> list[PairwiseAlignment]:
    """Align pairs; small ones of one mode and scoring together. See `align`."""
    answers = [without_matrix(pair) for pair in pairs]
    groups: dict[object, list[int]] = {}
    for number, pair in enumerate(pairs):
        if answers[number] is None:
            _check(pair)
            groups.setdefault((pair.mode, tuple(pair.scoring)), []).append(number)
    for numbers in groups.values():
        for part in _parts(card, [pairs[number] for number in numbers], linear):
            chosen = [numbers[i] for i in part.numbers]
            found = (_align_linear if part.linear else _align_whole)(card, [pairs[number] for number in chosen])
            for number, answer in zip(chosen, found, strict=True):
                answers[number] = answer
    return [answer for answer in answers if answer is not None]


def _check(pair: Pair) -> None:
    largest = max(map(abs, pair.scoring))
    if -pair.scoring.gap_open > LARGEST_GAP_OPEN or (len(pair.query) + len(pair.target) + 2) * largest >= MOST_SCORE:
        raise ValueError(f"pairwise alignment on a card: {tuple(pair.scoring)} are too large for these lengths")


# ---- plans ----


class _Part(NamedTuple):
    """Pairs that are computed together, or one in linear memory."""

    numbers: list[int]
    linear: bool


def _parts(card: Card, pairs: list[Pair], linear: bool | None) -> list[_Part]:
    room = min(card.free_bytes() // 2, MOST_BITS)
    parts: list[_Part] = []
    together: list[int] = []
    taken = 0
    for number, pair in enumerate(pairs):
        size = _whole_bytes(card, pair)
        if linear or (linear is None and size > min(FASTEST_WHOLE, room)):
            parts.append(_Part([number], True))
            continue
        if together and taken + size > room:
            parts.append(_Part(together, False))
            together, taken = [], 0
        together.append(number)
        taken += size
    return [*parts, _Part(together, False)] if together else parts


def _shape(card: Card, scoring: Scoring, sizes: list[tuple[int, int]], bits: bool) -> FillShape:
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
    batch = Batch(card, pairs, [(len(pair.query), len(pair.target)) for pair in pairs])
    sizes = [(matrix.rows, matrix.columns) for matrix in batch.matrices]
    shape = _shape(card, batch.scoring, sizes, bits=True)
    jobs, grids, bits, elements = [], [], 0, 0
    for number, matrix in enumerate(batch.matrices):
        job = batch.sweep(shape, matrix, bits)
        jobs.append(job)
        grids.append(Grid(matrix.rows, matrix.columns, 1, number, job.bits_stride, elements))
        bits += shape.bits_size(matrix.rows, matrix.columns)
        elements += matrix.rows + matrix.columns
    directions = card.empty(bits, np.uint64)
    ends = batch.fill(shape, jobs, batch.words, directions, batch.mode == Mode.LOCAL)
    found = _ends(batch, shape, jobs, ends)
    paths = card.upload(np.array([_path_from(end) for end in found], np.int64))
    room = card.empty(elements, np.uint32)
    tiles = card.upload(np.array([job.bits for job in jobs], np.int64))
    batch.follow(shape, paths, card.upload(np.array(grids, np.int64)), tiles, directions, room)
    followed = [Path(*row) for row in card.download(paths).tolist()]
    return [
        _alignment(batch.mode, end, path, card.download(room[grid.elements : grid.elements + path.elements]))
        for end, path, grid in zip(found, followed, grids, strict=True)
    ]


def _ends(batch: Batch, shape: FillShape, jobs: list[Job], ends: CardArray) -> list[_End]:
    """Where each alignment ends."""
    card = batch.card
    if batch.mode == Mode.LOCAL:
        best = card.download(ends)
        found = []
        begin = 0
        for job in jobs:
            end = begin + shape.strips(job.columns)
            found.append(_first_best(best[begin:end].reshape(-1, 4)))
            begin = end
        return found
    answers = []
    for matrix in batch.matrices:
        if batch.mode == Mode.GLOCAL:
            score, column = batch.peaks(matrix)[-1].tolist()
        else:
            column = matrix.columns
            place = matrix.top + matrix.down * (matrix.columns + 1) + column
            score = int(card.download(batch.kept[place])[0])
        answers.append(_End(score, matrix.rows, column))
    return answers


def _first_best(ends: NDArray[np.int32]) -> _End:
    """The largest of (score, column, row), of several the one with the smallest column."""
    score, column, row = ends[int(np.argmax(ends[:, 0])), :3].tolist()
    return _End(score, row, column)


def _path_from(end: _End) -> Path:
    return Path(end.row, end.column, IN_BEST, 0, 0, 0, 0)


def _alignment(mode: Mode, end: _End, path: Path, elements: NDArray[np.uint32]) -> PairwiseAlignment:
    """The alignment of a path that has ended, or stands on row 0 or column 0; `elements` from its end on."""
    if mode == Mode.LOCAL and end.score == 0:
        return nothing(0)
    parts = [elements, _element(path.run, path.operation)]
    row, column = path.row, path.column
    if mode != Mode.LOCAL:
        parts.append(_element(row, CIGAR_INSERTION))
        row = 0
    if mode == Mode.GLOBAL:
        parts.append(_element(column, CIGAR_DELETION))
        column = 0
    return PairwiseAlignment(end.score, row, end.row, column, end.column, joined(parts)[::-1].copy())


def _element(length: int, operation: int) -> NDArray[np.uint32]:
    return np.array([length << CIGAR_SHIFT | operation] if length > 0 else [], np.uint32)


# ---- linear memory ----


def _align_linear(card: Card, pairs: list[Pair]) -> list[PairwiseAlignment]:
    """Keep borders, and compute the path's tiles again."""
    return [_Linear(card, pair).align() for pair in pairs]


class _Linear:
    """One matrix in linear memory."""

    def __init__(self, card: Card, pair: Pair) -> None:
        self.card, self.pair = card, pair
        size = len(pair.query), len(pair.target)
        self.shape = _shape(card, pair.scoring, [size], bits=False)
        tile = _tile_size(card, pair)
        self.batch = Batch(card, [pair], [(min(tile, size[0]), -(-tile // self.shape.width) * self.shape.width)])
        self.matrix = self.batch.matrices[0]

    def align(self) -> PairwiseAlignment:
        """Sweep, find the end, follow the path."""
        batch, matrix = self.batch, self.matrix
        local = batch.mode == Mode.LOCAL
        job = batch.sweep(self.shape, matrix, 0)
        ends = batch.fill(self.shape, [job], batch.words, self.card.empty(0, np.uint64), local)
        (end,) = _ends(batch, self.shape, [job], ends)
        if local and end.score == 0:
            return nothing(0)
        return self._follow(end)

    def _follow(self, end: _End) -> PairwiseAlignment:
        card, batch, matrix = self.card, self.batch, self.matrix
        peaks = batch.peaks(matrix)
        path = _path_from(end)
        on_card = card.upload(np.array([path], np.int64))
        elements = card.empty(end.row + end.column, np.uint32)
        while not path.ended and path.row > 0 and path.column > 0:
            guessed = guess_tiles(matrix, peaks, path.row, path.column, batch.mode == Mode.LOCAL)
            shape = _shape(card, batch.scoring, [matrix.size_of(*tile) for tile in guessed], bits=True)
            size = shape.bits_size(matrix.tile_rows, matrix.tile_columns)
            room = max(1, min(card.free_bytes() // 2, MOST_BITS) // (size * PAIR_BYTES))
            tiles, bits = self._compute(shape, guessed[:room], size)
            grid = Grid(matrix.tile_rows, matrix.tile_columns, matrix.across, 0, shape.bits_stride(matrix.tile_rows), 0)
            batch.follow(shape, on_card, card.upload(np.array([grid], np.int64)), card.upload(tiles), bits, elements)
            path = Path(*card.download(on_card)[0].tolist())
        return _alignment(batch.mode, end, path, card.download(elements[: path.elements]))

    def _compute(
        self, shape: FillShape, wanted: list[tuple[int, int]], size: int
    ) -> tuple[NDArray[np.int64], CardArray]:
        """The directions of some tiles: the place of each tile's (-1: not there), and these."""
        card, matrix = self.card, self.matrix
        places = np.full(matrix.down * matrix.across, -1, np.int64)
        jobs, border = [], 0
        for number, (down, across) in enumerate(wanted):
            places[down * matrix.across + across] = number * size
            jobs.append(self.batch.tile(shape, matrix, down, across, border, number * size, self.shape.width))
            border += jobs[-1].rows
        bits = card.empty(len(wanted) * size, np.uint64)
        self.batch.fill(shape, jobs, card.zeros(border, np.uint64), bits)
        return places, bits


def guess_tiles(matrix: Placed, peaks: NDArray[np.int32], row: int, column: int, local: bool) -> list[tuple[int, int]]:
    """Tiles (down, across) that a path probably goes through, from the one where it is.

    A path that crosses a kept row does so near the row's largest H, if it is the path of similar sequences. Where that
    is not near the diagonal through the place before, the diagonal is the better guess, and in mode LOCAL the path has
    probably begun.

    Args:
        matrix: with its tiles.
        peaks: int32[down + 1, 2], see `Batch.peaks`.
        row, column: of the cell where the path is, from 1.
        local: whether it may begin anywhere.
    """
    tiles = []
    for down in range((row - 1) // matrix.tile_rows, -1, -1):
        top = down * matrix.tile_rows
        diagonal = column - (row - top)
        score, peak = peaks[down].tolist()
        near = abs(peak - diagonal) <= matrix.tile_columns and peak <= column
        across = max(peak if near else diagonal, 1)
        first, last = (across - 1) // matrix.tile_columns, (column - 1) // matrix.tile_columns
        tiles += [(down, i) for i in range(last, first - 1, -1)]
        row, column = top, peak if near else diagonal
        if column < 1 or (local and (not near or score <= 0)):
            break
    return tiles

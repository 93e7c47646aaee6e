"""Pairwise alignment in Numba: tiles in the order of their dependence, in as many threads as are given.

A thread takes a row of tiles and goes along it as far as the row above has come, so that the threads follow each other
down the matrix like a staircase. Tiles are computed in `cpu_tiles.py`, paths followed through them in `cpu_follow.py`.
Before, `cpu_small.py` tries what is faster where it leads to the alignment: few diagonals, bytes, a single tile.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import LARGEST, Memory, Mode, Pair, PairwiseAlignment, State
from quire.algorithms.pairwise.cpu_follow import follow_tile
from quire.algorithms.pairwise.cpu_layout import BITS, WIDTH, Border, direction_words, height_of, space_for
from quire.algorithms.pairwise.cpu_small import HEADER, align_at_once
from quire.algorithms.pairwise.cpu_tiles import solve_tile
from quire.algorithms.pairwise.driver import Cell, PathStretch, Sweep, trace, without_matrix
from quire.algorithms.pairwise.tiling import Tile, Tiling, left_border, top_border
from quire.algorithms.scoring import Scoring
from quire.ragged import offsets_from_lengths
from quire.simd.compiled import compiled

TILES = ((1024, 2048), (2048, 4096), (4096, 8192), (8192, 16384), (16384, 32768))
"""Rows and columns. Small ones have more borders, and there is less to compute again."""
LONG = 40_000  # bases of the longer sequence from which the second size is faster than the first
SMALL, SMALL_ONE_THREAD = 1 << 20, 12 << 20
"""Bytes of directions: with fewer, one tile that keeps all, of which one thread computes all, is fastest."""
BAND = 64 << 20  # bytes of directions of a band at most
MEMORY = 2 << 30
"""Bytes that a matrix takes at most, unless it needs more for the borders of the largest tiles."""
# Looking them up costs a short call.
_AUTO, _WHOLE, _LINEAR, _BYTE = Memory.AUTO, Memory.WHOLE, Memory.LINEAR, np.dtype(np.uint8)
_RUN = 8  # tiles of a row between two calls of `progress`, in one thread; several hand on every tile at once


def align(
    pair: Pair,
    threads: int = 1,
    memory: Memory = Memory.AUTO,
    budget: int = MEMORY,
    tiling: Tiling | None = None,
    progress: Callable[[int], None] | None = None,
    at_corner: bool = False,
) -> PairwiseAlignment:
    """Align two sequences; the answer depends on none of the arguments behind `pair` but the last.

    Args:
        pair: what to align, and how.
        threads: how many compute.
        memory: WHOLE keeps the directions of all cells (4 bits each), LINEAR the scores on the borders of tiles. AUTO:
            whichever is faster and fits.
        budget: bytes; what is kept stays below that where the smallest number of tiles can.
        tiling: for tests; None: chosen by the budget.
        progress: called with the number of cells that were computed, again and again.
        at_corner: whether the alignment must end at (m, n) in every mode; in mode LOCAL it may be of nothing.
    """
    alignment = without_matrix(pair, at_corner)
    if alignment is not None:
        return alignment
    if tiling is None:
        alignment = _align_at_once(pair, threads, memory, budget, at_corner, progress)
        if alignment is not None:
            return alignment
        tiling = tiling_for(len(pair.query), len(pair.target), budget)
    sweep = CpuSweep(pair, tiling, memory == Memory.WHOLE)
    sweep.run(threads, progress or (lambda cells: None))
    return trace(pair, sweep, at_corner)


def _align_at_once(
    pair: Pair, threads: int, memory: Memory, budget: int, at_corner: bool, progress: Callable[[int], None] | None
) -> PairwiseAlignment | None:
    """The alignment of sequences that are alike, of some that are not, or of short ones; None of others."""
    query, target = _plain(pair.query), _plain(pair.target)
    match, mismatch, gap_open, gap_extend = map(int, pair.scoring)  # kernels are compiled for Python's integers alone
    in_bytes = threads == 1 and memory is not _WHOLE
    band, tile = min(BAND, budget) if memory is _AUTO else 0, 0
    if memory is not _LINEAR:
        tile = min(SMALL if threads > 1 else SMALL_ONE_THREAD, budget)
    found = align_at_once(
        query, target, match, mismatch, gap_open, gap_extend, int(pair.mode), at_corner, band,
        budget // 2 if in_bytes else 0, tile,
    )  # fmt: skip
    if len(found) == 0:
        return None
    if progress is not None:
        progress(len(query) * len(target))
    score, end_row, end_column, begin_row, begin_column = found[:HEADER].tolist()
    return PairwiseAlignment(score - LARGEST, begin_row, end_row, begin_column, end_column, found[HEADER:])


def _plain(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The array as kernels take it; `np.require` takes as long as a thousand cells to find out that it is one."""
    return codes if codes.dtype is _BYTE and codes.flags.carray else np.require(codes, np.uint8, ["C", "W", "A"])


def tiling_for(rows: int, columns: int, budget: int) -> Tiling:
    """The fastest tiles of those whose borders fit in half of the budget."""
    for tile_rows, tile_columns in TILES[1 if max(rows, columns) >= LONG else 0 :]:
        tiling = Tiling(rows, columns, min(tile_rows, rows), min(tile_columns, columns))
        if tiling.border_bytes <= budget // 2:
            break
    return tiling


class CpuSweep(Sweep):
    """A matrix on the CPU; see `Sweep`.

    Attributes:
        rows: int32[down + 1, 2, n + 1], H of the row above each row of tiles, and I of the row below that.
        columns: int32[across + 1, 2, m + 1], H of the column before each column of tiles, and D of the column behind.
        directions: BITS, of all tiles, row by row; empty in linear memory.
        offsets: int64[down * across + 1] into `directions`.
    """

    def __init__(self, pair: Pair, tiling: Tiling, keep: bool) -> None:
        if tiling.across > 1 and tiling.tile_columns % WIDTH != 0:
            raise ValueError(f"pairwise: tiles of {tiling.tile_columns} columns: needs a multiple of {WIDTH}")
        self.pair, self.tiling = pair, tiling
        self.scoring = Scoring(*map(int, pair.scoring))
        self.local = pair.mode == Mode.LOCAL
        self.query, self.target = (np.require(codes, np.uint8, ["C", "W"]) for codes in (pair.query, pair.target))
        self.rows = np.empty((tiling.down + 1, 2, tiling.columns + 1), np.int32)
        self.columns = np.empty((tiling.across + 1, 2, tiling.rows + 1), np.int32)
        for border, first in ((self.rows, top_border(pair)), (self.columns, left_border(pair))):
            border[0, 0] = first[0]
            border[0, 1] = np.maximum(first[0] + self.scoring.gap_open, first[1] + self.scoring.gap_extend)
        self.rows[1:, 0, 0] = self.columns[
            0, 0, np.minimum(np.arange(1, tiling.down + 1) * tiling.tile_rows, tiling.rows)
        ]
        self.maxima = np.zeros((tiling.down, tiling.across), np.int32)
        tiles = [tiling.tile(down, across) for down in range(tiling.down) for across in range(tiling.across)]
        words = [direction_words(tile.rows, tile.columns) if keep else 0 for tile in tiles]
        self.offsets = offsets_from_lengths(np.array(words, np.int64))
        self.directions = np.empty(int(self.offsets[-1]), BITS)
        self.buffer = np.empty(0, BITS)  # of the directions of a tile that is computed again
        self.held: tuple[int, int] | None = None  # which tile, if it is whole
        self.spaces = self._spaces()

    def _spaces(self) -> tuple:
        """Room for one thread."""
        size = self.tiling.tile_rows, self.tiling.tile_columns
        return space_for(*size, np.int16), space_for(*size, np.int32)

    def run(self, threads: int, progress: Callable[[int], None]) -> None:
        """Compute all tiles."""
        done = [self.tiling.across, *[0] * self.tiling.down]  # tiles of the row above the first, of the first, ...
        failed: list[bool] = []
        changed = Condition()
        workers = max(1, min(threads, self.tiling.down, self.tiling.across))
        run = _RUN if workers == 1 else 1

        def wait_for(down: int) -> int:
            with changed:
                changed.wait_for(lambda: failed or done[down] > done[down + 1])
                return done[down]

        def work(first: int) -> None:
            try:
                spaces = self.spaces if first == 0 else self._spaces()
                for down in range(first, self.tiling.down, workers):
                    while done[down + 1] < self.tiling.across:
                        ready = wait_for(down)
                        if failed:
                            return
                        across = min(ready, done[down + 1] + run)
                        self._solve(spaces, down, done[down + 1], across)
                        cells = self._cells(down, done[down + 1], across)
                        with changed:
                            done[down + 1] = across
                            changed.notify_all()
                            progress(cells)
            except BaseException:
                with changed:
                    failed.append(True)
                    changed.notify_all()
                raise

        if workers == 1:
            work(0)
        else:
            with ThreadPoolExecutor(workers) as pool:
                for _ in pool.map(work, range(workers)):
                    pass
        self.bottom = self.rows[-1, 0]
        if self.local and self.scoring.mismatch == 0 and self.maxima.max() > 0:
            self._correct_maxima()

    def _correct_maxima(self) -> None:
        """Take back maxima that no cell has.

        Where mismatches cost nothing, a score reaches the row or column that fills a tile up behind the matrix. It is
        that of a cell in a tile before, so only what is as large as the largest must be looked at.
        """
        for down, across in np.argwhere(self.maxima == self.maxima.max()).tolist():
            if self.best_cell(down, across)[0] <= down * self.tiling.tile_rows:
                self.maxima[down, across] -= 1

    def _cells(self, down: int, first: int, last: int) -> int:
        begin, end = self.tiling.tile(down, first), self.tiling.tile(down, last - 1)
        return begin.rows * (end.left + end.columns - begin.left)

    def _solve(self, spaces: tuple, down: int, first: int, last: int) -> None:
        """Compute the tiles first to last - 1 of a row of tiles."""
        shape = (self.tiling.tile_rows, self.tiling.tile_columns)
        kept = (self.directions, self.offsets)
        _solve_tiles(
            spaces, self.query, self.target, self.rows, self.columns, shape, down, first, last, self.scoring,
            self.local, self.maxima, *kept,
        )  # fmt: skip

    def best_cell(self, down: int, across: int) -> tuple[int, int]:
        """See `Sweep`."""
        tile = self.tiling.tile(down, across)
        score = int(self.maxima[down, across])
        _, (_, row, column) = self._directions(tile, score)
        self.held = down, across
        return tile.top + 1 + row, tile.left + 1 + column

    def follow(self, cell: Cell) -> PathStretch:
        """See `Sweep`."""
        tile = self.tiling.tile_of(cell.row, cell.column)
        number = tile.down * self.tiling.across + tile.across
        if len(self.directions) > 0:
            directions = self.directions[self.offsets[number] : self.offsets[number + 1]]
        elif self.held == (tile.down, tile.across):
            directions = self.buffer
        else:
            # What lies behind the cell or below it does not matter to the path.
            tile = tile._replace(rows=cell.row - tile.top, columns=cell.column - tile.left)
            directions, _ = self._directions(tile, LARGEST)
        place = cell.row - tile.top - 1, cell.column - tile.left - 1, int(cell.state), self._score(cell)
        row, column, state, ended, cigar = _follow(
            self.query, self.target, self.rows, self.columns, tile, directions, self.scoring, self.local, *place
        )
        return PathStretch(Cell(tile.top + 1 + row, tile.left + 1 + column, State(state)), ended, cigar)

    def _score(self, cell: Cell) -> int:
        """The score of a path in mode LOCAL at a cell where it comes into a tile, or begins to be followed."""
        tile = self.tiling.tile_of(cell.row, cell.column)
        # A path within a deletion comes in through the tile's last column, be it in its last row.
        if cell.row == tile.top + tile.rows and cell.state != State.DELETION:
            score, gap = self.rows[tile.down + 1, :, cell.column]
        elif cell.column == tile.left + tile.columns and tile.across + 1 < self.tiling.across:
            score, gap = self.columns[tile.across + 1, :, cell.row]
        else:
            return int(self.maxima.max())
        # A path that comes in with a gap goes on with it: the gap behind the border is one base longer.
        return int(score) if cell.state == State.PAIRED else int(gap) - self.scoring.gap_extend

    def _directions(self, tile: Tile, goal: int) -> tuple[NDArray[np.unsignedinteger], tuple[int, int, int]]:
        """Directions of a tile (or of its upper left part), and what `solve_tile` returns for a goal."""
        words = direction_words(tile.rows, tile.columns)
        if words > len(self.buffer):
            self.buffer = np.empty(words, BITS)
        self.held = None
        directions = self.buffer[:words]
        found = _solve_again(
            self.spaces,
            self.query,
            self.target,
            self.rows,
            self.columns,
            tile,
            self.scoring,
            self.local,
            goal,
            directions,
        )
        return directions, found


@compiled
def _solve_tiles(
    spaces, query, target, rows, columns, shape, down, first, last, scoring, local, maxima, directions, offsets
):
    """Compute the tiles first to last - 1 of a row of tiles; see `CpuSweep`."""
    top = down * shape[0]
    bottom = min(top + shape[0], len(query))
    for across in range(first, last):
        left = across * shape[1]
        right = min(left + shape[1], len(target))
        border = Border(
            rows[down, :, left : right + 1],
            columns[across, :, top : bottom + 1],
            rows[down + 1, :, left : right + 1],
            columns[across + 1, :, top : bottom + 1 if across + 1 < maxima.shape[1] else top],
        )
        number = down * maxima.shape[1] + across
        kept = directions[offsets[number] : offsets[number + 1]]
        maxima[down, across] = solve_tile(
            spaces, query[top:bottom], target[left:right], border, scoring, local, np.int64(LARGEST), 0, kept
        )[0]


@compiled
def _border(rows, columns, tile):
    """The borders of a tile (or of its upper left part) that leaves nothing to its neighbours."""
    right, bottom = tile.left + tile.columns, tile.top + tile.rows
    return Border(
        rows[tile.down, :, tile.left : right + 1],
        columns[tile.across, :, tile.top : bottom + 1],
        rows[tile.down, :, :0],
        columns[tile.across, :, :0],
    )


@compiled
def _solve_again(spaces, query, target, rows, columns, tile, scoring, local, goal, directions):
    """Compute one tile for its directions."""
    letters = query[tile.top : tile.top + tile.rows], target[tile.left : tile.left + tile.columns]
    border = _border(rows, columns, tile)
    return solve_tile(spaces, letters[0], letters[1], border, scoring, local, goal, 0, directions)


@compiled
def _follow(query, target, rows, columns, tile, directions, scoring, local, row, column, state, score):
    """Follow a path through a tile; see `follow_tile`."""
    letters = query[tile.top : tile.top + tile.rows], target[tile.left : tile.left + tile.columns]
    border = _border(rows, columns, tile)
    height = height_of(tile.rows)
    return follow_tile(letters[0], letters[1], directions, height, border, scoring, local, row, column, state, score)

"""Pairwise alignment in Numba: several threads compute tiles in the order of their dependence.

A thread computes a row of tiles as far as the row above is complete, so the threads advance through the matrix like a
staircase. `tiles_cpu.py` computes a tile, `path_cpu.py` follows the path.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

import numpy as np

from quire.algorithms.pairwise import LARGEST, Pair, PairwiseAlignment, without_matrix
from quire.algorithms.pairwise.layout_cpu import WIDTH, Matrix, Tiling, matrix_of
from quire.algorithms.pairwise.path_cpu import HEADER, trace
from quire.algorithms.pairwise.tiles_cpu import sweep_tiles
from quire.algorithms.scoring import Scoring

TILES = ((2048, 1024), (4096, 2048), (8192, 4096), (16384, 8192), (32768, 16384))
"""Rows and columns of tiles. Small tiles have more borders, but less of the matrix is computed again."""
LONG = 40_000  # bases of the longer sequence at and above which the second size is faster than the first
MEMORY = 2 << 30
"""Most bytes of a matrix, unless the borders of the largest tiles need more."""
_RUN = 10  # most tiles that a thread computes in one run; lanes are idle at the beginning and the end of a run


def align(
    pair: Pair,
    threads: int = 1,
    tiling: Tiling | None = None,
    progress: Callable[[int], None] | None = None,
    at_corner: bool = False,
) -> PairwiseAlignment:
    """Align two sequences; the answer does not depend on `threads`, `tiling` and `progress`.

    Borders of tiles take at most half of MEMORY, unless tests give a `tiling`. `progress` is called with the number of
    cells since the last call. With `at_corner` the alignment ends at (m, n) in every mode; in LOCAL it may be empty.
    """
    alignment = without_matrix(pair, at_corner)
    if alignment is not None:
        return alignment
    tiling = tiling or tiling_for(len(pair.query), len(pair.target))
    if tiling.across > 1 and tiling.tile_columns % WIDTH != 0:
        raise ValueError(f"pairwise: tiles of {tiling.tile_columns} columns: needs a multiple of {WIDTH}")
    query, target = (np.require(codes, np.uint8, ["C", "W", "A"]) for codes in (pair.query, pair.target))
    scoring = Scoring(*map(int, pair.scoring))  # kernels are compiled for Python's integers only
    matrix = matrix_of(query, target, scoring, int(pair.mode), tiling.tile_rows, tiling.tile_columns)
    _sweep(matrix, tiling, threads, progress or (lambda cells: None))
    found = trace(matrix, at_corner)
    score, end_row, end_column, begin_row, begin_column = found[:HEADER].tolist()
    return PairwiseAlignment(score - LARGEST, begin_row, end_row, begin_column, end_column, found[HEADER:])


def tiling_for(rows: int, columns: int) -> Tiling:
    """Return the fastest tiles whose borders fit in half of MEMORY, or the largest tiles if none do."""
    for tile_rows, tile_columns in TILES[1 if max(rows, columns) >= LONG else 0 :]:
        tiling = Tiling(rows, columns, min(tile_rows, rows), min(tile_columns, columns))
        if tiling.border_bytes <= MEMORY // 2:
            break
    return tiling


def _sweep(matrix: Matrix, tiling: Tiling, threads: int, progress: Callable[[int], None]) -> None:
    """Compute all tiles."""
    done = [tiling.across, *[0] * tiling.down]  # finished tiles of the row above the first, of the first, ...
    failed: list[bool] = []
    changed = Condition()
    workers = max(1, min(threads, tiling.down, tiling.across))
    run = _RUN if workers == 1 else max(1, min(_RUN, tiling.across // (2 * workers)))

    def wait_for(down: int) -> int:
        with changed:
            changed.wait_for(lambda: failed or done[down] > done[down + 1])
            return done[down]

    def work(first: int) -> None:
        try:
            for down in range(first, tiling.down, workers):
                rows = min(tiling.tile_rows, tiling.rows - down * tiling.tile_rows)
                while done[down + 1] < tiling.across:
                    begin, ready = done[down + 1], wait_for(down)
                    if failed:
                        return
                    end = min(ready, begin + run)
                    sweep_tiles(matrix, down, begin, end)
                    columns = min(end * tiling.tile_columns, tiling.columns) - begin * tiling.tile_columns
                    with changed:
                        done[down + 1] = end
                        changed.notify_all()
                        progress(rows * columns)
        except BaseException:
            with changed:
                failed.append(True)
                changed.notify_all()
            raise

    if workers == 1:
        work(0)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, range(workers)):
            pass

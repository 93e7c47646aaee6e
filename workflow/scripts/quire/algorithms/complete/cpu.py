"""Complete search on the CPU."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Axis, BatchArrays, PartsOfEnds, batch_arrays
from quire.algorithms.complete.pieces import lay_pieces
from quire.algorithms.complete.seeds import cpu as seeds
from quire.algorithms.complete.trie import cpu as trie
from quire.algorithms.complete.windows import DIAGONALS
from quire.algorithms.complete.windows.cpu import find_ends as ends_of_windows
from quire.algorithms.complete.windows.cpu import join_candidates
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.cpu import page_table
from quire.reads import Reads
from quire.reads.cpu import subset

FIRST_READS, MOST_READS = 2048, 16384  # reads searched together, at first and at most
CANDIDATES, MOST_CANDIDATES = 1 << 20, 1 << 23  # candidates of the reads searched together, about and at most


def find_ends(pages: Sequence[FmIndex], reads: Reads, axis: Axis, max_differences: int, room: int) -> PartsOfEnds:
    """Yield all ends of reads in parts of at most `room` (at least DIAGONALS) ends.

    The pages are those of the whole axis, in order, and overlap by at least the longest read. Reads have at least
    `shortest_read(max_differences)` bases.
    """
    table = page_table(pages)
    first, step = 0, FIRST_READS
    while first < len(reads):
        last = min(first + step, len(reads))
        part = reads if last - first == len(reads) else subset(reads, np.arange(first, last))
        batch = batch_arrays(part, axis, max_differences)
        windows, found = _windows(table, batch)
        step = min(max((last - first) * CANDIDATES // max(found, 1), 1), 4 * step, MOST_READS)
        if windows is None:
            continue
        most = max(room // (DIAGONALS - 2 * max_differences), 1)
        for begin in range(0, len(windows), most):
            ends = ends_of_windows(windows[begin : begin + most], batch)
            yield ends._replace(read=ends.read + first)
        first = last


def _windows(table: NDArray[np.int64], batch: BatchArrays) -> tuple[NDArray[np.uint64] | None, int]:
    """Return the windows (uint64[]) of a batch, and the number of candidates found."""
    # If several reads have more than MOST_CANDIDATES together, the search stops and returns None in place of windows.
    kept = [np.empty(0, np.uint64)]
    found, held, most = 0, 0, MOST_CANDIDATES
    for pieces in lay_pieces(batch.offsets, int(batch.islands[-1]), batch.differences):
        search = seeds.candidates_of if pieces.limit == 0 else trie.candidates_of
        for number in range(len(table)):
            for candidates in search(table, number, pieces, batch, CANDIDATES):
                kept.append(candidates)
                found, held = found + len(candidates), held + len(candidates)
                if held <= most:
                    continue
                if len(batch.offsets) > 2:
                    return None, found
                kept = [join_candidates(np.concatenate(kept), batch.differences).copy()]
                held = len(kept[0])
                most = max(MOST_CANDIDATES, 2 * held)
    return join_candidates(np.concatenate(kept), batch.differences), found

"""Complete search through the trie on the CPU."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Axis, Ends, PartsOfEnds
from quire.algorithms.complete.trie import BOUNDED_FROM, lay_pieces
from quire.algorithms.complete.trie.cpu_rows import bounds_of, last_bases_of, letters_of
from quire.algorithms.complete.trie.cpu_walk import TriePieces, walk
from quire.algorithms.complete.windows import EndWindows
from quire.algorithms.complete.windows import cpu as windows_cpu
from quire.algorithms.fm_index.pages.cpu import PageArrays, page_table
from quire.reads import Reads

READS_AT_ONCE = 16384
MOST_CANDIDATES = 1 << 24  # of the reads that are searched together; of a single read as many as it has


def find_ends(
    pages: Sequence[PageArrays],
    reads: Reads,
    axis: Axis,
    max_differences: int,
    room: int,
    pieces: int | None = None,
) -> PartsOfEnds:
    """Find all ends of reads.

    Args:
        pages: of the whole axis, in order.
        reads: the batch; each of `shortest_read(max_differences)` bases or more.
        axis: what is searched.
        max_differences: k.
        room: ends of a part, about.
        pieces: in how many pieces reads are cut; None for what is estimated to take the least time.
    """
    table = page_table(pages)
    waiting = [(first, min(first + READS_AT_ONCE, len(reads))) for first in range(0, len(reads), READS_AT_ONCE)][::-1]
    while waiting:
        first, last = waiting.pop()
        most = MOST_CANDIDATES if last - first > 1 else np.iinfo(np.int64).max
        candidates = _candidates(pages, table, reads, range(first, last), axis, max_differences, pieces, most)
        if candidates is None:
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
            continue
        candidates.sort()
        windows = windows_cpu.windows_of(candidates, max_differences)
        windows = EndWindows(windows.oriented + 2 * first, windows.first, windows.ends)
        yield from _parts(windows, reads, axis, max_differences, room)


def _parts(windows: EndWindows, reads: Reads, axis: Axis, differences: int, room: int) -> Iterator[Ends]:
    """The ends of windows in parts of about `room`."""
    ends_before = np.concatenate([[0], np.cumsum(windows.ends)])
    begin = 0
    while begin < len(windows.first):
        end = max(int(np.searchsorted(ends_before, ends_before[begin] + room, side="right")) - 1, begin + 1)
        yield windows_cpu.find_ends(EndWindows._make(array[begin:end] for array in windows), reads, axis, differences)
        begin = end


def _candidates(
    pages: Sequence[PageArrays],
    table: NDArray[np.int64],
    reads: Reads,
    chosen: range,
    axis: Axis,
    differences: int,
    pieces: int | None,
    most: int,
) -> NDArray[np.uint64] | None:
    """Candidates of consecutive reads, counted from the first of them; None for more than `most`."""
    candidates, used = np.empty(1024, np.uint64), 0
    offsets = reads.offsets[chosen.start : chosen.stop + 1]
    for limit, (oriented, begins, ends, behind) in lay_pieces(
        offsets, int(axis.islands[-1]), differences, pieces
    ).items():
        letters = letters_of(oriented, begins, ends, limit, reads.codes, offsets)
        bases, unknown = last_bases_of(oriented, begins, ends, reads.codes, offsets)
        longest, shortest = int((ends - begins).max()) + limit, int((ends - begins).min()) - limit
        for number, page in enumerate(pages):
            deepest = min(longest, overlap_of(pages))
            bounds = np.empty((0, 0), np.int32)
            if limit >= BOUNDED_FROM and deepest == longest:
                bounds = bounds_of(page, oriented, begins, ends, limit, reads.codes, offsets)
            skipped = page.prefix_length if page.prefix_length <= min(shortest, deepest) else 0
            given = TriePieces(oriented, ends - begins, behind, letters, bases, unknown, bounds, limit)
            candidates, used = walk(
                table, number, given, axis.text, axis.islands, deepest, skipped, differences, most, candidates, used
            )
            if used > most:
                return None
    return candidates[:used]


def overlap_of(pages: Sequence[PageArrays]) -> int:
    """Bases that every page but those at the axis' end goes on into the next ones."""
    axis_end = max((page.start + int(page.C[4]) - 1 for page in pages), default=0)
    overlaps = [int(page.C[4]) - 1 - page.owned_length for page in pages if page.start + int(page.C[4]) - 1 < axis_end]
    return min(overlaps, default=1 << 30)

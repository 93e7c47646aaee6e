"""Complete search by seeds or the trie, read by read, on the CPU."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Axis, Ends, PartsOfEnds
from quire.algorithms.complete.auto import ROW_COST_CPU, most_rows
from quire.algorithms.complete.seeds import cpu as seeds
from quire.algorithms.complete.trie import cpu as trie
from quire.algorithms.fm_index.cpu import backward_step, prefetch_row
from quire.algorithms.fm_index.pages.cpu import PageArrays, page_of, page_table
from quire.reads import Reads
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled

READS_AT_ONCE = 4096
PIECES_TOGETHER = 64
FEW_ROWS = 4  # of a piece, that are not counted closer


def find_ends(pages: Sequence[PageArrays], reads: Reads, axis: Axis, max_differences: int, room: int) -> PartsOfEnds:
    """Find all ends of reads.

    Args:
        pages: of the whole axis, in order; they overlap by at least the longest read.
        reads: the batch; each of `shortest_read(max_differences)` bases or more.
        axis: what is searched.
        max_differences: k.
        room: ends of a part, about.
    """
    yield from _gathered(_runs(pages, reads, axis, max_differences, room), room)


def is_for_trie(pages: Sequence[PageArrays], reads: Reads, axis: Axis, max_differences: int) -> NDArray[np.bool_]:
    """Which reads are walked through the trie: bool[n]."""
    lengths = np.diff(reads.offsets)
    most = np.empty(len(reads), np.int64)
    for length in np.unique(lengths).tolist():
        most[lengths == length] = most_rows(length, max_differences, int(axis.islands[-1]), ROW_COST_CPU)
    rows = np.zeros(len(reads), np.int64)
    table = page_table(pages)
    for number in range(len(pages)):
        _add_rows(table, number, reads.offsets, reads.codes, max_differences + 1, rows)
    return rows > most


def _runs(pages: Sequence[PageArrays], reads: Reads, axis: Axis, max_differences: int, room: int) -> Iterator[Ends]:
    """Ends of some reads of one strategy after those of others, in order."""
    for first in range(0, len(reads), READS_AT_ONCE):
        some = reads.subset(np.arange(first, min(first + READS_AT_ONCE, len(reads))))
        chosen = is_for_trie(pages, some, axis, max_differences)
        streams = []
        for module, which in ((seeds, np.flatnonzero(~chosen)), (trie, np.flatnonzero(chosen))):
            if len(which):
                parts = module.find_ends(pages, some.subset(which), axis, max_differences, room)
                streams.append(_numbered(parts, first + which))
        yield from _merged(*streams) if len(streams) == 2 else streams[0]


def _numbered(parts: PartsOfEnds, reads: NDArray[np.int64]) -> Iterator[Ends]:
    """Parts that are not empty, with these numbers of reads (int64[])."""
    for part in parts:
        if len(part.read):
            yield part._replace(read=reads[part.read])


def _merged(one: Iterator[Ends], other: Iterator[Ends]) -> Iterator[Ends]:
    """Two streams of different reads as one, in order."""
    left, right = next(one, None), next(other, None)
    while left is not None and right is not None:
        if left.read[0] > right.read[0]:
            left, right, one, other = right, left, other, one
        end = int(np.searchsorted(left.read, right.read[0]))
        yield Ends._make(array[:end] for array in left)
        left = Ends._make(array[end:] for array in left) if end < len(left.read) else next(one, None)
    if left is None:
        left, one = right, other
    while left is not None:
        yield left
        left = next(one, None)


def _gathered(parts: Iterator[Ends], room: int) -> Iterator[Ends]:
    """Parts of at least `room` ends, but for the last."""
    waiting: list[Ends] = []
    count = 0
    for part in parts:
        waiting.append(part)
        count += len(part.read)
        if count >= room:
            yield Ends._make(map(np.concatenate, zip(*waiting, strict=True)))
            waiting, count = [], 0
    if waiting:
        yield Ends._make(map(np.concatenate, zip(*waiting, strict=True)))


@compiled
def _add_rows(table, number, offsets, codes, per_strand, rows):
    """Add to the rows of each read those that its pieces on both strands have in a page, or a little more.

    Pieces take their steps in turns, so that what one reads arrives from memory while others are counted.
    """
    page = page_of(table, number)
    count = 2 * per_strand * (len(offsets) - 1)
    low, high = np.empty(PIECES_TOGETHER, np.int64), np.empty(PIECES_TOGETHER, np.int64)
    first, last = np.empty(PIECES_TOGETHER, np.int64), np.empty(PIECES_TOGETHER, np.int64)
    for begin in range(0, count, PIECES_TOGETHER):
        together = min(PIECES_TOGETHER, count - begin)
        for i in range(together):
            read, piece = (begin + i) // (2 * per_strand), (begin + i) % per_strand
            strand = (begin + i) // per_strand & 1
            length = offsets[read + 1] - offsets[read]
            first[i] = offsets[read] + length * piece // per_strand
            last[i] = offsets[read] + length * (piece + 1) // per_strand
            low[i], high[i] = 0, page.C[4]
            kmer = 0
            for place in range(first[i], last[i]):
                if codes[strand, place] > 3:
                    high[i] = 0
            if high[i] and last[i] - first[i] >= page.prefix_length:
                for place in range(last[i] - page.prefix_length, last[i]):
                    kmer = 4 * kmer + np.int64(codes[strand, place])
                prefetch(page.prefix_table, 2 * kmer)
                low[i], high[i] = kmer, -1
                last[i] -= page.prefix_length
        for i in range(together):
            if high[i] < 0:
                low[i], high[i] = np.int64(page.prefix_table[2 * low[i]]), np.int64(page.prefix_table[2 * low[i] + 1])
                prefetch_row(page.blocks, page.words_per_block, low[i])
                prefetch_row(page.blocks, page.words_per_block, high[i])
        unfinished = True
        while unfinished:
            unfinished = False
            for i in range(together):
                if last[i] == first[i] or high[i] - low[i] <= FEW_ROWS:
                    continue
                last[i] -= 1
                symbol = np.int64(codes[(begin + i) // per_strand & 1, last[i]])
                low[i], high[i] = backward_step(
                    page.blocks, page.words_per_block, page.C, page.primary, symbol, low[i], high[i]
                )
                prefetch_row(page.blocks, page.words_per_block, low[i])
                prefetch_row(page.blocks, page.words_per_block, high[i])
                unfinished = True
        for i in range(together):
            rows[(begin + i) // (2 * per_strand)] += max(high[i] - low[i], 0)

"""Candidates of pieces with differences, on the CPU."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete.cpu_arrays import BatchArrays
from quire.algorithms.complete.pieces import Pieces
from quire.algorithms.complete.trie.cpu_rows import prepare_pieces
from quire.algorithms.complete.trie.cpu_walk import Trie, begin_walk, overlap_of, walk
from quire.algorithms.fm_index.pages.cpu import page_of
from quire.simd.compiled import compiled


def candidates_of(
    table: NDArray[np.int64], number: int, pieces: Pieces, batch: BatchArrays, most: int
) -> Iterator[NDArray[np.uint64]]:
    """Yield the candidates (uint64[]) that a page owns, about `most` at a time.

    Args:
        table: of the pages (`page_table`).
        number: of the page in the table.
        pieces: with one limit above 0.
        batch: the reads of the pieces.
        most: candidates after which the walk is interrupted.
    """
    lengths = pieces.end - pieces.begin
    longest, shortest = int(lengths.max()) + pieces.limit, int(lengths.min()) - pieces.limit
    deepest = min(longest, int(overlap_of(table)))
    trie = trie_of(table, number, deepest, shortest)
    prepared = prepare_pieces(table, number, pieces, batch, deepest == longest)
    work = begin_walk(table, number, prepared, trie)
    while work.used[0]:
        work, candidates = walk(table, number, prepared, trie, batch, work, most)
        yield candidates


@compiled
def trie_of(table, number, deepest, shortest):
    """Return the `Trie` of a page; `shortest` is the smallest depth at which a piece may end."""
    page = page_of(table, number)
    skipped = page.prefix_length if page.prefix_length <= min(shortest, deepest) else 0
    first_end = page.start + deepest if number > 0 else 0
    last_end = page.start + page.owned_length + deepest if number + 1 < len(table) else np.int64(1) << 60
    return Trie(np.int64(deepest), np.int64(skipped), np.int64(first_end), np.int64(last_end))

"""Complete search by seeds or the trie, as the length of a read has it, on the CPU."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Axis, Ends, PartsOfEnds
from quire.algorithms.complete.auto import is_for_trie
from quire.algorithms.complete.seeds import cpu as seeds
from quire.algorithms.complete.trie import cpu as trie
from quire.algorithms.fm_index.pages.cpu import PageArrays
from quire.reads import Reads
from quire.reads.cpu import subset


def find_ends(pages: Sequence[PageArrays], reads: Reads, axis: Axis, max_differences: int, room: int) -> PartsOfEnds:
    """Find all ends of reads.

    Args:
        pages: of the whole axis, in order; they overlap by at least the longest read.
        reads: the batch; each of `shortest_read(max_differences)` bases or more.
        axis: what is searched.
        max_differences: k.
        room: ends of a part, about.
    """
    lengths, bases = np.diff(reads.offsets), int(axis.islands[-1])
    for_trie = [length for length in np.unique(lengths).tolist() if is_for_trie(length, max_differences, bases)]
    chosen = np.isin(lengths, for_trie)
    if chosen.all() or not chosen.any():
        module = trie if chosen.any() else seeds
        yield from module.find_ends(pages, reads, axis, max_differences, room)
    else:
        yield from _gathered(_runs(pages, reads, chosen, axis, max_differences, room), room)


def _runs(
    pages: Sequence[PageArrays],
    reads: Reads,
    chosen: NDArray[np.bool_],
    axis: Axis,
    max_differences: int,
    room: int,
) -> Iterator[Ends]:
    """Ends of some reads of one strategy after those of others, in order."""
    for_seeds, for_trie = np.flatnonzero(~chosen), np.flatnonzero(chosen)
    yield from _merged(
        _numbered(seeds.find_ends(pages, subset(reads, for_seeds), axis, max_differences, room), for_seeds),
        _numbered(trie.find_ends(pages, subset(reads, for_trie), axis, max_differences, room), for_trie),
    )


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

"""Complete search by seeds or the trie, as the length of a read has it, on a card.

Both hand over candidates, so that their reads meet again where candidates are sorted to windows.
"""

from collections.abc import Iterator

import numpy as np

from quire.algorithms.complete import Ends
from quire.algorithms.complete.auto import is_for_trie
from quire.algorithms.complete.seeds import gpu as seeds
from quire.algorithms.complete.trie import gpu as trie
from quire.algorithms.complete.windows import ORIENTED_SHIFT
from quire.algorithms.complete.windows.gpu import CardAxis, find_in_parts
from quire.algorithms.fm_index.gpu import CardPage
from quire.algorithms.fm_index.pages.gpu import PagesInTurn
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads


def find_ends(
    card: Card,
    pages: list[CardPage] | PagesInTurn,
    reads: CardReads,
    axis: CardAxis,
    max_differences: int,
    room: int,
) -> Iterator[Ends]:
    """Find all ends of reads, as `quire.algorithms.complete.auto.cpu.find_ends` does.

    Args:
        card: where everything lies.
        pages: of the whole axis in order; they overlap by at least the longest read and `max_differences` more.
        reads: the batch, none shorter than `shortest_read(max_differences)`.
        axis: what is searched.
        max_differences: k.
        room: ends of a part, about.

    Yields:
        `Ends` of arrays on the card, as `quire.algorithms.complete.PartsOfEnds` has them.

    Raises:
        OutOfDeviceMemory: the card lacks memory for a single read.
    """
    yield from find_in_parts(card, pages, reads, axis, max_differences, room, _candidates)


def _candidates(
    card: Card, pages: list[CardPage] | PagesInTurn, reads: CardReads, axis: CardAxis, differences: int
) -> list[CardArray]:
    """Candidates of reads in all pages: uint64[] each."""
    lengths, bases = np.diff(card.download(reads.offsets)), int(axis.islands[-1])
    for_trie = [length for length in np.unique(lengths).tolist() if is_for_trie(length, differences, bases)]
    chosen = np.isin(lengths, for_trie)
    if chosen.all() or not chosen.any():
        only = trie.candidates_of if chosen.any() else seeds.candidates_of
        return only(card, pages, reads, axis, differences)
    candidates = []
    for module, which in ((seeds, card.upload(np.flatnonzero(~chosen))), (trie, card.upload(np.flatnonzero(chosen)))):
        for found in module.candidates_of(card, pages, reads.subset(card, which), axis, differences):
            candidates.append(_renamed(found, which))
    return candidates


def _renamed(candidates: CardArray, which: CardArray) -> CardArray:
    """Candidates (uint64[]) of chosen reads as those of the batch; `which` (int64[]) are the chosen."""
    shift = np.uint64(ORIENTED_SHIFT)
    oriented = candidates >> shift
    place = candidates & ((np.uint64(1) << shift) - np.uint64(1))
    read = which[(oriented >> np.uint64(1)).astype(np.int64)].astype(np.uint64)
    return (read << np.uint64(1) | oriented & np.uint64(1)) << shift | place

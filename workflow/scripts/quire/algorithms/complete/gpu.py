"""Complete search on a card: exact pieces are looked up in the index, others are searched by a walk through the trie.

If the candidates of a batch do not fit in the card's memory, the batch is halved.
"""

from collections.abc import Iterator

import numpy as np

from quire.algorithms.complete import Ends
from quire.algorithms.complete import pieces as cuts
from quire.algorithms.complete.seeds import gpu as seeds
from quire.algorithms.complete.trie import gpu as trie
from quire.algorithms.complete.windows import MOST_ORIENTED, ORIENTED_SHIFT
from quire.algorithms.complete.windows.gpu import CardAxis, windows_of
from quire.algorithms.complete.windows.gpu import find_ends as ends_of_windows
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.gpu import CardPages
from quire.device.card import Card, CardArray, OutOfDeviceMemory
from quire.reads.gpu import CardReads


def find_ends(
    card: Card, pages: list[FmIndex] | CardPages, reads: CardReads, axis: CardAxis, max_differences: int, room: int
) -> Iterator[Ends]:
    """Find all ends of reads, as arrays on the card, with the arguments of `quire.algorithms.complete.cpu.find_ends`.

    The pages overlap by at least the longest read and `max_differences` more.

    Raises:
        OutOfDeviceMemory: the card lacks memory for a single read.
    """
    most = MOST_ORIENTED // 2
    waiting = [(first, min(first + most, len(reads))) for first in range(0, len(reads), most)][::-1]
    while waiting:
        first, last = waiting.pop()
        part = windows = None
        try:
            part = reads if last - first == len(reads) else reads.subset(card, card.xp.arange(first, last))
            windows = windows_of(card, _candidates(card, pages, part, axis, max_differences))
        except OutOfDeviceMemory:
            if last - first == 1:
                raise
        if part is None or windows is None:
            part = None
            card.release()
            middle = (first + last) // 2
            waiting += [(middle, last), (first, middle)]
        else:
            yield from ends_of_windows(card, windows, part, axis, max_differences, room, first)


def _candidates(
    card: Card, pages: list[FmIndex] | CardPages, reads: CardReads, axis: CardAxis, differences: int
) -> list[CardArray]:
    """Return the candidates of reads in all pages: uint64[] each."""
    lengths, bases = np.diff(card.download(reads.offsets)), int(axis.islands[-1])
    plans = {length: cuts.pieces_of(length, differences, bases) for length in np.unique(lengths).tolist()}
    exact = np.isin(lengths, [length for length, pieces in plans.items() if not any(piece.limit for piece in pieces)])
    candidates = []
    for is_exact in (True, False):
        which = np.flatnonzero(exact == is_exact)
        if not len(which):
            continue
        all_of_them = len(which) == len(reads)
        chosen = card.upload(which)
        part = reads if all_of_them else reads.subset(card, chosen)
        if is_exact:
            found = seeds.candidates_of(card, pages, part, axis, differences)
        else:
            found = trie.candidates_of(card, pages, part, axis, differences)
        candidates += found if all_of_them else [_renamed(array, chosen) for array in found]
    return candidates


def _renamed(candidates: CardArray, which: CardArray) -> CardArray:
    """Return candidates (uint64[]) of chosen reads, `which` (int64[]), with their numbers in the batch."""
    shift = np.uint64(ORIENTED_SHIFT)
    oriented = candidates >> shift
    place = candidates & ((np.uint64(1) << shift) - np.uint64(1))
    read = which[(oriented >> np.uint64(1)).astype(np.int64)].astype(np.uint64)
    return (read << np.uint64(1) | oriented & np.uint64(1)) << shift | place

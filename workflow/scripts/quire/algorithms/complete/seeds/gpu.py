"""Seeds on a card: k + 1 exact pieces of each read are looked up, and their rows become candidates.

Rows are located ROWS_AT_ONCE at a time, and only candidates where the whole piece matches are kept.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete.windows.gpu import DEFINES, NO_CANDIDATE, CardAxis
from quire.algorithms.fm_index import SAMPLING_DISTANCES, FmIndex, words_of_distance
from quire.algorithms.fm_index.gpu import CardPages
from quire.device.card import Card, CardArray, Kernel
from quire.reads.gpu import CardReads

SOURCE = "quire/algorithms/complete/seeds/seeds.cu"
KERNELS = [(SOURCE, {"WORDS_PER_BLOCK": words_of_distance(distance), **DEFINES}) for distance in SAMPLING_DISTANCES]
ROWS_AT_ONCE = 1 << 25


class _FoundPieces(NamedTuple):
    """Rows of pieces in a page (seeds.cu: Found): uint32[n], int32[n], int32[n]."""

    rows: CardArray
    counts: CardArray
    depths: CardArray


def candidates_of(
    card: Card, pages: list[FmIndex] | CardPages, reads: CardReads, axis: CardAxis, differences: int
) -> list[CardArray]:
    """Return the candidates of reads in all pages: uint64[] each."""
    candidates = []
    for page in pages:
        found = _search(card, page, reads, differences)
        offsets = card.offsets(found.counts)
        locate = _kernel(card, "locate_pieces", page)
        rows, count = int(offsets[-1]), len(found.counts)
        for first in range(0, rows, ROWS_AT_ONCE):
            here = card.empty(min(ROWS_AT_ONCE, rows - first), np.uint64)
            locate.for_each(len(here), page, reads, axis, differences, found, offsets, count, first, len(here), here)
            candidates.append(here[card.xp.flatnonzero(here != NO_CANDIDATE)])
            del here
        del page, found, offsets  # frees them before the next page
    return candidates


def _kernel(card: Card, entry: str, page: FmIndex) -> Kernel:
    return card.kernel(SOURCE, entry, WORDS_PER_BLOCK=page.words_per_block, **DEFINES)


def _search(card: Card, page: FmIndex, reads: CardReads, differences: int) -> _FoundPieces:
    count = 2 * len(reads) * (differences + 1)
    found = _FoundPieces(card.empty(count, np.uint32), card.empty(count, np.int32), card.empty(count, np.int32))
    _kernel(card, "search_pieces", page).for_each(count, page, reads, differences, count, found)
    return found

"""Finders of the ends of a batch: `quire.algorithms.complete` on the CPU or on a card."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from quire.algorithms.complete import Axis, Ends, PartsOfEnds
from quire.algorithms.fm_index import FmIndex
from quire.device.card import Card
from quire.errors import QuireError
from quire.reads import ReadBatch, Reads
from quire.reference import Reference

ROOM = 1 << 20  # largest number of ends in a part
PAGES_SHARE = 0.5  # share of the card's free memory that pages may take


def axis_of(reference: Reference) -> Axis:
    """Return the packed text, the ambiguous spans and the islands of a reference."""
    return Axis(reference.text, np.asarray(reference.ambiguous), reference.island_axis)


class CpuFinder:
    """A finder on the CPU, which several threads may use at once."""

    # Few, since all hits of a batch are held in memory: reads of 36 bases have 160 on chr20 with k = 3.
    reads_per_batch = 2048

    def __init__(self, indexes: Sequence[FmIndex], axis: Axis, max_differences: int) -> None:
        self._pages, self._axis, self._differences = indexes, axis, max_differences

    def find(self, batch: ReadBatch, reads: Reads) -> PartsOfEnds:
        """Find the ends of reads: `batch` as read, `reads` on both strands."""
        from quire.algorithms.complete.cpu import find_ends

        return find_ends(self._pages, reads, self._axis, self._differences, ROOM)


class CardFinder:
    """A finder on a card, used by the thread that opened it."""

    reads_per_batch = 1 << 17

    def __init__(self, card: Card, indexes: Sequence[FmIndex], axis: Axis, max_differences: int) -> None:
        from quire.algorithms.complete.windows.gpu import upload_axis
        from quire.algorithms.fm_index.gpu import upload_index

        self._card, self._differences = card, max_differences
        self._axis, self._pages = upload_index(card, partial(upload_axis, card, axis), indexes, PAGES_SHARE)

    def find(self, batch: ReadBatch, reads: Reads | None = None) -> Iterator[Ends]:
        """Find the ends of a batch; `reads` is not used."""
        from quire.algorithms.complete.gpu import find_ends
        from quire.reads.gpu import orient

        card = self._card
        try:
            on_card = orient(card, batch)
            for part in find_ends(card, self._pages, on_card, self._axis, self._differences, ROOM):
                yield Ends(*map(card.download, part))
        except MemoryError as error:
            raise QuireError(
                f"{card.name}: a read from record {batch.first_ordinal + 1} on has more places than fit "
                f"({error}); increase device.memory, use another card, or use device.backend: cpu."
            ) from None


Finder = CpuFinder | CardFinder

"""Finders of the ends of a batch: `quire.algorithms.complete` on the CPU or on a card."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from quire.algorithms.complete import Axis, Ends, PartsOfEnds
from quire.algorithms.fm_index.pages.cpu import page_arrays
from quire.complete.axis import axis_of
from quire.device.card import Card
from quire.errors import QuireError
from quire.index import PageIndex
from quire.reads import ReadBatch, Reads
from quire.reference import Reference

log = logging.getLogger("quire.complete")
ROOM = 1 << 20  # largest number of ends in a part
PAGES_SHARE = 0.5  # share of the card's free memory that pages may take


class Finder(Protocol):
    """Interface for finding the ends of hits in a batch.

    Attributes:
        reads_per_batch: preferred number of reads of a batch.
        in_threads: True if several threads may search at once; otherwise only the thread that opened the finder may.
    """

    reads_per_batch: int
    in_threads: bool

    def find(self, batch: ReadBatch, reads: Reads | None) -> PartsOfEnds:
        """Find the ends of reads: `batch` as read, `reads` on both strands (not needed by a card's finder)."""


class CpuFinder:
    """A finder on the CPU."""

    # Few, since all hits of a batch are held in memory: reads of 36 bases have 160 on chr20 with k = 3.
    reads_per_batch = 2048
    in_threads = True

    def __init__(self, indexes: Sequence[PageIndex], axis: Axis, max_differences: int) -> None:
        self._pages = [page_arrays(index, index.start, index.owned_length) for index in indexes]
        self._axis, self._differences = axis, max_differences

    def find(self, batch: ReadBatch, reads: Reads | None) -> PartsOfEnds:
        """See `Finder`."""
        assert reads is not None
        from quire.algorithms.complete.cpu import find_ends

        return find_ends(self._pages, reads, self._axis, self._differences, ROOM)


class CardFinder:
    """A finder on a card, used by the thread that opened it."""

    reads_per_batch = 1 << 17
    in_threads = False

    def __init__(self, card: Card, indexes: Sequence[PageIndex], axis: Axis, max_differences: int) -> None:
        from quire.algorithms.complete.windows.gpu import upload_axis
        from quire.algorithms.fm_index.pages.gpu import CardPages

        self._card, self._differences = card, max_differences
        try:
            self._axis: Any = upload_axis(card, axis)
            pages = CardPages(card, indexes, int(card.free_bytes() * PAGES_SHARE))
        except MemoryError as error:
            raise QuireError(
                f"{card.name}: the text and its index do not fit ({error}); increase device.memory, use another card, "
                "or use device.backend: cpu."
            ) from None
        self._pages = pages if pages.cycled else pages.resident

    def find(self, batch: ReadBatch, reads: Reads | None) -> Iterator[Ends]:
        """See `Finder`."""
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


class FoundEnds:
    """A finder that yields the ends that a card has found, for the thread that aligns them."""

    reads_per_batch = CpuFinder.reads_per_batch
    in_threads = True

    def __init__(self, ends: Ends) -> None:
        self._ends = ends

    def find(self, batch: ReadBatch, reads: Reads | None) -> PartsOfEnds:
        """See `Finder`; the batch must be the one that was searched."""
        yield self._ends


@contextmanager
def open_finder(
    open_card: Callable[[], Card] | None, reference: Reference, indexes: Sequence[PageIndex], max_differences: int
) -> Iterator[Finder]:
    """Open a finder for the duration of the `with` block.

    Args:
        open_card: from `quire.device.choice.use_backend`; None for the CPU.
        reference: reference to search.
        indexes: indexes of all its pages, in order.
        max_differences: k.

    Raises:
        QuireError: the card has no room for the index.
    """
    axis = axis_of(reference)
    if open_card is None:
        yield CpuFinder(indexes, axis, max_differences)
    else:
        yield CardFinder(open_card(), indexes, axis, max_differences)

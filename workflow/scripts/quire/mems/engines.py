"""The engines that find matches for the stage: threads of the CPU, or a card.

`prepare` returns queries, or their reverse complements, in the form that `find` takes; `find` is that of
`quire.algorithms.mems`, with arrays of the host. Both may be called from several threads.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.gpu import upload_index
from quire.algorithms.mems import Cursor, Matches, PackedText, Queries, WantedMatches, cpu
from quire.algorithms.mems.gpu import (
    CardRuns,
    MemsCardAxis,
    bytes_per_match,
    find,
    lay,
    turn,
    upload_queries,
    upload_reference,
)
from quire.device.card import Card, Download, bytes_of
from quire.device.staged import Buffers
from quire.errors import QuireError
from quire.mems import reference_text
from quire.mems.queries_cpu import turned
from quire.reference import Reference

log = logging.getLogger("quire.mems")
QUERY_SHARE = 0.4  # share for queries and matches of the memory free at the start; pages may take the rest
MATCH_SHARE = 0.5  # share for matches of the memory free when a search begins


class MemsCpuEngine:
    """An engine that finds matches in the calling threads."""

    bases_per_task = 1 << 18

    def __init__(self, reference: Reference, pages: Sequence[FmIndex]) -> None:
        self._axis = cpu.prepare_axis(pages, reference_text(reference))

    def prepare(self, queries: Queries, reverse: bool) -> PackedText:
        """Pack queries or their reverse complements."""
        return cpu.prepare_queries(turned(queries) if reverse else queries)

    def find(
        self, queries: PackedText, wanted: WantedMatches, begin: Cursor, end: int, limit: int
    ) -> tuple[Matches, Cursor]:
        """Return the first matches from a cursor on."""
        return cpu.find(self._axis, queries, wanted, begin, end, limit)


class MemsCardEngine:
    """An engine on a card, where prepared queries stay as long as they are referenced.

    One thread owns the card; the callers' threads write the text.
    """

    # The card searches a task faster than a thread writes its text, and there are several tasks per thread.
    bases_per_task = 1 << 21

    def __init__(self, open_card: Callable[[], Card], reference: Reference, pages: Sequence[FmIndex]) -> None:
        """Store the reference and the indexes of all its pages, in order; `running` opens the card and uploads them."""
        self._open_card, self._reference, self._indexes = open_card, reference, pages
        self._buffers = Buffers()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Open the card and upload text and pages; raises a QuireError if they do not fit."""
        with ThreadPoolExecutor(1, "quire-card") as self._owner:
            self._owner.submit(self._open).result()
            try:
                yield
            finally:
                self._owner.submit(self._close).result()

    def prepare(self, queries: Queries, reverse: bool) -> CardRuns:
        """Upload and pack queries or their reverse complements."""
        return self._owner.submit(self._prepare, queries, reverse).result()

    def find(
        self, queries: CardRuns, wanted: WantedMatches, begin: Cursor, end: int, limit: int
    ) -> tuple[Matches, Cursor]:
        """Return the first matches from a cursor on, fewer than `limit` if the card has no room for more."""
        download, found, cursor, buffer = self._owner.submit(self._find, queries, wanted, begin, end, limit).result()
        # Meanwhile the card serves other threads. Its next search waits for numbers that queue after this copy.
        download.wait()
        del found  # which had to be kept until it was copied
        matches = Matches(*(array.copy() for array in download.arrays))
        self._buffers.put(buffer)
        return matches, cursor

    def _open(self) -> None:
        self._card = self._open_card()
        upload_text = partial(upload_reference, self._card, reference_text(self._reference))
        text, pages = upload_index(self._card, upload_text, self._indexes, 1 - QUERY_SHARE)
        self._axis = MemsCardAxis(pages, text)
        log.info("%s: text and index of %d bases resident, %.2f GB free for queries and matches", self._card.name,
                 self._reference.axis_length, self._card.free_bytes() / 1e9)  # fmt: skip

    def _close(self) -> None:
        del self._card, self._axis

    def _prepare(self, queries: Queries, reverse: bool) -> CardRuns:
        try:
            codes = upload_queries(self._card, queries)
            return lay(self._card, turn(self._card, codes) if reverse else codes)
        except MemoryError as error:
            raise QuireError(
                f"{self._card.name}: queries of {len(queries.codes)} bases do not fit ({error}); increase "
                "device.memory, use another card, or use device.backend: cpu."
            ) from None

    def _find(
        self, queries: CardRuns, wanted: WantedMatches, begin: Cursor, end: int, limit: int
    ) -> tuple[Download, Matches, Cursor, NDArray[np.uint8]]:
        card = self._card
        room = int(card.free_bytes() * MATCH_SHARE) // bytes_per_match(len(self._indexes))
        limit = max(1, min(limit, room))
        while True:
            try:
                found, cursor = find(card, self._axis, queries, wanted, begin, end, limit)
                buffer = self._buffers.take(bytes_of(list(found)), card.staging)
                return card.download_ahead(list(found), buffer), found, cursor, buffer
            except MemoryError as error:
                if limit == 1:
                    raise QuireError(
                        f"{card.name}: there is no room for a single match ({error}); increase device.memory, use "
                        "another card, or use device.backend: cpu."
                    ) from None
                limit = max(1, limit // 2)
                log.info("the card is out of memory (%s): continuing with %d matches at a time", error, limit)


Engine = MemsCpuEngine | MemsCardEngine
Prepared = Any
"""Queries as an engine's `prepare` returns them: `PackedText` or `CardRuns`."""

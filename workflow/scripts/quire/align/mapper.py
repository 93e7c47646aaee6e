"""The mapper: batches of reads stream past the pages, and records leave in the order of the reads.

An engine takes a batch through two steps: `search` (seeds, candidates, extension), which needs nothing but the batch,
and `make_records` (rescue, pairing, records, and what the sink makes of these), which needs the unit's insert sizes.
These are fitted from the first batches, which wait for them; the number of batches and threads changes nothing in the
records.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np

from quire.align.insert_size import (
    MOST_BASES_LOOKED_AT,
    NO_INSERT_SIZES,
    ORIENTATIONS,
    SAMPLE_PAIRS,
    InsertSizes,
    fit_all,
    pairs_by_orientation,
)
from quire.align.read_counts import ReadCounts
from quire.align.sink import Encoded, RecordSink
from quire.progress import Progress
from quire.reads import PairBatch
from quire.time_spent import TimeSpent

log = logging.getLogger("quire.align")


class SearchedBatch(Protocol):
    """A batch after an engine's `search`."""

    @property
    def batch(self) -> PairBatch:
        """As read."""

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: bases of each read."""

    def template_lengths(self) -> np.ndarray:
        """int64[pairs]: of the unique pairs, -1 for the others."""


Searched = TypeVar("Searched", bound=SearchedBatch)


class Engine(Protocol[Searched]):
    """What maps batches: `quire.align.engines.cpu.CpuEngine` or `quire.align.engines.gpu.CardEngine`."""

    @property
    def batches_ahead(self) -> int:
        """Batches that are searched before records are made of the first of them; known once the engine runs."""

    @property
    def pieces_ahead(self) -> int:
        """Pieces of batches that records are made of at a time; known once the engine runs."""

    def running(self, threads: int) -> AbstractContextManager[None]:
        """Hold worker threads while batches are mapped."""

    def search(self, batch: PairBatch) -> Future[Searched]:
        """Seeds, candidates and extensions of a batch."""

    def make_records(
        self, searched: Searched, insert_sizes: InsertSizes, sink: RecordSink[Encoded]
    ) -> list[Future[tuple[list[Encoded], ReadCounts]]]:
        """Rescue, pairing and records of a batch.

        Args:
            searched: the batch, from `search`; it is used up.
            insert_sizes: the unit's models.
            sink: whose `encode` is called in the worker threads.

        Returns:
            Of each piece of the batch, in order: what the sink made of its records, and what its reads became.
        """


@dataclass
class Mapper(Generic[Searched]):
    """Maps the batches of one unit.

    Attributes:
        engine: what maps them.
        insert_sizes: the unit's models, once they are known: after the first batches; none for single-end reads.
        insert_sizes_known: whether they are.
        reads_in: reads (both mates count) that the batches brought so far.
        share_done: the share of the unit that was read, from 0 to 1; None where that is not known.
        counts: what has left so far.
    """

    engine: Engine[Searched]
    insert_sizes: InsertSizes = NO_INSERT_SIZES
    insert_sizes_known: bool = False
    reads_in: int = 0
    share_done: Callable[[], float | None] = lambda: None
    counts: ReadCounts = field(default_factory=ReadCounts)

    def map(self, batches: Iterator[PairBatch], threads: int, sink: RecordSink[Encoded]) -> Iterator[Encoded]:
        """Yield what the sink made of all records, some at a time and in order; it is the caller who lets it write.

        Args:
            batches: from `quire.io.fastq.read_batches`; all paired or all single.
            threads: worker threads.
            sink: whose `encode` is called in the worker threads.
        """
        progress, spent = Progress(log), TimeSpent()
        with self.engine.running(threads):
            making_records: deque[Future[tuple[list[Encoded], ReadCounts]]] = deque()
            for searched in self._with_insert_size(self._search_ahead(batches, spent)):
                making_records.extend(self.engine.make_records(searched, self.insert_sizes, sink))
                while len(making_records) > self.engine.pieces_ahead:
                    yield from self._wait_for(making_records.popleft(), progress, spent)
            while making_records:
                yield from self._wait_for(making_records.popleft(), progress, spent)
        log.info("%s", self._so_far(progress))
        # The thread that moves batches waits for whatever is slowest: the largest share names the next bottleneck.
        log.info("%s", spent.shares(progress.elapsed))

    def _so_far(self, progress: Progress) -> str:
        return f"{self.counts.reads} reads mapped, {self.counts.reads / progress.elapsed:.0f} reads/s"

    def _wait_for(
        self, making_records: Future[tuple[list[Encoded], ReadCounts]], progress: Progress, spent: TimeSpent
    ) -> Iterator[Encoded]:
        with spent.on("waiting for records"):
            encoded, counts = making_records.result()
        self.counts.add(counts)
        progress.tell(lambda: self._so_far(progress), self.share_done)
        with spent.on("waiting for the file"):
            yield from encoded

    def _search_ahead(self, batches: Iterator[PairBatch], spent: TimeSpent) -> Iterator[Searched]:
        running: deque[Future[Searched]] = deque()
        while True:
            with spent.on("waiting for reads"):
                batch = next(batches, None)
            if batch is None:
                break
            self.reads_in += len(batch) * (1 if batch.mate2 is None else 2)
            with spent.on("handing reads over"):
                running.append(self.engine.search(batch))
            if len(running) >= self.engine.batches_ahead:
                yield self._searched(running.popleft(), spent)
        while running:
            yield self._searched(running.popleft(), spent)

    def _searched(self, running: Future[Searched], spent: TimeSpent) -> Searched:
        with spent.on("waiting for the search"):
            return running.result()

    def _with_insert_size(self, searched: Iterator[Searched]) -> Iterator[Searched]:
        """Hold the first batches back until the insert size is fitted; then let all through."""
        waiting: list[Searched] = []
        sample: list[np.ndarray] = []
        bases_seen = 0
        found = np.zeros(len(ORIENTATIONS), np.int64)
        for item in searched:
            if self.insert_sizes_known or item.batch.mate2 is None:
                self.insert_sizes_known = True
                yield item
                continue
            waiting.append(item)
            # The sample ends at a pair, not at a batch: what counts as "first" must not depend on the batch size.
            bases = bases_seen + np.cumsum(item.lengths.reshape(2, -1).sum(axis=0))
            sample.append(item.template_lengths()[bases <= MOST_BASES_LOOKED_AT])
            bases_seen = int(bases[-1])
            found += pairs_by_orientation(sample[-1])
            if found.max() >= SAMPLE_PAIRS or bases_seen >= MOST_BASES_LOOKED_AT:
                self._fit(sample)
                yield from waiting
                waiting.clear()
        if not self.insert_sizes_known:
            self._fit(sample)
        yield from waiting

    def _fit(self, sample: list[np.ndarray]) -> None:
        self.insert_sizes = fit_all(np.concatenate(sample) if sample else np.empty(0, np.int64))
        self.insert_sizes_known = True
        for name, model in zip(ORIENTATIONS, self.insert_sizes.models, strict=True):
            log.info("insert size, %s: %s", name, model)

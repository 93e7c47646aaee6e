"""The mapper: sends batches of reads through an engine and yields records in the order of the reads.

An engine processes a batch in two steps: `search` (seeds, candidates, extension), which needs only the batch, and
`make_records` (rescue, pairing, records, and the sink's encoding), which also needs the unit's insert sizes. These are
fitted to the first batches, which wait for them. The number of batches or threads changes no record.

`search` gives a batch with its template lengths, which must not be used again after `make_records`. The latter gives
for each piece of the batch, in order, the records, encoded by the sink in a worker thread, and the counts of its reads.
While `running`, an engine has the number of batches that are searched before records of the first are made
(`batches_ahead`), and the number of pieces of batches that become records at a time (`pieces_ahead`).
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

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
from quire.reads import PairBatch, offsets_of_mates
from quire.time_spent import TimeSpent

if TYPE_CHECKING:
    from quire.align.engines.cpu import CpuEngine
    from quire.align.engines.gpu import CardEngine

log = logging.getLogger("quire.align")


Searched: TypeAlias = Any
"""A batch after an engine's `search`: `CpuSearched` or `CardSearched`."""


@dataclass
class Mapper:
    """Maps the batches of one unit.

    Attributes:
        insert_sizes: the unit's models once they are known (after the first batches); none for single-end reads.
        reads_in: reads in the batches so far; both mates count.
        share_done: function that returns the share of the unit read so far, from 0 to 1; None if unknown.
        counts: counts of the reads whose records were yielded so far.
    """

    engine: "CpuEngine | CardEngine"
    insert_sizes: InsertSizes = NO_INSERT_SIZES
    insert_sizes_known: bool = False
    reads_in: int = 0
    share_done: Callable[[], float | None] = lambda: None
    counts: ReadCounts = field(default_factory=ReadCounts)

    def map(self, batches: Iterator[PairBatch], threads: int, sink: RecordSink) -> Iterator[Encoded]:
        """Yield the encoded records in order, a piece of a batch at a time; the caller passes each to `sink.write`.

        The batches are all paired or all single; the sink's `encode` is called in the worker threads.
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
        # The thread that moves batches waits for the slowest step, so the largest share shows the bottleneck.
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
        """Hold back the first batches until the insert sizes are fitted; then pass all on."""
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
            # The sample ends at a pair, not at a batch, since it must not depend on the batch size.
            lengths = np.diff(offsets_of_mates(item.batch.mate1, item.batch.mate2))
            bases = bases_seen + np.cumsum(lengths.reshape(2, -1).sum(axis=0))
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

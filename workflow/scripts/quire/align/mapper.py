"""The mapper: batches of reads stream past the pages, and records leave in the order of the reads.

An engine takes a batch through two steps: `search` (seeds, candidates, extension), which needs nothing but the batch,
and `finish` (rescue, pairing, records, compression), which needs the unit's insert size. The insert size is fitted from
the first batches, which wait for it; the number of batches and threads changes nothing in the records.
"""

import logging
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from quire.align.insert_size import MOST_BASES_LOOKED_AT, NO_INSERT_SIZE, SAMPLE_PAIRS, InsertSize, fit
from quire.align.output import Counts
from quire.align.time_spent import TimeSpent
from quire.io.fastq import PairBatch

log = logging.getLogger("quire.align")
SECONDS_BETWEEN_REPORTS = 10


class SearchedBatch(Protocol):
    """A batch after an engine's `search`."""

    batch: PairBatch

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: bases of each read."""

    def template_lengths(self) -> np.ndarray:
        """int64[pairs]: of the unique pairs, -1 for the others."""


class Engine(Protocol):
    """What maps batches: `engine_cpu.CpuEngine` or `engine_gpu.CardEngine`.

    Attributes:
        batches_ahead: batches that are searched before the first of them is finished; known once it runs.
        pieces_ahead: pieces of batches that are finished at a time; known once it runs.
        reads_per_batch: reads or pairs of a batch that suit it.
    """

    batches_ahead: int
    pieces_ahead: int
    reads_per_batch: int

    def running(self, threads: int) -> AbstractContextManager[None]:
        """Hold worker threads while batches are mapped."""

    def search(self, batch: PairBatch) -> Future:
        """Seeds, candidates and extensions of a batch: a future of its `SearchedBatch`."""

    def finish(self, searched: SearchedBatch, insert_size: InsertSize) -> list[Future]:
        """Rescue, pairing and records of a batch: of its pieces in order, futures of (BGZF blocks, Counts)."""


@dataclass
class Mapper:
    """Maps the batches of one unit.

    Attributes:
        engine: what maps them.
        insert_size: the unit's model, known after the first batches; NO_INSERT_SIZE for single-end reads.
        reads_in: reads (both mates count) that the batches brought so far.
        counts: what has left so far.
    """

    engine: Engine
    insert_size: InsertSize | None = None
    reads_in: int = 0
    counts: Counts = field(default_factory=Counts)

    def map(self, batches: Iterator[PairBatch], threads: int) -> Iterator[list[np.ndarray]]:
        """Yield the BGZF blocks (uint8 arrays) of all records, some at a time and in order.

        Args:
            batches: from `quire.io.fastq.read_batches`; all paired or all single.
            threads: worker threads.
        """
        progress = _Progress()
        with self.engine.running(threads):
            finishing: deque[Future] = deque()
            for searched in self._with_insert_size(self._search_ahead(batches, progress)):
                finishing.extend(self.engine.finish(searched, self.insert_size))
                while len(finishing) > self.engine.pieces_ahead:
                    yield from self._leave(finishing.popleft(), progress)
            while finishing:
                yield from self._leave(finishing.popleft(), progress)
        progress.report(self.counts.reads, final=True)

    def _leave(self, finished: Future, progress: "_Progress") -> Iterator[list[np.ndarray]]:
        with progress.spent.on("waiting for records"):
            blocks, counts = finished.result()
        self.counts.add(counts)
        progress.report(self.counts.reads)
        with progress.spent.on("waiting for the file"):
            yield blocks

    def _search_ahead(self, batches: Iterator[PairBatch], progress: "_Progress") -> Iterator[SearchedBatch]:
        running: deque[Future] = deque()
        while True:
            with progress.spent.on("waiting for reads"):
                batch = next(batches, None)
            if batch is None:
                break
            self.reads_in += len(batch) * (1 if batch.mate2 is None else 2)
            with progress.spent.on("handing reads over"):
                running.append(self.engine.search(batch))
            if len(running) >= self.engine.batches_ahead:
                yield self._searched(running.popleft(), progress)
        while running:
            yield self._searched(running.popleft(), progress)

    def _searched(self, running: Future, progress: "_Progress") -> SearchedBatch:
        with progress.spent.on("waiting for the search"):
            return running.result()

    def _with_insert_size(self, searched: Iterator[SearchedBatch]) -> Iterator[SearchedBatch]:
        """Hold the first batches back until the insert size is fitted; then let all through."""
        waiting: list[SearchedBatch] = []
        sample: list[np.ndarray] = []
        seen = found = 0
        for item in searched:
            if self.insert_size is None and item.batch.mate2 is None:
                self.insert_size = NO_INSERT_SIZE
            if self.insert_size is not None:
                yield item
                continue
            waiting.append(item)
            # The sample ends at a pair, not at a batch: what counts as "first" must not depend on the batch size.
            bases = seen + np.cumsum(item.lengths.reshape(2, -1).sum(axis=0))
            lengths = item.template_lengths()[bases <= MOST_BASES_LOOKED_AT]
            sample.append(lengths[lengths > 0])
            seen = int(bases[-1])
            found += len(sample[-1])
            if found >= SAMPLE_PAIRS or seen >= MOST_BASES_LOOKED_AT:
                self._fit(sample)
                yield from waiting
                waiting.clear()
        if self.insert_size is None:
            self._fit(sample)
        yield from waiting

    def _fit(self, sample: list[np.ndarray]) -> None:
        lengths = np.concatenate(sample) if sample else np.empty(0, np.int64)
        self.insert_size = fit(lengths[:SAMPLE_PAIRS])
        log.info("insert size: %s", self.insert_size)


class _Progress:
    """Reads done and reads a second, in the log; at the end also what the thread that moves batches spent its time on.

    It waits for whatever is slowest, so that the largest share names the next bottleneck.
    """

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()
        self.spent = TimeSpent()

    def report(self, reads: int, final: bool = False) -> None:
        now = time.monotonic()
        elapsed = max(now - self.start, 1e-9)
        if final or now - self.last >= SECONDS_BETWEEN_REPORTS:
            self.last = now
            log.info("%d reads mapped, %.0f reads/s", reads, reads / elapsed)
        if final:
            shares = ", ".join(
                f"{what} {100 * seconds / elapsed:.0f} %" for what, seconds in self.spent.seconds.items()
            )
            log.info("of %.1f s: %s", elapsed, shares)

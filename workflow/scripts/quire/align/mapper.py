"""The mapper: batches of reads stream past the pages, and records leave in the order of the reads.

A batch goes through two steps, each a run of kernels without the GIL on a worker thread:
`search` (seeds, candidates, extension), which needs nothing but the batch, and
`finish` (rescue, pairing, records, compression), which needs the unit's insert size. The insert size is fitted from
the first batches, which wait for it; the number of batches and threads changes nothing in the records.
"""

import logging
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from quire.algorithms.extension import ExtensionJobs, Extensions, extend
from quire.algorithms.seeding import SeedingParameters, find_hits
from quire.align.alignments import collect, poorly_aligned
from quire.align.candidates import find_candidates
from quire.align.insert_size import MOST_BASES_LOOKED_AT, NO_INSERT_SIZE, SAMPLE_PAIRS, InsertSize, fit
from quire.align.model import Alignments
from quire.align.pairing import select
from quire.align.records import PAIRED, PROPER, SUPPLEMENTARY, UNMAPPED, build_records
from quire.align.rescue import rescue_jobs
from quire.align.template_length import unique_template_lengths as template_lengths
from quire.io.bam import assemble, compress_blocks
from quire.io.fastq import PairBatch
from quire.oriented import Reads, orient

log = logging.getLogger("quire.align")
SECONDS_BETWEEN_REPORTS = 10
SEEDING = SeedingParameters(stride=20, maximum_hits=32)
DENSE_SEEDING = SeedingParameters(stride=5, maximum_hits=32)


@dataclass
class Searched:
    """A batch after `search`: its reads and the alignments found so far."""

    batch: PairBatch
    reads: Reads
    parts: list[tuple[ExtensionJobs, Extensions]]
    alignments: Alignments


@dataclass
class Counts:
    """What a unit's reads became, for the ledger."""

    reads: int = 0
    bases: int = 0
    mapped: int = 0
    unmapped: int = 0
    properly_paired: int = 0
    supplementary: int = 0

    def add(self, other: "Counts") -> None:
        """Add another batch's counts."""
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Mapper:
    """Maps batches against a reference.

    Attributes:
        reference: `quire.reference.Reference`.
        pages: `PageArrays` of the whole axis in order.
        read_group: RG text of the records.
        seeding: how reads are seeded; dense_seeding: how those are seeded once more that aligned poorly.
        insert_size: the unit's model, known after the first batches; NO_INSERT_SIZE for single-end reads.
        reads_in: reads (both mates count) that the batches brought so far.
        counts: what has left so far.
    """

    reference: object
    pages: list
    read_group: str
    seeding: SeedingParameters = SEEDING
    dense_seeding: SeedingParameters = DENSE_SEEDING
    insert_size: InsertSize | None = None
    reads_in: int = 0
    counts: Counts = field(default_factory=Counts)

    def map(self, batches: Iterator[PairBatch], threads: int) -> Iterator[bytes]:
        """Yield the BGZF blocks of each batch's records, in order.

        Args:
            batches: from `quire.io.fastq.read_batches`; all paired or all single.
            threads: worker threads; the batches in flight are one more.
        """
        progress = _Progress()
        with ThreadPoolExecutor(threads) as pool:
            finishing: deque[Future] = deque()
            for searched in self._with_insert_size(self._search_ahead(batches, pool, threads + 1)):
                finishing.append(pool.submit(self.finish, searched))
                while len(finishing) > threads:
                    yield self._leave(finishing.popleft(), progress)
            while finishing:
                yield self._leave(finishing.popleft(), progress)
        progress.report(self.counts.reads, final=True)

    def _leave(self, finished: Future, progress: "_Progress") -> bytes:
        blocks, counts = finished.result()
        self.counts.add(counts)
        progress.report(self.counts.reads)
        return blocks

    def _search_ahead(self, batches: Iterator[PairBatch], pool: ThreadPoolExecutor, most: int) -> Iterator[Searched]:
        running: deque[Future] = deque()
        for batch in batches:
            self.reads_in += len(batch) * (1 if batch.mate2 is None else 2)
            running.append(pool.submit(self.search, batch))
            if len(running) >= most:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def _with_insert_size(self, searched: Iterator[Searched]) -> Iterator[Searched]:
        """Hold the first batches back until the insert size is fitted; then let all through."""
        waiting: list[Searched] = []
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
            read_lengths = np.diff(item.reads.offsets)
            bases = seen + np.cumsum(read_lengths.reshape(2, -1).sum(axis=0))
            lengths = template_lengths(item.alignments, read_lengths)[bases <= MOST_BASES_LOOKED_AT]
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

    def search(self, batch: PairBatch) -> Searched:
        """Seeds, candidates and extensions of a batch."""
        reads = orient(batch.mate1, batch.mate2)
        parts = [self._seed_and_extend(reads, self.seeding)]
        alignments = collect(parts, reads, self.reference)
        poor = np.flatnonzero(poorly_aligned(alignments, reads.offsets))
        if len(poor):
            jobs, extensions = self._seed_and_extend(reads.subset(poor), self.dense_seeding)
            parts.append((replace(jobs, read=poor[jobs.read].astype(np.int32)), extensions))
            alignments = collect(parts, reads, self.reference)
        return Searched(batch, reads, parts, alignments)

    def _seed_and_extend(self, reads: Reads, seeding: SeedingParameters) -> tuple[ExtensionJobs, Extensions]:
        reference = self.reference
        offsets, hits = find_hits(self.pages, reads, reference.text, seeding)
        jobs = find_candidates(offsets, hits, reads, reference, seeding.stride)
        return jobs, extend(jobs, reads, reference.text, reference.ambiguous)

    def finish(self, searched: Searched) -> tuple[bytes, Counts]:
        """Rescue, pairing and records of a batch; its BGZF blocks and counts."""
        reads, alignments, reference = searched.reads, searched.alignments, self.reference
        paired = searched.batch.mate2 is not None
        if paired:
            jobs = rescue_jobs(alignments, reads, reference, self.insert_size)
            if len(jobs):
                rescued = extend(jobs, reads, reference.text, reference.ambiguous)
                alignments = collect([*searched.parts, (jobs, rescued)], reads, reference)
        selection = select(alignments, reads, paired, self.insert_size)
        records = build_records(alignments, selection, reads, paired, reference)
        data = assemble(records, searched.batch.mate1, searched.batch.mate2, self.read_group.encode())
        return compress_blocks(data), _count(records.flag, reads)


def _count(flag: np.ndarray, reads: Reads) -> Counts:
    primary = flag[(flag & SUPPLEMENTARY) == 0]
    unmapped = int(((primary & UNMAPPED) != 0).sum())
    return Counts(
        reads=len(reads),
        bases=int(reads.offsets[-1]),
        mapped=len(primary) - unmapped,
        unmapped=unmapped,
        properly_paired=int(((primary & (PAIRED | PROPER)) == (PAIRED | PROPER)).sum()),
        supplementary=len(flag) - len(primary),
    )


class _Progress:
    """Reads done and reads a second, in the log."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def report(self, reads: int, final: bool = False) -> None:
        now = time.monotonic()
        if final or now - self.last >= SECONDS_BETWEEN_REPORTS:
            self.last = now
            log.info("%d reads mapped, %.0f reads/s", reads, reads / max(now - self.start, 1e-9))

"""Mapping a batch on the CPU: runs of kernels without the GIL, each batch on one worker thread."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from quire.algorithms.extension import ExtensionJobs, Extensions, extend
from quire.algorithms.seeding import SeedingParameters, find_hits
from quire.align.alignments import collect, poorly_aligned
from quire.align.candidates import find_candidates
from quire.align.insert_size import InsertSize
from quire.align.model import Alignments
from quire.align.output import Counts, write_records
from quire.align.pairing import select
from quire.align.parameters import DENSE_SEEDING, SEEDING
from quire.align.reported import take_reported
from quire.align.rescue import rescue_jobs
from quire.align.template_length import unique_template_lengths
from quire.io.fastq import PairBatch
from quire.oriented import Reads, orient


@dataclass
class Searched:
    """A batch after `search`: its reads and the alignments found so far."""

    batch: PairBatch
    reads: Reads
    parts: list[tuple[ExtensionJobs, Extensions]]
    alignments: Alignments

    @property
    def lengths(self) -> np.ndarray:
        """int64[n]: bases of each read."""
        return np.diff(self.reads.offsets)

    def template_lengths(self) -> np.ndarray:
        """int64[pairs]: of the unique pairs, -1 for the others."""
        return unique_template_lengths(self.alignments, self.lengths)


@dataclass
class CpuEngine:
    """Maps batches; see `quire.align.mapper.Engine`.

    Attributes:
        reference: `quire.reference.Reference`.
        pages: `PageArrays` of the whole axis in order.
        read_group: RG text of the records.
        seeding: how reads are seeded; dense_seeding: how those are seeded once more that aligned poorly.
    """

    reference: object
    pages: list
    read_group: str
    seeding: SeedingParameters = SEEDING
    dense_seeding: SeedingParameters = DENSE_SEEDING
    reads_per_batch: ClassVar[int] = 8192

    @contextmanager
    def running(self, threads: int) -> Iterator[None]:
        """Hold the worker threads while batches are mapped."""
        self.batches_ahead, self.pieces_ahead = threads + 1, threads
        with ThreadPoolExecutor(threads) as self._pool:
            yield

    def search(self, batch: PairBatch) -> Future:
        """Seeds, candidates and extensions of a batch: a future of `Searched`."""
        return self._pool.submit(self._search, batch)

    def finish(self, searched: Searched, insert_size: InsertSize) -> list[Future]:
        """Rescue, pairing and records of a batch, in one piece: a future of (BGZF blocks, Counts)."""
        return [self._pool.submit(self._finish, searched, insert_size)]

    def _search(self, batch: PairBatch) -> Searched:
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
        offsets, hits = find_hits(self.pages, reads, seeding)
        jobs = find_candidates(offsets, hits, reads, reference, seeding.stride)
        return jobs, extend(jobs, reads, reference.text, reference.ambiguous)

    def _finish(self, searched: Searched, insert_size: InsertSize) -> tuple[list[np.ndarray], Counts]:
        batch, reads, alignments, reference = searched.batch, searched.reads, searched.alignments, self.reference
        paired = batch.mate2 is not None
        if paired:
            jobs = rescue_jobs(alignments, reads, reference, insert_size)
            if len(jobs):
                rescued = extend(jobs, reads, reference.text, reference.ambiguous)
                alignments = collect([*searched.parts, (jobs, rescued)], reads, reference)
        selection = select(alignments, reads, paired, insert_size)
        return write_records(batch, take_reported(alignments, selection), reference, self.read_group)

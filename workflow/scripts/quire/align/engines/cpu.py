"""Mapping of batches on the CPU, each by one worker thread in kernels that release the interpreter's lock."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from quire.algorithms.extension.cpu import extend
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.seeding.cpu import find_hits
from quire.align.alignments.cpu import best_scores, collect, poorly_aligned
from quire.align.candidates.cpu import find_candidates
from quire.align.engines.steps import FoundAlignments, Steps, find_alignments, rescue_and_select
from quire.align.insert_size import InsertSizes
from quire.align.pairing.cpu import select
from quire.align.pairing.template_length_cpu import unique_template_lengths
from quire.align.read_counts import ReadCounts
from quire.align.records import encode_records
from quire.align.reported.cpu import NO_ALTERNATE, take_reported
from quire.align.rescue.cpu import rescue_jobs
from quire.align.sink import Encoded, RecordSink
from quire.reads import PairBatch, Reads
from quire.reads.cpu import orient, subset
from quire.reference import Reference

STEPS = Steps(
    flatnonzero=np.flatnonzero,
    subset=subset,
    find_hits=find_hits,
    find_candidates=find_candidates,
    extend=extend,
    collect=collect,
    best_scores=best_scores,
    poorly_aligned=poorly_aligned,
    rescue_jobs=rescue_jobs,
    select=select,
    take_reported=take_reported,
    unique_template_lengths=unique_template_lengths,
)


@dataclass
class CpuSearched:
    """A batch after `search`: its reads and the alignments found so far."""

    batch: PairBatch
    reads: Reads
    found: FoundAlignments

    def template_lengths(self) -> np.ndarray:
        """Return the template lengths of the unique pairs, int64[pairs]; -1 for other pairs."""
        return unique_template_lengths(self.found.alignments, self.reads)


@dataclass
class CpuEngine:
    """Maps batches on the CPU with the indexes of all pages, in order; see `quire.align.mapper`."""

    reference: Reference
    pages: Sequence[FmIndex]

    @contextmanager
    def running(self, threads: int) -> Iterator[None]:
        """Hold the worker threads while batches are mapped."""
        self.batches_ahead, self.pieces_ahead = threads + 1, threads
        with ThreadPoolExecutor(threads) as self._pool:
            yield

    def search(self, batch: PairBatch) -> Future[CpuSearched]:
        """Start to find and extend the candidates of a batch."""
        return self._pool.submit(self._search, batch)

    def make_records(
        self, searched: CpuSearched, insert_sizes: InsertSizes, sink: RecordSink
    ) -> list[Future[tuple[list[Encoded], ReadCounts]]]:
        """Start rescue, pairing and records of a batch, in one piece."""
        return [self._pool.submit(self._make_records, searched, insert_sizes, sink)]

    def _search(self, batch: PairBatch) -> CpuSearched:
        reads = orient(batch.mate1, batch.mate2)
        return CpuSearched(
            batch, reads, find_alignments(STEPS, reads, batch.mate2 is not None, self.pages, self.reference)
        )

    def _make_records(
        self, searched: CpuSearched, insert_sizes: InsertSizes, sink: RecordSink
    ) -> tuple[list[Encoded], ReadCounts]:
        batch, paired = searched.batch, searched.batch.mate2 is not None
        chosen = rescue_and_select(STEPS, searched.found, searched.reads, paired, self.reference, insert_sizes)
        lifted_over = self.reference.alternate if self.reference.lifts is not None else NO_ALTERNATE
        reported = STEPS.take_reported(*chosen, lifted_over)
        encoded, counts = encode_records(batch, reported, self.reference, sink)
        return [encoded], counts

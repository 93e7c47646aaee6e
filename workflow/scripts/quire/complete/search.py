"""Search of a FASTQ in the pages of a reference for every place with at most k differences; see `quire.complete`."""

import logging
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from io import BufferedWriter
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Ends, Hits, shortest_read
from quire.algorithms.complete.alignment_cpu import find_hits
from quire.complete.finders import CardFinder, CpuFinder, Finder, axis_of
from quire.complete.records_cpu import build_records, table_header, table_lines
from quire.complete.selection_cpu import CompleteSettings as CompleteSettings
from quire.complete.selection_cpu import (
    CountedReads,
    choose,
    count_by_read,
    join,
    listed,
    of_report,
    reportable,
)
from quire.complete.streaming import records_of_read, whole_reads
from quire.device.backend import Backend
from quire.device.choice import use_backend
from quire.errors import InputError
from quire.index import SearchInputs
from quire.io.bam.encode import RecordBatch, assemble_blocks
from quire.io.bam.writer import header_text, open_bam
from quire.io.bytes_read import share_read
from quire.io.fastq import read_batches
from quire.io.files import atomic_path, lacks_bgzip_end, write_json_atomic
from quire.ledger import require_balance
from quire.progress import Progress
from quire.reads import PairBatch, ReadBatch, Reads
from quire.reads.cpu import orient
from quire.reference import Reference
from quire.run.inputs import identify
from quire.run.interrupts import worker_threads
from quire.version import VERSION

log = logging.getLogger("quire.complete")
MOST_BYTES = 128 << 20  # approximate limit of a batch's compressed records that wait to be written


@dataclass(frozen=True)
class CompleteOutputs:
    """Outputs of a search: BAM in the order of the reads, table of counts (TSV), and summary (JSON)."""

    bam: Path
    counts: Path
    summary: Path


@dataclass
class SearchCounts:
    """Counts of reads and of their hits, with or without a record."""

    reads: int = 0
    bases: int = 0
    reads_with_hits: int = 0
    reads_without_hits: int = 0
    reads_cut: int = 0
    hits: int = 0
    hits_with_record: int = 0
    hits_cut: int = 0
    hits_not_reported: int = 0
    hits_by_differences: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, batch: ReadBatch, by_read: NDArray[np.int64], settings: CompleteSettings) -> None:
        """Add the hits (int64[n, k + 1]) of a batch."""
        some, shown = reportable(by_read, settings), listed(by_read, settings)
        found = int((by_read.sum(axis=1) > 0).sum())
        self.reads += len(batch)
        self.bases += int(batch.offsets[-1])
        self.reads_with_hits += found
        self.reads_without_hits += len(batch) - found
        self.reads_cut += int((some > shown).sum())
        self.hits += int(by_read.sum())
        self.hits_cut += int((some - shown).sum())
        self.hits_not_reported += int(by_read.sum() - some.sum())
        if not len(self.hits_by_differences):
            self.hits_by_differences = np.zeros(by_read.shape[1], np.int64)
        self.hits_by_differences += by_read.sum(axis=0)

    def to_json(self) -> dict[str, int]:
        """Return all counts by name."""
        plain = {name: value for name, value in vars(self).items() if name != "hits_by_differences"}
        return {**plain, **{f"hits_with_{k}_differences": int(n) for k, n in enumerate(self.hits_by_differences)}}


class _Share(NamedTuple):
    """Reads after their search, or further records of the last read.

    Attributes:
        counted: the reads, for the table and the ledger; None for further records.
        blocks: compressed records (uint8[]).
        records: number of mapped records.
    """

    counted: CountedReads | None
    blocks: list[NDArray[np.uint8]]
    records: int


def search_reads(inputs: SearchInputs, outputs: CompleteOutputs, settings: CompleteSettings) -> None:
    """Find every place of each read with at most k differences; each output appears whole or not at all."""
    began = time.monotonic()
    reference, indexes = inputs.open()
    with use_backend(settings.backend, settings.memory) as (backend, open_card):
        given = indexes, axis_of(reference), settings.max_differences
        finder = CpuFinder(*given) if open_card is None else CardFinder(open_card(), *given)
        counts = _Run(finder, reference, inputs, outputs, settings).run(backend)
    warnings = []
    if lacks_bgzip_end(inputs.queries):
        warnings.append(f"{inputs.queries} has no closing bgzip block: if it was cut there, reads are missing.")
    if counts.reads_cut:
        warnings.append(
            f"{counts.reads_cut:,} reads have more places than max_hits ({settings.max_hits}); their records are "
            f"marked (tag th), and all {counts.hits:,} places are counted."
        )
    summary = {
        "tool": "complete",
        "name": settings.name,
        "inputs": {"reads": str(inputs.queries), "reference": str(inputs.fasta)},
        "identity": identify({"reads": inputs.queries}, reference),
        "settings": asdict(settings),
        "backend": backend.to_json(),
        "counts": counts.to_json(),
        "seconds": round(time.monotonic() - began, 3),
        "warnings": warnings,
    }
    write_json_atomic(outputs.summary, summary)


@dataclass
class _Run:
    """One search, which writes records and lines in the order of the reads."""

    finder: Finder
    reference: Reference
    inputs: SearchInputs
    outputs: CompleteOutputs
    settings: CompleteSettings
    counts: SearchCounts = field(default_factory=SearchCounts)
    progress: Progress = field(default_factory=lambda: Progress(log))

    def run(self, backend: Backend) -> SearchCounts:
        """Search all reads and write both files."""
        contigs = self.reference.contig_names, self.reference.contig_lengths
        settings = self.settings
        command = (
            f"complete --max-differences {settings.max_differences} --report {settings.report} "
            f"--max-hits {settings.max_hits} --backend {backend.name} "
            f"{self.inputs.queries.name}"
        )
        description = f"backend {backend.name}: {backend.reason}"
        text = header_text(*contigs, [], VERSION, command, description, self.reference.sam_tags(None))
        with ExitStack() as stack:
            self.table: BufferedWriter = stack.enter_context(
                open(stack.enter_context(atomic_path(self.outputs.counts)), "wb")
            )
            self.bam = stack.enter_context(open_bam(self.outputs.bam, text, *contigs))
            self.table.write(table_header(settings.max_differences))
            with worker_threads(settings.threads, "quire-complete") as pool:
                for searched in self._searched(pool):
                    self._write(searched)
            self._require_balance()
        log.info("%d reads searched, %d hits", self.counts.reads, self.counts.hits)
        return self.counts

    def _searched(self, pool: ThreadPoolExecutor) -> Iterator[_Share]:
        """Yield shares of reads in order while others are searched."""
        running: deque[tuple[Future[list[_Share]], Iterator[_Share]]] = deque()
        most = self.settings.threads * (1 if isinstance(self.finder, CpuFinder) else 2)
        for batch in self._batches():
            for begun in self._begun(batch, pool):
                running.append(begun)
                if len(running) > most:
                    made, rest = running.popleft()
                    yield from chain(made.result(), rest)
        for made, rest in running:
            yield from chain(made.result(), rest)

    def _begun(
        self, batch: ReadBatch, pool: ThreadPoolExecutor
    ) -> Iterator[tuple[Future[list[_Share]], Iterator[_Share]]]:
        """Start work on a batch; yield the first shares that a thread makes, and the others, made when requested."""
        # A card's batch is split between threads; reads that are searched again wait for the thread that owns the card.
        if isinstance(self.finder, CpuFinder):
            task = self._search(self.finder, batch)
            yield pool.submit(_first_shares, task), task
            return
        parts = self.finder.find(batch)
        for first, last, ends in whole_reads(parts, len(batch), CpuFinder.reads_per_batch):
            reads = batch.part(first, last)
            if ends is None:
                yield pool.submit(list[_Share]), self._search_large(reads)
            else:
                task = self._search_found(reads, ends)
                yield pool.submit(_first_shares, task), task

    def _batches(self) -> Iterator[ReadBatch]:
        """Yield the reads in batches; raises an InputError for a read that is too short."""
        needed = shortest_read(self.settings.max_differences)
        for pair in read_batches(self.inputs.queries, None, self.finder.reads_per_batch):
            batch = pair.mate1
            lengths = np.diff(batch.offsets)
            if (lengths < needed).any():
                read = int(np.argmax(lengths < needed))
                raise InputError(
                    f"{self.inputs.queries}: record {batch.first_ordinal + read + 1} ({batch.name(read)}) has "
                    f"{lengths[read]} bases, and a search with {self.settings.max_differences} differences needs reads "
                    f"of {needed} or more; remove shorter reads or lower max_differences."
                )
            yield batch

    def _search(self, finder: CpuFinder, batch: ReadBatch) -> Iterator[_Share]:
        """Search a batch on the CPU."""
        reads = orient(batch)
        parts = finder.find(batch, reads)
        for first, last, ends in whole_reads(parts, len(batch), len(batch)):
            part = batch.part(first, last)
            if ends is None:
                yield from self._search_large(part)
            else:
                yield self._align(part, reads if last - first == len(batch) else orient(part), ends)

    def _search_found(self, batch: ReadBatch, ends: Ends) -> Iterator[_Share]:
        yield self._align(batch, orient(batch), ends)

    def _align(self, batch: ReadBatch, reads: Reads, ends: Ends) -> _Share:
        """Count the hits of reads and make their records."""
        hits = join(find_hits([ends], reads, axis_of(self.reference), self.settings.max_differences))
        counted = CountedReads(batch, reads, self._no_counts(batch))
        count_by_read(hits, counted.counts)
        if self.settings.report == "count":
            return _Share(counted, [], 0)
        chosen = choose(of_report(hits, counted.counts, self.settings), reads.name_hash, self.settings.max_hits)
        return self._encoded(build_records(chosen, counted, self.reference, self.settings), counted, counted)

    def _search_large(self, batch: ReadBatch) -> Iterator[_Share]:
        """Search a read with more ends than are held: count its hits first, then make a few records at a time."""
        counted = CountedReads(batch, orient(batch), self._no_counts(batch))

        def search() -> Iterator[Hits]:
            parts = self.finder.find(batch, counted.reads)
            return find_hits(parts, counted.reads, axis_of(self.reference), self.settings.max_differences)

        for hits in search():
            count_by_read(hits, counted.counts)
        yield _Share(counted, [], 0)
        if self.settings.report != "count":
            for records in records_of_read(search, counted, self.reference, self.settings):
                yield self._encoded(records, counted, None)

    def _no_counts(self, batch: ReadBatch) -> NDArray[np.int64]:
        return np.zeros((len(batch), self.settings.max_differences + 1), np.int64)

    def _encoded(self, records: RecordBatch, reads: CountedReads, counted: CountedReads | None) -> _Share:
        blocks = assemble_blocks(records, PairBatch(reads.batch, None), b"")
        return _Share(counted, blocks, int((records.contig >= 0).sum()))

    def _write(self, share: _Share) -> None:
        if share.counted is not None:
            batch, _, counts = share.counted
            self.table.write(table_lines(batch, counts, listed(counts, self.settings)).data)
            self.counts.add(batch, counts, self.settings)
        self.bam.write_blocks(share.blocks)
        self.counts.hits_with_record += share.records
        self.progress.tell(self._so_far, lambda: share_read([self.inputs.queries]))

    def _so_far(self) -> str:
        reads = self.counts.reads
        return f"{reads} reads searched, {reads / self.progress.elapsed:.0f} reads/s"

    def _require_balance(self) -> None:
        counts = self.counts
        name = self.settings.name
        found = {"reads with hits": counts.reads_with_hits, "reads without": counts.reads_without_hits}
        require_balance("complete", name, {"reads": counts.reads}, found)
        hits = {
            "with a record": counts.hits_with_record,
            "cut": counts.hits_cut,
            "not reported": counts.hits_not_reported,
        }
        require_balance("complete", name, {"hits": counts.hits}, hits)


def _first_shares(task: Iterator[_Share]) -> list[_Share]:
    """Make the shares of a task until they have MOST_BYTES."""
    made, held = [], 0
    for share in task:
        made.append(share)
        held += sum(block.nbytes for block in share.blocks)
        if held > MOST_BYTES:
            break
    return made

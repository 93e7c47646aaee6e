"""The stage: FASTQ past the pages of a reference to every place with at most k differences; see `quire.complete`."""

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from io import BufferedWriter
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import MOST_DIFFERENCES, Axis, Hits, shortest_read
from quire.complete import counts as table
from quire.complete.finders import STRATEGIES, Finder, open_finder
from quire.complete.records import build_records
from quire.complete.selection import Wanted, choose, count_by_read, join, listed, of_report, reportable
from quire.complete.streaming import MOST_HITS, hits_in_parts, records_in_pieces
from quire.device.backend import Backend
from quire.device.choice import use_backend
from quire.errors import InputError
from quire.index import PageIndex
from quire.io.bam.encode import assemble_blocks
from quire.io.bam.writer import BamWriter, header_text
from quire.io.fastq import read_batches
from quire.io.files import atomic_path, lacks_bgzip_end, write_json_atomic
from quire.ledger import require_balance
from quire.reads import ReadBatch, Reads
from quire.reads.cpu import orient
from quire.reference import Reference
from quire.version import VERSION

log = logging.getLogger("quire.complete")
REPORTS = ("all", "best", "count")
SECONDS_BETWEEN_REPORTS = 10


@dataclass(frozen=True)
class CompleteInputs:
    """What is searched.

    Attributes:
        reference: directory that `quire.reference.build` wrote.
        pages: directories of the indexes of all its pages, in order.
        fasta: the FASTA that the reference must still be of; None skips the check.
        reads: FASTQ, plain, gzip or bgzip.
    """

    reference: Path
    pages: Sequence[Path]
    fasta: Path | None
    reads: Path


@dataclass(frozen=True)
class CompleteOutputs:
    """What a search writes: BAM in the order of the reads, the table of counts (TSV), and its summary (JSON)."""

    bam: Path
    counts: Path
    summary: Path


@dataclass(frozen=True)
class CompleteSettings:
    """What is searched for, and how.

    Attributes:
        name: of the search, for the summary.
        max_differences: k, 0 to MOST_DIFFERENCES.
        report: hits that get a record: "all", those with the read's fewest differences ("best"), or none ("count").
        max_hits: most records of a read, 0 for no limit; all hits are counted.
        strategy: one of `quire.complete.finders.STRATEGIES`; changes nothing of the answer, as what follows.
        threads: that work.
        backend, memory: the configuration's block `device`.
        reads_per_batch: "auto" leaves the choice to the strategy.
        most_hits: that a thread holds at once; a batch with more is searched again in pieces.
    """

    name: str
    max_differences: int = 2
    report: str = "all"
    max_hits: int = 0
    strategy: str = "auto"
    threads: int = 1
    backend: str = "auto"
    memory: str = "auto"
    reads_per_batch: int | Literal["auto"] = "auto"
    most_hits: int = MOST_HITS


@dataclass
class SearchCounts:
    """What went in and what came out; hits are of all reads, with or without a record."""

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

    def add(self, batch: ReadBatch, by_read: NDArray[np.int64], wanted: Wanted) -> None:
        """Add the hits (int64[n, k + 1]) of a batch."""
        some, shown = reportable(by_read, wanted), listed(by_read, wanted)
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
        """All counts by name."""
        plain = {name: value for name, value in vars(self).items() if name != "hits_by_differences"}
        return {**plain, **{f"hits_with_{k}_differences": int(n) for k, n in enumerate(self.hits_by_differences)}}


@dataclass
class _Searched:
    """A batch after its search; `hits` is None where there are more than memory is for."""

    batch: ReadBatch
    reads: Reads
    by_read: NDArray[np.int64]
    hits: Hits | None


@dataclass
class _Encoded:
    """A batch after its records are made; `pieces` is None where `searched` must be searched again for them."""

    searched: _Searched
    lines: NDArray[np.uint8]
    pieces: list[NDArray[np.uint8]] | None
    records: int


def search_reads(inputs: CompleteInputs, outputs: CompleteOutputs, settings: CompleteSettings) -> None:
    """Find every place of reads with at most k differences.

    Args:
        inputs: reference, indexes and reads.
        outputs: each appears whole or not at all.
        settings: differences, what is reported, strategy, threads and backend.

    Raises:
        InputError: bad FASTQ or settings, a read that is too short, an index that does not fit, or no card where the
            backend is "gpu".
        QuireError: an output cannot be written, or the ledger does not balance.
    """
    began = time.monotonic()
    _check(settings)
    reference = Reference.open(inputs.reference, inputs.fasta)
    indexes = [PageIndex.open(directory, reference) for directory in inputs.pages]
    log.info("%s: %d pages, %d bases", inputs.reference, len(indexes), reference.axis_length)
    with use_backend(settings.backend, settings.memory) as (backend, open_card):
        k = settings.max_differences
        with open_finder(open_card, reference, indexes, settings.strategy, k) as finder:
            counts = _Run(finder, reference, inputs, outputs, settings).run(backend)
    warnings = []
    if lacks_bgzip_end(inputs.reads):
        warnings.append(f"{inputs.reads} has no closing bgzip block: if it was cut there, reads are missing.")
    if counts.reads_cut:
        warnings.append(
            f"{counts.reads_cut:,} reads have more places than max_hits ({settings.max_hits}); their records are "
            f"marked (tag th), and all {counts.hits:,} places are counted."
        )
    shown = {key: value for key, value in asdict(settings).items() if key not in ("reads_per_batch", "most_hits")}
    summary = {
        "tool": "complete",
        "name": settings.name,
        "inputs": {"reads": str(inputs.reads), "reference": str(inputs.fasta)},
        "settings": shown,
        "backend": backend.to_json(),
        "counts": counts.to_json(),
        "seconds": round(time.monotonic() - began, 3),
        "warnings": warnings,
    }
    write_json_atomic(outputs.summary, summary)


def _check(settings: CompleteSettings) -> None:
    """Refuse settings that mean nothing."""
    name = f"complete {settings.name}"
    for key, allowed in (("report", REPORTS), ("strategy", STRATEGIES)):
        if getattr(settings, key) not in allowed:
            raise InputError(f"{name}: {key} is {getattr(settings, key)!r}; give one of {', '.join(allowed)}.")
    if not 0 <= settings.max_differences <= MOST_DIFFERENCES:
        raise InputError(
            f"{name}: max_differences is {settings.max_differences}; give a number from 0 to {MOST_DIFFERENCES}."
        )
    if settings.max_hits < 0:
        raise InputError(f"{name}: max_hits is {settings.max_hits}; give 0 for no limit, or a number above it.")


class _Run:
    """One search: reads in, records and lines out, in the order of the reads."""

    def __init__(
        self,
        finder: Finder,
        reference: Reference,
        inputs: CompleteInputs,
        outputs: CompleteOutputs,
        settings: CompleteSettings,
    ) -> None:
        self.finder, self.reference, self.inputs, self.outputs, self.settings = (
            finder, reference, inputs, outputs, settings,
        )  # fmt: skip
        self.axis = Axis(reference.text, np.asarray(reference.ambiguous), reference.island_axis)
        self.wanted = Wanted(settings.max_differences, settings.report, settings.max_hits)
        self.counts = SearchCounts()
        self.began = self.said = time.monotonic()

    def run(self, backend: Backend) -> SearchCounts:
        """Search all reads and write both files."""
        contigs = self.reference.contig_names, self.reference.contig_lengths
        settings = self.settings
        command = (
            f"complete --max-differences {settings.max_differences} --report {settings.report} "
            f"--max-hits {settings.max_hits} --strategy {settings.strategy} --backend {backend.name} "
            f"{self.inputs.reads.name}"
        )
        text = header_text(*contigs, [], VERSION, command, f"backend {backend.name}: {backend.reason}")
        with ExitStack() as stack:
            self.table: BufferedWriter = stack.enter_context(
                open(stack.enter_context(atomic_path(self.outputs.counts)), "wb")
            )
            self.bam = stack.enter_context(BamWriter(self.outputs.bam, text, *contigs))
            self.table.write(table.header(settings.max_differences))
            with ThreadPoolExecutor(settings.threads, "quire-complete") as pool:
                for encoded in self._encoded(pool):
                    self._write(encoded)
            self._require_balance()
        log.info("%d reads searched, %d hits", self.counts.reads, self.counts.hits)
        return self.counts

    def _encoded(self, pool: ThreadPoolExecutor) -> Iterator[_Encoded]:
        """Batches in order; several are in work."""
        running: deque[Future[_Encoded]] = deque()
        for batch in self._batches():
            if self.finder.in_threads:
                running.append(pool.submit(self._search_and_encode, batch))
            else:
                running.append(pool.submit(self._encode, self._search(batch)))
            if len(running) > self.settings.threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()

    def _batches(self) -> Iterator[ReadBatch]:
        """The reads, none of them too short."""
        chosen = self.settings.reads_per_batch
        size = self.finder.reads_per_batch if chosen == "auto" else chosen
        needed = shortest_read(self.settings.max_differences)
        for pair in read_batches(self.inputs.reads, None, size):
            batch = pair.mate1
            lengths = np.diff(batch.offsets)
            if (lengths < needed).any():
                read = int(np.argmax(lengths < needed))
                raise InputError(
                    f"{self.inputs.reads}: record {batch.first_ordinal + read + 1} ({batch.name(read)}) has "
                    f"{lengths[read]} bases, and a search with {self.settings.max_differences} differences needs reads "
                    f"of {needed} or more; remove shorter reads or lower max_differences."
                )
            yield batch

    def _search(self, batch: ReadBatch) -> _Searched:
        """Find and count the hits of a batch."""
        reads, k = orient(batch), self.settings.max_differences
        by_read = np.zeros((len(batch), k + 1), np.int64)
        kept: list[Hits] | None = [] if self.settings.report != "count" else None
        held = 0
        for hits in hits_in_parts(self.finder, batch, reads, self.axis, k):
            count_by_read(hits, by_read)
            held += len(hits.read)
            if held > self.settings.most_hits:
                kept = None
            if kept is not None:
                # Copied: what was found has room for all ends.
                kept.append(Hits._make(values.copy() for values in hits))
        return _Searched(batch, reads, by_read, None if kept is None else join(kept))

    def _search_and_encode(self, batch: ReadBatch) -> _Encoded:
        return self._encode(self._search(batch))

    def _encode(self, searched: _Searched) -> _Encoded:
        """Make the records and lines of a batch."""
        batch, by_read = searched.batch, searched.by_read
        shown = listed(by_read, self.wanted)
        lines = table.lines(batch, by_read, shown)
        if self.settings.report == "count":
            return _Encoded(searched, lines, [], 0)
        if searched.hits is None:
            return _Encoded(searched, lines, None, 0)
        hits = of_report(searched.hits, by_read, self.wanted)
        chosen = choose(hits, searched.reads.name_hash, self.settings.max_hits)
        records = build_records(chosen, batch, searched.reads, self.reference, self.settings.max_differences, shown,
                                reportable(by_read, self.wanted))  # fmt: skip
        searched.hits = None
        pieces = assemble_blocks(records, batch, None, b"", self.bam.level)
        return _Encoded(searched, lines, pieces, len(chosen.is_first))

    def _write(self, encoded: _Encoded) -> None:
        """Write a batch, which is searched again if its hits were too many to hold."""
        searched = encoded.searched
        self.table.write(encoded.lines.data)
        self.counts.add(searched.batch, searched.by_read, self.wanted)
        self.counts.hits_with_record += encoded.records
        if encoded.pieces is not None:
            self.bam.write_blocks(encoded.pieces)
        else:
            pieces = records_in_pieces(self.finder, searched.batch, searched.reads, self.reference, searched.by_read,
                                       self.wanted, self.settings.most_hits)  # fmt: skip
            for records, batch in pieces:
                self.bam.write_blocks(assemble_blocks(records, batch, None, b"", self.bam.level))
                self.counts.hits_with_record += int((records.contig >= 0).sum())
        now = time.monotonic()
        if now - self.said >= SECONDS_BETWEEN_REPORTS:
            self.said = now
            log.info("%d reads searched, %.0f reads/s", self.counts.reads, self.counts.reads / (now - self.began))

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

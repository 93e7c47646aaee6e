"""All counts of a sample in one multithreaded pass over its sorted and marked records, in bounded memory.

Counts that depend on single records are made by the thread that has the records (`Counting.prepare`). The depth also
depends on earlier records that reach into a batch. The thread that writes or reads the records in order therefore
passes them to other threads, which count the depth, so that it does not become the bottleneck. Each thread has its own
counters, which are added at the end. Regions of low depth are reported in the order of the file.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from quire.errors import QuireError
from quire.finish.counts import (
    COVERAGE_WINDOW,
    GC_BINS,
    Counters,
    Genome,
    ReadGroups,
    Target,
    add_counters,
    new_counters,
    profile_bin,
)
from quire.finish.counts.depth_cpu import NO_BLOCKS, DepthSpan, Place, blocks_behind, count_depth, in_order
from quire.finish.counts.gc_cpu import pieces_of, windows_of
from quire.finish.counts.low_coverage import LowCoverage
from quire.finish.counts.records_cpu import count_records, longest_read
from quire.io import samtools
from quire.io.bam.decode_cpu import Records, records_of
from quire.io.bam.layout import SIZE_BYTES
from quire.io.bam.stream_cpu import BamStream
from quire.io.fasta_index import indexed_fasta
from quire.io.files import scratch_directory
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.reference import Reference
from quire.reference.regions import Regions

FIRST_CYCLES = 160
STRETCH_BYTES = 1 << 21  # compressed bytes that are read at a time
BATCH_RECORDS = 1 << 15
HELD = 1 << 28  # most bytes of records that wait to be counted; a larger batch waits alone
_BEHIND_ALL = 1 << 32  # contig number after all others, for records without a contig


class Unsorted(ValueError):
    """Error: records are not sorted by position."""


class Prepared(NamedTuple):
    """Sorted records for which only the depth is not yet counted.

    Attributes:
        records: records of a batch, at least one.
        start, last: places of the first and the last record.
        behind: their blocks that cross `last` (`depth.blocks_behind`), which include all that cross a later place.
    """

    records: Records
    start: Place
    last: Place
    behind: NDArray[np.int64]


def _place(fields: np.void) -> Place:
    """Return the place of a record; a record without a contig is after all contigs."""
    contig = int(fields["contig"])
    return Place(contig, int(fields["position"])) if contig >= 0 else Place(_BEHIND_ALL, 0)


class SampleCounts(NamedTuple):
    """Counts of one pass over a file.

    Attributes:
        counters: sums over all records.
        libraries: names of the rows of `counters.libraries`.
        gc_windows: int64[GC_BINS], windows of the reference by GC content.
        contigs: names of the contigs, in the order of the counters.
    """

    counters: Counters
    libraries: list[str]
    gc_windows: NDArray[np.int64]
    contigs: list[str]


class Counting:
    """Counter of a sample's records in the order of the genome; the depth is counted in separate threads."""

    def __init__(self, header: str, reference: Reference, regions: Regions, threads: int, low: LowCoverage) -> None:
        """Start counting; threads count the depth over the regions, and `low` receives those of low depth, in order."""
        # The header is the file's, for its read groups; the reference has the same contigs in the same order.
        groups = read_groups(header) or [("", "unknown")]
        self._contigs, self._libraries = reference.contig_names, list(dict.fromkeys(library for _, library in groups))
        names, offsets = pack_bytes([identifier.encode() for identifier, _ in groups])
        numbers = [self._libraries.index(library) for _, library in groups]
        self._groups = ReadGroups(names, offsets, np.array(numbers, np.int64))
        self._genome, self._target = genome_of(reference), target_of(regions, reference, low.below)
        self._low, self._idle = low, list[Counters]()
        self._pool = ThreadPoolExecutor(threads)
        self._windows = [self._pool.submit(windows_of, reference, piece) for piece in pieces_of(reference)]
        self._jobs: deque[tuple[Future[NDArray[np.int64]], int]] = deque()
        self._behind_all, self._nothing = Place(len(self._contigs), 0), records_of(np.empty(0, np.uint8))
        # The last batch, whose end is not known yet, and the blocks of earlier batches that reach into it.
        self._held, self._carried = Prepared(self._nothing, Place(0, 0), Place(0, 0), NO_BLOCKS), NO_BLOCKS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def prepare(self, records: Records) -> list[Prepared]:
        """Count everything but the depth of records, which `take` counts; thread-safe. Raise Unsorted if they are."""
        if not in_order(records.fixed):
            raise Unsorted
        batches = []
        for first in range(0, len(records.starts), BATCH_RECORDS):
            some = slice(first, first + BATCH_RECORDS)
            batch = Records(records.data, records.starts[some], records.fixed[some])
            with self._counters(longest_read(*batch)) as counters:
                count_records(batch, self._groups, self._genome, self._target, counters)
            start, last = _place(batch.fixed[0]), _place(batch.fixed[-1])
            batches.append(Prepared(batch, start, last, blocks_behind(batch, NO_BLOCKS, last)))
        return batches

    def take(self, batches: Sequence[Prepared]) -> None:
        """Count the depth of the next records, in the order of the file; raise Unsorted if they are in another."""
        for batch in batches:
            held, border = self._held, min(batch.start, self._behind_all)
            if batch.start < held.last:
                raise Unsorted
            self._submit(border)
            if border.contig != held.last.contig:
                self._carried = NO_BLOCKS
            else:
                carried = self._carried if held.start.contig == border.contig else NO_BLOCKS
                self._carried = blocks_behind(self._nothing, np.concatenate([carried, held.behind]), border)
            self._held = batch._replace(start=border)

    def finish(self) -> SampleCounts:
        """Count the positions after the last record, and wait for all counts."""
        self._submit(self._behind_all)
        while self._jobs:
            self._low.add(self._jobs.popleft()[0].result())
        windows = np.sum([np.zeros(GC_BINS, np.int64), *(part.result() for part in self._windows)], axis=0)
        total = self._new_counters(1)
        for counters in self._idle:
            total = add_counters(total, counters)
        return SampleCounts(total, self._libraries, windows, self._contigs)

    def _submit(self, end: Place) -> None:
        """Let a thread count the depth of the held batch, which determines it up to `end`."""
        size = _bytes_of(self._held.records)
        while self._jobs and size + sum(price for _, price in self._jobs) > HELD:
            self._low.add(self._jobs.popleft()[0].result())
        span = DepthSpan(self._held.records, self._carried, self._held.start, end)
        self._jobs.append((self._pool.submit(self._count_depth, span), size))

    def _count_depth(self, span: DepthSpan) -> NDArray[np.int64]:
        with self._counters(0) as counters:
            return count_depth(span, self._genome, self._target, counters)

    @contextmanager
    def _counters(self, cycles: int) -> Iterator[Counters]:
        """Yield counters that no other thread uses, with at least the given number of cycles."""
        try:
            counters = self._idle.pop()
        except IndexError:
            counters = self._new_counters(FIRST_CYCLES)
        if counters.lengths.shape[1] <= cycles:
            counters = add_counters(counters, self._new_counters(2 * cycles))
        yield counters
        self._idle.append(counters)

    def _new_counters(self, cycles: int) -> Counters:
        return new_counters(self._genome, self._target, len(self._libraries), cycles)


class FinishedSample(NamedTuple):
    """A finished sample: its sorted BAM or CRAM, and its reference, packed and (needed for CRAM only) as FASTA."""

    name: str
    alignments: Path
    reference: Path
    fasta: Path


@contextmanager
def open_sample(
    sample: FinishedSample, reference: Reference, output: Path, threads: int
) -> Iterator[tuple[str, Iterator[Records]]]:
    """Open a finished sample for counting: yield its header and batches of its records, which `threads` decompress.

    A CRAM is decoded to a temporary BAM in the folder of `output`.
    """
    bam = sample.alignments
    with scratch_directory(output.parent, f"{output.name}.counting") as scratch, ThreadPoolExecutor(threads) as pool:
        if bam.suffix == ".cram":
            bam = scratch / "decoded.bam"
            samtools.to_bam(sample.alignments, bam, indexed_fasta(sample.fasta, scratch), threads)
        stream = BamStream(bam)
        if (stream.contig_names, stream.contig_lengths) != (reference.contig_names, reference.contig_lengths.tolist()):
            raise QuireError(f"{bam}: its contigs are not those of {reference.directory}; align the sample again.")
        stretches = stream.stretches(pool, STRETCH_BYTES, threads)
        yield stream.header_text, (stretch.records() for stretch in stretches)


def read_groups(header: str) -> list[tuple[str, str]]:
    """Return ID and library of the read groups in a header; the library is "unknown" if it is not given."""
    groups = []
    for line in header.splitlines():
        if line.startswith("@RG"):
            fields = dict(field.split(":", 1) for field in line.split("\t")[1:])
            groups.append((fields["ID"], fields.get("LB", "unknown")))
    return groups


def _bytes_of(records: Records) -> int:
    """Return the bytes that the records span."""
    if not len(records.starts):
        return 0
    return int(records.starts[-1] - records.starts[0]) + int(records.fixed["block_size"][-1]) + SIZE_BYTES


def genome_of(reference: Reference) -> Genome:
    """Return the reference in the form that the kernels use."""
    islands = np.searchsorted(reference.island_contig, np.arange(len(reference.contig_names) + 1))
    windows = -(-reference.contig_lengths // COVERAGE_WINDOW)
    return Genome(
        reference.contig_lengths,
        islands.astype(np.int64),
        reference.island_start.astype(np.int64),
        reference.island_axis,
        reference.text,
        np.array(reference.ambiguous),
        offsets_from_lengths(windows),
    )


def target_of(regions: Regions, reference: Reference, low: int) -> Target:
    """Return the regions in the form that the kernels use, with the depth below which positions are listed."""
    nothing = np.empty((0, 2), np.int64)
    intervals = [regions.get(name, nothing) for name in reference.contig_names]
    both = np.concatenate([nothing, *intervals])
    offsets = offsets_from_lengths(both[:, 1] - both[:, 0])
    first = offsets_from_lengths([len(rows) for rows in intervals])
    return Target(first, both[:, 0].copy(), both[:, 1].copy(), offsets, profile_bin(int(offsets[-1])), low)

"""One pass over a sample's sorted and marked BAM: every count, by several threads, in memory that does not grow.

The calling thread cuts the file into batches and hands them out; each worker has counters of its own, which are added
at the end. Positions of low depth leave in the order of the file.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

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
from quire.finish.counts.depth import Place, blocks_behind, count_runs, depth_runs, in_order, no_blocks
from quire.finish.counts.gc import pieces_of, windows_of
from quire.finish.counts.records import count_records, longest_read
from quire.io.bam.decode import Records, records_of
from quire.io.bam.stream import BamHeader, read_header, stream_records
from quire.ragged import offsets_from_lengths, pack_bytes
from quire.reference import Reference
from quire.reference.regions import Regions

FIRST_CYCLES = 160
LowDepth = Callable[[NDArray[np.int64]], None]
"""Takes rows of contig, start, end (int64[n, 3]), in the order of the genome."""


class Batch(NamedTuple):
    """Sorted records, and the positions whose depth they close.

    Attributes:
        records: the batch.
        carried: blocks of earlier records that reach over `start` (`depth.blocks_behind`).
        start, end: borders of the positions.
    """

    records: Records
    carried: NDArray[np.int64]
    start: Place
    end: Place


class SampleCounter:
    """Adds batches to counters; any thread may call `add`, each has counters of its own."""

    def __init__(self, genome: Genome, target: Target, header: BamHeader) -> None:
        """Counters at zero for the contigs and read groups of a file's header."""
        self.genome, self.target = genome, target
        self.libraries = list(dict.fromkeys(group.library for group in header.groups)) or ["unknown"]
        names, offsets = pack_bytes([group.identifier.encode() for group in header.groups] or [b""])
        numbers = [self.libraries.index(group.library) for group in header.groups] or [0]
        self.groups = ReadGroups(names, offsets, np.array(numbers, np.int64))
        self._all: list[Counters] = []
        self._mine = threading.local()
        self._lock = threading.Lock()

    def add(self, batch: Batch) -> NDArray[np.int64]:
        """Count a batch; returns the positions of low depth that it closes (`depth.count_runs`)."""
        counters = self._counters(longest_read(*batch.records))
        count_records(*batch.records, self.groups, self.genome, self.target, counters)
        runs = depth_runs(batch.records, batch.carried, batch.start, batch.end, self.genome.lengths)
        return count_runs(runs, self.target, self.genome, counters)

    def sum(self) -> Counters:
        """The sum over all threads."""
        total = new_counters(self.genome, self.target, len(self.libraries), 1)
        for counters in self._all:
            total = add_counters(total, counters)
        return total

    def _counters(self, cycles: int) -> Counters:
        """This thread's counters, with room for reads of so many bases."""
        mine: Counters | None = getattr(self._mine, "counters", None)
        if mine is None or mine.lengths.shape[1] <= cycles:
            mine = new_counters(self.genome, self.target, len(self.libraries), max(2 * cycles, FIRST_CYCLES))
            self._mine.counters = mine
            with self._lock:
                self._all.append(mine)
        return mine


class SampleCounts(NamedTuple):
    """What one pass over a file found.

    Attributes:
        counters: the sums.
        libraries: names of `counters.libraries`.
        gc_windows: int64[GC_BINS], windows of the reference by GC content.
        contigs: names, in the order of the counters.
    """

    counters: Counters
    libraries: list[str]
    gc_windows: NDArray[np.int64]
    contigs: list[str]


def count_sample(bam: str | Path, reference: Reference, regions: Regions, threads: int, low: LowDepth) -> SampleCounts:
    """Count a BAM file that is sorted by coordinate.

    Args:
        bam: the file; it needs no index.
        reference: whose contigs it has, in the same order.
        regions: the target.
        threads: that inflate and count.
        low: is given the positions of low depth.

    Raises:
        InputError: the file is damaged.
        QuireError: its contigs are not those of the reference, or it is not sorted.
    """
    header = read_header(bam)
    lengths = dict(zip(reference.contig_names, reference.contig_lengths.tolist(), strict=True))
    if list(header.contigs.items()) != list(lengths.items()):
        raise QuireError(f"{bam}: its contigs are not those of {reference.directory}; align the sample again.")
    genome, target = genome_of(reference), target_of(regions, reference)
    counter = SampleCounter(genome, target, header)
    with ThreadPoolExecutor(threads) as pool:
        windows = [pool.submit(windows_of, reference, *piece) for piece in pieces_of(reference)]
        jobs: deque[Future[NDArray[np.int64]]] = deque()
        for batch in _batches(bam, stream_records(bam, header.first_record, pool, threads), len(lengths)):
            jobs.append(pool.submit(counter.add, batch))
            if len(jobs) > threads:
                low(jobs.popleft().result())
        for job in jobs:
            low(job.result())
        gc_windows = np.sum([np.zeros(GC_BINS, np.int64), *(part.result() for part in windows)], axis=0)
    return SampleCounts(counter.sum(), counter.libraries, gc_windows, list(lengths))


def genome_of(reference: Reference) -> Genome:
    """The reference as kernels take it."""
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


def target_of(regions: Regions, reference: Reference) -> Target:
    """Regions as kernels take them."""
    nothing = np.empty((0, 2), np.int64)
    intervals = [regions.get(name, nothing) for name in reference.contig_names]
    both = np.concatenate([nothing, *intervals])
    offsets = offsets_from_lengths(both[:, 1] - both[:, 0])
    first = offsets_from_lengths([len(rows) for rows in intervals])
    return Target(first, both[:, 0].copy(), both[:, 1].copy(), offsets, profile_bin(int(offsets[-1])))


def _batches(bam: str | Path, pieces: Iterator[NDArray[np.uint8]], contigs: int) -> Iterator[Batch]:
    """Batches that together close all positions; `contigs` is their number."""
    behind_all = Place(contigs, 0)
    records, carried, start = records_of(np.empty(0, np.uint8)), no_blocks(), Place(0, 0)
    for piece in pieces:
        following = records_of(piece)
        border = _place_of(following, behind_all)
        if border < start or not in_order(following.fixed):
            raise QuireError(f"{bam}: is not sorted by coordinate; sort it with samtools sort.")
        yield Batch(records, carried, start, border)
        carried = blocks_behind(records, carried, border)
        records, start = following, border
    yield Batch(records, carried, start, behind_all)


def _place_of(records: Records, behind_all: Place) -> Place:
    """Where the first of some records lies."""
    first = records.fixed[0]
    return behind_all if first["contig"] < 0 else Place(int(first["contig"]), int(first["position"]))

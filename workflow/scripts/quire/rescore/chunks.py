"""How the caller walks along the genome: stretches of intervals, chunks of tiles, batches of regions."""

import logging
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bed import Interval
from quire.io.vcf import VariantRecord
from quire.reference import Reference
from quire.rescore.activity import FILTER_WING
from quire.rescore.activity.regions import BORDER_REACH, TILE, tile_range
from quire.rescore.dragen.gaps import gap_tables
from quire.rescore.dragen.genotypes import RegionModel, has_indels
from quire.rescore.dragen.tables import RepeatTables
from quire.rescore.engines import CallingEngine
from quire.rescore.haplotypes.likelihoods import region_likelihoods
from quire.rescore.long_indels import CHUNK_REACH as LONG_REACH
from quire.rescore.long_indels.calls import Called, joint_record, long_indels, merged, without_carried
from quire.rescore.parameters import REGION_PADDING, CallingParameters
from quire.rescore.reads.aligned import AlignedReads
from quire.rescore.reads.clipping import region_reads
from quire.rescore.reads.source import ReadSource
from quire.rescore.reference_confidence.realignment import realigned
from quire.rescore.regions import AssembledRegion, Window, assemble_regions, call_regions, find_regions

if TYPE_CHECKING:
    from quire.rescore.ploidy import PloidyMap

logger = logging.getLogger("quire.rescore")

# How much is handled at once: enough regions to fill PairHMM's lanes, in little memory. No answer depends on these.
NEAR = 20_000
FIRST_TILES = 10  # where an index does not tell how many reads there are
TILES_PER_CHUNK = 128
READS_PER_CHUNK = 250_000
BASES_PER_BATCH = 2_000_000
_REACH = BORDER_REACH + max(FILTER_WING + REGION_PADDING, LONG_REACH)  # bases beyond a chunk's tiles that matter to it


@dataclass(frozen=True)
class CalledSample:
    """A sample with its reads.

    Attributes:
        name: of its column.
        ploidy: where it is called.
        source: of its reads.
        ploidies: by region, None where it is `ploidy` everywhere.
        repeats: what repeats do to its reads, for DRAGEN's error models alone.
    """

    name: str
    ploidy: int
    source: ReadSource
    ploidies: "PloidyMap | None" = None
    repeats: RepeatTables | None = None


@dataclass(frozen=True)
class CallingJob:
    """What stays the same from the first to the last variant of a job.

    Attributes:
        reference: that the reads are aligned to.
        samples: called jointly.
        parameters: the user's.
        engine: what is computed with.
        ledger: by sample int64[filters], reads by what became of them, as far as the job has come.
        regions: active regions by what was given up in them, see `quire.rescore.region_counts`; likewise.
    """

    reference: Reference
    samples: Sequence[CalledSample]
    parameters: CallingParameters
    engine: CallingEngine
    ledger: Mapping[str, NDArray[np.int64]]
    regions: Counter[str] = field(default_factory=Counter)

    @property
    def ploidies(self) -> NDArray[np.int64]:
        """int64[samples]."""
        return np.array([sample.ploidy for sample in self.samples], np.int64)

    @cached_property
    def repeat_gaps(self) -> NDArray[np.uint8] | None:
        """uint8[samples, 2, 8, 20] of `gap_tables`; None without DRAGEN's error models."""
        tables = [gap_tables(sample.repeats) for sample in self.samples if sample.repeats is not None]
        return np.stack(tables) if self.parameters.dragen else None

    def region_model(self, window: Window, region: AssembledRegion) -> RegionModel | None:
        """How the sites of a region are genotyped; None without DRAGEN's error models."""
        if not self.parameters.dragen:
            return None
        tables = [sample.repeats for sample in self.samples if sample.repeats is not None]
        return RegionModel(window.codes, window.start, tables, has_indels(region.haplotypes))

    def window(self, contig: str, start: int, end: int) -> Window:
        """The reference from `start` to `end` or to the contig's ends."""
        length = int(self.reference.contig_lengths[self.reference.contig_names.index(contig)])
        start, end = max(0, start), min(length, end)
        return Window(contig, length, start, self.reference.contig_codes(contig, start, end))

    def fetch(self, window: Window, owned: NDArray[np.int64]) -> list[AlignedReads]:
        """Each sample's reads over a window; those that start in the owned spans (int64[n, 2]) go into the ledger."""
        reads = []
        for sample in self.samples:
            own, counts = sample.source.fetch(window.contig, window.start, window.end, owned, self.parameters)
            self.ledger[sample.name][:] += counts
            reads.append(own)
        return reads


def stretches(intervals: Sequence[Interval]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Runs of intervals (int64[n, 2]) of one contig that stand close enough to be read in one go."""
    held: list[Interval] = []
    for interval in intervals:
        if held and (held[-1][0] != interval[0] or interval[1] - held[-1][2] > NEAR):
            yield held[0][0], np.array([one[1:] for one in held], np.int64)
            held = []
        held.append(interval)
    if held:
        yield held[0][0], np.array([one[1:] for one in held], np.int64)


class Chunk(NamedTuple):
    """Some tiles of a contig with all that is needed to call them.

    Attributes:
        window: the reference, _REACH beyond the tiles.
        reads: of each sample, over the window.
        tiles: numbers.
        intervals: int64[n, 2] of the contig, in order, apart from each other; what is called starts in them.
    """

    window: Window
    reads: Sequence[AlignedReads]
    tiles: range
    intervals: NDArray[np.int64]


def call_stretch(job: CallingJob, contig: str, intervals: NDArray[np.int64]) -> Iterator[VariantRecord]:
    """Records of the variants that start in some intervals, in order; see `read_chunks`."""
    for chunk in read_chunks(job, contig, intervals):
        yield from _call_chunk(job, chunk)


def read_chunks(job: CallingJob, contig: str, intervals: NDArray[np.int64], look_back: int = 0) -> Iterator[Chunk]:
    """The tiles that some intervals touch, in order, a few at a time; reads that start there go into the ledger.

    Args:
        job: reference, samples and so on.
        contig: name.
        intervals: int64[n, 2] of the contig, in order, apart from each other.
        look_back: bases before the intervals whose tiles are wanted too.
    """
    start, end = int(intervals[0, 0]), int(intervals[-1, 1])
    tiles = tile_range(start - look_back, end)
    first, size, seen, begun = tiles.start, _first_size(job, contig, tiles), 0, time.monotonic()
    while first < tiles.stop:
        chunk = range(first, min(first + size, tiles.stop))
        # The first and last chunk own what lies before and after their tiles: nothing in the intervals is uncounted.
        owned = intervals.clip(
            start if first == tiles.start else chunk.start * TILE,
            end if chunk.stop == tiles.stop else chunk.stop * TILE,
        )
        window = job.window(contig, chunk.start * TILE - _REACH, chunk.stop * TILE + _REACH)
        before = _counted(job)
        reads = job.fetch(window, owned)
        seen += _counted(job) - before
        yield Chunk(window, reads, chunk, intervals)
        speed = seen / (time.monotonic() - begun)
        here = min(chunk.stop * TILE, end)
        logger.info("%s:%d of %d-%d: %d reads, %.0f/s", contig, here, start, end, seen, speed)
        loaded = sum(len(own.start) for own in reads)
        size = _chunk_size(len(chunk), loaded)
        first = chunk.stop


def _first_size(job: CallingJob, contig: str, tiles: range) -> int:
    """Tiles of the first chunk."""
    estimates = [sample.source.estimated_reads(contig, tiles.start * TILE, tiles.stop * TILE) for sample in job.samples]
    known = [estimate for estimate in estimates if estimate is not None]
    return FIRST_TILES if len(known) < len(estimates) else _chunk_size(len(tiles), sum(known))


def _chunk_size(tiles: int, reads: int) -> int:
    """Tiles of a chunk, given how many reads so many tiles have."""
    return min(max(READS_PER_CHUNK * tiles // max(reads, 1), 1), TILES_PER_CHUNK)


def _counted(job: CallingJob) -> int:
    """Reads in the job's ledger."""
    return sum(int(counts.sum()) for counts in job.ledger.values())


def _call_chunk(job: CallingJob, chunk: Chunk) -> Iterator[VariantRecord]:
    """Records of the variants of some tiles that start in the intervals."""
    window, reads, tiles, intervals = chunk
    if not any(len(own.start) for own in reads):
        return
    starts, ends = intervals.T.tolist()
    spans, borders = find_regions(reads, job.ploidies.tolist(), window, tiles)
    called: list[Called] = []
    owned = borders[0], borders[-1]
    if job.parameters.long_indels:
        record_of = joint_record(window.contig, job.ploidies, job.parameters.long_indel_quality)
        called = long_indels(reads, [sample.source for sample in job.samples], window, owned, job.engine, record_of)
        reads = without_carried(reads, called)
    for record in merged(_region_records(job, chunk._replace(reads=reads), spans), called, owned):
        holding = bisect_right(ends, record.start)
        if holding < len(starts) and starts[holding] <= record.start:
            yield record


def _region_records(job: CallingJob, chunk: Chunk, spans: NDArray[np.int64]) -> Iterator[VariantRecord]:
    """Records of the active regions (int64[n, 2]) of a chunk that touch its intervals."""
    window, reads, _, intervals = chunk
    spans = spans[touched(intervals, spans[:, 0], spans[:, 1])]
    padded = padded_spans(spans, window)
    for batch in batches(padded, reads, BASES_PER_BATCH * job.engine.batch_scale):
        clipped = region_reads(reads, padded[batch])
        regions = assemble_regions(clipped, spans[batch], padded[batch], window, job.engine, job.parameters)
        if not regions:
            continue
        scored = region_likelihoods(
            clipped,
            np.array([region.number for region in regions]),
            np.array([region.span for region in regions]),
            [region.haplotypes for region in regions],
            job.engine,
            job.repeat_gaps,
        )
        moved, _ = realigned(clipped, scored, regions, window, job.engine)
        model_of = partial(job.region_model, window)
        yield from call_regions(window.contig, regions, clipped, moved, job.ploidies, job.parameters, model_of)


def touched(intervals: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[n]: whether spans share a base with any of the intervals."""
    # Of all intervals that end after a position, the first is the one that may hold it or lies ahead of it.
    ahead = np.append(intervals[:, 0], np.iinfo(np.int64).max)
    return ahead[np.searchsorted(intervals[:, 1], starts, side="right")] < ends


def padded_spans(spans: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    """Spans (int64[n, 2]) with the padding of a region on both sides, as far as the contig goes."""
    return np.stack(
        [np.maximum(spans[:, 0] - REGION_PADDING, 0), np.minimum(spans[:, 1] + REGION_PADDING, window.contig_length)],
        axis=1,
    )


def batches(padded: NDArray[np.int64], reads: Sequence[AlignedReads], most: int) -> Iterator[slice]:
    """Runs of regions (padded spans) whose reads have about `most` bases together, or one region with more."""
    bases = np.zeros(len(padded), np.int64)
    for own in reads:
        if len(own.start):
            # Reads that start in the span, and the bases of those: close enough to govern memory.
            first, last = np.searchsorted(own.aligned_start, padded.T)
            bases += own.base_offsets[last] - own.base_offsets[first]
    start, total = 0, 0
    for r, size in enumerate(bases.tolist()):
        if total + size > most and r > start:
            yield slice(start, r)
            start, total = r, 0
        total += size
    if start < len(padded):
        yield slice(start, len(padded))

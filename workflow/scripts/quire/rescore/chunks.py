"""Reading of the genome in stretches of intervals, chunks of tiles and batches of regions."""

import logging
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bed import Interval
from quire.rescore.activity import FILTER_WING
from quire.rescore.activity.regions_cpu import BORDER_REACH, TILE, tile_range
from quire.rescore.job import CallingJob
from quire.rescore.long_indels import CHUNK_REACH as LONG_REACH
from quire.rescore.parameters import REGION_PADDING
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.rescore.reads.clipping_cpu import RegionReads, region_reads
from quire.rescore.tally import Tally
from quire.rescore.window import Window

logger = logging.getLogger("quire.rescore")

# Amounts handled at once: enough regions to fill PairHMM's lanes, in little memory. No answer depends on them.
NEAR = 20_000
FIRST_TILES = 10  # used if the index does not give an estimate of the reads
TILES_PER_CHUNK = 128
READS_PER_CHUNK = 250_000
BASES_PER_BATCH = 2_000_000
_REACH = BORDER_REACH + max(FILTER_WING + REGION_PADDING, LONG_REACH)  # bases around a chunk's tiles that it needs


class Chunk(NamedTuple):
    """Some tiles (numbers) of a contig with the data to call them.

    The window has _REACH bases on both sides of the tiles, and there are reads of each sample over it. Variants that
    start in the intervals (int64[n, 2], in order and disjoint) are called.
    """

    window: Window
    reads: Sequence[AlignedReads]
    tiles: range
    intervals: NDArray[np.int64]


class RegionBatch(NamedTuple):
    """Regions that are handled together.

    `spans` are int64[regions, 2]; `padded` are the same with REGION_PADDING, cut at the contig's ends, and reads are
    clipped to these.
    """

    spans: NDArray[np.int64]
    padded: NDArray[np.int64]
    reads: RegionReads


def stretches(intervals: Sequence[Interval]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield runs of intervals (int64[n, 2]) of one contig that are close enough to be read together."""
    held: list[Interval] = []
    for interval in intervals:
        if held and (held[-1][0] != interval[0] or interval[1] - held[-1][2] > NEAR):
            yield held[0][0], np.array([one[1:] for one in held], np.int64)
            held = []
        held.append(interval)
    if held:
        yield held[0][0], np.array([one[1:] for one in held], np.int64)


def read_chunks(
    job: CallingJob, contig: str, intervals: NDArray[np.int64], tally: Tally, look_back: int = 0
) -> Iterator[Chunk]:
    """Read the tiles that some intervals (int64[n, 2], in order and disjoint) touch, in order, a few at a time.

    The tally counts the reads that start in the intervals; the tiles of `look_back` bases before them are read too.
    """
    start, end = int(intervals[0, 0]), int(intervals[-1, 1])
    tiles = tile_range(start - look_back, end)
    first, size, seen, begun = tiles.start, _first_size(job, contig, tiles), 0, time.monotonic()
    while first < tiles.stop:
        chunk = range(first, min(first + size, tiles.stop))
        # The first and last chunk also own the bases before and after their tiles, so every read is counted.
        owned = intervals.clip(
            start if first == tiles.start else chunk.start * TILE,
            end if chunk.stop == tiles.stop else chunk.stop * TILE,
        )
        window = job.window(contig, chunk.start * TILE - _REACH, chunk.stop * TILE + _REACH)
        reads = []
        for sample in job.samples:
            own, counts = sample.source.fetch(contig, window.start, window.end, owned, job.parameters)
            tally.reads[sample.name] += counts
            seen += int(counts.sum())
            reads.append(own)
        yield Chunk(window, reads, chunk, intervals)
        if end - start >= NEAR:  # there may be 100,000 shorter stretches
            speed = seen / (time.monotonic() - begun)
            here = min(chunk.stop * TILE, end)
            logger.info("%s:%d of %d-%d: %d reads, %.0f/s", contig, here, start, end, seen, speed)
        size = _chunk_size(len(chunk), sum(len(own.start) for own in reads))
        first = chunk.stop


def _first_size(job: CallingJob, contig: str, tiles: range) -> int:
    """Return the number of tiles of the first chunk."""
    estimates = [sample.source.estimated_reads(contig, tiles.start * TILE, tiles.stop * TILE) for sample in job.samples]
    known = [estimate for estimate in estimates if estimate is not None]
    return FIRST_TILES if len(known) < len(estimates) else _chunk_size(len(tiles), sum(known))


def _chunk_size(tiles: int, reads: int) -> int:
    """Return the number of tiles of the next chunk, given the number of reads of some tiles."""
    return min(max(READS_PER_CHUNK * tiles // max(reads, 1), 1), TILES_PER_CHUNK)


def touched(intervals: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return bool[n]: True for spans that share a base with any of the intervals."""
    # The first interval that ends after a position either holds it or is the next one.
    ahead = np.append(intervals[:, 0], np.iinfo(np.int64).max)
    return ahead[np.searchsorted(intervals[:, 1], starts, side="right")] < ends


def padded_spans(spans: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    """Return spans (int64[n, 2]) with REGION_PADDING on both sides, cut at the contig's ends."""
    return np.stack(
        [np.maximum(spans[:, 0] - REGION_PADDING, 0), np.minimum(spans[:, 1] + REGION_PADDING, window.contig_length)],
        axis=1,
    )


def batches(
    job: CallingJob, window: Window, reads: Sequence[AlignedReads], spans: NDArray[np.int64]
) -> Iterator[RegionBatch]:
    """Yield regions (spans, int64[n, 2]) with their reads, in batches of a size that suits the job's engine."""
    padded = padded_spans(spans, window)
    for run in _runs(padded, reads, BASES_PER_BATCH * job.engine.batch_scale):
        yield RegionBatch(spans[run], padded[run], region_reads(reads, padded[run], job.parameters.pool_support))


def _runs(padded: NDArray[np.int64], reads: Sequence[AlignedReads], most: int) -> Iterator[slice]:
    """Yield runs of regions (padded spans) whose reads have about `most` bases together, or one region with more."""
    bases = np.zeros(len(padded), np.int64)
    for own in reads:
        if len(own.start):
            # Only reads that start in the span are counted, which is accurate enough to limit memory.
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

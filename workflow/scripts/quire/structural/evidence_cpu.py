"""Queries of a sample's evidence: rows at a place, clusters of pairs, and the depth of a span."""

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.finish.counts.sample import FinishedSample, open_sample
from quire.finish.evidence_cpu import UNWANTED, WINDOW, Evidence, EvidenceCollector, evidence_of, usual_fragment
from quire.finish.sorting import in_order
from quire.io.bam.decode_cpu import Records
from quire.reference import Reference
from quire.simd.compiled import compiled

FLANKS = 10, 200  # windows on each side of a span whose depth it is compared with
LEAST_BESIDE = 50  # reads there
DEPTH_VARIES = 0.1  # standard deviation of relative depths, beside that of the number of reads


def collect(sample: FinishedSample, scratch: Path, threads: int, usual: int = 0) -> Evidence:
    """Collect the evidence of a finished sample; a CRAM is decoded beside `scratch`.

    Without `usual` it is fitted to the first records.
    """
    reference = Reference.open(sample.reference)
    collector = EvidenceCollector(reference, usual)

    def fitted(batches: Iterable[Records]) -> Iterator[Records]:
        for batch in batches:
            collector.usual = collector.usual or _fit(batch)
            yield batch

    with open_sample(sample, reference, scratch, threads) as (_, batches), ThreadPoolExecutor(threads) as pool:
        for scanned in in_order(pool, collector.scan, fitted(batches), lambda _: 1, 2 * threads):
            collector.take(scanned)
    return evidence_of(reference, collector.usual, **collector.arrays())


def _fit(records: Records) -> int:
    """Return the most bases of a usual fragment by the proper pairs of some records."""
    fixed = records.fixed
    proper = fixed["flag"] & (sam.FLAG_PROPER_PAIR | UNWANTED | sam.FLAG_SUPPLEMENTARY) == sam.FLAG_PROPER_PAIR
    sizes = fixed["template_length"][proper & (fixed["template_length"] > 0)]
    return usual_fragment(len(sizes), *(np.percentile(sizes, [25, 50, 75]) if len(sizes) else (0, 0, 0)))


def within(rows: NDArray[np.void], contig: int, right: bool, low: int, high: int) -> slice:
    """Return which of some sorted CLIP or PAIR rows are on a side of a contig with positions in [low, high)."""
    first, last = np.searchsorted(rows["contig"], [contig, contig + 1])
    middle = first + int(np.searchsorted(rows["right"][first:last], 1))
    first, last = (middle, last) if right else (first, middle)
    begin, end = np.searchsorted(rows["position"][first:last], [low, high])
    return slice(int(first + begin), int(first + end))


def pair_clusters(evidence: Evidence, least: int) -> NDArray[np.int64]:
    """Return places that at least `least` pairs show to be deleted: contig, start and end (int64[n, 3]).

    The mates of these pairs point to each other from too far away, and neither their ends nor their mates are farther
    from each other than a usual fragment.
    """
    pairs = evidence.pairs
    facing = (pairs["contig"] == pairs["mate_contig"]) & (pairs["right"] == 1) & (pairs["mate_right"] == 0)
    rows = pairs[facing & (pairs["mate_position"] > pairs["position"])]
    contig, position, mate = (np.ascontiguousarray(rows[name]) for name in ("contig", "position", "mate_position"))
    found: NDArray[np.int64] = _clusters(contig, position, mate, evidence.usual, least)
    return found


@compiled
def _clusters(contig, position, mate, usual, least):
    """Group rows, which are in order, around the first that belongs to no group yet."""
    found = np.empty((len(contig), 3), np.int64)
    taken = np.zeros(len(contig), np.bool_)
    count = 0
    for i in range(len(contig)):
        if taken[i]:
            continue
        size, start, end = 0, np.int64(position[i]), np.int64(mate[i])
        k = i
        while k < len(contig) and contig[k] == contig[i] and position[k] - position[i] <= usual:
            if not taken[k] and abs(mate[k] - mate[i]) <= usual:
                taken[k] = True
                size += 1
                start, end = max(start, np.int64(position[k])), min(end, np.int64(mate[k]))
            k += 1
        if size >= least and start < end:
            found[count, 0], found[count, 1], found[count, 2] = contig[i], start, end
            count += 1
    return found[:count]


def depth_of(evidence: Evidence, contig: int, start: int, end: int) -> tuple[float, float]:
    """Return the depth of a span relative to its flanks, and the standard deviation of that by the number of reads.

    The flanks are as long as the span, within FLANKS. NaN and infinity if there are too few reads.
    """
    first, last = (int(windows) for windows in evidence.first_window[contig : contig + 2])
    low, high = first + -(-start // WINDOW), first + end // WINDOW
    size = min(max(high - low, FLANKS[0]), FLANKS[1])
    before, after = evidence.starts[max(first, low - 1 - size) : max(first, low - 1)], evidence.starts[high + 1 : last]
    beside = np.concatenate([before, after[:size]])
    reads, others = int(evidence.starts[low:high].sum()), int(beside.sum())
    if high <= low or others < LEAST_BESIDE:
        return math.nan, math.inf
    ratio = reads / (high - low) / (others / len(beside))
    return ratio, math.hypot(DEPTH_VARIES, ratio / math.sqrt(max(reads, 1)), ratio / math.sqrt(others))

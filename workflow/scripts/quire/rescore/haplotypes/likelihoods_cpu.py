"""Likelihoods of reads given haplotypes: PairHMM for many regions at a time, with GATK's error model around it.

As in PairHMMLikelihoodCalculationEngine, base qualities are capped by mapping quality, poor ones are set to 6, and
gap-open qualities are lowered inside short repeats (the CONSERVATIVE PCR model). The results are treated as in
AlleleLikelihoods.normalizeLikelihoods and filterPoorlyModeledEvidence. With a sample's tables of repeats
(`quire.rescore.dragen`), gap qualities come from these, base qualities are not capped, and the lowest accepted
likelihood of a read depends on its qualities.
"""

from collections.abc import Sequence
from math import exp, floor, pi
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairhmm import DEFAULT_GAP_OPEN_QUALITY, PairHmmBatch
from quire.ragged import pack_bytes
from quire.rescore.dragen.disqualification_cpu import least_likelihoods as dragen_least_likelihoods
from quire.rescore.dragen.gaps_cpu import gap_qualities
from quire.rescore.engines import CallingEngine
from quire.rescore.haplotypes import Haplotype
from quire.rescore.haplotypes.repeats_cpu import MOST_REPEATS, count_repeats
from quire.rescore.parameters import MINIMUM_READ_LENGTH, MISMAPPING_LOG10
from quire.rescore.reads.clipping_cpu import RegionReads, aligned_span, bases_within
from quire.simd.compiled import compiled, inlined

BASE_QUALITY_THRESHOLD = 18  # PairHMM.BASE_QUALITY_SCORE_THRESHOLD: lower qualities count as 6
MINIMUM_USABLE_QUALITY = 6
_ERRORS_PER_BASE = 0.02  # most that are expected; a read with more errors under every haplotype is dropped
_LOG10_PER_ERROR = -4.0


class TrimmedReads(NamedTuple):
    """Reads cut to the genotyped span of their region.

    Attributes:
        region_offsets: int64[regions + 1] into the reads.
        source: int64[n], index in `RegionReads`.
        start: int64[n], of the reference span.
        end: int64[n], of the reference span.
        usable: uint8[n], 1 if PairHMM scores the read.
        base_offsets: int64[n + 1] into the following, uint8 per base.
        bases: codes.
        base_qualities: phred.
        gap_qualities: phred.
    """

    region_offsets: NDArray[np.int64]
    source: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    usable: NDArray[np.uint8]
    base_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    base_qualities: NDArray[np.uint8]
    gap_qualities: NDArray[np.uint8]


class RegionLikelihoods(NamedTuple):
    """The reads of one region, cut to its genotyped span, and their likelihoods under each haplotype.

    Attributes:
        source: [reads], as in `TrimmedReads`.
        start: likewise.
        end: likewise.
        usable: likewise.
        matrix: float64[reads, haplotypes] log10 likelihoods, at least their read's best plus MISMAPPING_LOG10; rows of
            reads that are not used are NaN.
    """

    source: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    usable: NDArray[np.uint8]
    matrix: NDArray[np.float64]


def pcr_gap_qualities() -> NDArray[np.uint8]:
    """Return the gap-open quality by number of repeats (uint8[21]; getErrorModelAdjustedQual, CONSERVATIVE)."""
    return np.array([max(10, floor(40.0 - exp(n / (3.0 * pi)) + 1.0 + 0.5)) for n in range(MOST_REPEATS + 1)], np.uint8)


def region_likelihoods(
    reads: RegionReads,
    regions: NDArray[np.int64],
    spans: NDArray[np.int64],
    haplotypes: Sequence[Sequence[Haplotype]],
    engine: CallingEngine,
    repeat_gaps: NDArray[np.uint8] | None = None,
    every_read: bool = False,
) -> list[RegionLikelihoods]:
    """Score all reads of some regions against their haplotypes, in one batch.

    `regions` (int64[n]) are indices; haplotypes and reads are cut to the genotyped `spans` (int64[n, 2]). `repeat_gaps`
    (uint8[samples, 2, 8, 20]) is that of `dragen.gaps.gap_tables`; None for GATK's default error model. `every_read`
    keeps the reads with more errors than GATK expects, and base qualities from 6 to 17, which GATK sets to 6.
    """
    qualities = pcr_gap_qualities() if repeat_gaps is None else np.empty(0, np.uint8)
    lowest = MINIMUM_USABLE_QUALITY if every_read else BASE_QUALITY_THRESHOLD
    trimmed: TrimmedReads = trim_reads(reads, regions, spans, qualities, lowest)
    if repeat_gaps is None:
        continuation = None
        least = least_likelihoods(np.diff(trimmed.base_offsets)) - (np.inf if every_read else 0.0)
    else:
        opening, continuation = gap_qualities(
            trimmed.bases, trimmed.base_offsets, reads.sample[trimmed.source], repeat_gaps
        )
        trimmed = trimmed._replace(gap_qualities=opening)
        least = dragen_least_likelihoods(trimmed.base_qualities, trimmed.base_offsets)
    counts = np.array([len(group) for group in haplotypes], np.int64)
    tasks = _tasks(trimmed.region_offsets, trimmed.usable, counts)
    values = np.zeros(0)
    if len(tasks):
        flat, offsets = pack_bytes([haplotype.bases for group in haplotypes for haplotype in group])
        batch = PairHmmBatch(
            read_bases=trimmed.bases,
            base_qualities=trimmed.base_qualities,
            insertion_qualities=trimmed.gap_qualities,
            deletion_qualities=trimmed.gap_qualities,
            read_offsets=trimmed.base_offsets,
            haplotype_bases=flat,
            haplotype_offsets=offsets,
            tasks=tasks,
            gap_continuation_qualities=continuation,
        )
        values = engine.log10_likelihoods(batch)
    matrices = _matrices(values, trimmed.usable, trimmed.region_offsets, counts, least)
    answers, at = [], 0
    for first, last, count in zip(
        trimmed.region_offsets[:-1].tolist(), trimmed.region_offsets[1:].tolist(), counts.tolist(), strict=True
    ):
        matrix, own = matrices[at : at + (last - first) * count].reshape(-1, count), slice(first, last)
        at += matrix.size
        answers.append(
            RegionLikelihoods(trimmed.source[own], trimmed.start[own], trimmed.end[own], trimmed.usable[own], matrix)
        )
    return answers


@compiled
def trim_reads(reads, regions, spans, repeat_qualities, threshold):
    """Cut the reads of some regions to their spans and return `TrimmedReads`; too short reads are dropped.

    `regions` (int64[n]) are indices, `spans` (int64[n, 2]) are of the reference. If `repeat_qualities`, from
    `pcr_gap_qualities`, is empty, base qualities are not capped by mapping quality, and the caller sets gap qualities.
    Base qualities below `threshold` become MINIMUM_USABLE_QUALITY.
    """
    trimmed, longest = _allocate(reads, regions)
    backward, forward = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    region_offsets, positions, read_usable = reads.region_offsets, reads.positions, reads.usable
    source, start, end, usable = trimmed.source, trimmed.start, trimmed.end, trimmed.usable
    base_offsets, gap_qualities, capped = trimmed.base_offsets, trimmed.gap_qualities, len(repeat_qualities) > 0
    n = 0
    for r in range(len(regions)):
        for i in range(region_offsets[regions[r]], region_offsets[regions[r] + 1]):
            low, high = bases_within(reads, i, spans[r, 0], spans[r, 1])
            if high - low < MINIMUM_READ_LENGTH:
                continue
            at = base_offsets[n]
            _copy_bases(reads, i, low, high, trimmed, at, capped, threshold)
            if capped:
                last = at + high - low - 1
                count_repeats(trimmed.bases, at, last + 1, backward, forward, gap_qualities)
                for b in range(at, last):  # lower inside short repeats, except at the last base
                    gap_qualities[b] = min(DEFAULT_GAP_OPEN_QUALITY, repeat_qualities[gap_qualities[b]])
                gap_qualities[last] = DEFAULT_GAP_OPEN_QUALITY
            source[n] = i
            start[n], end[n] = aligned_span(positions, low, high)
            usable[n] = read_usable[i]
            base_offsets[n + 1] = at + high - low
            n += 1
        trimmed.region_offsets[r + 1] = n
    bases = trimmed.base_offsets[n]
    return TrimmedReads(
        trimmed.region_offsets,
        trimmed.source[:n],
        trimmed.start[:n],
        trimmed.end[:n],
        trimmed.usable[:n],
        trimmed.base_offsets[: n + 1],
        trimmed.bases[:bases],
        trimmed.base_qualities[:bases],
        trimmed.gap_qualities[:bases],
    )


@compiled
def _allocate(reads, regions):
    """Allocate arrays for all reads of some regions; also return the length of the longest one."""
    n, bases, longest = 0, 0, 0
    for region in regions:
        first, last = reads.region_offsets[region], reads.region_offsets[region + 1]
        n += last - first
        bases += reads.base_offsets[last] - reads.base_offsets[first]
        for i in range(first, last):
            longest = max(longest, reads.base_offsets[i + 1] - reads.base_offsets[i])
    trimmed = TrimmedReads(
        np.zeros(len(regions) + 1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.uint8),
        np.zeros(n + 1, np.int64),
        np.empty(bases, np.uint8),
        np.empty(bases, np.uint8),
        np.empty(bases, np.uint8),
    )
    return trimmed, longest


@inlined
def _copy_bases(reads, i, low, high, trimmed, at, capped, threshold):
    """Write bases [low, high) of read i from index `at` on, and their qualities as PairHMM uses them."""
    bases, qualities = reads.bases, reads.qualities
    most = reads.mapping_quality[i] if capped else np.uint8(255)
    trimmed_bases, trimmed_qualities = trimmed.bases, trimmed.base_qualities
    source, target = np.uint64(low), np.uint64(at)  # unsigned, as in `quire.simd.bits.copy_items`
    for k in range(np.uint64(high - low)):
        quality = min(qualities[source + k], most)
        trimmed_bases[target + k] = bases[source + k]
        trimmed_qualities[target + k] = quality if quality >= threshold else np.uint8(MINIMUM_USABLE_QUALITY)


@compiled
def _tasks(region_offsets, usable, counts):
    """Return all pairs of a usable read and a haplotype of its region (int32[t, 2]), read-major."""
    total = 0
    for r in range(len(counts)):
        for i in range(region_offsets[r], region_offsets[r + 1]):
            total += counts[r] if usable[i] else 0
    tasks = np.empty((total, 2), np.int32)
    total = 0
    first_haplotype = 0
    for r in range(len(counts)):
        for i in range(region_offsets[r], region_offsets[r + 1]):
            if usable[i]:
                for h in range(counts[r]):
                    tasks[total, 0], tasks[total, 1] = i, first_haplotype + h
                    total += 1
        first_haplotype += counts[r]
    return tasks


def least_likelihoods(lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log10 likelihood (float64[reads]) below which reads of the given lengths are left out."""
    least: NDArray[np.float64] = np.minimum(2.0, np.ceil(lengths * _ERRORS_PER_BASE)) * _LOG10_PER_ERROR
    return least


@compiled
def _matrices(values, usable, region_offsets, counts, least):
    """Return each region's matrix of `RegionLikelihoods`, row by row, from PairHMM's answers to `_tasks`."""
    room = np.int64(0)
    for r in range(len(counts)):
        room += (region_offsets[r + 1] - region_offsets[r]) * counts[r]
    matrices = np.full(room, np.nan)
    begun, at, used = np.int64(0), np.int64(0), np.int64(0)
    for r in range(len(counts)):
        for i in range(region_offsets[r], region_offsets[r + 1]):
            if usable[i]:
                for h in range(counts[r]):
                    matrices[at + h] = values[used + h]
                used += counts[r]
            at += counts[r]
        cap_and_drop(
            matrices[begun:at].reshape((region_offsets[r + 1] - region_offsets[r], counts[r])),
            least[region_offsets[r] : region_offsets[r + 1]],
        )
        begun = at
    return matrices


@compiled
def cap_and_drop(matrix, least):
    """Raise likelihoods far below their read's best; make a read's row NaN if its best is below `least` (in place)."""
    for i in range(len(matrix)):
        if np.isnan(matrix[i, 0]):
            continue
        best = matrix[i].max()
        if best < least[i]:
            matrix[i] = np.nan
            continue
        for h in range(matrix.shape[1]):
            matrix[i, h] = max(matrix[i, h], best + MISMAPPING_LOG10)

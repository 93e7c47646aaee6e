"""Reads as each active region sees them: soft clips reverted, poor ends, adaptor and what lies outside cut off.

AssemblyBasedCallerUtils.finalizeRegion and FragmentUtils.adjustQualsOfOverlappingPairedFragments: where two mates cover
the same bases, they are one observation, so agreeing bases are capped at half the quality of a PCR error and
contradicting ones get quality 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths
from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads.aligned import AlignedReads
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar import length_of, operation_of
from quire.simd.compiled import compiled

HALF_PCR_ERROR_QUALITY = 20
INSERTED = -1


class RegionReads(NamedTuple):
    """Reads of all samples in all regions, ordered by region, then sample, then position.

    Attributes:
        region_offsets: int64[regions + 1] into the reads.
        sample: int32[n].
        start, end: int64[n], reference span that is left, 0-based, half-open.
        usable, reverse, mapping_quality: uint8[n], as in `AlignedReads`.
        lead, tail: int32[n], bases of the read as it was sequenced that were cut off before and behind what is left.
        base_offsets: int64[n + 1].
        bases, qualities: uint8 codes and phreds.
        positions: int64 per base: its reference position, INSERTED for inserted bases.
    """

    region_offsets: np.ndarray
    sample: np.ndarray
    start: np.ndarray
    end: np.ndarray
    usable: np.ndarray
    reverse: np.ndarray
    mapping_quality: np.ndarray
    lead: np.ndarray
    tail: np.ndarray
    base_offsets: np.ndarray
    bases: np.ndarray
    qualities: np.ndarray
    positions: np.ndarray


class _ClippedReads(NamedTuple):
    """One sample's reads in all regions, as in `RegionReads`; `source` is the index of each in `AlignedReads`."""

    region_offsets: NDArray[np.int64]
    source: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    lead: NDArray[np.int32]
    base_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    positions: NDArray[np.int64]


def region_reads(samples: Sequence[AlignedReads], spans: NDArray[np.int64]) -> RegionReads:
    """Clip every sample's reads to every region.

    Args:
        samples: reads per sample.
        spans: int64[regions, 2], padded spans in ascending order.
    """
    parts = []
    for number, reads in enumerate(samples):
        clipped: _ClippedReads = _clip_reads(reads, spans)
        size, bases = len(clipped.source), clipped.base_offsets[-1]
        sequenced = np.diff(reads.base_offsets)[clipped.source]
        parts.append(
            RegionReads(
                region_offsets=clipped.region_offsets,
                sample=np.full(size, number, np.int32),
                start=clipped.start,
                end=clipped.end,
                usable=reads.usable[clipped.source],
                reverse=reads.reverse[clipped.source],
                mapping_quality=reads.mapping_quality[clipped.source],
                lead=clipped.lead,
                tail=(sequenced - clipped.lead - np.diff(clipped.base_offsets)).astype(np.int32),
                base_offsets=clipped.base_offsets,
                bases=clipped.bases[:bases].copy(),
                qualities=clipped.qualities[:bases].copy(),
                positions=clipped.positions[:bases].copy(),
            )
        )
    return parts[0] if len(parts) == 1 else _merge(parts)


def _merge(parts: list[RegionReads]) -> RegionReads:
    """Bring samples together, region by region."""
    regions = len(parts[0].region_offsets) - 1
    owner = np.concatenate([np.repeat(np.arange(regions), np.diff(part.region_offsets)) for part in parts])
    order = np.argsort(owner, kind="stable")
    lengths = np.concatenate([np.diff(part.base_offsets) for part in parts])
    first_base = offsets_from_lengths(lengths)[:-1][order]
    base_offsets = offsets_from_lengths(lengths[order])
    gather = np.repeat(first_base - base_offsets[:-1], lengths[order]) + np.arange(base_offsets[-1])
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("sample", "start", "end", "usable", "reverse", "mapping_quality", "lead", "tail")
    }
    for name in ("bases", "qualities", "positions"):
        columns[name] = np.concatenate([getattr(part, name) for part in parts])[gather]
    offsets = np.searchsorted(owner[order], np.arange(regions + 1)).astype(np.int64)
    return RegionReads(region_offsets=offsets, base_offsets=base_offsets, **columns)


@compiled
def _candidates(reads, longest, low, high):
    """Range of reads (by index) that may overlap [low, high)."""
    first = np.searchsorted(reads.aligned_start, low - longest)
    return first, np.searchsorted(reads.aligned_start, high)


@compiled
def _clip_reads(reads, spans):
    """A sample's `_ClippedReads`; its arrays of bases have room left behind the last base."""
    longest = np.int64(0)
    for i in range(len(reads.aligned_start)):
        longest = max(longest, reads.aligned_end[i] - reads.aligned_start[i])
    clipped = _room_for(reads, spans, longest)
    n = 0
    for r in range(len(spans)):
        low, high = spans[r]
        first, last = _candidates(reads, longest, low, high)
        for i in range(first, last):
            if reads.aligned_end[i] <= low:
                continue
            at = clipped.base_offsets[n]
            size, lead = _clip_read(
                reads, i, low, high, clipped.bases[at:], clipped.qualities[at:], clipped.positions[at:]
            )
            if size > 0:
                clipped.start[n] = clipped.positions[at]
                clipped.end[n] = clipped.positions[at + size - 1] + 1
                clipped.source[n] = i
                clipped.lead[n] = lead
                clipped.base_offsets[n + 1] = at + size
                n += 1
        clipped.region_offsets[r + 1] = n
        _adjust_mates(reads, clipped, clipped.region_offsets[r], n)
    return _ClippedReads(
        clipped.region_offsets,
        clipped.source[:n],
        clipped.start[:n],
        clipped.end[:n],
        clipped.lead[:n],
        clipped.base_offsets[: n + 1],
        clipped.bases,
        clipped.qualities,
        clipped.positions,
    )


@compiled
def _room_for(reads, spans, longest):
    """Arrays for all reads that overlap the spans, each as often as it does."""
    n, bases = 0, 0
    for r in range(len(spans)):
        first, last = _candidates(reads, longest, spans[r, 0], spans[r, 1])
        for i in range(first, last):
            if reads.aligned_end[i] > spans[r, 0]:
                n += 1
                bases += reads.base_offsets[i + 1] - reads.base_offsets[i]
    return _ClippedReads(
        np.zeros(len(spans) + 1, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int32),
        np.zeros(n + 1, np.int64),
        np.empty(bases, np.uint8),
        np.empty(bases, np.uint8),
        np.empty(bases, np.int64),
    )


@compiled
def _clip_read(reads, i, low, high, bases, qualities, positions):
    """Write what is left of read i in [low, high) to the arrays; its size (0: nothing), and the bases before."""
    low = max(low, reads.keep_from[i])
    high = min(high, reads.keep_to[i])
    query = reads.base_offsets[i] + reads.effective_first[i]
    query_end = query
    for c in range(reads.effective_offsets[i], reads.effective_offsets[i + 1]):
        if operation_of(reads.effective[c]) != CIGAR_DELETION:
            query_end += length_of(reads.effective[c])
    # ReadClipper.hardClipLowQualEnds: ends of quality below that of a usable base.
    good_first, good_last = query, query_end
    while good_first < good_last and reads.qualities[good_first] < MINIMUM_BASE_QUALITY:
        good_first += 1
    while good_last > good_first and reads.qualities[good_last - 1] < MINIMUM_BASE_QUALITY:
        good_last -= 1
    size, lead = 0, 0
    kept = 0  # up to the last base that is aligned to the reference
    position = reads.start[i]
    for c in range(reads.effective_offsets[i], reads.effective_offsets[i + 1]):
        operation = operation_of(reads.effective[c])
        length = length_of(reads.effective[c])
        if operation == CIGAR_DELETION:
            position += length
            continue
        for k in range(length):
            if operation == CIGAR_MATCH and position + k >= high:
                return kept, lead
            inside = good_first <= query + k < good_last
            if inside and (size > 0 if operation == CIGAR_INSERTION else position + k >= low):
                if size == 0:
                    lead = query + k - reads.base_offsets[i]
                bases[size] = reads.bases[query + k]
                qualities[size] = reads.qualities[query + k]
                positions[size] = position + k if operation == CIGAR_MATCH else INSERTED
                size += 1
                if operation == CIGAR_MATCH:
                    kept = size
        query += length
        if operation == CIGAR_MATCH:
            position += length
    return kept, lead


@compiled
def _adjust_mates(reads, clipped, first, last):
    """Find overlapping mates among reads [first, last) of a region and treat their common bases as one observation."""
    slots = 1
    while slots < 2 * (last - first) + 1:
        slots *= 2
    table = np.full(slots, -1, np.int64)  # reads that wait for their mates, by hash of the name
    for i in range(first, last):
        mate = reads.mate_start[clipped.source[i]]
        if mate < 0 or mate >= clipped.end[i]:
            continue
        name = reads.name_hash[clipped.source[i]]
        slot = np.int64(name & np.uint64(slots - 1))
        while table[slot] >= 0 and reads.name_hash[clipped.source[table[slot]]] != name:
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = i
        else:
            other = table[slot]
            left, right = (other, i) if clipped.start[other] < clipped.start[i] else (i, other)
            _adjust_pair(clipped, left, right)


@compiled
def _adjust_pair(clipped, left, right):
    """Adjust the qualities of two overlapping mates, base by base from where the right one starts."""
    bases, qualities = clipped.bases, clipped.qualities
    if clipped.end[left] <= clipped.start[right]:
        return
    a = clipped.base_offsets[left]
    while clipped.positions[a] < clipped.start[right]:
        a += 1
    b = clipped.base_offsets[right]
    overlap = min(clipped.base_offsets[left + 1] - a, clipped.base_offsets[right + 1] - b)
    for k in range(overlap):
        if bases[a + k] == bases[b + k]:
            qualities[a + k] = min(qualities[a + k], HALF_PCR_ERROR_QUALITY)
            qualities[b + k] = min(qualities[b + k], HALF_PCR_ERROR_QUALITY)
        else:
            qualities[a + k] = 0
            qualities[b + k] = 0

"""Reads as each active region sees them: soft clips reverted, poor ends, adaptor and what lies outside cut off.

AssemblyBasedCallerUtils.finalizeRegion and FragmentUtils.adjustQualsOfOverlappingPairedFragments: where two mates cover
the same bases, they are one observation, so agreeing bases are capped at half the quality of a PCR error and
contradicting ones get quality 0.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from quire.batch import offsets_from_lengths
from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads import Reads

HALF_PCR_ERROR_QUALITY = 20
INSERTED = -1


class RegionReads(NamedTuple):
    """Reads of all samples in all regions, ordered by region, then sample, then position.

    Attributes:
        region_offsets: int64[regions + 1] into the reads.
        sample: int32[n].
        start, end: int64[n], reference span that is left, 0-based, half-open.
        usable, reverse, mapping_quality: uint8[n], as in `Reads`.
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
    base_offsets: np.ndarray
    bases: np.ndarray
    qualities: np.ndarray
    positions: np.ndarray


def region_reads(samples: Sequence[Reads], spans: np.ndarray) -> RegionReads:
    """Clip every sample's reads to every region.

    Args:
        samples: reads per sample.
        spans: int64[regions, 2], padded spans in ascending order.
    """
    parts = []
    for number, reads in enumerate(samples):
        region_offsets, source, start, end, base_offsets, *per_base = clip_reads(reads, spans)
        bases, qualities, positions = (column[: base_offsets[-1]].copy() for column in per_base)
        parts.append(
            RegionReads(
                region_offsets=region_offsets,
                sample=np.full(len(source), number, np.int32),
                start=start,
                end=end,
                usable=reads.usable[source],
                reverse=reads.reverse[source],
                mapping_quality=reads.mapping_quality[source],
                base_offsets=base_offsets,
                bases=bases,
                qualities=qualities,
                positions=positions,
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
        for name in ("sample", "start", "end", "usable", "reverse", "mapping_quality")
    }
    for name in ("bases", "qualities", "positions"):
        columns[name] = np.concatenate([getattr(part, name) for part in parts])[gather]
    offsets = np.searchsorted(owner[order], np.arange(regions + 1)).astype(np.int64)
    return RegionReads(region_offsets=offsets, base_offsets=base_offsets, **columns)


@njit(cache=True, nogil=True)
def _candidates(reads, longest, low, high):
    """Range of reads (by index) that may overlap [low, high)."""
    first = np.searchsorted(reads.aligned_start, low - longest)
    return first, np.searchsorted(reads.aligned_start, high)


@njit(cache=True, nogil=True)
def clip_reads(reads, spans):
    """One sample's reads in every region: region_offsets, index of each read in `reads`, then as in `RegionReads`."""
    longest = np.int64(0)
    for i in range(len(reads.aligned_start)):
        longest = max(longest, reads.aligned_end[i] - reads.aligned_start[i])
    regions = len(spans)
    n = 0
    room = 0
    for r in range(regions):
        first, last = _candidates(reads, longest, spans[r, 0], spans[r, 1])
        for i in range(first, last):
            if reads.aligned_end[i] > spans[r, 0]:
                n += 1
                room += reads.base_offsets[i + 1] - reads.base_offsets[i]
    region_offsets = np.zeros(regions + 1, np.int64)
    start = np.empty(n, np.int64)
    end = np.empty(n, np.int64)
    source = np.empty(n, np.int64)
    base_offsets = np.zeros(n + 1, np.int64)
    bases = np.empty(room, np.uint8)
    qualities = np.empty(room, np.uint8)
    positions = np.empty(room, np.int64)
    n = 0
    for r in range(regions):
        first, last = _candidates(reads, longest, spans[r, 0], spans[r, 1])
        for i in range(first, last):
            if reads.aligned_end[i] <= spans[r, 0]:
                continue
            at = base_offsets[n]
            size = _clip_read(reads, i, spans[r, 0], spans[r, 1], bases[at:], qualities[at:], positions[at:])
            if size > 0:
                start[n] = positions[at]
                end[n] = positions[at + size - 1] + 1
                source[n] = i
                base_offsets[n + 1] = at + size
                n += 1
        region_offsets[r + 1] = n
        _adjust_mates(reads, source, region_offsets[r], n, start, end, base_offsets, bases, qualities, positions)
    return region_offsets, source[:n], start[:n], end[:n], base_offsets[: n + 1], bases, qualities, positions


@njit(cache=True, nogil=True)
def _clip_read(reads, i, low, high, bases, qualities, positions):
    """Write what is left of read i in [low, high) to the arrays; the number of bases (0: nothing)."""
    low = max(low, reads.keep_from[i])
    high = min(high, reads.keep_to[i])
    query = reads.base_offsets[i] + reads.effective_first[i]
    query_end = query
    for c in range(reads.effective_offsets[i], reads.effective_offsets[i + 1]):
        if reads.effective[c] & np.uint32(15) != 2:
            query_end += np.int64(reads.effective[c] >> np.uint32(4))
    # ReadClipper.hardClipLowQualEnds: ends of quality below that of a usable base.
    good_first, good_last = query, query_end
    while good_first < good_last and reads.qualities[good_first] < MINIMUM_BASE_QUALITY:
        good_first += 1
    while good_last > good_first and reads.qualities[good_last - 1] < MINIMUM_BASE_QUALITY:
        good_last -= 1
    size = 0
    kept = 0  # up to the last base that is aligned to the reference
    position = reads.start[i]
    for c in range(reads.effective_offsets[i], reads.effective_offsets[i + 1]):
        operation = reads.effective[c] & np.uint32(15)
        length = np.int64(reads.effective[c] >> np.uint32(4))
        if operation == 2:
            position += length
            continue
        for k in range(length):
            if operation == 0 and position + k >= high:
                return kept
            inside = good_first <= query + k < good_last
            if inside and (size > 0 if operation == 1 else position + k >= low):
                bases[size] = reads.bases[query + k]
                qualities[size] = reads.qualities[query + k]
                positions[size] = position + k if operation == 0 else INSERTED
                size += 1
                if operation == 0:
                    kept = size
        query += length
        if operation == 0:
            position += length
    return kept


@njit(cache=True, nogil=True)
def _adjust_mates(reads, source, first, last, start, end, base_offsets, bases, qualities, positions):
    """Find overlapping mates among reads [first, last) of a region and treat their common bases as one observation."""
    slots = 1
    while slots < 2 * (last - first) + 1:
        slots *= 2
    table = np.full(slots, -1, np.int64)  # reads that wait for their mates, by hash of the name
    for i in range(first, last):
        mate = reads.mate_start[source[i]]
        if mate < 0 or mate >= end[i]:
            continue
        name = reads.name_hash[source[i]]
        slot = np.int64(name & np.uint64(slots - 1))
        while table[slot] >= 0 and reads.name_hash[source[table[slot]]] != name:
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = i
        else:
            other = table[slot]
            left, right = (other, i) if start[other] < start[i] else (i, other)
            _adjust_pair(left, right, start, end, base_offsets, bases, qualities, positions)


@njit(cache=True, nogil=True)
def _adjust_pair(left, right, start, end, base_offsets, bases, qualities, positions):
    """Adjust the qualities of two overlapping mates, base by base from where the right one starts."""
    if end[left] <= start[right]:
        return
    a = base_offsets[left]
    while positions[a] < start[right]:
        a += 1
    b = base_offsets[right]
    overlap = min(base_offsets[left + 1] - a, base_offsets[right + 1] - b)
    for k in range(overlap):
        if bases[a + k] == bases[b + k]:
            qualities[a + k] = min(qualities[a + k], HALF_PCR_ERROR_QUALITY)
            qualities[b + k] = min(qualities[b + k], HALF_PCR_ERROR_QUALITY)
        else:
            qualities[a + k] = 0
            qualities[b + k] = 0

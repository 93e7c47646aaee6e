"""Reads clipped to active regions: soft clips reverted; poor ends, adaptor and bases outside the region removed.

Follows AssemblyBasedCallerUtils.finalizeRegion and FragmentUtils.adjustQualsOfOverlappingPairedFragments. Where two
mates cover the same bases, they are one observation. So the quality of agreeing bases is capped at half that of a PCR
error, and contradicting bases get quality 0. Or, as in samtools mpileup, one of two agreeing bases gets the sum of both
qualities and the other one 0: in thin data such a pair may be all that shows a variant.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.ragged import offsets_from_lengths
from quire.rescore.parameters import MINIMUM_BASE_QUALITY
from quire.rescore.reads.aligned_cpu import AlignedReads
from quire.sam import CIGAR_DELETION, CIGAR_HARD_CLIP, CIGAR_MATCH
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.compiled import compiled, inlined

HALF_PCR_ERROR_QUALITY = 20
MOST_SUMMED_QUALITY = 60
INSERTED = -1
_AT_ONCE = 16  # positions (32 bits each) that are compared at once


class RegionReads(NamedTuple):
    """Reads of all samples in all regions, ordered by region, then sample, then position.

    Attributes:
        region_offsets: int64[regions + 1] into the reads.
        sample: int32[n].
        start, end: int64[n], reference span of the remaining bases, 0-based, half-open.
        usable, reverse, mapping_quality: uint8[n], as in `AlignedReads`.
        before, behind: int32[n], bases removed at the read's start and end, including those clipped in the BAM.
        base_offsets: int64[n + 1].
        bases, qualities: uint8 codes and phreds.
        positions: int32 per base: its reference position, INSERTED for inserted bases.
    """

    region_offsets: np.ndarray
    sample: np.ndarray
    start: np.ndarray
    end: np.ndarray
    usable: np.ndarray
    reverse: np.ndarray
    mapping_quality: np.ndarray
    before: np.ndarray
    behind: np.ndarray
    base_offsets: np.ndarray
    bases: np.ndarray
    qualities: np.ndarray
    positions: np.ndarray


class _ClippedReads(NamedTuple):
    """One sample's reads in all regions, as in `RegionReads`; `source` is the index of each in `AlignedReads`."""

    source: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    base_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    positions: NDArray[np.int32]


def region_reads(samples: Sequence[AlignedReads], spans: NDArray[np.int64], summed: bool = False) -> RegionReads:
    """Clip the reads of each sample to every region, given by its padded span (int64[regions, 2], ascending).

    With `summed`, overlapping mates are treated as by samtools.
    """
    parts: list[RegionReads] = [_clip_reads(reads, spans, number, summed) for number, reads in enumerate(samples)]
    return parts[0] if len(parts) == 1 else _merge(parts)


def _merge(parts: list[RegionReads]) -> RegionReads:
    """Merge samples, region by region."""
    regions = len(parts[0].region_offsets) - 1
    owner = np.concatenate([np.repeat(np.arange(regions), np.diff(part.region_offsets)) for part in parts])
    order = np.argsort(owner, kind="stable")
    lengths = np.concatenate([np.diff(part.base_offsets) for part in parts])
    first_base = offsets_from_lengths(lengths)[:-1][order]
    base_offsets = offsets_from_lengths(lengths[order])
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])[order]
        for name in ("sample", "start", "end", "usable", "reverse", "mapping_quality", "before", "behind")
    }
    for name in ("bases", "qualities", "positions"):
        own = np.concatenate([getattr(part, name) for part in parts])
        columns[name] = np.empty_like(own)
        _put(own, first_base, base_offsets, columns[name])
    offsets = np.searchsorted(owner[order], np.arange(regions + 1)).astype(np.int64)
    return RegionReads(region_offsets=offsets, base_offsets=base_offsets, **columns)


@compiled
def _put(own, first, offsets, result):
    """Copy stretches of `own` that begin at `first` (int64[n]) one after another, to `offsets` (int64[n + 1])."""
    for i in range(len(first)):
        begin, shift = offsets[i], first[i] - offsets[i]
        for at in range(begin, offsets[i + 1]):
            result[at] = own[at + shift]


@inlined
def _candidates(aligned_start, longest, low, high):
    """Return the range of reads (by index) that may overlap [low, high)."""
    return np.searchsorted(aligned_start, low - longest), np.searchsorted(aligned_start, high)


@compiled
def _clip_reads(reads, spans, sample, summed):
    """Return the `RegionReads` of one sample."""
    aligned_start, aligned_end, base_offsets = reads.aligned_start, reads.aligned_end, reads.base_offsets
    cigar_offsets, cigar = reads.cigar_offsets, reads.cigar
    longest = np.int64(0)
    for i in range(len(aligned_start)):
        longest = max(longest, aligned_end[i] - aligned_start[i])
    clipped = _allocate(reads, spans, longest)
    source, starts, ends = clipped.source, clipped.start, clipped.end
    offsets, positions = clipped.base_offsets, clipped.positions
    region_offsets = np.zeros(len(spans) + 1, np.int64)
    before, behind = np.empty(len(source), np.int32), np.empty(len(source), np.int32)
    n = 0
    for r in range(len(spans)):
        low, high = spans[r, 0], spans[r, 1]
        first, last = _candidates(aligned_start, longest, low, high)
        for i in range(first, last):
            if aligned_end[i] <= low:
                continue
            at = offsets[n]
            size, first_base = _clip_read(reads, i, low, high, clipped, at)
            if size > 0:
                hard_before, hard_behind = _hard_clips(cigar, cigar_offsets[i], cigar_offsets[i + 1])
                before[n] = hard_before + first_base - base_offsets[i]
                behind[n] = hard_behind + base_offsets[i + 1] - first_base - size
                starts[n], ends[n] = aligned_span(positions, at, at + size)
                source[n] = i
                offsets[n + 1] = at + size
                n += 1
        region_offsets[r + 1] = n
        _adjust_mates(reads, clipped, region_offsets[r], n, summed)
    source, bases = source[:n], offsets[n]
    return RegionReads(
        region_offsets,
        np.full(n, sample, np.int32),
        starts[:n],
        ends[:n],
        reads.usable[source],
        reads.reverse[source],
        reads.mapping_quality[source],
        before[:n],
        behind[:n],
        offsets[: n + 1],
        clipped.bases[:bases],
        clipped.qualities[:bases],
        positions[:bases],
    )


@compiled
def _allocate(reads, spans, longest):
    """Allocate arrays for all reads that overlap the spans, once for each overlap."""
    aligned_start, aligned_end, base_offsets = reads.aligned_start, reads.aligned_end, reads.base_offsets
    n, bases = 0, 0
    for r in range(len(spans)):
        low = spans[r, 0]
        first, last = _candidates(aligned_start, longest, low, spans[r, 1])
        for i in range(first, last):
            if aligned_end[i] > low:
                n += 1
                bases += base_offsets[i + 1] - base_offsets[i]
    return _ClippedReads(
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.zeros(n + 1, np.int64),
        np.empty(bases, np.uint8),
        np.empty(bases, np.uint8),
        np.empty(bases, np.int32),
    )


@inlined
def _clip_read(reads, i, low, high, clipped, at):
    """Write the bases of read i in [low, high) from base `at` on; as in GATK, an insertion at the edge stays."""
    # Return the number of bases (0 if none is aligned), and the index of the first in the bases of all reads.
    # Arrays are taken out of their tuples here, since in the loop a reference would be counted for each base.
    bases, qualities, effective = reads.bases, reads.qualities, reads.effective
    clipped_bases, clipped_qualities, clipped_positions = clipped.bases, clipped.qualities, clipped.positions
    low = max(low, reads.keep_from[i])
    high = min(high, reads.keep_to[i])
    query = reads.base_offsets[i] + reads.effective_first[i]
    query_end = query
    for c in range(reads.effective_offsets[i], reads.effective_offsets[i + 1]):
        if operation_of(effective[c]) != CIGAR_DELETION:
            query_end += length_of(effective[c])
    # ReadClipper.hardClipLowQualEnds: ends of quality below that of a usable base.
    good_first, good_last = query, query_end
    while good_first < good_last and qualities[good_first] < MINIMUM_BASE_QUALITY:
        good_first += 1
    while good_last > good_first and qualities[good_last - 1] < MINIMUM_BASE_QUALITY:
        good_last -= 1
    size = 0
    aligned = 0
    first_base = query
    position = reads.start[i]
    for c in range(reads.effective_offsets[i], reads.effective_offsets[i + 1]):
        operation = operation_of(effective[c])
        length = length_of(effective[c])
        if operation == CIGAR_DELETION:
            position += length
            continue
        first, last = max(good_first - query, 0), min(good_last - query, length)
        if operation == CIGAR_MATCH:
            first, last = max(first, low - position), min(last, high - position)
        elif position < low or position > high:
            last = 0
        if first < last:
            first_base = query + first if size == 0 else first_base
            source = np.uint64(query + first)  # unsigned, as in `quire.simd.bits.copy_items`
            target = np.uint64(at + size)
            for k in range(np.uint64(last - first)):
                clipped_bases[target + k] = bases[source + k]
                clipped_qualities[target + k] = qualities[source + k]
            place = np.int32(position + first)
            for k in range(np.uint64(last - first)):
                clipped_positions[target + k] = place + np.int32(k) if operation == CIGAR_MATCH else np.int32(INSERTED)
            size += last - first
            aligned += last - first if operation == CIGAR_MATCH else 0
        query += length
        if operation == CIGAR_MATCH:
            position += length
            if position > high:
                break
    return (size if aligned else 0), first_base


@inlined
def _hard_clips(cigar, first, end):
    """Return the hard-clipped bases at the start and at the end of the read with CIGAR cigar[first:end]."""
    before, behind = np.int64(0), np.int64(0)
    last = end - 1
    if first <= last and operation_of(cigar[first]) == CIGAR_HARD_CLIP:
        before = np.int64(length_of(cigar[first]))
    if first < last and operation_of(cigar[last]) == CIGAR_HARD_CLIP:
        behind = np.int64(length_of(cigar[last]))
    return before, behind


@inlined
def aligned_span(positions, begin, end):
    """Return the reference span of the bases [begin, end), ignoring inserted ones."""
    first, end = aligned_bases(positions, begin, end)
    return positions[first], positions[end - 1] + 1


@inlined
def aligned_bases(positions, begin, end):
    """Return first and end of the bases [begin, end) without inserted ones at their ends."""
    while begin < end and positions[begin] < 0:
        begin += 1
    while begin < end and positions[end - 1] < 0:
        end -= 1
    return begin, end


@inlined
def bases_within(reads, i, low, high):
    """Find the run of bases of read i from the first to the last that is aligned within [low, high).

    Inserted bases next to the run belong to it. If no base is aligned within, the run is empty. Return the first base
    and the end, as indices into the bases of all reads.
    """
    start, stop, positions = reads.base_offsets[i], reads.base_offsets[i + 1], reads.positions
    first, end = start, stop
    # First skip _AT_ONCE bases at a time, since most are far outside.
    while first + _AT_ONCE <= stop and _most(positions, first) < low:
        first += _AT_ONCE
    while first < stop and positions[first] < low:
        first += 1
    while end - _AT_ONCE >= first and _least_unsigned(positions, end - _AT_ONCE) >= high:
        end -= _AT_ONCE
    while end > first and (positions[end - 1] >= high or positions[end - 1] < 0):
        end -= 1
    if first < end:
        while first > start and positions[first - 1] < 0:
            first -= 1
        while end < stop and positions[end] < 0:
            end += 1
    return first, end


@inlined
def _most(positions, first):
    """Return the largest of _AT_ONCE positions from `first` on."""
    most = np.int32(INSERTED)
    for k in range(_AT_ONCE):
        most = max(most, positions[np.uint64(first) + np.uint64(k)])
    return most


@inlined
def _least_unsigned(positions, first):
    """Return the smallest of _AT_ONCE positions from `first` on, with INSERTED as the largest uint32."""
    least = np.uint32(0xFFFFFFFF)
    for k in range(_AT_ONCE):
        least = min(least, np.uint32(positions[np.uint64(first) + np.uint64(k)]))
    return np.int64(least)


@compiled
def _adjust_mates(reads, clipped, first, last, summed):
    """Find overlapping mates among reads [first, last) of a region and adjust the qualities of their common bases."""
    source, start, end, mate_start, name_hash = (
        clipped.source, clipped.start, clipped.end, reads.mate_start, reads.name_hash
    )  # fmt: skip
    bases, qualities, positions, offsets = clipped.bases, clipped.qualities, clipped.positions, clipped.base_offsets
    slots = 1
    while slots < 2 * (last - first) + 1:
        slots *= 2
    table = np.full(slots, -1, np.int64)  # reads that wait for their mates, by hash of the name
    for i in range(first, last):
        mate = mate_start[source[i]]
        if mate < 0 or mate >= end[i]:
            continue
        name = name_hash[source[i]]
        slot = np.int64(name & np.uint64(slots - 1))
        while table[slot] >= 0 and name_hash[source[table[slot]]] != name:
            slot = (slot + 1) & (slots - 1)
        if table[slot] < 0:
            table[slot] = i
        else:
            other = table[slot]
            left, right = (other, i) if start[other] < start[i] else (i, other)
            if end[left] > start[right]:
                _adjust_pair(bases, qualities, positions, offsets, left, right, start[right], summed)


@inlined
def _adjust_pair(bases, qualities, positions, offsets, left, right, start, summed):
    """Adjust the qualities of two overlapping mates, base by base from `start` on, the start of the right one."""
    a, a_end = aligned_bases(positions, offsets[left], offsets[left + 1])
    while positions[a] < start:
        a += 1
    b, b_end = aligned_bases(positions, offsets[right], offsets[right + 1])
    ours, theirs = np.uint64(a), np.uint64(b)  # unsigned, as in `quire.simd.bits.copy_items`
    for k in range(np.uint64(min(a_end - a, b_end - b))):
        agree = bases[ours + k] == bases[theirs + k]
        if summed and agree:
            both = np.int64(qualities[ours + k]) + np.int64(qualities[theirs + k])
            qualities[ours + k], qualities[theirs + k] = np.uint8(min(both, MOST_SUMMED_QUALITY)), np.uint8(0)
            continue
        most = np.uint8(HALF_PCR_ERROR_QUALITY if agree else 0)
        qualities[ours + k] = min(qualities[ours + k], most)
        qualities[theirs + k] = min(qualities[theirs + k], most)

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
from quire.sam import CIGAR_DELETION, CIGAR_HARD_CLIP, CIGAR_MATCH
from quire.sequence.cigar import length_of, operation_of
from quire.simd.compiled import compiled, inlined

HALF_PCR_ERROR_QUALITY = 20
INSERTED = -1


class RegionReads(NamedTuple):
    """Reads of all samples in all regions, ordered by region, then sample, then position.

    Attributes:
        region_offsets: int64[regions + 1] into the reads.
        sample: int32[n].
        start, end: int64[n], reference span that is left, 0-based, half-open.
        usable, reverse, mapping_quality: uint8[n], as in `AlignedReads`.
        before, behind: int32[n], bases of the read that were cut off on either side, clipped ones of the BAM included.
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

    region_offsets: NDArray[np.int64]
    source: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    before: NDArray[np.int32]
    behind: NDArray[np.int32]
    base_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    positions: NDArray[np.int32]


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
        parts.append(
            RegionReads(
                region_offsets=clipped.region_offsets,
                sample=np.full(size, number, np.int32),
                start=clipped.start,
                end=clipped.end,
                usable=reads.usable[clipped.source],
                reverse=reads.reverse[clipped.source],
                mapping_quality=reads.mapping_quality[clipped.source],
                before=clipped.before,
                behind=clipped.behind,
                base_offsets=clipped.base_offsets,
                bases=clipped.bases[:bases],
                qualities=clipped.qualities[:bases],
                positions=clipped.positions[:bases],
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
        for name in ("sample", "start", "end", "usable", "reverse", "mapping_quality", "before", "behind")
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
            size, first_base = _clip_read(reads, i, low, high, clipped, at)
            if size > 0:
                hard_before, hard_behind = _hard_clips(reads, i)
                clipped.before[n] = hard_before + first_base - reads.base_offsets[i]
                clipped.behind[n] = hard_behind + reads.base_offsets[i + 1] - first_base - size
                clipped.start[n], clipped.end[n] = aligned_span(clipped.positions[at : at + size])
                clipped.source[n] = i
                clipped.base_offsets[n + 1] = at + size
                n += 1
        clipped.region_offsets[r + 1] = n
        _adjust_mates(reads, clipped, clipped.region_offsets[r], n)
    return _ClippedReads(
        clipped.region_offsets,
        clipped.source[:n],
        clipped.start[:n],
        clipped.end[:n],
        clipped.before[:n],
        clipped.behind[:n],
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
        np.empty(n, np.int32),
        np.zeros(n + 1, np.int64),
        np.empty(bases, np.uint8),
        np.empty(bases, np.uint8),
        np.empty(bases, np.int32),
    )


@inlined
def _clip_read(reads, i, low, high, clipped, at):
    """Write what is left of read i in [low, high) from base `at` on.

    As there, an insertion at the edge of what is cut off stays.

    Returns:
        The number of bases (0: none is aligned), and the first of them as an index into the bases of all reads.
    """
    # Taken out of their tuples here: in a loop each would be counted as a reference once a base.
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
            source = np.uint64(query + first)  # unsigned, as in `quire.simd.bits.copy_bytes`
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


@compiled
def _hard_clips(reads, i):
    """Bases of read i that the BAM does not hold, before its first base and behind its last."""
    before, behind = np.int64(0), np.int64(0)
    first, last = reads.cigar_offsets[i], reads.cigar_offsets[i + 1] - 1
    if first <= last and operation_of(reads.cigar[first]) == CIGAR_HARD_CLIP:
        before = np.int64(length_of(reads.cigar[first]))
    if first < last and operation_of(reads.cigar[last]) == CIGAR_HARD_CLIP:
        behind = np.int64(length_of(reads.cigar[last]))
    return before, behind


@inlined
def aligned_span(positions):
    """The first of a run of bases' positions, and the last plus one; the inserted ones do not count."""
    first, last = 0, len(positions) - 1
    while positions[first] < 0:
        first += 1
    while positions[last] < 0:
        last -= 1
    return positions[first], positions[last] + 1


@inlined
def bases_within(reads, i, low, high):
    """The run of bases of read i from the first to the last that is aligned within [low, high).

    Inserted bases beside them belong to the run; it is empty where no base is aligned within.

    Returns:
        The first base and the end, as indices into the bases of all reads.
    """
    start, stop = reads.base_offsets[i], reads.base_offsets[i + 1]
    first, end, positions = start, stop, reads.positions
    while first < stop and positions[first] < low:
        first += 1
    while end > first and (positions[end - 1] >= high or positions[end - 1] < 0):
        end -= 1
    if first < end:
        while first > start and positions[first - 1] < 0:
            first -= 1
        while end < stop and positions[end] < 0:
            end += 1
    return first, end


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
    bases, qualities, positions, start = clipped.bases, clipped.qualities, clipped.positions, clipped.start[right]
    if clipped.end[left] <= start:
        return
    a, a_end = _aligned_bases(clipped, left)
    while positions[a] < start:
        a += 1
    b, b_end = _aligned_bases(clipped, right)
    overlap = min(a_end - a, b_end - b)
    for k in range(overlap):
        if bases[a + k] == bases[b + k]:
            qualities[a + k] = min(qualities[a + k], HALF_PCR_ERROR_QUALITY)
            qualities[b + k] = min(qualities[b + k], HALF_PCR_ERROR_QUALITY)
        else:
            qualities[a + k] = 0
            qualities[b + k] = 0


@inlined
def _aligned_bases(clipped, i):
    """The run of bases of read i without inserted ones at its ends: first and end."""
    first, end = clipped.base_offsets[i], clipped.base_offsets[i + 1]
    while clipped.positions[first] < 0:
        first += 1
    while clipped.positions[end - 1] < 0:
        end -= 1
    return first, end

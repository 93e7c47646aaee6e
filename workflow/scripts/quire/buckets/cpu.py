"""Dealing records out to buckets, in Numba."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.buckets.layout import SPAN, BucketLayout
from quire.buckets.packing.parts import SLACK
from quire.io.bam.decode import Records, unclipped, unclipped_by
from quire.io.bam.encode import Assembly
from quire.sam import FLAG_FAILED_QUALITY_CHECK, FLAG_SECONDARY, FLAG_SUPPLEMENTARY, FLAG_UNMAPPED
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled, inlined

LEFT_ALONE = FLAG_SECONDARY | FLAG_SUPPLEMENTARY | FLAG_UNMAPPED | FLAG_FAILED_QUALITY_CHECK
"""Flags of records that are never marked, and compared with none."""


class Dealt(NamedTuple):
    """Records, dealt out to the buckets.

    Attributes:
        data: uint8[], the records of one bucket behind those of another; those of a bucket in the order of the reads.
            SLACK zeros stand behind them, for `quire.buckets.packing`.
        offsets: int64[buckets + 2], where each bucket's begin.
        records: that were dealt out, each counted once.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    records: int


def deal(records: Records, genome: BucketLayout) -> Dealt:
    """Deal records out, those of a bucket in the order in which they came. Any thread may call it."""
    data, offsets = _deal(records, genome)
    return Dealt(data, offsets, len(records.starts))


def assemble_dealt(assembly: Assembly, genome: BucketLayout) -> Dealt:
    """What `deal` makes of records, each written to its bucket at once. Any thread may call it."""
    records, starts = assembly.records, assembly.starts
    offsets, begins, copied, copies = _places(
        starts, records.flag, records.contig, records.position, records.cigar, records.cigar_offsets, genome
    )
    data = _room(offsets[-1])
    assembly.write_apart(begins, data)
    _copy(data, starts, begins, copied, copies)
    return Dealt(data, offsets, len(records))


def joined(parts: Sequence[Dealt]) -> Dealt:
    """Several as one, in their order; of one genome."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.sum([np.diff(part.offsets) for part in parts], axis=0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data, at = _room(offsets[-1]), offsets[:-1].copy()
    for part in parts:
        _append(part.data, part.offsets, data, at)
    return Dealt(data, offsets, sum(part.records for part in parts))


def _room(size: int) -> NDArray[np.uint8]:
    """Room for so many bytes of records and what stands behind them."""
    room = np.empty(size + SLACK, np.uint8)
    room[size:] = 0
    return room


@inlined
def place_of(fields, contig_offsets):
    """A record's position on the contigs end to end."""
    return contig_offsets[fields.contig] + fields.position


@inlined
def reach(data, start, fields, contig_offsets, span):
    """First and last place whose records may share a fragment with this one, if none takes more than `span` bases.

    Its own place where none can.
    """
    place = place_of(fields, contig_offsets)
    if fields.flag & LEFT_ALONE:
        return place, place
    low, high = unclipped(data, start, fields)
    return place + low - fields.position - span, place + high - fields.position + span


@inlined
def _buckets_of(low, high, width, buckets):
    """First and last bucket of a record that reaches from `low` to `high`."""
    return max(low, 0) // width, min(high // width, buckets - 1)


@compiled
def _deal(records, genome):
    """The records' bytes by bucket, and int64[buckets + 2] where each bucket's begin."""
    data, starts, fixed = records
    contig_offsets, width, buckets = genome
    n = len(starts)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    offsets = np.zeros(buckets + 2, np.int64)
    for i in range(n):
        first[i] = last[i] = buckets
        if fixed[i].contig >= 0:
            low, high = reach(data, starts[i], fixed[i], contig_offsets, SPAN)
            first[i], last[i] = _buckets_of(low, high, width, buckets)
        size = _size(starts, i, len(data))
        for bucket in range(first[i], last[i] + 1):
            offsets[bucket + 1] += size
    for bucket in range(buckets + 1):
        offsets[bucket + 1] += offsets[bucket]
    out, at = np.empty(offsets[-1] + SLACK, np.uint8), offsets[:-1].copy()
    out[offsets[-1] :] = 0
    for i in range(n):
        size = _size(starts, i, len(data))
        for bucket in range(first[i], last[i] + 1):
            at[bucket] = copy_bytes(out, at[bucket], data, starts[i], starts[i] + size)
    return out, offsets


@compiled
def _places(starts, flag, contig, position, cigar, cigar_offsets, genome):
    """Where records that are not written yet, of the sizes between `starts`, are to stand by bucket.

    Returns:
        int64[buckets + 2] where each bucket's begin; int64[n] where each record stands first; and of those that stand
        in further buckets, int64[] their numbers and int64[] the further places.
    """
    contig_offsets, width, buckets = genome
    n = len(flag)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    offsets, further = np.zeros(buckets + 2, np.int64), 0
    for i in range(n):
        first[i] = last[i] = buckets
        if contig[i] >= 0:
            low = high = contig_offsets[contig[i]] + position[i]
            if not flag[i] & LEFT_ALONE:
                begin, end = unclipped_by(cigar, cigar_offsets[i], cigar_offsets[i + 1], position[i])
                low, high = low + begin - position[i] - SPAN, high + end - position[i] + SPAN
            first[i], last[i] = _buckets_of(low, high, width, buckets)
        further += last[i] - first[i]
        for bucket in range(first[i], last[i] + 1):
            offsets[bucket + 1] += starts[i + 1] - starts[i]
    for bucket in range(buckets + 1):
        offsets[bucket + 1] += offsets[bucket]
    at, begins = offsets[:-1].copy(), np.empty(n, np.int64)
    copied, copies, used = np.empty(further, np.int64), np.empty(further, np.int64), 0
    for i in range(n):
        begins[i] = at[first[i]]
        for bucket in range(first[i], last[i] + 1):
            if bucket > first[i]:
                copied[used], copies[used] = i, at[bucket]
                used += 1
            at[bucket] += starts[i + 1] - starts[i]
    return offsets, begins, copied, copies


@compiled
def _copy(data, starts, begins, copied, copies):
    """Write the records that stand in further buckets there too."""
    for k in range(len(copied)):
        i = copied[k]
        copy_bytes(data, copies[k], data, begins[i], begins[i] + starts[i + 1] - starts[i])


@inlined
def _size(starts, i, end):
    """Bytes of record i."""
    return (starts[i + 1] if i + 1 < len(starts) else end) - starts[i]


@compiled
def _append(data, offsets, out, at):
    """Copy the bytes of each bucket behind what `out` has of it, which ends at `at[bucket]`."""
    for bucket in range(len(at)):
        at[bucket] = copy_bytes(out, at[bucket], data, offsets[bucket], offsets[bucket + 1])

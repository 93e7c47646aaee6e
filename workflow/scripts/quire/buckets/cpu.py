"""Distribution of records to buckets, with Numba."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.buckets.layout import SPAN, BucketLayout
from quire.buckets.packing_cpu import SLACK
from quire.io.bam.decode_cpu import Records, unclipped, unclipped_by
from quire.io.bam.encode import RecordAssembly
from quire.sam import FLAG_FAILED_QUALITY_CHECK, FLAG_SECONDARY, FLAG_SUPPLEMENTARY, FLAG_UNMAPPED
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled, inlined

LEFT_ALONE = FLAG_SECONDARY | FLAG_SUPPLEMENTARY | FLAG_UNMAPPED | FLAG_FAILED_QUALITY_CHECK
"""Flags of records that are neither marked as duplicates nor compared."""


class Dealt(NamedTuple):
    """Records by bucket.

    Attributes:
        data: uint8[], the records bucket after bucket, within a bucket in the order of the reads. SLACK zeros follow,
            for `quire.buckets.packing_cpu`.
        offsets: int64[buckets + 2], where each bucket begins.
        records: number of records, each counted once.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    records: int


def deal(records: Records, genome: BucketLayout) -> Dealt:
    """Distribute records to buckets, keeping their order. Any thread may call it."""
    data, offsets = _deal(records, genome)
    return Dealt(data, offsets, len(records.starts))


def assemble_dealt(assembly: RecordAssembly, genome: BucketLayout) -> Dealt:
    """Write records directly to their buckets, with the result of `deal`. Any thread may call it."""
    records, starts = assembly.records, assembly.starts
    offsets, begins, copied, copies = _places(
        starts, records.flag, records.contig, records.position, records.cigar, records.cigar_offsets, genome
    )
    data = _room(offsets[-1])
    assembly.write(begins, np.int64(0), 0, len(records), data)
    _copy(data, starts, begins, copied, copies)
    return Dealt(data, offsets, len(records))


def joined(parts: Sequence[Dealt]) -> Dealt:
    """Concatenate parts of one genome, in their order."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.sum([np.diff(part.offsets) for part in parts], axis=0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data, at = _room(offsets[-1]), offsets[:-1].copy()
    for part in parts:
        _append(part.data, part.offsets, data, at)
    return Dealt(data, offsets, sum(part.records for part in parts))


def _room(size: int) -> NDArray[np.uint8]:
    """Return memory for `size` bytes of records and the SLACK zeros after them."""
    room = np.empty(size + SLACK, np.uint8)
    room[size:] = 0
    return room


@inlined
def place_of(fields, contig_offsets):
    """Return a record's place: its position on the contigs laid end to end."""
    return contig_offsets[fields.contig] + fields.position


@inlined
def reach(data, start, fields, contig_offsets, span):
    """Return the first and last place of records that may share a fragment with this one.

    No record spans more than `span` bases. Records that are not compared reach only their own place.
    """
    place = place_of(fields, contig_offsets)
    if fields.flag & LEFT_ALONE:
        return place, place
    low, high = unclipped(data, start, fields)
    return place + low - fields.position - span, place + high - fields.position + span


@inlined
def _buckets_of(low, high, width, buckets):
    """Return the first and last bucket of a record that reaches from `low` to `high`."""
    return max(low, 0) // width, min(high // width, buckets - 1)


@compiled
def _deal(records, genome):
    """Return the records' bytes by bucket, and int64[buckets + 2], where each bucket begins."""
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
            at[bucket] = copy_items(out, at[bucket], data, starts[i], starts[i] + size)
    return out, offsets


@compiled
def _places(starts, flag, contig, position, cigar, cigar_offsets, genome):
    """Assign places by bucket to records that are not written yet; `starts` (int64[n + 1]) gives their sizes."""
    # Returns int64[buckets + 2], where each bucket begins; int64[n], where each record begins in its first bucket; and
    # for each copy in a further bucket int64[], the record's number, and int64[], where the copy begins.
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
    """Copy records to their further buckets."""
    for k in range(len(copied)):
        i = copied[k]
        copy_items(data, copies[k], data, begins[i], begins[i] + starts[i + 1] - starts[i])


@inlined
def _size(starts, i, end):
    """Return the size of record i in bytes."""
    return (starts[i + 1] if i + 1 < len(starts) else end) - starts[i]


@compiled
def _append(data, offsets, out, at):
    """Write the bytes of each bucket to `out` at `at[bucket]`, and move that position to their end."""
    for bucket in range(len(at)):
        at[bucket] = copy_items(out, at[bucket], data, offsets[bucket], offsets[bucket + 1])

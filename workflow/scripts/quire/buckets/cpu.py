"""Dealing records out to buckets, in Numba."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.buckets.layout import SPAN, BucketLayout
from quire.io.bam.decode import Records, unclipped
from quire.sam import FLAG_FAILED_QUALITY_CHECK, FLAG_SECONDARY, FLAG_SUPPLEMENTARY, FLAG_UNMAPPED
from quire.simd.bits import copy_bytes
from quire.simd.compiled import compiled, inlined

LEFT_ALONE = FLAG_SECONDARY | FLAG_SUPPLEMENTARY | FLAG_UNMAPPED | FLAG_FAILED_QUALITY_CHECK
"""Flags of records that are never marked, and compared with none."""


class Dealt(NamedTuple):
    """Records, dealt out to the buckets.

    Attributes:
        data: uint8[], the records of one bucket behind those of another; those of a bucket in the order of the reads.
        offsets: int64[buckets + 2], where each bucket's begin.
        records: that were dealt out, each counted once.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    records: int


def deal(records: Records, genome: BucketLayout) -> Dealt:
    """Deal records out, those of a bucket in the order in which they came. Any thread may call it."""
    data, offsets = _deal(records.data, records.starts, records.fixed, *genome)
    return Dealt(data, offsets, len(records.starts))


def joined(parts: Sequence[Dealt]) -> Dealt:
    """Several as one, in their order; of one genome."""
    if len(parts) == 1:
        return parts[0]
    sizes = np.sum([np.diff(part.offsets) for part in parts], axis=0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data, at = np.empty(offsets[-1], np.uint8), offsets[:-1].copy()
    for part in parts:
        _append(part.data, part.offsets, data, at)
    return Dealt(data, offsets, sum(part.records for part in parts))


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


@compiled
def _deal(data, starts, fixed, contig_offsets, width, buckets):
    """The records' bytes by bucket, and int64[buckets + 2] where each bucket's begin."""
    n = len(starts)
    first, last = np.empty(n, np.int64), np.empty(n, np.int64)
    offsets = np.zeros(buckets + 2, np.int64)
    for i in range(n):
        first[i] = last[i] = buckets
        if fixed[i].contig >= 0:
            low, high = reach(data, starts[i], fixed[i], contig_offsets, SPAN)
            first[i], last[i] = max(low, 0) // width, min(high // width, buckets - 1)
        size = _size(starts, i, len(data))
        for bucket in range(first[i], last[i] + 1):
            offsets[bucket + 1] += size
    for bucket in range(buckets + 1):
        offsets[bucket + 1] += offsets[bucket]
    out, at = np.empty(offsets[-1], np.uint8), offsets[:-1].copy()
    for i in range(n):
        size = _size(starts, i, len(data))
        for bucket in range(first[i], last[i] + 1):
            at[bucket] = copy_bytes(out, at[bucket], data, starts[i], starts[i] + size)
    return out, offsets


@inlined
def _size(starts, i, end):
    """Bytes of record i."""
    return (starts[i + 1] if i + 1 < len(starts) else end) - starts[i]


@compiled
def _append(data, offsets, out, at):
    """Copy the bytes of each bucket behind what `out` has of it, which ends at `at[bucket]`."""
    for bucket in range(len(at)):
        at[bucket] = copy_bytes(out, at[bucket], data, offsets[bucket], offsets[bucket + 1])

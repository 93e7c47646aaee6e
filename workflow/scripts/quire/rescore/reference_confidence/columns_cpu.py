"""Reads laid out against the reference, with one column per position (`ReadColumns`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.parameters import MINIMUM_READ_LENGTH
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads, aligned_bases, bases_within
from quire.rescore.reference_confidence import ReadColumns
from quire.rescore.reference_confidence.model import DELETED
from quire.simd.bits import copy_items
from quire.simd.compiled import compiled


class Placement(NamedTuple):
    """Placements of the reads of several spans on the reference; a read is a run of bases of `RegionReads`.

    Attributes:
        span_offsets: int64[spans + 1] into the reads.
        first_base, end_base: int64[reads], the run.
        positions: int64 per base of all runs: its reference position, INSERTED for inserted bases.
        position_offsets: int64[reads + 1].
    """

    span_offsets: NDArray[np.int64]
    first_base: NDArray[np.int64]
    end_base: NDArray[np.int64]
    positions: NDArray[np.int64]
    position_offsets: NDArray[np.int64]


def clipped_columns(reads: RegionReads, regions: NDArray[np.int64], padded: NDArray[np.int64]) -> ReadColumns:
    """Return the columns of reads as they were aligned, cut to spans (int64[n, 2]) in their regions (int64[n])."""
    return placed_columns(reads, Placement(*_clipped_placement(reads, regions, padded)))


def placed_columns(reads: RegionReads, placement: Placement) -> ReadColumns:
    """Return the columns of reads that are placed base by base."""
    return ReadColumns(placement.span_offsets, *_columns(reads.bases, reads.qualities, placement))


@compiled
def _clipped_placement(reads, regions, padded):
    """Return the fields of the `Placement` of the usable reads, cut to the spans."""
    n = 0
    room = 0
    for s in range(len(regions)):
        first, last = reads.region_offsets[regions[s]], reads.region_offsets[regions[s] + 1]
        n += last - first
        room += reads.base_offsets[last] - reads.base_offsets[first]
    span_offsets = np.zeros(len(regions) + 1, np.int64)
    first_base = np.empty(n, np.int64)
    end_base = np.empty(n, np.int64)
    positions = np.empty(room, np.int64)
    position_offsets = np.zeros(n + 1, np.int64)
    n = 0
    for s in range(len(regions)):
        for i in range(reads.region_offsets[regions[s]], reads.region_offsets[regions[s] + 1]):
            if not reads.usable[i]:
                continue
            first, end = bases_within(reads, i, padded[s, 0], padded[s, 1])
            if end - first < MINIMUM_READ_LENGTH:
                continue
            at = position_offsets[n]
            copy_items(positions, at, reads.positions, first, end)
            first_base[n], end_base[n] = first, end
            position_offsets[n + 1] = at + end - first
            n += 1
        span_offsets[s + 1] = n
    return span_offsets, first_base[:n], end_base[:n], positions[: position_offsets[n]], position_offsets[: n + 1]


@compiled
def _columns(bases, qualities, placement):
    """Return the fields of `ReadColumns` after the first."""
    n = len(placement.first_base)
    start = np.zeros(n, np.int64)
    query_length = np.empty(n, np.int64)
    column_offsets = np.zeros(n + 1, np.int64)
    for i in range(n):
        low, high = -1, -1
        for b in range(placement.position_offsets[i], placement.position_offsets[i + 1]):
            if placement.positions[b] != INSERTED:
                low = placement.positions[b] if low < 0 else low
                high = placement.positions[b] + 1
        start[i] = max(low, 0)
        query_length[i] = placement.end_base[i] - placement.first_base[i]
        column_offsets[i + 1] = column_offsets[i] + (high - low if low >= 0 else 0)
    column_bases = np.full(column_offsets[n], DELETED, np.uint8)
    column_qualities = np.zeros(column_offsets[n], np.uint8)
    before_indel = np.zeros(column_offsets[n], np.uint8)
    for i in range(n):
        previous = -1
        for b in range(placement.position_offsets[i], placement.position_offsets[i + 1]):
            position = placement.positions[b]
            if position == INSERTED:
                if previous >= 0:
                    before_indel[previous] = 1
                continue
            column = column_offsets[i] + position - start[i]
            if previous >= 0 and column > previous + 1:
                before_indel[previous] = 1
            source = placement.first_base[i] + b - placement.position_offsets[i]
            column_bases[column], column_qualities[column] = bases[source], qualities[source]
            previous = column
    return start, query_length, column_offsets, column_bases, column_qualities, before_indel


@compiled
def placement_spans(placement):
    """Return int64[reads] twice: start and end of each read on the reference, both 0 if it has no aligned bases."""
    positions, offsets = placement.positions, placement.position_offsets
    n = len(placement.first_base)
    start, end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for i in range(n):
        first, last = aligned_bases(positions, offsets[i], offsets[i + 1])
        if first < last:
            start[i], end[i] = positions[first], positions[last - 1] + 1
    return start, end

"""Hits of ends, and their CIGARs, with Numba; see the package."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Axis, Ends, Hits
from quire.algorithms.complete.alignment.cpu_paths import find_path, room_for_paths
from quire.algorithms.complete.cpu_arrays import batch_arrays
from quire.reads import Reads
from quire.simd.compiled import compiled, inlined

_COUNT, _STRAND = 0, 1
_HEAD = 2  # items of `pending` before its rows
_BEGIN, _END, _DISTANCE = 0, 1, 2
_ROW = 3  # items of a row


def find_hits(parts: Iterable[Ends], reads: Reads, axis: Axis, max_differences: int) -> Iterator[Hits]:
    """Yield the hits of parts of ends; all of them together are sorted as `Hits` is.

    Args:
        parts: all ends of the reads with at most k differences (`quire.algorithms.complete.PartsOfEnds`).
        reads: the batch.
        axis: the reference.
        max_differences: k.
    """
    batch = batch_arrays(reads, axis, max_differences)
    # Ends whose alignments begin at the same base are at most 2k apart.
    pending = np.zeros(_HEAD + _ROW * (6 * max_differences + 8), np.int64)
    for part in parts:
        hits = _room(len(part.end) + len(pending))
        yield _first(hits, collapse(batch, part, pending, hits))
    hits = _room(len(pending))
    yield _first(hits, collapse_rest(pending, hits))


def align(hits: Hits, reads: Reads, axis: Axis, max_differences: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the CIGARs of hits, packed as in BAM (M, I and D): uint32[], and offsets int64[n + 1]."""
    cigar: NDArray[np.uint32]
    cigar, offsets = cigars(batch_arrays(reads, axis, max_differences), hits)
    return cigar, offsets


def _room(count: int) -> Hits:
    types = (np.int64, np.uint8, np.int64, np.int64, np.uint8)
    return Hits._make(np.empty(count, dtype) for dtype in types)


def _first(hits: Hits, count: int) -> Hits:
    return Hits._make(values[:count] for values in hits)


@compiled
def _longest(offsets):
    longest = np.int64(0)
    for read in range(len(offsets) - 1):
        longest = max(longest, offsets[read + 1] - offsets[read])
    return longest


@compiled
def collapse(batch, part, pending, hits):
    """Take the ends of a part, and append the hits that no later end changes.

    Args:
        batch: `BatchArrays`.
        part: `Ends`.
        pending: int64[], hits that a later end may change: their number, their strand (2 * read + strand), and begin,
            end and distance of each, sorted by begin.
        hits: `Hits`, filled.

    Returns:
        The number of hits.
    """
    reads, strands, ends, distances = part
    paths, no_cigar = room_for_paths(_longest(batch.offsets), batch.differences), np.empty(0, np.uint32)
    offsets, reach = batch.offsets, batch.differences
    used = 0
    for i in range(len(ends)):
        strand = 2 * reads[i] + strands[i]
        length = offsets[reads[i] + 1] - offsets[reads[i]]
        if strand != pending[_STRAND]:
            used = _append(pending, ends[i], 0, hits, used, True)
            pending[_STRAND] = strand
        used = _append(pending, ends[i], length + reach, hits, used, False)
        begin, _ = find_path(batch, paths, strand, ends[i], np.int64(distances[i]), no_cigar, 0)
        _hold(pending, begin, ends[i], np.int64(distances[i]), length)
    return used


@compiled
def collapse_rest(pending, hits):
    """Append the hits that are still pending; return their number."""
    return _append(pending, 0, 0, hits, 0, True)


@inlined
def _append(pending, end, reach, hits, used, everything):
    """Append the pending hits that begin before end - reach, or all of them; return the number of hits."""
    read, strand, begins, ends, distances = hits
    count, first = pending[_COUNT], 0
    while first < count and (everything or pending[_HEAD + first * _ROW + _BEGIN] < end - reach):
        row = _HEAD + first * _ROW
        read[used], strand[used] = pending[_STRAND] >> 1, pending[_STRAND] & 1
        begins[used], ends[used] = pending[row + _BEGIN], pending[row + _END]
        distances[used] = pending[row + _DISTANCE]
        used += 1
        first += 1
    if first > 0:
        for i in range(_HEAD + first * _ROW, _HEAD + count * _ROW):
            pending[i - first * _ROW] = pending[i]
        pending[_COUNT] = count - first
    return used


@inlined
def _hold(pending, begin, end, distance, length):
    """Insert an end into the pending hits, or let it replace the hit with the same begin if it is better."""
    count = pending[_COUNT]
    row = _HEAD + (count - 1) * _ROW
    while row >= _HEAD and pending[row + _BEGIN] > begin:
        row -= _ROW
    if row >= _HEAD and pending[row + _BEGIN] == begin:
        other, held = pending[row + _DISTANCE], pending[row + _END]
        nearer = abs(end - begin - length) < abs(held - begin - length)
        if distance < other or (distance == other and nearer):
            pending[row + _END], pending[row + _DISTANCE] = end, distance
        return
    row += _ROW
    for i in range(_HEAD + count * _ROW - 1, row - 1, -1):
        pending[i + _ROW] = pending[i]
    pending[row + _BEGIN], pending[row + _END], pending[row + _DISTANCE] = begin, end, distance
    pending[_COUNT] = count + 1


@compiled
def cigars(batch, hits):
    """Return CIGARs and offsets; see `align`."""
    reads, strands, _, ends, distances = hits
    paths = room_for_paths(_longest(batch.offsets), batch.differences)
    most = 4 * batch.differences + 3
    cigar, offsets = np.empty(4 * len(ends) + most, np.uint32), np.zeros(len(ends) + 1, np.int64)
    used = 0
    for i in range(len(ends)):
        if used + most > len(cigar):
            larger = np.empty(2 * len(cigar), np.uint32)
            larger[:used] = cigar[:used]
            cigar = larger
        strand = 2 * reads[i] + strands[i]
        _, used = find_path(batch, paths, strand, ends[i], np.int64(distances[i]), cigar, used)
        offsets[i + 1] = used
    return cigar[:used].copy(), offsets

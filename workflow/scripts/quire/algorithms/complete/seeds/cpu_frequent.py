"""The ends of a strand whose pieces have very many rows: candidates are bits over one part of the axis after another.

A part is searched by going through all rows of all pieces and setting a bit for each diagonal that lies in it. So
memory depends on the size of a part alone, and diagonals come in order, each once.
"""

from collections.abc import Iterator

import numpy as np

from quire.algorithms.complete.seeds import MOST_ROWS, PART_BASES
from quire.algorithms.complete.seeds.cpu_candidates import (
    BLOCK_BITS,
    CHUNK,
    AxisArrays,
    add_window,
    island_of,
    lay_planes,
    locate_candidates,
    room_for_candidates,
    room_for_verifying,
    solve_lanes,
)
from quire.algorithms.complete.seeds.cpu_merging import EndArrays, Found, flush, room_for_pending, take
from quire.algorithms.complete.seeds.cpu_pieces import (
    HIGH,
    LOW,
    ReadArrays,
    lay_pieces,
    room_for_pieces,
    search_pieces,
)
from quire.algorithms.complete.seeds.cpu_windows import LANES, room_for_windows
from quire.algorithms.fm_index.pages.cpu import page_of
from quire.simd.bits import count_ones
from quire.simd.compiled import compiled


def ends_of_frequent_strand(
    table: np.ndarray,
    batch: ReadArrays,
    axis: AxisArrays,
    strand: int,
    ends: EndArrays,
    part_bases: int = PART_BASES,
) -> Iterator[int]:
    """Fill `ends` with the ends of a strand (2 * read + strand), part after part; yields how many each time.

    Args:
        table: of the pages.
        batch, axis: as the kernels take them.
        strand: of the batch.
        ends: room for at least MOST_ROWS windows.
        part_bases: bases of the axis that are searched at a time.
    """
    read = strand >> 1
    length = int(batch.offsets[read + 1] - batch.offsets[read])
    pending = room_for_pending(batch.differences)
    # A diagonal may begin before the axis, by less than a piece.
    beyond = length + batch.differences
    axis_length = int(axis.islands[-1])
    bits = np.empty((min(part_bases, axis_length + 2 * beyond) + 63) // 64, np.uint64)
    for part in range(-beyond, axis_length + beyond, 64 * len(bits)):
        mark_diagonals(table, batch, strand, part, bits)
        place = 0
        while place < 64 * len(bits):
            place, used = ends_of_part(batch, axis, strand, part, bits, place, pending, ends)
            yield used
    yield int(flush_last(pending, strand, length, ends))


@compiled
def flush_last(pending, strand, length, ends):
    """The ends that no later part changes."""
    return flush(pending, strand, length, ends, 0)


@compiled
def mark_diagonals(table, batch, strand, part, bits):
    """Set a bit for each diagonal from `part` on that a piece finds."""
    pieces, candidates = room_for_pieces(len(table), batch.differences), room_for_candidates()
    items, page_numbers, rows, _, _ = candidates
    count = lay_pieces(batch, strand, strand + 1, pieces)
    for number in range(len(table)):
        search_pieces(page_of(table, number), number, batch, strand, count, pieces)
    bits[:] = 0
    filled = 0
    for item in range(count):
        for number in range(len(table)):
            for row in range(pieces.found[item, number, LOW], pieces.found[item, number, HIGH]):
                items[filled], page_numbers[filled], rows[filled] = item, number, row
                filled += 1
                if filled == CHUNK:
                    _mark(table, pieces, filled, candidates, part, bits)
                    filled = 0
    _mark(table, pieces, filled, candidates, part, bits)


@compiled
def _mark(table, pieces, count, candidates, part, bits):
    locate_candidates(table, pieces, count, candidates)
    for i in range(count):
        place = candidates.row[i] - pieces.bounds[candidates.item[i], 0] - part
        if candidates.row[i] >= 0 and 0 <= place < 64 * len(bits):
            bits[place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@compiled
def ends_of_part(batch, axis, strand, part, bits, place, pending, ends):
    """Ends of the diagonals from bit `place` on; returns the bit that it stopped before and the number of ends."""
    read = strand >> 1
    length = batch.offsets[read + 1] - batch.offsets[read]
    verifying = room_for_verifying(length, room_for_windows(length, batch.differences))
    found = Found(np.empty(MOST_ROWS, np.int64), np.empty(MOST_ROWS, np.int64), np.empty(MOST_ROWS, np.int64))
    lay_planes(batch, strand, verifying.planes)
    used = windows = np.int64(0)
    while place < 64 * len(bits):
        word = bits[place >> 6] >> np.uint64(place & 63)
        if word == 0:
            place = (place | 63) + 1
            continue
        place += count_ones(~word & (word - np.uint64(1)))
        windows = _add_windows(batch, axis, strand, length, part + place, verifying, found, windows)
        place += 1
        # Lanes that are not solved yet, and a window that lies in several islands, need room.
        if windows + 2 * LANES > MOST_ROWS:
            break
    windows = solve_lanes(verifying, batch.differences, found, windows)
    for window in range(windows):
        used = take(pending, found.diagonal[window], found.distances[window], strand, length, ends, used)
    return place, used


@compiled
def _add_windows(batch, axis, strand, length, diagonal, verifying, found, used):
    """Solve the window around a diagonal, in each of the islands that it lies in."""
    begin, end = diagonal - batch.differences, diagonal + length + batch.differences
    axis_end = axis.islands[-1]
    first, last = max(begin, 0) >> BLOCK_BITS, min(end, axis_end) >> BLOCK_BITS
    if begin >= 0 and end <= axis_end and axis.special[first] == 0 and axis.special[last] == 0:
        return add_window(batch, axis, strand, length, diagonal, 0, axis_end, False, verifying, found, used)
    island = island_of(axis.islands, max(begin, 0))
    while island < len(axis.islands) - 1 and axis.islands[island] < end:
        low, high = axis.islands[island], axis.islands[island + 1]
        # Fewer bases than all but k of the read's cannot be a hit.
        if min(high, end) - max(low, begin) >= length - batch.differences:
            used = add_window(batch, axis, strand, length, diagonal, low, high, True, verifying, found, used)
        island += 1
    return used

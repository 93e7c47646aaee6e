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
    locate_candidates,
    room_for_candidates,
)
from quire.algorithms.complete.seeds.cpu_merging import EndArrays, FoundWindows, flush, room_for_pending, take
from quire.algorithms.complete.seeds.cpu_pieces import (
    HIGH,
    LOW,
    StrandArrays,
    lay_pieces,
    room_for_pieces,
    search_pieces,
)
from quire.algorithms.complete.seeds.cpu_strand import (
    MOST_WINDOWS,
    begin_group,
    keep_window,
    lay_strand,
    place_text,
    place_unknown,
    solve_windows,
)
from quire.algorithms.complete.seeds.cpu_windows import LANES, room_for_windows
from quire.algorithms.fm_index.pages.cpu import page_of
from quire.simd.bits import count_ones
from quire.simd.compiled import compiled
from quire.simd.search import interval_of


def ends_of_frequent_strand(
    table: np.ndarray,
    batch: StrandArrays,
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
    read, differences = strand >> 1, batch.differences
    length = batch.offsets[read + 1] - batch.offsets[read]
    memory, layout = room_for_windows(length, differences)
    found = FoundWindows(np.empty(MOST_ROWS, np.int64), np.empty(MOST_ROWS, np.int64), np.empty(MOST_ROWS, np.int64))
    lay_strand(batch, strand, memory, layout)
    text, axis_ambiguous, islands, special = axis
    axis_end, unknown = islands[len(islands) - 1], batch.ambiguous[read]
    used = count = np.int64(0)
    placed = 0
    while place < 64 * len(bits) and count + 2 * MOST_WINDOWS <= MOST_ROWS:
        word = bits[place >> 6] >> np.uint64(place & 63)
        if word == 0:
            place = (place | 63) + 1
            continue
        place += count_ones(~word & (word - np.uint64(1)))
        begin = part + place - differences
        end = begin + length + 2 * differences
        is_special = begin < 0 or end > axis_end
        if not is_special:
            is_special = special[begin >> BLOCK_BITS] != 0 or special[end >> BLOCK_BITS] != 0
        island, low, high = 0, np.int64(0), axis_end
        if is_special:
            island = interval_of(islands, max(begin, 0))
        while True:  # the window is solved in each island that it lies in
            if is_special:
                low, high = islands[island], islands[island + 1]
            # Fewer bases than all but k of the read's cannot hold an alignment.
            if min(high, end) - max(low, begin) >= length - differences:
                place_text(memory, layout, placed, text, begin, end - begin)
                if placed % LANES == 0:
                    begin_group(memory, layout, placed)
                keep_window(memory, layout, placed, part + place, high)
                if is_special:
                    place_unknown(memory, layout, placed, axis_ambiguous, begin, end - begin, low, high)
                placed += 1
                if placed == MOST_WINDOWS:
                    count = solve_windows(memory, layout, placed, strand, length, differences, unknown, found, count)
                    placed = 0
            if not is_special or high >= end or high == axis_end:
                break
            island += 1
        place += 1
    count = solve_windows(memory, layout, placed, strand, length, differences, unknown, found, count)
    for window in range(count):
        used = take(pending, found.diagonal[window], found.distances[window], strand, length, ends, used)
    return place, used

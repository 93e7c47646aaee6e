"""Complete search by seeds with Numba; see the package's text."""

from collections.abc import Iterator, Sequence

import numpy as np

from quire.algorithms.complete import Axis, Ends
from quire.algorithms.complete.seeds import MOST_ROWS
from quire.algorithms.complete.seeds.cpu_candidates import (
    CHUNK,
    AxisArrays,
    locate_candidates,
    room_for_candidates,
    special_blocks,
    verify,
)
from quire.algorithms.complete.seeds.cpu_frequent import ends_of_frequent_strand
from quire.algorithms.complete.seeds.cpu_merging import EndArrays, FoundWindows, merge
from quire.algorithms.complete.seeds.cpu_pieces import (
    HIGH,
    LOW,
    PIECES_TOGETHER,
    StrandArrays,
    lay_pieces,
    room_for_pieces,
    search_pieces,
)
from quire.algorithms.complete.seeds.cpu_windows import room_for_windows
from quire.algorithms.fm_index.pages.cpu import PageArrays, page_of, page_table
from quire.reads import Reads
from quire.simd.compiled import compiled


def find_ends(
    pages: Sequence[PageArrays], reads: Reads, axis: Axis, max_differences: int, room: int = 0
) -> Iterator[Ends]:
    """Yield the ends of every read in parts; see `quire.algorithms.complete.PartsOfEnds`.

    Args:
        pages: of the whole axis, in order; they overlap by at least the longest read.
        reads: the batch, none shorter than `shortest_read(max_differences)`.
        axis: the reference.
        max_differences: k.
        room: ends of a part; never less than what one strand with MOST_ROWS rows may have.
    """
    table = page_table(pages)
    batch = StrandArrays(reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, max_differences)
    arrays = AxisArrays(*axis, special_blocks(axis.ambiguous, axis.islands))
    room = max(room, MOST_ROWS * (2 * max_differences + 1))
    ends = EndArrays(np.empty(room, np.int64), np.empty(room, np.uint8), np.empty(room, np.int64),
                     np.empty(room, np.uint8))  # fmt: skip
    strand = 0
    while strand < 2 * len(reads):
        strand, used, frequent = ends_of_strands(table, batch, arrays, strand, ends)
        yield _part(ends, used)
        if frequent:
            for used in ends_of_frequent_strand(table, batch, arrays, strand, ends):
                yield _part(ends, used)
            strand += 1


def _part(ends: EndArrays, used: int) -> Ends:
    return Ends(*(array[:used].copy() for array in ends))


@compiled
def ends_of_strands(table, batch, axis, strand, ends):
    """Ends of the strands (2 * read + strand) from `strand` on.

    Returns:
        The strand it stopped before, the number of ends, and whether it stopped because that strand has too many rows;
        else it stopped for want of room.
    """
    strands, per_strand = 2 * (len(batch.offsets) - 1), batch.differences + 1
    longest = np.int64(0)
    for read in range(len(batch.offsets) - 1):
        longest = max(longest, batch.offsets[read + 1] - batch.offsets[read])
    pieces, candidates = room_for_pieces(len(table), batch.differences), room_for_candidates()
    memory, layout = room_for_windows(longest, batch.differences)
    found = FoundWindows(np.empty(MOST_ROWS, np.int64), np.empty(MOST_ROWS, np.int64), np.empty(MOST_ROWS, np.int64))
    used = np.int64(0)
    while strand < strands:
        last = min(strand + max(PIECES_TOGETHER // per_strand, 1), strands)
        count = lay_pieces(batch, strand, last, pieces)
        for number in range(len(table)):
            search_pieces(page_of(table, number), number, batch, strand, count, pieces)
        first = strand
        while first < last:
            stop, rows = _as_many_as_fit(pieces, strand, first, last, per_strand)
            if stop == first:
                return first, used, True
            if used + rows * (2 * batch.differences + 1) > len(ends.read):
                return first, used, False
            with_ends = _find_windows(
                table, batch, axis, pieces, strand, first, stop, candidates, memory, layout, found
            )
            used = _merge_all(batch, found, with_ends, ends, used)
            first = stop
        strand = last
    return strand, used, False


@compiled
def _as_many_as_fit(pieces, origin, first, last, per_strand):
    """How far strands from `first` on have at most MOST_ROWS rows together, and how many rows that are."""
    rows = np.int64(0)
    while first < last:
        more = np.int64(0)
        for item in range((first - origin) * per_strand, (first + 1 - origin) * per_strand):
            for number in range(pieces.found.shape[1]):
                more += pieces.found[item, number, HIGH] - pieces.found[item, number, LOW]
        if rows + more > MOST_ROWS:
            break
        rows += more
        first += 1
    return first, rows


@compiled
def _find_windows(table, batch, axis, pieces, origin, first, stop, candidates, memory, layout, found):
    """Fill `found` with the windows of strands [first, stop) that have ends; returns how many.

    origin: the strand that the first of `pieces` are of.
    """
    items, page_numbers, rows, _, _ = candidates
    per_strand = batch.differences + 1
    count, used = 0, np.int64(0)
    for item in range((first - origin) * per_strand, (stop - origin) * per_strand):
        for number in range(len(table)):
            for row in range(pieces.found[item, number, LOW], pieces.found[item, number, HIGH]):
                items[count], page_numbers[count], rows[count] = item, number, row
                count += 1
                if count == CHUNK:
                    locate_candidates(table, pieces, count, candidates)
                    used = verify(batch, axis, pieces, origin, count, candidates, memory, layout, found, used)
                    count = 0
    locate_candidates(table, pieces, count, candidates)
    return verify(batch, axis, pieces, origin, count, candidates, memory, layout, found, used)


@compiled
def _merge_all(batch, found, count, ends, used):
    """Append the ends of the first `count` windows, which stand in the order of their strands; returns their end."""
    first = 0
    while first < count:
        strand, last = found.strand[first], first
        while last < count and found.strand[last] == strand:
            last += 1
        length = batch.offsets[(strand >> 1) + 1] - batch.offsets[strand >> 1]
        used = merge(found, first, last, length, batch.differences, ends, used)
        first = last
    return used

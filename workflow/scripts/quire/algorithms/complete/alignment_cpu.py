"""Hits of ends, and CIGARs of hits: the path that `quire.algorithms.complete` defines, for each end separately.

The path back from an end stays within k diagonals of it. The furthest reaching rows of Landau and Vishkin (1989) on
these diagonals give H wherever the path needs it: H[i][j] <= v where v differences reach row i or a later one on the
diagonal j - i. Equal bases are skipped a word at a time.

The begin of its alignment decides whether an end is a hit. Only hits that are reported are aligned again, for their
CIGARs.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import Axis, Ends, Hits, batch_arrays
from quire.reads import Reads
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar_cpu import element_of, operation_of
from quire.sequence.words_cpu import code_at, packed_word
from quire.simd.bits import count_ones, with_room
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind, interval_of

_COUNT, _STRAND = 0, 1
_HEAD = 2  # items of `pending` before its rows
_BEGIN, _END, _DISTANCE = 0, 1, 2
_ROW = 3  # items of a row
_PAIRS = np.uint64(0x5555555555555555)
_OUTSIDE = 5  # a letter beyond the island
NOWHERE = np.int64(-1)


def find_hits(parts: Iterable[Ends], reads: Reads, axis: Axis, max_differences: int) -> Iterator[Hits]:
    """Yield the hits of all ends of reads (`PartsOfEnds`); all of them together are sorted as `Hits` is."""
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
    """Take the ends of a part, and fill `hits` with those that no later end changes; return their number.

    `pending` (int64[]) holds the hits that a later end may change: their number, their strand (2 * read + strand), and
    begin, end and distance of each, sorted by begin.
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
    """See `align`."""
    reads, strands, _, ends, distances = hits
    paths = room_for_paths(_longest(batch.offsets), batch.differences)
    most = 4 * batch.differences + 3
    cigar, offsets = np.empty(4 * len(ends) + most, np.uint32), np.zeros(len(ends) + 1, np.int64)
    used = 0
    for i in range(len(ends)):
        cigar = with_room(cigar, used, used + most)
        strand = 2 * reads[i] + strands[i]
        _, used = find_path(batch, paths, strand, ends[i], np.int64(distances[i]), cigar, used)
        offsets[i + 1] = used
    return cigar[:used].copy(), offsets


class Paths(NamedTuple):
    """Working space for the path of an end.

    D = 2k + 3 is the number of diagonals, including one on either side that nothing reaches.

    Attributes:
        furthest: int64[(k + 1) * D], the row reached with v differences on diagonal d: item v * D + d.
        entered: int64[(k + 1) * D], the row where the last run of equal bases begins.
        letters: uint8[m + 2k], codes of the axis around the end where packed words do not suffice: 4 for an ambiguous
            base and 5 beyond the island.
    """

    furthest: np.ndarray
    entered: np.ndarray
    letters: np.ndarray


@compiled
def room_for_paths(longest, differences):
    """Allocate working space for the paths of reads of at most `longest` bases."""
    items = (differences + 1) * (2 * differences + 3)
    return Paths(np.empty(items, np.int64), np.empty(items, np.int64), np.empty(longest + 2 * differences, np.uint8))


@inlined
def _plain_run(packed, side, word, text, diagonal, row, length):
    """Return the next row, from `row` on, whose bases differ on a diagonal; `length` if there is none."""
    while row < length:
        index, shift = word + (row >> 5), np.uint64(2 * (row & 31))
        bases = packed[side, index] >> shift
        bases |= (packed[side, index + 1] << np.uint64(1)) << (np.uint64(63) - shift)
        difference = bases ^ packed_word(text, diagonal + row)
        difference = (difference | difference >> np.uint64(1)) & _PAIRS
        if difference:
            return min(row + (count_ones(~difference & (difference - np.uint64(1))) >> 1), length)
        row += 32
    return length


@inlined
def _careful_run(codes, side, origin, letters, begin, row, length):
    """Do as `_plain_run`, base by base: `letters` begin at row 0 of diagonal 0, and `begin` is the diagonal."""
    while row < length and codes[side, origin + row] == letters[begin + row] and letters[begin + row] < 4:
        row += 1
    return row


@inlined
def _fill_letters(batch, letters, begin, bases, low, high):
    """Fill the letters of the axis in [begin, begin + bases), for an island [low, high)."""
    unknown = batch.unknown
    span = first_behind(unknown, begin)
    for i in range(bases):
        position = begin + i
        if position < low or position >= high:
            letters[i] = _OUTSIDE
            continue
        while span < len(unknown) and unknown[span, 1] <= position:
            span += 1
        if span < len(unknown) and unknown[span, 0] <= position:
            letters[i] = 4
        else:
            letters[i] = np.uint8(code_at(batch.text, position))


@compiled
def find_path(batch, paths, strand, end, distance, cigar, used):
    """Align an end of `strand`, 2 * read + strand; return where the alignment begins on the axis, and a new `used`.

    `cigar` (uint32[]) receives up to 4k + 3 operations from `used` on; an empty array receives none.
    """
    offsets, codes, word_offsets, packed, ambiguous, text, unknown, islands, differences = batch
    furthest, entered, letters = paths
    read, side = strand >> 1, strand & 1
    origin, length, word = offsets[read], offsets[read + 1] - offsets[read], word_offsets[read]
    island = interval_of(islands, end - 1)
    low, high = islands[island], islands[island + 1]
    begin = end - length - differences  # row 0 of the first diagonal
    span = first_behind(unknown, begin)
    careful = ambiguous[read] or begin < low or end + differences > high
    careful |= span < len(unknown) and unknown[span, 0] < end + differences
    if careful:
        _fill_letters(batch, letters, begin, length + 2 * differences, low, high)
    width = 2 * differences + 3
    for level in range(distance + 1):
        here, before = level * width, (level - 1) * width
        furthest[here], furthest[here + width - 1] = NOWHERE, NOWHERE
        for diagonal in range(1, width - 1):
            row = np.int64(0)
            if level > 0:
                row = max(furthest[before + diagonal], furthest[before + diagonal + 1]) + 1
                row = min(max(row, furthest[before + diagonal - 1]), length)
            entered[here + diagonal] = row
            if careful:
                row = _careful_run(codes, side, origin, letters, diagonal - 1, row, length)
            else:
                row = _plain_run(packed, side, word, text, begin + diagonal - 1, row, length)
            furthest[here + diagonal] = row
    row, diagonal, level = length, np.int64(differences + 1), np.int64(distance)
    first = used
    while row > 0:
        here, before = level * width, (level - 1) * width
        position = begin + diagonal - 1 + row  # on the axis, after the base of this row
        if level == 0:
            operation, steps = CIGAR_MATCH, row
        elif position == low:
            operation, steps = CIGAR_INSERTION, np.int64(1)
        elif row > entered[here + diagonal]:
            operation, steps = CIGAR_MATCH, row - entered[here + diagonal]
        elif row == furthest[before + diagonal] + 1:
            operation, steps = CIGAR_MATCH, np.int64(1)
            level -= 1
        else:
            if careful:
                letter = np.int64(letters[diagonal - 2 + row])
            else:
                letter = np.int64(code_at(text, position - 1))
            if letter == codes[side, origin + row - 1] and letter < 4:
                operation, steps = CIGAR_MATCH, np.int64(1)
            elif furthest[before + diagonal + 1] >= row - 1:
                operation, steps = CIGAR_INSERTION, np.int64(1)
            else:
                operation, steps = CIGAR_DELETION, np.int64(1)
        if operation == CIGAR_MATCH:
            row -= steps
        elif operation == CIGAR_INSERTION:
            row -= 1
            diagonal += 1
            level -= 1
        else:
            diagonal -= 1
            level -= 1
        if len(cigar) > 0:
            if used > first and operation_of(cigar[used - 1]) == operation:
                cigar[used - 1] += element_of(steps, 0)
            else:
                cigar[used] = element_of(steps, operation)
                used += 1
    if len(cigar) > 0:
        cigar[first:used] = cigar[first:used][::-1].copy()
    return begin + diagonal - 1, used

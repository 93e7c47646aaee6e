"""The path of one end, with Numba: the furthest reaching rows on the diagonals around it, and the traceback."""

from typing import NamedTuple

import numpy as np

from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.sequence.cigar import element_of, operation_of
from quire.sequence.words import code_at, packed_word
from quire.simd.bits import count_ones
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind, interval_of

_PAIRS = np.uint64(0x5555555555555555)
_OUTSIDE = 5  # a letter beyond the island
NOWHERE = np.int64(-1)


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
    """Align an end.

    Args:
        batch: `BatchArrays`.
        paths: `Paths`, overwritten.
        strand: 2 * read + strand.
        end: position on the axis.
        distance: differences of the end.
        cigar: uint32[], receives the operations from `used` on; an empty array receives none.
        used: first free item of `cigar`, which has room for 4k + 3 more.

    Returns:
        The axis position at which the alignment begins, and the end of its operations in `cigar`.
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

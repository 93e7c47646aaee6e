"""Optical duplicates: pairs of one fragment that were read so close to each other that they may be one molecule's spot.

The rule of `samtools markdup -d` (bam_markdup.c: is_optical_duplicate, check_duplicate_chain), for pairs: a duplicate
is optical if a better record of its fragment has the same beginning of the name up to the x coordinate (instrument,
run, flow cell, lane, tile) and lies within the distance in x and in y. Better is as for duplicates: a larger sum of
qualities, of equals the smaller name. Picard's MarkDuplicates agrees wherever the pairs that are close to each other
are all close to each other; where they form a chain it counts all of them but one.

A name has its coordinates where Illumina's machines write them: of 7 or 8 parts between colons the sixth and seventh,
of 5 the fourth and fifth, of 4 the third and fourth.
"""

import numpy as np
from numpy.typing import NDArray

from quire.finish.marking import OPTICAL, UNREADABLE_NAME
from quire.io.bam.decode import Records
from quire.io.bam.layout import FIXED_FIELDS
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.compiled import compiled, inlined

_FIXED_BYTES = FIXED_FIELDS.itemsize
_COLON, _MINUS, _ZERO, _NINE = 58, 45, 48, 57


def mark_optical(
    records: Records, score: NDArray[np.int64], first: NDArray[np.int64], distance: int, marks: NDArray[np.uint8]
) -> None:
    """Add OPTICAL and UNREADABLE_NAME to the marks of duplicates.

    Args:
        records: as `quire.finish.marking.cpu.mark` takes them.
        score: int64[n], sum of the qualities of both mates.
        first: int64[n], a record of the same fragment, one for all of a fragment; -1 of records that are no pair's.
        distance: pixels in x and in y.
        marks: uint8[n].
    """
    members = np.flatnonzero(_has_company(first))
    spots = _spots(records.data, records.starts, records.fixed, members)
    marks[members[(spots[:, 3] == 0) & (marks[members] != 0)]] |= UNREADABLE_NAME
    readable = spots[:, 3] != 0
    members, spots = members[readable], spots[readable]
    order = np.lexsort((spots[:, 1], spots[:, 0], first[members]))
    members, spots = members[order], spots[order]
    _mark_close(records.data, records.starts, members, first[members], spots, score, distance, marks)


def _has_company(first: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which records are of a fragment that others are of too."""
    many = np.bincount(first[first >= 0], minlength=len(first)) > 1
    return (first >= 0) & many[first]


@compiled
def _spots(data, starts, fixed, members):
    """int64[n, 4]: a hash of what is before x in the name, x, y, and whether the name has them."""
    spots = np.zeros((len(members), 4), np.int64)
    for m in range(len(members)):
        begin = starts[members[m]] + _FIXED_BYTES
        end = begin + np.int64(fixed[members[m]].name_bytes) - 1
        colons = 0
        for at in range(begin, end):
            colons += data[at] == _COLON
        if colons != 3 and colons != 4 and colons != 6 and colons != 7:
            continue
        wanted = 5 if colons > 4 else colons - 1  # the colon before x
        at_x = at_y = np.int64(-1)
        colons = 0
        for at in range(begin, end):
            if data[at] == _COLON:
                colons += 1
                if colons == wanted:
                    at_x = at + 1
                elif colons == wanted + 1:
                    at_y = at + 1
        x, has_x = _whole_number(data, at_x, end)
        y, has_y = _whole_number(data, at_y, end)
        if has_x and has_y:
            spots[m, 0] = np.int64(hash_of_name(data, begin, at_x) >> np.uint64(1))
            spots[m, 1], spots[m, 2], spots[m, 3] = x, y, 1
    return spots


@inlined
def _whole_number(data, at, end):
    """The number whose digits begin at `at`, and whether there is one."""
    negative = at < end and data[at] == _MINUS
    if negative:
        at += 1
    value, digits = np.int64(0), 0
    while at < end and _ZERO <= data[at] <= _NINE and digits < 18:
        value = value * 10 + (data[at] - _ZERO)
        at += 1
        digits += 1
    return -value if negative else value, digits > 0


@compiled
def _mark_close(data, starts, members, first, spots, score, distance, marks):
    """Mark each duplicate that a better record of its fragment is close to; members go by fragment, tile and x."""
    for m in range(len(members)):
        if marks[members[m]] == 0:
            continue
        found = False
        for step in (-1, 1):
            k = m + step
            while not found and 0 <= k < len(members):
                if first[k] != first[m] or spots[k, 0] != spots[m, 0] or abs(spots[k, 1] - spots[m, 1]) > distance:
                    break
                if abs(spots[k, 2] - spots[m, 2]) <= distance:
                    found = _better(data, starts, score, members[k], members[m])
                k += step
        if found:
            marks[members[m]] |= OPTICAL


@inlined
def _better(data, starts, score, one, other):
    """Whether a record is to be kept rather than another."""
    if score[one] != score[other]:
        return score[one] > score[other]
    a, b = starts[one] + _FIXED_BYTES, starts[other] + _FIXED_BYTES
    while data[a] == data[b] and data[a] != 0:
        a += 1
        b += 1
    return data[a] < data[b]

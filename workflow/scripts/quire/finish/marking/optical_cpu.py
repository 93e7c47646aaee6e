"""Optical duplicates: pairs of one fragment so close on the flow cell that they may be one cluster.

The rule is that of `samtools markdup -d` (bam_markdup.c: is_optical_duplicate, check_duplicate_chain), for pairs. A
duplicate is optical if a better record of its fragment has the same name up to the x coordinate (instrument, run, flow
cell, lane, tile) and lies within the distance in x and in y. As for duplicates, the better record has the larger score,
or the smaller name if scores are equal. Picard's MarkDuplicates gives the same counts unless close pairs form a chain
in which not all are close to each other; it then counts all of them but one.

Coordinates are read where Illumina's instruments write them: the sixth and seventh of 7 or 8 colon-separated fields of
the name, the fourth and fifth of 5, or the third and fourth of 4.
"""

import numpy as np
from numpy.typing import NDArray

from quire.finish.marking import OPTICAL, UNREADABLE_NAME
from quire.io.bam.decode_cpu import Records
from quire.io.bam.layout import FIXED_BYTES
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.compiled import compiled, inlined

_COLON, _MINUS, _ZERO, _NINE = 58, 45, 48, 57
_SPOT = np.dtype([(name, np.int64) for name in ("record", "fragment", "tile", "x", "y")])
"""Where a record was read: `tile` is a hash of its name up to x, or -1 if the name has no coordinates."""


def mark_optical(
    records: Records, score: NDArray[np.int64], first: NDArray[np.int64], distance: int, marks: NDArray[np.uint8]
) -> None:
    """Add OPTICAL and UNREADABLE_NAME to the marks of duplicates (uint8[n]), up to `distance` pixels in x and in y.

    `score` (int64[n]) is that of each record with its mate, `first` (int64[n]) a representative record of its fragment;
    -1 for records not compared as pairs.
    """
    many = np.bincount(first[first >= 0], minlength=len(first)) > 1  # fragments of more than one record
    members = np.flatnonzero((first >= 0) & many[first])
    spots = np.zeros(len(members), _SPOT)
    spots["record"], spots["fragment"], spots["tile"] = members, first[members], -1
    _read_spots(records.data, records.starts, records.fixed, spots)
    unreadable = spots["record"][spots["tile"] < 0]
    marks[unreadable[marks[unreadable] != 0]] |= UNREADABLE_NAME
    spots = spots[spots["tile"] >= 0]
    spots = spots[np.lexsort((spots["x"], spots["tile"], spots["fragment"]))]
    _mark_close(records.data, records.starts, spots, score, distance, marks)


@compiled
def _read_spots(data, starts, fixed, spots):
    """Fill the tiles and coordinates of spots from the names of their records."""
    for spot in spots:
        begin = starts[spot.record] + FIXED_BYTES
        end = begin + np.int64(fixed[spot.record].name_bytes) - 1
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
            spot.tile, spot.x, spot.y = np.int64(hash_of_name(data, begin, at_x) >> np.uint64(1)), x, y


@inlined
def _whole_number(data, at, end):
    """Parse the integer at `at`; return it and True, or 0 and False if there is none."""
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
def _mark_close(data, starts, spots, score, distance, marks):
    """Mark duplicates with a better record of their fragment nearby; spots are sorted by fragment, tile and x."""
    for m in range(len(spots)):
        record, fragment, tile, x, y = spots[m].record, spots[m].fragment, spots[m].tile, spots[m].x, spots[m].y
        if marks[record] == 0:
            continue
        found = False
        for step in (-1, 1):
            k = m + step
            while not found and 0 <= k < len(spots):
                other = spots[k]
                if other.fragment != fragment or other.tile != tile or abs(other.x - x) > distance:
                    break
                if abs(other.y - y) <= distance:
                    found = is_better(data, starts, score, other.record, record)
                k += step
        if found:
            marks[record] |= OPTICAL


@inlined
def is_better(data, starts, score, one, other):
    """Return True if record `one` is kept rather than `other`: its score is larger, or equal and its name smaller."""
    if score[one] != score[other]:
        return score[one] > score[other]
    a, b = starts[one] + FIXED_BYTES, starts[other] + FIXED_BYTES
    while data[a] == data[b] and data[a] != 0:
        a += 1
        b += 1
    return data[a] < data[b]

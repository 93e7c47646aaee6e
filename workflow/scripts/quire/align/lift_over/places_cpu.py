"""Places of hits on alternate contigs according to the alignments of these contigs, in kernels."""

import numpy as np

from quire.simd.bits import with_room
from quire.simd.compiled import compiled, inlined
from quire.simd.decimals import write_number

_COMMA, _SEMICOLON, _PLUS, _MINUS = (ord(letter) for letter in ",;+-")
_ROOM = 64  # bytes of a text without the name of the contig


@inlined
def lifts_of(lifts, contig):
    """Return the indices [low, high) of a contig's lifts."""
    return lifts.offsets[contig], lifts.offsets[contig + 1]


@inlined
def place_of(lifts, lift, start, end):
    """Return True if a lift has a place for [start, end) of its contig, and start and end of it, one less than in BED.

    There is none if the aligned part of the contig and the hit do not overlap, or if the first base (in the direction
    of the lift's target) is clipped. A hit whose last base is clipped ends at the first base of the alignment, as in
    bwa-postalt.
    """
    if end <= lifts.begin[lift] or lifts.end[lift] <= start:
        return False, np.int64(0), np.int64(0)
    first, last = start, end - 1
    if lifts.reverse[lift]:
        first, last = lifts.length[lift] - end, lifts.length[lift] - start - 1
    lifted_first = _lifted_base(lifts, lift, first)
    lifted_last = _lifted_base(lifts, lift, last)
    shift = lifts.position[lift] - 1
    return lifted_first >= 0, lifted_first + shift, lifted_last + 1 + shift


@inlined
def _lifted_base(lifts, lift, base):
    """Return the position of a base of the alternate contig relative to the lift's position; -1 in a clip."""
    low, high = lifts.piece_offsets[lift], lifts.piece_offsets[lift + 1]
    while high - low > 1:
        middle = (low + high) >> 1
        if lifts.piece_begin[middle] <= base:
            low = middle
        else:
            high = middle
    return lifts.piece_place[low] + (base - lifts.piece_begin[low]) * np.int64(lifts.piece_step[low])


@compiled
def write_lifts(reported, row, lifts, names, text, used):
    """Write the tag lt of a row (contig,start,end,strand; per lift) to text[used:]; return its end and the text."""
    contig = reported.contig[row]
    low, high = lifts_of(lifts, contig)
    start = reported.position[row]
    end = start + reported.axis_end[row] - reported.axis_begin[row]
    for lift in range(low, high):
        is_lifted, lifted_start, lifted_end = place_of(lifts, lift, start, end)
        if not is_lifted:
            continue
        target = lifts.contig[lift]
        text = with_room(text, used, used + _ROOM + names.offsets[target + 1] - names.offsets[target])
        for i in range(names.offsets[target], names.offsets[target + 1]):
            text[used] = names.letters[i]
            used += 1
        for number in (lifted_start, lifted_end):
            text[used] = _COMMA
            used += 1
            if number < 0:
                text[used] = _MINUS
                used += 1
            used = write_number(text, used, abs(number))
        is_reverse = (reported.strand[row] != 0) != (lifts.reverse[lift] != 0)
        text[used], text[used + 1], text[used + 2] = _COMMA, _MINUS if is_reverse else _PLUS, _SEMICOLON
        used += 3
    return used, text

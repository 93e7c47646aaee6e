"""MD and NM: differences between the bases of a read and those of the axis."""

from typing import NamedTuple

import numpy as np

from quire.sam import CIGAR_DELETION, CIGAR_INSERTION
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.sequence.codes import LETTERS
from quire.sequence.words_cpu import code_at, packed_word
from quire.simd.bases import LANES, differing_bases
from quire.simd.bits import prefetch, trailing_zeros, with_room
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.decimals import write_number
from quire.simd.search import first_behind

_AHEAD = 16  # distance of the prefetch of the axis, in records
_AT_ONCE = 64  # number of records for which room in `md` is made at a time
_CARET = ord("^")
_UNKNOWN = 4


class RecordSequences(NamedTuple):
    """Reads as read, the packed axis and its ambiguous spans.

    Attributes:
        codes1, codes2: uint8[bases], 0..3 and 4 for N, of first mates or single reads, and of second mates if any.
        offsets: int64[n + 1], offsets of all reads in bases: first mates, then second mates.
        text, ambiguous: as in `Reference`.
    """

    codes1: np.ndarray
    codes2: np.ndarray
    offsets: np.ndarray
    text: np.ndarray
    ambiguous: np.ndarray


class _Read(NamedTuple):
    """The bases of one read as read: codes[first:last]."""

    codes: np.ndarray
    first: int
    last: int


@compiled
def differences(reported, sequences, layout, edit_distance):
    """Write NM to `edit_distance` and return the MD texts and their offsets.

    Ambiguous bases of read or axis count as differences.
    """
    records, row = len(layout.row), layout.row
    offsets = np.zeros(records + 1, np.int64)
    md = np.empty(16 * records + 64, np.uint8)
    begins, ends = reported.axis_begin, reported.axis_end
    for first in range(0, records, _AT_ONCE):
        last = min(first + _AT_ONCE, records)
        most = offsets[first]
        for i in range(first, last):
            if row[i] >= 0:
                most += 4 * (ends[row[i]] - begins[row[i]]) + 16
        md = with_room(md, offsets[first], most)
        _write_some(reported, sequences, layout, (first, last), md, offsets, edit_distance)
    return md[: offsets[records]], offsets


@compiled
def _write_some(reported, sequences, layout, span, md, offsets, edit_distance):
    """Write MD and NM of the records [first, last) of `span`; `md` is large enough."""
    reported, sequences, layout = borrowed(reported), borrowed(sequences), borrowed(layout)
    records, bases1 = len(layout.row), len(sequences.codes1)
    used = offsets[span[0]]
    for i in range(span[0], span[1]):
        if i + _AHEAD < records and layout.row[i + _AHEAD] >= 0:
            prefetch(sequences.text, reported.axis_begin[layout.row[i + _AHEAD]] >> 5)
            prefetch(sequences.text, reported.axis_end[layout.row[i + _AHEAD]] >> 5)
        row = layout.row[i]
        if row >= 0:
            first, last = sequences.offsets[layout.read[i]], sequences.offsets[layout.read[i] + 1]
            if first < bases1:
                read = _Read(sequences.codes1, first, last)
            else:
                read = _Read(sequences.codes2, first - bases1, last - bases1)
            used, edit_distance[i] = _write_md(reported, row, read, sequences, md, used)
        offsets[i + 1] = used


@inlined
def _write_md(reported, row, read, sequences, md, used):
    """Write the MD text of a row to md[used:]; return its end and the edit distance."""
    text, ambiguous, cigar = sequences.text, sequences.ambiguous, reported.cigar
    reverse, place = reported.strand[row] != 0, np.int64(reported.read_begin[row])
    axis, axis_end = reported.axis_begin[row], reported.axis_end[row]
    first_operation = reported.cigar_begin[row]
    last_operation = first_operation + reported.cigar_length[row]
    span = first_behind(ambiguous, axis)
    some_ambiguous = span < len(ambiguous) and ambiguous[span, 0] < axis_end
    edits, run = np.int64(0), np.int64(0)
    for j in range(first_operation, last_operation):
        operation, length = operation_of(cigar[j]), length_of(cigar[j])
        if operation == CIGAR_INSERTION:
            place += length
            edits += length
            continue
        if operation == CIGAR_DELETION:
            used = write_number(md, used, run)
            run = np.int64(0)
            md[used] = _CARET
            used += 1
            edits += length
            for position in range(axis, axis + length):
                md[used] = LETTERS[_letter_at(text, ambiguous, some_ambiguous, position)]
                used += 1
            axis += length
            continue
        end = axis + length
        while axis < end:
            count = min(end - axis, LANES)
            word = packed_word(text, axis)
            differing = differing_bases(read.codes, read.first, read.last, reverse, place, count, word)
            if some_ambiguous:
                differing |= _ambiguous_bases(ambiguous, axis, count)
            written = np.int64(0)  # bases that are already written
            while differing:
                at = trailing_zeros(differing)
                used = write_number(md, used, run + at - written)
                run = np.int64(0)
                md[used] = LETTERS[_letter_at(text, ambiguous, some_ambiguous, axis + at)]
                used += 1
                edits += 1
                written = at + 1
                differing &= differing - np.uint64(1)
            run += count - written
            place += count
            axis += count
    return write_number(md, used, run), edits


@inlined
def _letter_at(text, ambiguous, some_ambiguous, position):
    """Return the code of the axis at a position: 4 in an ambiguous span."""
    if some_ambiguous:
        span = first_behind(ambiguous, position)
        if span < len(ambiguous) and ambiguous[span, 0] <= position:
            return np.int64(_UNKNOWN)
    return np.int64(code_at(text, position))


@inlined
def _ambiguous_bases(ambiguous, axis, count):
    """Return a word (uint64) whose bit i < count is set if the base at axis + i is ambiguous."""
    bits = np.uint64(0)
    span = first_behind(ambiguous, axis)
    while span < len(ambiguous) and ambiguous[span, 0] < axis + count:
        for position in range(max(ambiguous[span, 0], axis), min(ambiguous[span, 1], axis + count)):
            bits |= np.uint64(1) << np.uint64(position - axis)
        span += 1
    return bits

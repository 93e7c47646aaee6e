"""The kernel that parses FASTQ text into flat arrays; `quire.io.fastq.one_file` calls it and formats its errors.

Records may be wrapped, as in Cock et al. 2010 (doi:10.1093/nar/gkp1137): the sequence ends at the first line that
starts with "+", and the qualities end when there are as many as there are bases.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.sequence.codes import AMBIGUOUS, IUPAC_BESIDES_N, code_table
from quire.simd.bits import ONES, bytes_below_lowest_bit, load_bytes, store_bytes
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

# Status: why parsing stopped. The first three are not errors.
DONE, MORE, END = 0, 1, 2
NOT_AT, TRUNCATED, NO_NAME, LONG_NAME, BAD_NAME = 3, 4, 5, 6, 7
NO_PLUS, BAD_BASE, TOO_LONG, OTHER_NAME, BAD_QUALITY, QUALITY_COUNT = 8, 9, 10, 11, 12, 13

LONGEST_NAME = 254  # l_read_name of a BAM record is a byte and counts the closing NUL
NEWLINE, RETURN, SPACE, TAB, AT, PLUS, SLASH, ONE, TWO = 10, 13, 32, 9, 64, 43, 47, 49, 50
LOWEST_QUALITY, HIGHEST_QUALITY = 33, 126
NOT_A_BASE = 255


class ParsedReads(NamedTuple):
    """Arrays of a `ReadBatch` of up to n reads, to be filled.

    Attributes:
        names, bases, qualities: uint8[], flat.
        name_offsets, offsets: int64[n + 1], 0 first.
        detail: int64[2], numbers for an error message.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    detail: NDArray[np.int64]


BASE_CODES = code_table({b"N." + IUPAC_BESIDES_N: AMBIGUOUS}, NOT_A_BASE)
_TOPS = np.uint64(0x8080808080808080)  # the highest bit of each of eight bytes


@compiled
def parse(data, at_end, maximum_length, count, given):
    """Parse records of a FASTQ text that begins with one, and append them to the first `count` records of `given`.

    Each flat array of `given` has room for all bytes of `data`; parsing stops when it has n records. `at_end` says that
    nothing follows in the file; a missing last newline must have been added.

    Returns:
        Status, number of records in `given`, and position after the last whole record.
    """
    reads = borrowed(given)
    position = 0
    while count + 1 < len(reads.offsets):
        if position == len(data):
            return (END if at_end else MORE), count, position
        status, following = _record(data, position, at_end, maximum_length, count, reads)
        if status != DONE:
            return status, count, (len(data) if status == END else position)
        position = following
        count += 1
    return DONE, count, position


@inlined
def _record(data, start, at_end, maximum_length, count, reads):
    """Parse one record; return a status, which is MORE if text may follow, and the position of the next record."""
    unfinished = TRUNCATED if at_end else MORE
    if data[start] == NEWLINE or data[start] == RETURN:
        return _only_blank_lines(data, start, at_end)
    status, position = _name(data, start, count, reads.names, reads.name_offsets)
    if status == DONE:
        status, position, length = _sequence(data, position, maximum_length, count, reads)
    if status != DONE:
        return (unfinished if status == MORE else status), start
    text_end, following = _line(data, position)
    if following < 0:
        return unfinished, start
    if text_end > position + 1 and not _same_name(data, start + 1, position + 1):
        return OTHER_NAME, start
    status, following = _qualities(data, following, at_end, length, count, reads)
    if status != DONE:
        return (unfinished if status == MORE else status), start
    reads.offsets[count + 1] = reads.offsets[count] + length
    return DONE, following


@compiled
def _decode_bases(data, start, end, codes, first):
    """Write the codes of data[start:end] to codes[first:]; return True if a byte is no base."""
    other = np.uint64(0)
    eights = (end - start) & ~7
    for i in range(0, eights, 8):
        eight, different = _eight_codes(load_bytes(data, start + i))
        store_bytes(codes, first + i, eight)
        other |= different
    if other:  # an N, lower case or no base: decode byte by byte
        eights = 0
    wrong = np.uint8(0)
    for i in range(eights, end - start):
        code = BASE_CODES[data[start + i]]
        codes[first + i] = code
        wrong |= code
    return wrong == NOT_A_BASE


@inlined
def _eight_codes(letters):
    """Return the codes of eight letters, one per byte, and a word that is 0 only if all are A, C, G or T."""
    codes = (letters >> np.uint64(1) ^ letters >> np.uint64(2)) & (np.uint64(3) * ONES)
    low, high = codes & ONES, codes >> np.uint64(1) & ONES
    # The letters of the codes: C, G and T are A plus 2, 6 and 19.
    back = np.uint64(65) * ONES + np.uint64(2) * low + np.uint64(6) * high + np.uint64(11) * (low & high)
    return codes, back ^ letters


@compiled
def _decode_qualities(data, start, end, qualities, first):
    """Write the phred values of data[start:end] to qualities[first:]; return True if a byte is not in '!'..'~'."""
    outside = np.uint64(0)
    eights = (end - start) & ~7
    for i in range(0, eights, 8):
        text = load_bytes(data, start + i)
        values = (text | _TOPS) - np.uint64(LOWEST_QUALITY) * ONES  # no byte borrows from the next
        store_bytes(qualities, first + i, values & ~_TOPS)
        outside |= text | ~values | (text + ONES)
    for i in range(eights, end - start):
        letter = data[start + i]
        qualities[first + i] = letter - np.uint8(LOWEST_QUALITY)
        if letter < LOWEST_QUALITY or letter > HIGHEST_QUALITY:
            outside = _TOPS
    return outside & _TOPS != 0


@inlined
def _newline(data, position):
    """Return the position of the first newline from `position` on, or len(data)."""
    while position + 8 <= len(data):
        different = load_bytes(data, position) ^ (np.uint64(NEWLINE) * ONES)
        found = (different - ONES) & ~different & _TOPS  # the lowest set bit marks the first newline
        if found:
            return position + bytes_below_lowest_bit(found)
        position += 8
    while position < len(data) and data[position] != NEWLINE:
        position += 1
    return position


@inlined
def _name(data, start, count, names, name_offsets):
    """Write the name of the record at `start`; return a status and the position after the title line."""
    if data[start] != AT:
        return NOT_AT, start
    first = name_offsets[count]
    i = start + 1
    length = 0
    while i + 8 <= len(data) and length < LONGEST_NAME - 8:
        eight = load_bytes(data, i)
        # Bytes up to a space borrow, higher ones do not. The loop below handles bytes from 128 on.
        if ((eight - np.uint64(SPACE + 1) * ONES) | eight) & _TOPS:
            break
        store_bytes(names, first + length, eight)
        length += 8
        i += 8
    while i < len(data) and data[i] > SPACE:
        if length <= LONGEST_NAME + 1:
            names[first + length] = data[i]
        length += 1
        i += 1
    line_end = _newline(data, i)
    if line_end >= len(data):
        return MORE, start
    if 2 < length <= LONGEST_NAME + 2 and names[first + length - 2] == SLASH:
        mate = names[first + length - 1]
        if mate in (ONE, TWO):
            length -= 2
    if length == 0:
        return NO_NAME, start
    if length > LONGEST_NAME:
        return LONG_NAME, start
    if data[i] != NEWLINE and data[i] != SPACE and data[i] != TAB and data[i] != RETURN:
        return BAD_NAME, start
    for k in range(first, first + length):
        if names[k] > HIGHEST_QUALITY or names[k] == AT:
            return BAD_NAME, start
    name_offsets[count + 1] = first + length
    return DONE, line_end + 1


@compiled
def _same_name(data, title, plus):
    """Return True if the texts of a title and of a '+' line, which begin at these positions, have the same name."""
    while data[plus] > SPACE and data[plus] == data[title]:
        plus += 1
        title += 1
    return data[plus] <= SPACE and data[title] <= SPACE


@compiled
def _line(data, start):
    """Return where the line's text ends, and where the next line starts; -1 if the line is unfinished."""
    i = _newline(data, start)
    if i >= len(data):
        return len(data), -1
    if i > start and data[i - 1] == RETURN:
        return i - 1, i + 1
    return i, i + 1


@compiled
def _only_blank_lines(data, start, at_end):
    """Return the status of blank lines, which are allowed only after the last record, and `start`."""
    for i in range(start, len(data)):
        if data[i] != NEWLINE and data[i] != RETURN:
            return NOT_AT, start
    return (END if at_end else MORE), start


@inlined
def _sequence(data, position, maximum_length, count, reads):
    """Read sequence lines up to one that starts with '+'; return a status, that line's position and the length."""
    detail, first, length = reads.detail, reads.offsets[count], 0
    while True:
        if position >= len(data):
            return MORE, position, length
        if data[position] == PLUS:
            break
        text_end, following = _line(data, position)
        if following < 0:
            return MORE, position, length
        blank = text_end == position and following < len(data) and (length > 0 or data[following] != PLUS)
        if data[position] == AT or blank:
            return NO_PLUS, position, length
        if _decode_bases(data, position, text_end, reads.bases, first + length):
            while BASE_CODES[data[position]] != NOT_A_BASE:
                position += 1
            detail[0] = data[position]
            return BAD_BASE, position, length
        length += text_end - position
        position = following
    if length > maximum_length:
        detail[0] = length
        return TOO_LONG, position, length
    return DONE, position, length


@inlined
def _qualities(data, position, at_end, length, count, reads):
    """Read quality lines until there are `length` values; return a status and the position of the next record."""
    detail, first, found = reads.detail, reads.offsets[count], 0
    detail[0] = length
    while True:
        if position >= len(data) and length == 0 and at_end:
            return DONE, position
        text_end, following = _line(data, position)
        if following < 0:
            return MORE, position
        here = text_end - position
        if found + here > length or (here == 0 and length > 0):
            # A title line instead of qualities: the qualities before it are too few.
            detail[1] = found if here == 0 or data[position] == AT else found + here
            return QUALITY_COUNT, position
        if _decode_qualities(data, position, text_end, reads.qualities, first + found):
            while LOWEST_QUALITY <= data[position] <= HIGHEST_QUALITY:
                position += 1
            detail[0] = data[position]
            return BAD_QUALITY, position
        found += here
        position = following
        if found == length:
            return DONE, position


@compiled
def first_difference(left, left_offsets, right, right_offsets, count):
    """Return the index of the first of `count` names that differs between two batches; -1 if none does."""
    for i in range(count):
        a, b = left_offsets[i], right_offsets[i]
        length = left_offsets[i + 1] - a
        if right_offsets[i + 1] - b != length:
            return i
        different = np.uint8(0)
        for k in range(length):
            different |= left[a + k] ^ right[b + k]
        if different:
            return i
    return -1

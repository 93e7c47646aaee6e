"""The kernel that parses FASTQ text into flat arrays; `quire.io.fastq.one_file` calls it and formats its errors.

A record is first parsed as four lines, with the length of the previous record as a guess, in loops that the compiler
vectorises. Records that are wrapped or wrong go to the careful parser, which follows Cock et al. 2010
(doi:10.1093/nar/gkp1137): the sequence ends at the first line that starts with '+', and the qualities end when there
are as many as there are bases.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.sequence.codes import AMBIGUOUS, IUPAC_BESIDES_N, code_table
from quire.simd.bits import ONES, bytes_below_lowest_bit, count_ones, load_bytes, store_bytes
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
def parse(data, start, end, at_end, maximum_length, count, given):
    """Parse records of data[start:end], and append them to the first `count` records of `given`.

    Args:
        data: uint8[], FASTQ text.
        start: first byte of a record.
        end: position after the last byte.
        at_end: True if nothing follows data[end - 1]; a missing last newline must have been added.
        maximum_length: longest accepted read, in bases.
        count: number of records in `given`.
        given: ParsedReads, each of whose flat arrays has room for `end - start` more bytes. Parsing stops when it has n
            records.

    Returns:
        Status, number of records in `given`, and position after the last whole record.
    """
    reads = borrowed(given)
    position, line_length = start, 0
    while count + 1 < len(reads.offsets):
        if position == end:
            return (END if at_end else MORE), count, position
        status, following = _plain_record(data, position, end, line_length, maximum_length, count, reads)
        if status != DONE:
            status, following = _careful_record(data, position, end, at_end, maximum_length, count, reads)
            if status != DONE:
                return status, count, (end if status == END else position)
        line_length = reads.offsets[count + 1] - reads.offsets[count]
        position = following
        count += 1
    return DONE, count, position


@inlined
def _plain_record(data, start, end, guess, maximum_length, count, reads):
    """Parse four plain lines; the status MORE means "not plain or not whole", see `_careful_record`."""
    status, position = _name(data, start, end, count, reads.names, reads.name_offsets)
    if status != DONE:
        return MORE, start
    # Try the length of the previous record's sequence first.
    line_end = position + guess
    if line_end + 1 >= end or (data[line_end] != NEWLINE and data[line_end] != RETURN):
        line_end = position
        while line_end < end and data[line_end] != NEWLINE and data[line_end] != RETURN:
            line_end += 1
    length = line_end - position
    # The sequence's newline, then '+' and its newline follow; each newline may have a '\r' before it.
    following = line_end
    if following + length + 6 > end or length > maximum_length:
        return MORE, start
    following += 2 if data[following] == RETURN else 1
    if data[following - 1] != NEWLINE or data[following] != PLUS:
        return MORE, start
    following += 1
    if data[following] == RETURN and data[following + 1] == NEWLINE:
        following += 1
    if data[following] != NEWLINE:
        following = _same_name(data, start, following, end)
        if following < 0:
            return MORE, start
    following += 1
    quality_end = following + length
    if quality_end + 1 > end:
        return MORE, start
    if data[quality_end] == RETURN and quality_end + 1 < end:
        next_record = quality_end + 2
    else:
        next_record = quality_end + 1
    if data[next_record - 1] != NEWLINE:
        return MORE, start
    first = reads.offsets[count]
    if _decode_bases(data, position, line_end, reads.bases, first):
        return MORE, start
    if _decode_qualities(data, following, quality_end, reads.qualities, first):
        return MORE, start
    reads.offsets[count + 1] = first + length
    return DONE, next_record


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
def _newline(data, position, end):
    """Return the position of the first newline from `position` on, or `end`."""
    while position + 8 <= end:
        different = load_bytes(data, position) ^ (np.uint64(NEWLINE) * ONES)
        found = (different - ONES) & ~different & _TOPS  # the lowest set bit marks the first newline
        if found:
            return position + bytes_below_lowest_bit(found)
        position += 8
    while position < end and data[position] != NEWLINE:
        position += 1
    return position


@compiled
def _name(data, start, end, count, names, name_offsets):
    """Write the name of the record at `start`; return a status and the position after the title line."""
    if data[start] != AT:
        return NOT_AT, start
    first = name_offsets[count]
    i = start + 1
    length = 0
    while i + 8 <= end and length < LONGEST_NAME - 8:
        eight = load_bytes(data, i)
        # Bytes up to a space borrow, higher ones do not. The loop below handles bytes from 128 on.
        if ((eight - np.uint64(SPACE + 1) * ONES) | eight) & _TOPS:
            break
        store_bytes(names, first + length, eight)
        length += 8
        i += 8
    while i < end and data[i] > SPACE:
        if length <= LONGEST_NAME + 1:
            names[first + length] = data[i]
        length += 1
        i += 1
    line_end = _newline(data, i, end)
    if line_end >= end:
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
def _same_name(data, title, plus, end):
    """Return the position of the newline that ends the '+' line whose text begins at `plus`.

    Return -1 if the line does not end before `end`, or has another name than the title.
    """
    i = title + 1
    while plus < end and data[plus] > SPACE and data[plus] == data[i]:
        plus += 1
        i += 1
    if plus >= end or data[plus] > SPACE or data[i] > SPACE:
        return -1
    while plus < end and data[plus] != NEWLINE:
        plus += 1
    return plus if plus < end else -1


@compiled
def _line(data, start, end):
    """Return where the line's text ends, and where the next line starts; -1 if the line is unfinished."""
    i = _newline(data, start, end)
    if i >= end:
        return end, -1
    if i > start and data[i - 1] == RETURN:
        return i - 1, i + 1
    return i, i + 1


@compiled
def _careful_record(data, start, end, at_end, maximum_length, count, reads):
    """Parse one record of any number of lines, with exact errors.

    Returns:
        Status, and position of the next record. The status is MORE if the record is incomplete and text may follow.
    """
    unfinished = TRUNCATED if at_end else MORE
    if data[start] == NEWLINE or data[start] == RETURN:
        return _only_blank_lines(data, start, end, at_end)
    status, position = _name(data, start, end, count, reads.names, reads.name_offsets)
    if status == MORE:
        return unfinished, start
    if status != DONE:
        return status, start
    status, position, length = _careful_sequence(data, position, end, maximum_length, count, reads)
    if status != DONE:
        return (unfinished if status == MORE else status), start
    text_end, following = _line(data, position, end)
    if following < 0:
        return unfinished, start
    if text_end > position + 1 and _same_name(data, start, position + 1, end) < 0:
        return OTHER_NAME, start
    status, following = _careful_qualities(data, following, end, at_end, length, count, reads)
    if status != DONE:
        return (unfinished if status == MORE else status), start
    reads.offsets[count + 1] = reads.offsets[count] + length
    return DONE, following


@compiled
def _only_blank_lines(data, start, end, at_end):
    """Return the status of blank lines, which are allowed only after the last record, and `start`."""
    for i in range(start, end):
        if data[i] != NEWLINE and data[i] != RETURN:
            return NOT_AT, start
    return (END if at_end else MORE), start


@compiled
def _careful_sequence(data, position, end, maximum_length, count, reads):
    """Read sequence lines up to one that starts with '+'; return a status, that line's position and the length."""
    detail, first, length = reads.detail, reads.offsets[count], 0
    while True:
        if position >= end:
            return MORE, position, length
        if data[position] == PLUS:
            break
        text_end, following = _line(data, position, end)
        if following < 0:
            return MORE, position, length
        blank = text_end == position and following < end and (length > 0 or data[following] != PLUS)
        if data[position] == AT or blank:
            return NO_PLUS, position, length
        for i in range(position, text_end):
            code = BASE_CODES[data[i]]
            if code == NOT_A_BASE:
                detail[0] = data[i]
                return BAD_BASE, position, length
            if length < maximum_length:
                reads.bases[first + length] = code
            length += 1
        position = following
    if length > maximum_length:
        detail[0] = length
        return TOO_LONG, position, length
    return DONE, position, length


@compiled
def _careful_qualities(data, position, end, at_end, length, count, reads):
    """Read quality lines until there are `length` values; return a status and the position of the next record."""
    detail, first, found = reads.detail, reads.offsets[count], 0
    detail[0] = length
    while True:
        if position >= end and length == 0 and at_end:
            return DONE, position
        text_end, following = _line(data, position, end)
        if following < 0:
            return MORE, position
        here = text_end - position
        if found + here > length or (here == 0 and length > 0):
            # A title line instead of qualities: the qualities before it are too few.
            detail[1] = found if here == 0 or data[position] == AT else found + here
            return QUALITY_COUNT, position
        for i in range(position, text_end):
            if data[i] < LOWEST_QUALITY or data[i] > HIGHEST_QUALITY:
                detail[0] = data[i]
                return BAD_QUALITY, position
            reads.qualities[first + found] = data[i] - LOWEST_QUALITY
            found += 1
        position = following
        if found == length:
            return DONE, position


@compiled
def after_lines(data, start, end, lines):
    """Return the position after newline number `lines` of data[start:end], -1 if there are fewer, and their count."""
    found, position = 0, start
    while position + 8 <= end:
        different = load_bytes(data, position) ^ (np.uint64(NEWLINE) * ONES)
        # The highest bit of each byte that is a newline; nothing is carried from byte to byte.
        here = count_ones(~(((different & ~_TOPS) + ~_TOPS) | different | ~_TOPS))
        if found + here >= lines:
            break
        found += here
        position += 8
    while position < end and found < lines:
        found += data[position] == NEWLINE
        position += 1
    return (position if found == lines else -1), found


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

"""Parsing of the reference blocks of a gVCF, which are nearly all of its lines, from text to columns."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.joint.columns import IS_CALLED
from quire.rescore.joint.gvcf import FIRST_SAMPLE, MISSING
from quire.simd.compiled import compiled, inlined

BLOCK, OTHER = 1, 0
"""Kinds of lines."""
_TAB, _LINE_END, _COLON, _COMMA, _DOT, _ZERO, _SLASH, _BAR = b"\t\n:,.0/|"
_UPPER_CASE = np.uint8(0xDF)
_FIRST_LETTER, _LAST_LETTER, _LOWER_CASE = b"az "
_MOST_DIGITS = 9  # more are left to Python, which knows the largest number
_LONGEST_GENOTYPE = 255  # letters; its ploidy fits into a byte
_POSITION, _REFERENCE, _ALTERNATE, _INFO, _FORMAT = 1, 3, 4, 7, 8  # columns
_NON_REFERENCE = np.frombuffer(b"<NON_REF>", np.uint8).copy()
_END = np.frombuffer(b"END=", np.uint8).copy()
_GT, _DP, _GQ, _PL, _MIN_DP, _UNKNOWN = range(6)
_KEYS = np.frombuffer(b"GTDPGQPL", np.uint8).reshape(4, 2).copy()  # in the order of the numbers
_LONG_KEY = np.frombuffer(b"MIN_DP", np.uint8).copy()


class Lines(NamedTuple):
    """Lines of a text, with the values of each line that is a plain block of one sample.

    Attributes:
        first: int64[n], where the line begins.
        kind: uint8[n], BLOCK or OTHER.
        letter: uint8[n], the reference's letter.
        start, end, ploidy, flags, quality, depth, phred_first, phred_count, phreds: as in `RecordColumns`.
    """

    first: NDArray[np.int64]
    kind: NDArray[np.uint8]
    letter: NDArray[np.uint8]
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    ploidy: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    quality: NDArray[np.int32]
    depth: NDArray[np.int32]
    phred_first: NDArray[np.int32]
    phred_count: NDArray[np.int32]
    phreds: NDArray[np.int32]


def new_lines(text: NDArray[np.uint8]) -> Lines:
    """Return arrays for as many lines and values as a text may have."""
    n = int(np.count_nonzero(text == _LINE_END))
    return Lines(
        first=np.empty(n, np.int64),
        kind=np.empty(n, np.uint8),
        letter=np.empty(n, np.uint8),
        start=np.empty(n, np.int32),
        end=np.empty(n, np.int32),
        ploidy=np.empty(n, np.uint8),
        flags=np.empty(n, np.uint8),
        quality=np.empty(n, np.int32),
        depth=np.empty(n, np.int32),
        phred_first=np.empty(n, np.int32),
        phred_count=np.empty(n, np.int32),
        phreds=np.empty(len(text) // 2 + 1, np.int32),
    )


@compiled
def parse_lines(text, at, contig, lines):
    """Parse the lines of a contig (its name as uint8[]) from `at` on; return their number and where they end.

    Every line of `text` has an end. A block in an unusual form is OTHER.
    """
    tabs = np.empty(FIRST_SAMPLE, np.int64)
    count, phreds = 0, 0
    while at < len(text) and _is(text, at, contig) and text[at + len(contig)] == _TAB:
        found = 0
        stop = at
        while text[stop] != _LINE_END:
            if text[stop] == _TAB:
                if found < len(tabs):
                    tabs[found] = stop
                found += 1
            stop += 1
        lines.first[count] = at
        lines.kind[count] = OTHER
        if found == len(tabs) and _parse_position(text, tabs, lines, count):
            values = _parse_sample(text, tabs, stop, lines, count, phreds)
            if values >= 0:
                lines.kind[count] = BLOCK
                phreds += values
        count += 1
        at = stop + 1
    return count, at


@inlined
def _is(text, at, expected):
    """Return True if `expected` stands at a place of the text and is not its end."""
    if at + len(expected) >= len(text):
        return False
    same = 0
    while same < len(expected) and text[at + same] == expected[same]:
        same += 1
    return same == len(expected)


@inlined
def _is_letter(byte):
    return _FIRST_LETTER <= byte | _LOWER_CASE <= _LAST_LETTER


@inlined
def _number(text, at, stop):
    """Return the number that fills the text from `at` to `stop`; MISSING for any other text."""
    if at >= stop or stop - at > _MOST_DIGITS:
        return np.int64(MISSING)
    value = np.int64(0)
    for i in range(at, stop):
        digit = np.int64(text[i]) - _ZERO
        if digit < 0 or digit > 9:
            return np.int64(MISSING)
        value = 10 * value + digit
    return value


@inlined
def _parse_position(text, tabs, lines, i):
    """Parse the columns up to INFO; return False for a line that is no plain block."""
    letter = tabs[_REFERENCE - 1] + 1
    if tabs[_REFERENCE] != letter + 1 or tabs[_ALTERNATE] - tabs[_ALTERNATE - 1] != len(_NON_REFERENCE) + 1:
        return False
    if not _is_letter(text[letter]) or not _is(text, tabs[_ALTERNATE - 1] + 1, _NON_REFERENCE):
        return False
    position = _number(text, tabs[_POSITION - 1] + 1, tabs[_POSITION])
    info = tabs[_INFO - 1] + 1
    if position < 1 or not _is(text, info, _END):
        return False
    end = _number(text, info + len(_END), tabs[_INFO])
    lines.letter[i], lines.start[i], lines.end[i] = text[letter] & _UPPER_CASE, position - 1, end
    return end >= position


@inlined
def _parse_sample(text, tabs, stop, lines, i, phreds):
    """Parse FORMAT and the sample; return the number of values of PL, -1 for a line that is no plain block."""
    lines.ploidy[i], lines.flags[i] = 0, 0
    lines.quality[i] = MISSING
    lines.phred_first[i], lines.phred_count[i] = phreds, 0
    depth, least = np.int64(MISSING), np.int64(MISSING)
    key, value = tabs[_FORMAT - 1] + 1, tabs[_FORMAT] + 1
    keys_end = tabs[_FORMAT]
    while key < keys_end and value < stop:
        key_stop, value_stop = key, value
        while key_stop < keys_end and text[key_stop] != _COLON:
            key_stop += 1
        while value_stop < stop and text[value_stop] != _COLON:
            value_stop += 1
        name = _key_number(text, key, key_stop)
        if name == _GT:
            if not _parse_genotype(text, value, value_stop, lines, i):
                return -1
        elif name == _PL:
            if not _parse_phreds(text, value, value_stop, lines, i):
                return -1
        elif name == _UNKNOWN:
            return -1
        elif not (value_stop == value + 1 and text[value] == _DOT):
            number = _number(text, value, value_stop)
            if number == MISSING:
                return -1
            if name == _DP:
                depth = number
            elif name == _GQ:
                lines.quality[i] = number
            else:
                least = number
        key, value = key_stop + 1, value_stop + 1
    lines.depth[i] = depth if least == MISSING else least
    return np.int64(lines.phred_count[i]) if lines.ploidy[i] else -1


@inlined
def _key_number(text, at, stop):
    if stop - at == _KEYS.shape[1]:
        for number in range(len(_KEYS)):
            if text[at] == _KEYS[number, 0] and text[at + 1] == _KEYS[number, 1]:
                return number
    if stop - at == len(_LONG_KEY) and _is(text, at, _LONG_KEY):
        return _MIN_DP
    return _UNKNOWN


@inlined
def _parse_genotype(text, at, stop, lines, i):
    """Parse GT of zeros and dots; return False for any other."""
    flags = IS_CALLED
    for place in range(at, stop):
        letter = text[place]
        if (place - at) % 2:
            if letter != _SLASH and letter != _BAR:
                return False
        elif letter == _DOT:
            flags = 0
        elif letter != _ZERO:
            return False
    lines.ploidy[i], lines.flags[i] = (stop - at + 1) // 2, flags
    return (stop - at) % 2 == 1 and stop - at < _LONGEST_GENOTYPE


@inlined
def _parse_phreds(text, at, stop, lines, i):
    """Parse PL, one value more than GT has alleles; return False for any other."""
    count = 0
    first = at
    for place in range(at, stop + 1):
        if place == stop or text[place] == _COMMA:
            number = _number(text, first, place)
            if number == MISSING:
                return False
            lines.phreds[lines.phred_first[i] + count] = number
            count += 1
            first = place + 1
    lines.phred_count[i] = count
    return count == lines.ploidy[i] + 1

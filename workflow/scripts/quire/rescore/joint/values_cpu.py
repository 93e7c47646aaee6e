"""Values in the text of a line of a VCF. A value lies between two places, `at` and `stop`, of a text (uint8[])."""

import numpy as np
from numpy.typing import NDArray

from quire.rescore.joint.gvcf import MISSING
from quire.simd.compiled import inlined

UNKNOWN = -1
"""Returned by `find_name`."""
_COMMA, _DOT, _ZERO, _MINUS, _PLUS, _LOWER_CASE, _SMALL_A, _SMALL_E, _SMALL_N = b",.0-+ aen"
_LARGEST = (1 << 31) - 1
_MOST_DIGITS = 10
_EXACT_DIGITS, _EXACT_POWER = 18, 22  # of an int64, and of ten in a float64


def name_table(names: tuple[str, ...]) -> NDArray[np.uint8]:
    """Return names as rows: the length of each, then its letters."""
    rows = np.zeros((len(names), 1 + max(map(len, names))), np.uint8)
    for row, name in zip(rows, names, strict=True):
        row[: 1 + len(name)] = len(name), *name.encode()
    return rows


@inlined
def stands(text, at, expected):
    """Return True if `expected` stands at a place of the text and is not its end."""
    if at + len(expected) >= len(text):
        return False
    same = 0
    while same < len(expected) and text[at + same] == expected[same]:
        same += 1
    return same == len(expected)


@inlined
def next_mark(text, at, stop, mark):
    """Return the place of the next mark in the text from `at` to `stop`, or `stop`."""
    while at < stop and text[at] != mark:
        at += 1
    return at


@inlined
def find_name(table, text, at, stop):
    """Return the row of a table of names, or UNKNOWN."""
    for row in range(len(table)):
        if stop - at == table[row, 0]:
            same = np.int64(0)
            while same < stop - at and text[at + same] == table[row, 1 + same]:
                same += 1
            if same == stop - at:
                return row
    return UNKNOWN


@inlined
def is_missing(text, at, stop):
    """Return True for no text and for a dot."""
    return stop == at or (stop == at + 1 and text[at] == _DOT)


@inlined
def parse_number(text, at, stop):
    """Return the number that fills the text from `at` to `stop`; MISSING for any other text."""
    value = np.int64(0)
    for place in range(at, stop):
        digit = np.int64(text[place]) - _ZERO
        if digit < 0 or digit > 9:
            return np.int64(MISSING)
        value = 10 * value + digit
    return value if 0 < stop - at <= _MOST_DIGITS and value <= _LARGEST else np.int64(MISSING)


@inlined
def parse_real(text, at, stop):
    """Return True and the decimal fraction, power of ten or NaN that fills the text; False for any other text."""
    if stop - at == 3 and text[at] | _LOWER_CASE == _SMALL_N and text[at + 1] | _LOWER_CASE == _SMALL_A:
        return text[at + 2] | _LOWER_CASE == _SMALL_N, np.nan
    sign = -1.0 if text[at] == _MINUS else 1.0
    at += text[at] == _MINUS or text[at] == _PLUS
    digits, power, value, has_point = 0, 0, np.int64(0), False
    while at < stop and (_ZERO <= text[at] <= _ZERO + 9 or (text[at] == _DOT and not has_point)):
        if text[at] == _DOT:
            has_point = True
        else:
            digits += 1
            if value < 10**_EXACT_DIGITS // 10:
                value = 10 * value + np.int64(text[at]) - _ZERO
                power -= has_point
            else:
                power += not has_point
        at += 1
    if at < stop and text[at] | _LOWER_CASE == _SMALL_E:
        is_negative = at + 1 < stop and text[at + 1] == _MINUS
        at += 2 if is_negative or (at + 1 < stop and text[at + 1] == _PLUS) else 1
        exponent = parse_number(text, at, stop)
        power += -exponent if is_negative else exponent
        at = stop
        digits = 0 if exponent == MISSING else digits
    # Both operands are exact for up to 15 digits, so the result is rounded once, as by `float`.
    if -_EXACT_POWER <= power < 0:
        return digits > 0 and at == stop, sign * (np.float64(value) / 10.0**-power)
    return digits > 0 and at == stop, sign * (np.float64(value) * 10.0**power)


@inlined
def parse_numbers(text, at, end, values, first):
    """Write numbers separated by commas to `values` from `first` on, and return their count.

    The count is 0 if a dot is among them or the text is missing, and MISSING for a wrong text.
    """
    count, has_dot = np.int64(0), False
    if is_missing(text, at, end):
        return count
    while at <= end:
        stop = next_mark(text, at, end, _COMMA)
        if stop == at + 1 and text[at] == _DOT:
            has_dot = True
        else:
            values[first + count] = parse_number(text, at, stop)
            if values[first + count] == MISSING:
                return np.int64(MISSING)
            count += 1
        at = stop + 1
    return np.int64(0) if has_dot else count

"""Tags of BAM records (SAM specification, section 4.2.4) that kernels read, and the text of MD."""

import numpy as np

from quire.simd.bits import ONES, load_bytes, trailing_zeros
from quire.simd.compiled import inlined

_A, _B, _H, _Z = ord("A"), ord("B"), ord("H"), ord("Z")
_BYTES_OF_TYPE = np.zeros(256, np.uint8)
for _letters, _size in (("AcC", 1), ("sS", 2), ("iIf", 4)):
    for _letter in _letters:
        _BYTES_OF_TYPE[ord(_letter)] = _size
BYTES_OF_TYPE = _BYTES_OF_TYPE
"""uint8[256]: size of a value of each type, 0 for types without a fixed size."""
_ZERO, _NINE, _DELETED = ord("0"), ord("9"), ord("^")
_NEVER = np.int64(1) << 40
_HIGHEST = np.uint64(0x8080808080808080)  # the highest bit of eight bytes
_BIT_TO_BYTE = 3


@inlined
def _integer(data, at, size, signed):
    """Return a little-endian number."""
    value = np.int64(0)
    for i in range(size):
        value |= np.int64(data[at + i]) << (8 * i)
    if signed and value >> (8 * size - 1):
        value -= np.int64(1) << (8 * size)
    return value


@inlined
def end_of_text(data, at, end):
    """Return the position of the NUL that closes a text, at most `end`; reads eight bytes at a time."""
    while at + 8 <= len(data) and at < end:
        word = load_bytes(data, at)
        zeros = (word - ONES) & ~word & _HIGHEST  # the lowest set bit marks the first NUL
        if zeros:
            return min(at + (trailing_zeros(zeros) >> _BIT_TO_BYTE), end)
        at += 8
    while at < end and data[at] != 0:
        at += 1
    return min(at, end)


@inlined
def after_tag(data, at, end):
    """Return the position after the tag at `at`, -1 if it has no known type or exceeds `end`."""
    if at + 4 > end:
        return np.int64(-1)
    kind, value = data[at + 2], at + 3
    size = np.int64(BYTES_OF_TYPE[kind])
    if size:
        after = value + size
    elif kind in (_Z, _H):
        after = end_of_text(data, value, end) + 1
    elif kind == _B and value + 5 <= end and data[value] != _A and BYTES_OF_TYPE[data[value]]:
        after = value + 5 + np.int64(BYTES_OF_TYPE[data[value]]) * _integer(data, value + 1, 4, False)
    else:
        return np.int64(-1)
    return after if after <= end else np.int64(-1)


@inlined
def text_tag(data, at, end, first, second):
    """Return where the text of the tag with these two letters begins and ends; -1 and -1 if there is none.

    The tags are data[at:end].
    """
    while 0 <= at < end:
        after = after_tag(data, at, end)
        if after >= 0 and data[at] == first and data[at + 1] == second and data[at + 2] == _Z:
            return at + 3, after - 1
        at = after
    return np.int64(-1), np.int64(-1)


@inlined
def find_tags(data, at, end, names, offsets, group):
    """Return NM (0 if missing), where the text of MD begins and ends, and the number of the read group.

    The tags are data[at:end]. `names` (uint8, flat) and `offsets` (int64[n + 1]) hold the names of the read groups.
    Group number `group` is tried first, and returned if the record names no known group.
    """
    distance, md, md_end = np.int64(0), np.int64(0), np.int64(0)
    while 0 <= at < end:
        after = after_tag(data, at, end)
        if after >= 0:
            first, second, kind, value = data[at], data[at + 1], data[at + 2], at + 3
            if first == 78 and second == 77 and BYTES_OF_TYPE[kind]:  # NM
                distance = _integer(data, value, np.int64(BYTES_OF_TYPE[kind]), kind > 96)
            elif first == 77 and second == 68 and kind in (_Z, _H):  # MD
                md, md_end = value, after - 1
            elif first == 82 and second == 71 and kind in (_Z, _H):  # RG
                group = _group_of(data, value, after - 1, names, offsets, group)
        at = after
    return distance, md, md_end, group


@inlined
def _group_of(data, begin, end, names, offsets, group):
    """Return the number of the group named data[begin:end]; try `group` first, and return it if none matches."""
    count = len(offsets) - 1
    for turn in range(count):
        number = (group + turn) % count
        first = offsets[number]
        if offsets[number + 1] - first != end - begin:
            continue
        i = np.int64(0)
        while i + 8 <= end - begin and load_bytes(data, begin + i) == load_bytes(names, first + i):
            i += 8
        while i < end - begin and data[begin + i] == names[first + i]:
            i += 1
        if i == end - begin:
            return number
    return group


@inlined
def next_mismatch(data, at, end, matched):
    """Find the next mismatch in the rest of MD's text, data[at:end].

    `matched` counts the aligned bases before it, without insertions and deletions.

    Returns:
        The position of the mismatch's letter, and the number of aligned bases before the mismatch, which is larger than
        any read if there is none.
    """
    while at < end:
        letter = data[at]
        if _ZERO <= letter <= _NINE:
            number = np.int64(0)
            while at < end and _ZERO <= data[at] <= _NINE:
                number = 10 * number + np.int64(data[at]) - _ZERO
                at += 1
            matched += number
        elif letter == _DELETED:
            at += 1
            while at < end and not _ZERO <= data[at] <= _NINE:
                at += 1
        else:
            return at, matched
    return at, _NEVER

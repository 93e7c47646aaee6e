"""What packing and unpacking share: the bits that say how a record is stored, its parts, and words of its bytes.

`quire.buckets.packing` has the layout.
"""

from typing import NamedTuple

import numpy as np

from quire.buckets.packing import stored
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS, OPERATION_BYTES, SIZE_BYTES
from quire.io.bam.tags import text_tag
from quire.simd.bits import load_bytes, store_bytes
from quire.simd.compiled import inlined

SLACK = 64
"""Bytes behind records, packed or not, that may be read and written, whatever they hold."""
LANES = 32  # qualities of which planes are made at a time
WEIGHTS = 8  # bits of a quality
CONTIG_AT, BASES_AT, MATE_AT, LENGTH_AT, MIDDLE_AT = (
    FIXED_FIELDS.fields[name][1]  # type: ignore[index]
    for name in ("contig", "bases", "mate_contig", "template_length", "name_bytes")
)
"""Where in a record contig and position, number of bases, contig and position of the mate, and template length stand;
and the word of bytes of the name (8 bits), mapping quality (8), bin (16), operations (16) and flag (16)."""


def _word(text: bytes) -> np.uint64:
    """A text as the bytes of a word, the first lowest."""
    return np.uint64(int.from_bytes(text, "little"))


# Tags with the letters of their types.
TAG, TAG_BYTES = np.uint64(0xFFFFFF), 3
NM_C = _word(b"NMC")


class TextTag(NamedTuple):
    """A tag of text: its letters and type, and the bits that say that it is as expected, or there and different."""

    word: np.uint64
    is_expected: np.uint64
    is_there: np.uint64


class NumberTag(NamedTuple):
    """A tag of a number: its letters with the types of one and of two bytes, and the bits that say which is there."""

    short_word: np.uint64
    long_word: np.uint64
    is_short: np.uint64
    is_long: np.uint64


MD = TextTag(_word(b"MDZ"), stored.MD_MATCHES, stored.MD)
MC = TextTag(_word(b"MCZ"), stored.MC_MATCHES, stored.MC)
MS = NumberTag(_word(b"msC"), _word(b"msS"), stored.MS_SHORT, stored.MS)
AS = NumberTag(_word(b"ASC"), _word(b"ASS"), stored.AS_SHORT, stored.AS)
XS = NumberTag(_word(b"XSC"), _word(b"XSS"), stored.XS_SHORT, stored.XS)
R, G, ZERO, MATCH = ord("R"), ord("G"), ord("0"), np.uint64(ord("M"))
LONGEST_TEXT, MOST_TAGS, MOST_DIGITS = 255, 65535, 6

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
LOW_8, LOW_16, LOW_32 = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
FOURS = np.uint64(0x1111111111111111)  # the lowest bit of each half of a byte
LEAST_DISTANCE, MOST_DISTANCE = -(1 << 15), (1 << 15) - 1  # of a distance in two bytes


@inlined
def int32(data, at):
    """A signed number of four bytes, as int64."""
    return np.int64(np.int32(np.uint32(load_bytes(data, np.int64(at)) & LOW_32)))


@inlined
def byte(data, at):
    """A byte, as int64."""
    return np.int64(data[np.uint64(at)])


@inlined
def half(data, at):
    """Two bytes, as int64."""
    return np.int64(load_bytes(data, np.int64(at)) & LOW_16)


@inlined
def put(out, at, value):
    """Write a byte; returns the position behind it."""
    out[np.uint64(at)] = np.uint8(value)
    return at + 1


@inlined
def copied(out, at, data, first, last):
    """Copy data[first:last] to `out` from `at` on, eight bytes at a time: up to seven more are written."""
    for k in range(0, last - first, 8):
        store_bytes(out, np.int64(at + k), load_bytes(data, np.int64(first + k)))
    return at + last - first


@inlined
def lowest(count):
    """A mask (uint64) of so many bytes, of all eight where there are more, of none where less than one."""
    return np.uint64(0) if count <= 0 else ALL >> np.uint64(64 - 8 * min(count, 8))


@inlined
def parts_of(data, start):
    """Where CIGAR, bases, qualities and tags of a record begin; the last -1 where it cannot be taken apart."""
    middle, bases = load_bytes(data, start + MIDDLE_AT), int32(data, start + BASES_AT)
    name_bytes, operations = np.int64(middle & LOW_8), np.int64(middle >> np.uint64(32) & LOW_16)
    cigar = start + FIXED_BYTES + name_bytes
    sequence = cigar + OPERATION_BYTES * operations
    qualities = sequence + (bases + 1) // 2
    tags, end = qualities + bases, start + SIZE_BYTES + int32(data, start)
    sound = name_bytes > 0 and bases >= 0 and tags <= end and end - tags <= MOST_TAGS and byte(data, cigar - 1) == 0
    return cigar, sequence, qualities, tags if sound else np.int64(-1)


@inlined
def group_at_end(data, tags, end):
    """Where the tag RG begins that ends the tags data[tags:end], and its bytes; none where it is not the last."""
    begin, behind = text_tag(data, tags, end, R, G)
    last = begin >= 0 and behind + 1 == end
    return (begin - TAG_BYTES, end - begin + TAG_BYTES) if last else (tags, np.int64(0))


@inlined
def digits_of(number):
    """A number's digits as the bytes of a word, and how many they are; 0 of a number that has too many."""
    word, count = np.uint64(0), np.int64(0)
    while count <= MOST_DIGITS:
        word = word << np.uint64(8) | np.uint64(ZERO + number % 10)
        count += 1
        number //= 10
        if number == 0:
            break
    return word, count if count <= MOST_DIGITS else np.int64(0)


@inlined
def plane_of(left):
    """Bytes of a plane where so many values are left, and which of its bits are of values (uint32)."""
    mask = np.uint32(0xFFFFFFFF)
    return (np.int64(4), mask) if left >= LANES else ((left + 7) // 8, mask >> np.uint32(LANES - left))

"""Constants and helpers that packing and unpacking share: tags, parts of a record, and access to its bytes.

See `quire.buckets.packing` for the layout.
"""

from typing import NamedTuple

import numpy as np

from quire.buckets.packing import stored
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS, OPERATION_BYTES, SIZE_BYTES
from quire.io.bam.tags import text_tag
from quire.simd.bits import load_bytes, store_bytes
from quire.simd.compiled import inlined

SLACK = 64
"""Bytes after records, packed or not, that may be read and overwritten."""
LANES = 32  # qualities in a plane
WEIGHTS = 8  # bits of a quality
CONTIG_AT, BASES_AT, MATE_AT, LENGTH_AT, MIDDLE_AT = (
    FIXED_FIELDS.fields[name][1]  # type: ignore[index]
    for name in ("contig", "bases", "mate_contig", "template_length", "name_bytes")
)
"""Offsets in a record of contig and position, number of bases, contig and position of the mate, template length, and of
the word that holds the bytes of the name (8 bits), mapping quality (8), bin (16), operations (16) and flag (16)."""


def _word(text: bytes) -> np.uint64:
    """Return a text as the bytes of a word, the first lowest."""
    return np.uint64(int.from_bytes(text, "little"))


# Tags with their type letters.
TAG, TAG_BYTES = np.uint64(0xFFFFFF), 3
NM_C = _word(b"NMC")


class TextTag(NamedTuple):
    """A text tag: its letters and type as a word, and its control bits for the expected text and for any other."""

    word: np.uint64
    is_expected: np.uint64
    is_there: np.uint64


class NumberTag(NamedTuple):
    """A number tag: its letters with the one-byte and the two-byte type as words, and its control bits for each."""

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
LEAST_DISTANCE, MOST_DISTANCE = -(1 << 15), (1 << 15) - 1  # limits of a distance in two bytes


@inlined
def int32(data, at):
    """Return a signed number of four bytes as int64."""
    return np.int64(np.int32(np.uint32(load_bytes(data, np.int64(at)) & LOW_32)))


@inlined
def byte(data, at):
    """Return a byte as int64."""
    return np.int64(data[np.uint64(at)])


@inlined
def half(data, at):
    """Return two bytes as int64."""
    return np.int64(load_bytes(data, np.int64(at)) & LOW_16)


@inlined
def put(out, at, value):
    """Write a byte and return the position after it."""
    out[np.uint64(at)] = np.uint8(value)
    return at + 1


@inlined
def copied(out, at, data, first, last):
    """Copy data[first:last] to out[at:] in words, up to seven bytes too many; return the position after the copy."""
    for k in range(0, last - first, 8):
        store_bytes(out, np.int64(at + k), load_bytes(data, np.int64(first + k)))
    return at + last - first


@inlined
def lowest(count):
    """Return a mask (uint64) of the lowest `count` bytes: no byte if negative, all eight if larger."""
    return np.uint64(0) if count <= 0 else ALL >> np.uint64(64 - 8 * min(count, 8))


@inlined
def parts_of(data, start):
    """Return where CIGAR, bases, qualities and tags of a record begin; -1 for the tags if it cannot be parsed."""
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
    """Return position and size of RG if it is the last of the tags data[tags:end], else a size of 0."""
    begin, after = text_tag(data, tags, end, R, G)
    last = begin >= 0 and after + 1 == end
    return (begin - TAG_BYTES, end - begin + TAG_BYTES) if last else (tags, np.int64(0))


@inlined
def digits_of(number):
    """Return a number's digits as the bytes of a word, and their count, which is 0 above MOST_DIGITS."""
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
    """Return the bytes of a plane if `left` values are left, and the mask (uint32) of its used bits."""
    mask = np.uint32(0xFFFFFFFF)
    return (np.int64(4), mask) if left >= LANES else ((left + 7) // 8, mask >> np.uint32(LANES - left))

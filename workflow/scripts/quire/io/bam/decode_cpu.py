"""Decoding of BAM's bytes to columns: where records begin, their fixed fields, and the parts that a reader asks for.

Records must be valid: the readers of files check them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS, OPERATION_BYTES, SIZE_BYTES
from quire.ragged import offsets_from_lengths
from quire.sam import CIGAR_HARD_CLIP, CIGAR_MASK, CIGAR_SHIFT, CIGAR_SOFT_CLIP, CONSUMES_REFERENCE
from quire.sequence.ties.cpu import hash_of_name
from quire.simd.bits import copy_items, prefetch, store_bytes
from quire.simd.compiled import compiled, inlined

_BYTES_AHEAD = 2560  # of the prefetch, about seven records
_CLIPS = 1 << CIGAR_SOFT_CLIP | 1 << CIGAR_HARD_CLIP


class Records(NamedTuple):
    """Records in the order of their file.

    Attributes:
        data: uint8[], the records end to end.
        starts: int64[n], where each record begins in `data`.
        fixed: FIXED_FIELDS[n].
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    fixed: NDArray[np.void]


def records_of(data: NDArray[np.uint8]) -> Records:
    """Return the records that are end to end in `data` (uint8[], without the file's header)."""
    starts, fixed = _split(data)
    return Records(data, starts, fixed.view(FIXED_FIELDS))


def header_bytes(content: bytes | memoryview) -> int:
    """Return the bytes of a BAM's header, more than len(content) if it is incomplete; ValueError if it is wrong."""

    def number(at: int, least: int) -> int:
        value = int.from_bytes(content[at : at + 4], "little", signed=True)
        if value < least and at + 4 <= len(content):
            raise ValueError("its header has an impossible number")
        return max(value, least)

    at = 8 + number(4, 0)
    contigs = number(at, 0)
    at += 4
    for _ in range(contigs):
        end = at + 4 + number(at, 1)
        if end <= len(content) and content[end - 1] != 0:
            raise ValueError("its header has a name without end")
        at = end + 4
        if at > len(content):
            break
    return at


def name_hashes(records: Records, chosen: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash (uint64[]) of the name of each chosen record, which breaks ties (`quire.sequence.ties`)."""
    hashes: NDArray[np.uint64] = _name_hashes(records.data, records.starts, records.fixed, chosen)
    return hashes


def cigars_of(records: Records, chosen: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the CIGARs of chosen records: offsets (int64[n + 1]), and elements end to end (uint32[])."""
    offsets = offsets_from_lengths(records.fixed["operations"][chosen])
    return offsets, _cigars(records.data, records.starts, records.fixed, chosen, offsets)


def bases_of(
    records: Records, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the reads of chosen records: offsets (int64[n + 1]), codes (ACGT 0 to 3, others 4) and qualities."""
    offsets = offsets_from_lengths(records.fixed["bases"][chosen])
    return offsets, *_bases(records.data, records.starts, records.fixed, chosen, offsets)


@compiled
def _split(data):
    """Return where records begin, and the bytes of their fixed fields end to end."""
    most = len(data) // FIXED_BYTES  # unwritten pages take no memory
    starts, fixed = np.empty(most, np.int64), np.empty(most * FIXED_BYTES, np.uint8)
    count = start = 0
    while start + FIXED_BYTES <= len(data):
        prefetch(data, start + _BYTES_AHEAD)  # the start of a record is known only after reading the previous one
        starts[count] = start
        copy_items(fixed, count * FIXED_BYTES, data, start, start + FIXED_BYTES)
        count += 1
        start += SIZE_BYTES + np.int64(uint32_at(data, start))
    return starts[:count], fixed[: count * FIXED_BYTES]


@inlined
def uint32_at(data, at):
    """Return the little-endian number of four bytes."""
    return (
        np.uint32(data[at])
        | np.uint32(data[at + 1]) << np.uint32(8)
        | np.uint32(data[at + 2]) << np.uint32(16)
        | np.uint32(data[at + 3]) << np.uint32(24)
    )


@inlined
def cigar_begin(start, fields):
    """Return where the CIGAR of a record begins, from the record's start and its fixed fields."""
    return start + FIXED_BYTES + fields.name_bytes


@inlined
def cigar_element(data, begin, number):
    """Return an element (uint32) of the CIGAR that begins at `begin`."""
    return uint32_at(data, begin + OPERATION_BYTES * number)


@inlined
def bases_begin(start, fields):
    """Return where the bases of a record begin, two per byte."""
    return cigar_begin(start, fields) + OPERATION_BYTES * np.int64(fields.operations)


@inlined
def qualities_begin(start, fields):
    """Return where the qualities of a record begin."""
    return bases_begin(start, fields) + (np.int64(fields.bases) + 1) // 2


def tags_begin(records: Records, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the tags of each chosen record begin (int64[]); meant for few records."""
    fixed = records.fixed[chosen]
    operations, bases = fixed["operations"].astype(np.int64), fixed["bases"].astype(np.int64)
    begin: NDArray[np.int64] = records.starts[chosen] + FIXED_BYTES + fixed["name_bytes"]
    return begin + OPERATION_BYTES * operations + (bases + 1) // 2 + bases


@inlined
def unclipped(data, start, fields):
    """Return the first and last position (0-based, inclusive) on the reference as if no base were clipped."""
    begin, count = cigar_begin(start, fields), np.int64(fields.operations)
    low, high = np.int64(fields.position), np.int64(fields.position)
    leading = True
    for k in range(count):
        low, high, leading = _widened(low, high, leading, cigar_element(data, begin, k))
    return low, high - 1


@inlined
def unclipped_by(cigar, first, last, position):
    """Return the same as `unclipped` for a record whose CIGAR is cigar[first:last] (uint32[])."""
    low, high = np.int64(position), np.int64(position)
    leading = True
    for k in range(first, last):
        low, high, leading = _widened(low, high, leading, cigar[k])
    return low, high - 1


@inlined
def _widened(low, high, leading, element):
    """Extend [low, high) by a CIGAR element; return both and True if all elements so far are clips."""
    operation, length = element & CIGAR_MASK, np.int64(element >> CIGAR_SHIFT)
    if _CLIPS >> operation & 1:
        return (low - length, high, True) if leading else (low, high + length, False)
    return low, high + (length if CONSUMES_REFERENCE >> operation & 1 else np.int64(0)), False


@compiled
def _name_hashes(data, starts, fixed, chosen):
    hashes = np.empty(len(chosen), np.uint64)
    for i in range(len(chosen)):
        begin = starts[chosen[i]] + FIXED_BYTES
        hashes[i] = hash_of_name(data, begin, begin + fixed[chosen[i]].name_bytes - 1)
    return hashes


@compiled
def _cigars(data, starts, fixed, chosen, offsets):
    cigars = np.empty(offsets[-1], np.uint32)
    for i in range(len(chosen)):
        begin = cigar_begin(starts[chosen[i]], fixed[chosen[i]])
        for k in range(offsets[i + 1] - offsets[i]):
            cigars[offsets[i] + k] = cigar_element(data, begin, k)
    return cigars


@compiled
def _bases(data, starts, fixed, chosen, offsets):
    codes, qualities = np.empty(offsets[-1], np.uint8), np.empty(offsets[-1], np.uint8)
    for i in range(len(chosen)):
        start, fields = starts[chosen[i]], fixed[chosen[i]]
        begin, first, length = bases_begin(start, fields), offsets[i], offsets[i + 1] - offsets[i]
        for k in range(np.uint64(length // 2)):
            store_bytes(codes, first + np.int64(2 * k), _two_codes(data[np.uint64(begin) + k]))
        if length & 1:
            codes[first + length - 1] = np.uint8(_two_codes(data[begin + length // 2]))
        begin = qualities_begin(start, fields)
        copy_items(qualities, first, data, begin, begin + length)
    return codes, qualities


@inlined
def _two_codes(byte):
    """Return the codes (uint16, first in the low half) of the two bases in a byte, equal to `layout.CODES_OF_BYTE`."""
    # The compiler vectorises this arithmetic on both bases at once. A, C, G and T have one bit set, whose number is the
    # code.
    wide = np.uint16(byte)
    bits = wide >> np.uint16(4) | (wide & np.uint16(15)) << np.uint16(8)
    # The top bit of each half of `known` is set if the half has exactly one bit.
    several = bits & ((bits | np.uint16(0x1010)) - np.uint16(0x0101))
    known = (bits + np.uint16(0x7F7F)) & ~(several + np.uint16(0x7F7F)) & np.uint16(0x8080)
    mask = known - (known >> np.uint16(7)) | known
    codes = (bits >> np.uint16(1) & np.uint16(0x0707)) - (bits >> np.uint16(3) & np.uint16(0x0101))
    return np.uint16(codes & mask | ~mask & np.uint16(0x0404))

"""The kernel that unpacks records; see `quire.buckets.packing` for the layout."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.buckets.packing import stored
from quire.buckets.packing.parts import (
    AS,
    BASES_AT,
    CONTIG_AT,
    FOURS,
    LANES,
    LENGTH_AT,
    LOW_8,
    LOW_16,
    LOW_32,
    MATCH,
    MATE_AT,
    MC,
    MD,
    MIDDLE_AT,
    MS,
    NM_C,
    TAG_BYTES,
    WEIGHTS,
    XS,
    byte,
    copied,
    digits_of,
    group_at_end,
    half,
    int32,
    parts_of,
    plane_of,
    put,
)
from quire.io.bam.layout import FIXED_BYTES, OPERATION_BYTES, SIZE_BYTES
from quire.sam import CIGAR_SHIFT
from quire.simd.bits import load_bytes, store_bytes
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import add, bit_or, choose_by_bits, splat, store, subtract


class Unpacked(NamedTuple):
    """Arrays for unpacked records, each with room for them and SLACK bytes.

    Attributes:
        out: uint8[], the records end to end.
        signed: int8[], the same memory.
        starts: int64[], where each record begins.
        fixed: uint8[], their fixed fields end to end.
    """

    out: NDArray[np.uint8]
    signed: NDArray[np.int8]
    starts: NDArray[np.int64]
    fixed: NDArray[np.uint8]


@compiled
def unpack_pieces(packed, offsets, unpacked):
    """Unpack pieces end to end; return the numbers of records and of bytes."""
    count, to = np.int64(0), np.int64(0)
    for k in range(len(offsets) - 1):
        if offsets[k] < offsets[k + 1]:
            count, to = _unpack_piece(packed, offsets[k], offsets[k + 1], unpacked, to, count)
    return count, to


@inlined
def _unpack_piece(packed, at, end, unpacked, to, count):
    """Unpack the piece packed[at:end] from position `to` on; return the records so far and the position after them."""
    highest = packed[np.uint64(at)]
    at += 1
    out, signed, starts, fixed = borrowed(unpacked)
    before, group = np.int64(-1), (np.int64(0), np.int64(0))
    while at < end:
        start, first = to, load_bytes(packed, at)
        control = first & LOW_32
        if control & stored.WHOLE:
            size = SIZE_BYTES + int32(packed, at + 4)
            to = copied(out, to, packed, at + 4, at + 4 + size)
            at += 4 + size
            _, _, _, tags = parts_of(out, start)
            if tags >= 0:
                group = group_at_end(out, tags, to)
                before = start
        else:
            at, bases, number = _unpack_places(packed, at + 6, out, start, before, control)
            at, to = _unpack_name(packed, at, out, start, before, control)
            name_bytes, cigar = to - start - FIXED_BYTES, to
            at, to = _unpack_cigar(packed, at, out, to, bases, control)
            operations = (to - cigar) // OPERATION_BYTES
            at, to = _unpack_bases(packed, at, out, to, bases, control)
            at, to = _unpack_qualities(packed, at, signed, to, bases, highest)
            at, to = _unpack_tags(packed, at, out, to, bases, group, control)
            mapping_quality, flag = control >> stored.CONTROL_BITS, first >> np.uint64(32) & LOW_16
            middle = np.uint64(name_bytes) | mapping_quality << np.uint64(8) | number << np.uint64(16)
            store_bytes(out, start + MIDDLE_AT, middle | np.uint64(operations) << np.uint64(32) | flag << np.uint64(48))
            store_bytes(out, start, np.uint32(to - start - SIZE_BYTES))
            before = start
        starts[np.uint64(count)] = start
        copied(fixed, count * FIXED_BYTES, out, start, start + FIXED_BYTES)
        count += 1
    return count, to


@inlined
def _unpack_places(packed, at, out, start, before, control):
    """Unpack positions, template length, bin and number of bases; return the position after them, bases and bin."""
    if control & stored.MIRRORED:
        place, mate = load_bytes(out, before + MATE_AT), load_bytes(out, before + CONTIG_AT)
        length = -int32(out, before + LENGTH_AT)
    elif control & stored.NEAR:
        word, last = load_bytes(packed, at), load_bytes(out, before + CONTIG_AT)
        contig, position = last & LOW_32, word & LOW_32
        distance = np.int64(np.int16(word >> np.uint64(32) & LOW_16))
        length = np.int64(np.int16(word >> np.uint64(48)))
        place = contig | position << np.uint64(32)
        mate = contig | np.uint64(np.int64(position) + distance) << np.uint64(32)
        at += 8
    else:
        place, mate, length = load_bytes(packed, at), load_bytes(packed, at + 8), int32(packed, at + 16)
        at += 20
    store_bytes(out, start + CONTIG_AT, place)
    store_bytes(out, start + MATE_AT, mate)
    store_bytes(out, start + LENGTH_AT, np.uint32(length))
    if control & stored.SAME_BIN:
        number = load_bytes(out, before + MIDDLE_AT) >> np.uint64(16) & LOW_16
    else:
        number = load_bytes(packed, at) & LOW_16
        at += 2
    if control & stored.SAME_BASES:
        bases = int32(out, before + BASES_AT)
    else:
        bases = int32(packed, at)
        at += 4
    store_bytes(out, start + BASES_AT, np.uint32(bases))
    return at, bases, number


@inlined
def _unpack_name(packed, at, out, start, before, control):
    """Unpack the name with its NUL; return the positions after it in `packed` and `out`, as the next functions do."""
    name, last_name = start + FIXED_BYTES, before + FIXED_BYTES
    if control & stored.SAME_NAME:
        return at, copied(out, name, out, last_name, last_name + byte(out, before + MIDDLE_AT))
    same, more = byte(packed, at), byte(packed, at + 1)
    at += 2
    to = copied(out, name, out, last_name, last_name + same)
    to = put(out, copied(out, to, packed, at, at + more), 0)
    return at + more, to


@inlined
def _unpack_cigar(packed, at, out, to, bases, control):
    """Unpack the CIGAR."""
    if control & stored.ONE_MATCH:
        store_bytes(out, to, np.uint32(bases << CIGAR_SHIFT))
        return at, to + OPERATION_BYTES
    size = OPERATION_BYTES * half(packed, at)
    return at + 2 + size, copied(out, to, packed, at + 2, at + 2 + size)


@inlined
def _unpack_bases(packed, at, out, to, bases, control):
    """Unpack the bases."""
    size = (bases + 1) // 2
    if not control & stored.TWO_BITS:
        return at + size, copied(out, to, packed, at, at + size)
    for k in range((size + 7) // 8):
        codes = load_bytes(packed, at + 4 * k) & LOW_32
        codes = (codes | codes << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
        codes = (codes | codes << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
        codes = (codes | codes << np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
        codes = (codes | codes << np.uint64(2)) & np.uint64(0x3333333333333333)
        low, high = codes & FOURS, codes >> np.uint64(1) & FOURS
        # 1 << code: 1, 2, 4 or 8.
        store_bytes(out, to + 8 * k, FOURS + low + np.uint64(3) * high + np.uint64(3) * (low & high))
    if bases & 1:
        put(out, to + size - 1, byte(out, to + size - 1) & 0xF0)
    return at + (size + 1) // 2, to + size


@inlined
def _unpack_qualities(packed, at, signed, to, bases, highest):
    """Unpack the qualities."""
    top = splat(np.int8(highest), LANES)
    zero, one = splat(np.int8(0), LANES), splat(np.int8(1), LANES)
    for begin in range(0, bases, LANES):
        width, _ = plane_of(bases - begin)
        weights, values = byte(packed, at), zero
        at += 1
        for k in range(WEIGHTS):
            held = weights >> (WEIGHTS - 1 - k) & 1
            plane = np.uint32(load_bytes(packed, at) & np.uint64(-held) & LOW_32)
            at += width * held
            values = bit_or(add(values, values), choose_by_bits(plane, one, zero))
        store(signed, np.int64(to + begin), subtract(top, values))
    return at, to + bases


@inlined
def _unpack_tags(packed, at, out, to, bases, group, control):
    """Unpack the tags."""
    if control & (stored.NM_ZERO | stored.NM):
        value = load_bytes(packed, at) & LOW_8 if control & stored.NM else np.uint64(0)
        store_bytes(out, to, np.uint32(NM_C | value << np.uint64(24)))
        at += 1 if control & stored.NM else 0
        to += 4
    if control & (stored.MD_MATCHES | stored.MC_MATCHES):
        digits, count = digits_of(bases)
    else:
        digits, count = np.uint64(0), np.int64(0)
    at, to = _unpack_text(packed, at, out, to, MD, (digits, count), control)
    matches = digits | MATCH << np.uint64(8 * count)
    at, to = _unpack_text(packed, at, out, to, MC, (matches, count + 1), control)
    at, to = _unpack_number(packed, at, out, to, MS, control)
    at, to = _unpack_number(packed, at, out, to, AS, control)
    at, to = _unpack_number(packed, at, out, to, XS, control)
    if control & stored.OTHERS:
        size = half(packed, at)
        to = copied(out, to, packed, at + 2, at + 2 + size)
        at += 2 + size
    if control & stored.GROUP:
        to = copied(out, to, out, group[0], group[0] + group[1])
    return at, to


@inlined
def _unpack_text(packed, at, out, to, kind, expected, control):
    """Unpack a text tag; see `packer._pack_text` for `expected`."""
    if control & kind.is_expected:
        store_bytes(out, to, kind.word)
        store_bytes(out, to + TAG_BYTES, expected[0])
        return at, to + TAG_BYTES + expected[1] + 1
    if control & kind.is_there:
        store_bytes(out, to, kind.word)
        size = byte(packed, at)
        to = copied(out, to + TAG_BYTES, packed, at + 1, at + 1 + size)
        return at + 1 + size, put(out, to, 0)
    return at, to


@inlined
def _unpack_number(packed, at, out, to, kind, control):
    """Unpack a number tag."""
    if control & kind.is_short:
        store_bytes(out, to, np.uint32(kind.short_word | (load_bytes(packed, at) & LOW_8) << np.uint64(24)))
        return at + 1, to + 4
    if control & kind.is_long:
        store_bytes(out, to, kind.long_word | (load_bytes(packed, at) & LOW_16) << np.uint64(24))
        return at + 2, to + 5
    return at, to

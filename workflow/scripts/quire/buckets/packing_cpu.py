"""Packing of records for the disk, a piece at a time, to less than half their size, much faster than zlib.

A piece is whole records of a bucket in the order of the reads, so that mates are mostly adjacent. Its first byte is the
highest quality of the first records. The packed records follow end to end. Each begins with a byte:

- WHOLE: the record follows as it is. So are the first record and those whose parts are longer than the record stored.
- 0 or TWO_BITS: the parts of the record follow, and TWO_BITS says how its bases are stored.

The parts are:

- the fixed fields, the name with the CIGAR, and the tags (packed last), as *changes* from the same part of the previous
  record that has its parts. For each eight bytes, the first lowest, a byte says which of them differ, and
  these follow. Bytes that the previous record lacks count as 0. Tags of different sizes are compared from their ends,
  since Quire's first tags vary most: the first eight bytes that begin before the previous record's tags count as new;
- bases: two bits each, four per byte, if all are A, C, G or T (TWO_BITS); otherwise as in BAM;
- qualities: 32 at a time, each subtracted from the piece's highest, modulo 256, so that most are small. The bits of one
  weight of the 32 values are a *plane*. A byte says which weights have a plane that is not empty; these planes follow,
  the highest weight first. The planes of the last values have only the bytes that these fill.

Words of eight bytes are also read and written at the end of a part, so arrays have SLACK bytes after their content.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.decode_cpu import Records
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS, OPERATION_BYTES, SIZE_BYTES
from quire.simd.bits import count_ones, load_bytes, store_bytes, trailing_zeros
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import add, bit_or, bits_greater, choose_by_bits, load, splat, store, subtract

SLACK = 64
"""Bytes after records, packed or not, that may be read and overwritten."""
WHOLE, TWO_BITS = 1, 2
LANES = 32  # qualities in a plane
WEIGHTS = 8  # bits of a quality
SAMPLED_RECORDS = 16  # first records of a piece, which are searched for the highest quality
BASES_AT, MIDDLE_AT = (FIXED_FIELDS.fields[name][1] for name in ("bases", "name_bytes"))  # type: ignore[index]
"""Offsets in a record of the number of bases, and of a word with the bytes of the name (8 bits), mapping quality (8),
bin (16), operations (16) and flag (16)."""
ALL, LOW_8 = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(0xFF)
LOW_16, LOW_32 = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
FOURS = np.uint64(0x1111111111111111)  # the lowest bit of each half of a byte


def pack(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack pieces; any thread may call it.

    `data` holds records end to end, and SLACK bytes after them; `offsets` is int64[n + 1], of the pieces.

    Returns:
        uint8[], the packed pieces end to end, and int64[n + 1], their offsets. A piece without records has no bytes.
    """
    size = int(offsets[-1] - offsets[0])
    # Unwritten pages take no memory. A record of 40 bytes with one base grows by up to 18 bytes.
    out, packed_offsets = np.empty(size + size // 2 + len(offsets) + SLACK, np.uint8), np.empty(len(offsets), np.int64)
    _pack_pieces(data, offsets, out, packed_offsets)
    return out[: packed_offsets[-1]], packed_offsets


def unpack(packed: NDArray[np.uint8], offsets: NDArray[np.int64], size: int) -> Records | None:
    """Return unpacked pieces end to end, None unless they have `size` bytes; SLACK bytes follow `packed`."""
    most = size // FIXED_BYTES  # unwritten pages take no memory
    out, starts = np.empty(size + SLACK, np.uint8), np.empty(most, np.int64)
    fixed = np.empty(most * FIXED_BYTES + SLACK, np.uint8)
    count, found = _unpack_pieces(packed, offsets, _Unpacked(out, out.view(np.int8), starts, fixed))
    if found != size:
        return None
    return Records(out[:size], starts[:count], fixed[: count * FIXED_BYTES].view(FIXED_FIELDS))


class _Unpacked(NamedTuple):
    """Arrays for unpacked records, as in `Records`, each with room for them and SLACK bytes; `signed` views `out`."""

    out: NDArray[np.uint8]
    signed: NDArray[np.int8]
    starts: NDArray[np.int64]
    fixed: NDArray[np.uint8]


class _Parts(NamedTuple):
    """Where a record and its parts begin; `sound` is False if they are longer than the record."""

    start: int
    name: int
    sequence: int
    qualities: int
    tags: int
    end: int
    sound: bool


@compiled
def _pack_pieces(data, offsets, out, packed_offsets):
    """Pack the pieces end to end."""
    signed = data.view(np.int8)
    at = packed_offsets[0] = 0
    for k in range(len(offsets) - 1):
        if offsets[k] < offsets[k + 1]:
            at = _pack_piece(data, signed, offsets[k], offsets[k + 1], out, at)
        packed_offsets[k + 1] = at


@inlined
def _pack_piece(data, signed, begin, end, out, at):
    """Pack the records data[begin:end] and return the position after them."""
    highest = _highest_quality(data, begin, end)
    at = _put(out, at, highest)
    before, is_first = _parts_of(data, begin), True
    start = begin
    while start < end:
        parts = _parts_of(data, start)
        if is_first or not parts.sound:
            at = _copied(out, _put(out, at, WHOLE), data, start, parts.end)
        else:
            control = at
            at = _pack_changes(data, (start, parts.name), (before.start, before.name), 0, out, at + 1)
            at = _pack_changes(data, (parts.name, parts.sequence), (before.name, before.sequence), 0, out, at)
            kind, at = _pack_bases(data, parts.sequence, parts.tags - parts.qualities, out, at)
            _put(out, control, kind)
            at = _pack_qualities(signed, parts.qualities, parts.tags, highest, out, at)
            shift = before.end - before.tags - (parts.end - parts.tags)
            at = _pack_changes(data, (parts.tags, parts.end), (before.tags, before.end), shift, out, at)
        if parts.sound:
            before, is_first = parts, False
        start = parts.end
    return at


@inlined
def _pack_changes(data, span, before, shift, out, at):
    """Pack the changes of the bytes `span` from the bytes `before`, `shift` bytes further on from their begin."""
    for place in range(span[0], span[1], 8):
        word = load_bytes(data, np.int64(place))
        differing = (word ^ _word_before(data, before, place - span[0] + shift)) & _lowest(span[1] - place)
        changed, mask = np.int64(0), at
        at += 1
        while differing:
            item = trailing_zeros(differing) >> 3
            changed |= 1 << item
            at = _put(out, at, word >> np.uint64(8 * item))
            differing &= ~(LOW_8 << np.uint64(8 * item))
        _put(out, mask, changed)
    return at


@inlined
def _pack_bases(data, sequence, bases, out, at):
    """Pack the bases, sixteen at a time; return TWO_BITS or 0, and the position after them.

    Each base is half a byte with one of four bits set, whose number becomes two bits; the halves keep their order. The
    rest of the last word is filled with As. No half may be 0, and exactly one bit per base must be set.
    """
    size = (bases + 1) // 2
    words = (size + 7) // 8
    empty, ones = np.uint64(0), np.int64(0)
    for k in range(words):
        word = load_bytes(data, sequence + 8 * k)
        left = size - 8 * k
        if left <= 8:
            word = word & _lowest(left) | FOURS & ~_lowest(left)
            if bases & 1:
                # The unused half becomes an A if it is 0, as it should be, and otherwise no valid base.
                word ^= np.uint64(1) << np.uint64(8 * left - 8)
        some = word | word >> np.uint64(1)
        empty |= ~(some | some >> np.uint64(2)) & FOURS
        ones += count_ones(word)
        low, high = word >> np.uint64(1) | word >> np.uint64(3), word >> np.uint64(2) | word >> np.uint64(3)
        codes = low & FOURS | (high & FOURS) << np.uint64(1)
        codes = (codes | codes >> np.uint64(2)) & np.uint64(0x0F0F0F0F0F0F0F0F)
        codes = (codes | codes >> np.uint64(4)) & np.uint64(0x00FF00FF00FF00FF)
        codes = (codes | codes >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
        store_bytes(out, at + 4 * k, np.uint32((codes | codes >> np.uint64(16)) & LOW_32))
    if empty == 0 and ones == 16 * words:
        return TWO_BITS, at + (size + 1) // 2
    return 0, _copied(out, at, data, sequence, sequence + size)


@inlined
def _pack_qualities(signed, qualities, tags, highest, out, at):
    """Pack the qualities, LANES at a time."""
    top, zero = splat(np.int8(highest), LANES), splat(np.int8(0), LANES)
    for begin in range(qualities, tags, LANES):
        values = subtract(top, load(signed, np.int64(begin), LANES))
        width, mask = _plane_of(tags - begin)
        weights, place = np.int64(0), at
        at += 1
        for _ in range(WEIGHTS):
            plane = bits_greater(zero, values) & mask
            values = add(values, values)
            store_bytes(out, np.int64(at), np.uint32(plane))
            held = np.int64(plane != 0)
            weights = 2 * weights + held
            at += width * held
        _put(out, place, weights)
    return at


@inlined
def _highest_quality(data, begin, end):
    """Return the highest quality of the first records of a piece; 0 if they have none."""
    highest, start = np.uint8(0), begin
    for _ in range(SAMPLED_RECORDS):
        if start < end:
            parts = _parts_of(data, start)
            if parts.sound:
                for k in range(np.uint64(parts.tags - parts.qualities)):
                    highest = max(highest, data[np.uint64(parts.qualities) + k])
            start = parts.end
    return highest


@compiled
def _unpack_pieces(packed, offsets, unpacked):
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
    before = _parts_of(out, to)
    while at < end:
        start, control = to, packed[np.uint64(at)]
        at += 1
        if control == WHOLE:
            size = SIZE_BYTES + _int32(packed, at)
            _copied(out, to, packed, at, at + size)
            at += size
        else:
            at = _unpack_changes(packed, at, out, (start, start + FIXED_BYTES), (before.start, before.name), 0)
            parts = _parts_of(out, start)
            at = _unpack_changes(packed, at, out, (parts.name, parts.sequence), (before.name, before.sequence), 0)
            bases = parts.tags - parts.qualities
            at = _unpack_bases(packed, at, out, parts.sequence, bases, control)
            at = _unpack_qualities(packed, at, signed, parts.qualities, bases, highest)
            shift = before.end - before.tags - (parts.end - parts.tags)
            at = _unpack_changes(packed, at, out, (parts.tags, parts.end), (before.tags, before.end), shift)
        parts = _parts_of(out, start)
        if parts.sound:
            before = parts
        to = parts.end
        starts[np.uint64(count)] = start
        _copied(fixed, count * FIXED_BYTES, out, start, start + FIXED_BYTES)
        count += 1
    return count, to


@inlined
def _unpack_changes(packed, at, out, span, before, shift):
    """Unpack the bytes `span` of `out`; see `_pack_changes`. Return the position after their changes."""
    for place in range(span[0], span[1], 8):
        changed, word = np.uint64(packed[np.uint64(at)]), _word_before(out, before, place - span[0] + shift)
        at += 1
        while changed:
            bits = np.uint64(8 * trailing_zeros(changed))
            word = word & ~(LOW_8 << bits) | np.uint64(packed[np.uint64(at)]) << bits
            at += 1
            changed &= changed - np.uint64(1)
        store_bytes(out, np.int64(place), word)
    return at


@inlined
def _unpack_bases(packed, at, out, to, bases, control):
    """Unpack the bases; return the position after them in `packed`, as the next function does."""
    size = (bases + 1) // 2
    if control != TWO_BITS:
        _copied(out, to, packed, at, at + size)
        return at + size
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
        out[np.uint64(to + size - 1)] &= np.uint8(0xF0)
    return at + (size + 1) // 2


@inlined
def _unpack_qualities(packed, at, signed, to, bases, highest):
    """Unpack the qualities."""
    top = splat(np.int8(highest), LANES)
    zero, one = splat(np.int8(0), LANES), splat(np.int8(1), LANES)
    for begin in range(0, bases, LANES):
        width, _ = _plane_of(bases - begin)
        weights, values = np.int64(packed[np.uint64(at)]), zero
        at += 1
        for k in range(WEIGHTS):
            held = weights >> (WEIGHTS - 1 - k) & 1
            plane = np.uint32(load_bytes(packed, at) & np.uint64(-held) & LOW_32)
            at += width * held
            values = bit_or(add(values, values), choose_by_bits(plane, one, zero))
        store(signed, np.int64(to + begin), subtract(top, values))
    return at


@inlined
def _parts_of(data, start):
    """Return the `_Parts` of a record, of which only the fixed fields are read."""
    middle, bases = load_bytes(data, start + MIDDLE_AT), _int32(data, start + BASES_AT)
    name = start + FIXED_BYTES
    sequence = name + np.int64(middle & LOW_8) + OPERATION_BYTES * np.int64(middle >> np.uint64(32) & LOW_16)
    qualities = sequence + (bases + 1) // 2
    tags, end = qualities + bases, start + SIZE_BYTES + _int32(data, start)
    return _Parts(start, name, sequence, qualities, tags, end, bases >= 0 and tags <= end)


@inlined
def _word_before(data, before, offset):
    """Return the word from `offset` on of the bytes `before`; bytes outside of them count as 0."""
    return (
        load_bytes(data, before[0] + offset) & _lowest(before[1] - before[0] - offset) if offset >= 0 else np.uint64(0)
    )


@inlined
def _int32(data, at):
    """Return a signed number of four bytes as int64."""
    return np.int64(np.int32(np.uint32(load_bytes(data, np.int64(at)) & LOW_32)))


@inlined
def _put(out, at, value):
    """Write a byte and return the position after it."""
    out[np.uint64(at)] = np.uint8(value)
    return at + 1


@inlined
def _copied(out, at, data, first, last):
    """Copy data[first:last] to out[at:] in words, up to seven bytes too many; return the position after the copy."""
    for k in range(0, last - first, 8):
        store_bytes(out, np.int64(at + k), load_bytes(data, np.int64(first + k)))
    return at + last - first


@inlined
def _lowest(count):
    """Return a mask (uint64) of the lowest `count` bytes: no byte if negative, all eight if larger."""
    return np.uint64(0) if count <= 0 else ALL >> np.uint64(64 - 8 * min(count, 8))


@inlined
def _plane_of(left):
    """Return the bytes of a plane if `left` values are left, and the mask (uint32) of its used bits."""
    mask = np.uint32(0xFFFFFFFF)
    return (np.int64(4), mask) if left >= LANES else ((left + 7) // 8, mask >> np.uint32(LANES - left))

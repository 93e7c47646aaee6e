"""The kernel that packs records; see `quire.buckets.packing` for the layout."""

import numpy as np

from quire.buckets.packing import stored
from quire.buckets.packing.parts import (
    AS,
    BASES_AT,
    CONTIG_AT,
    FOURS,
    LANES,
    LEAST_DISTANCE,
    LENGTH_AT,
    LONGEST_TEXT,
    LOW_8,
    LOW_16,
    LOW_32,
    MATCH,
    MATE_AT,
    MC,
    MD,
    MIDDLE_AT,
    MOST_DISTANCE,
    MS,
    NM_C,
    TAG,
    TAG_BYTES,
    WEIGHTS,
    XS,
    byte,
    copied,
    digits_of,
    group_at_end,
    int32,
    lowest,
    parts_of,
    plane_of,
    put,
)
from quire.io.bam.layout import FIXED_BYTES, OPERATION_BYTES, SIZE_BYTES
from quire.io.bam.tags import end_of_text
from quire.sam import CIGAR_SHIFT
from quire.simd.bits import count_ones, load_bytes, store_bytes, trailing_zeros
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import add, bits_greater, load, splat, subtract

SAMPLED_RECORDS = 16  # first records of a piece, which are searched for the highest quality


@compiled
def pack_pieces(data, offsets, out, packed_offsets):
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
    at = put(out, at, highest)
    before, group = np.int64(-1), (np.int64(0), np.int64(0))
    start = begin
    while start < end:
        after, first = start + SIZE_BYTES + int32(data, start), at
        cigar, sequence, qualities, tags = parts_of(data, start)
        if before < 0 or tags < 0:
            store_bytes(out, at, np.uint32(stored.WHOLE))
            at = copied(out, at + 4, data, start, after)
            if tags >= 0:
                group = group_at_end(data, tags, after)
                before = start
        else:
            middle, bases = load_bytes(data, start + MIDDLE_AT), int32(data, start + BASES_AT)
            store_bytes(out, at + 4, np.uint16(middle >> np.uint64(48)))
            control, at = _pack_places(data, start, before, middle, bases, out, at + 6)
            control, at = _pack_name(data, start, before, cigar, out, at, control)
            control, at = _pack_cigar(data, cigar, sequence, bases, out, at, control)
            control, at = _pack_bases(data, sequence, bases, out, at, control)
            at = _pack_qualities(signed, qualities, tags, highest, out, at)
            bits, at = _pack_tags(data, tags, after, bases, group, out, at)
            control |= bits
            mapping_quality = middle >> np.uint64(8) & LOW_8
            store_bytes(out, first, np.uint32(control | mapping_quality << stored.CONTROL_BITS))
            before = start
        start = after
    return at


@inlined
def _pack_places(data, start, before, middle, bases, out, at):
    """Pack positions, template length, bin and number of bases; return the control bits and the position after them."""
    control = np.uint64(0)
    place, mate, length = (
        load_bytes(data, start + CONTIG_AT),
        load_bytes(data, start + MATE_AT),
        int32(data, start + LENGTH_AT),
    )
    last_place, last_mate = load_bytes(data, before + CONTIG_AT), load_bytes(data, before + MATE_AT)
    distance = np.int64(np.int32(mate >> np.uint64(32))) - np.int64(np.int32(place >> np.uint64(32)))
    one_contig = (place ^ last_place | place ^ mate) & LOW_32 == 0
    if place == last_mate and mate == last_place and length == -int32(data, before + LENGTH_AT):
        control |= stored.MIRRORED
    elif one_contig and LEAST_DISTANCE <= distance <= MOST_DISTANCE and LEAST_DISTANCE <= length <= MOST_DISTANCE:
        control |= stored.NEAR
        both = np.uint64(np.uint16(distance)) | np.uint64(np.uint16(length)) << np.uint64(16)
        store_bytes(out, at, place >> np.uint64(32) | both << np.uint64(32))
        at += 8
    else:
        store_bytes(out, at, place)
        store_bytes(out, at + 8, mate)
        store_bytes(out, at + 16, np.uint32(length))
        at += 20
    number = middle >> np.uint64(16) & LOW_16
    if number == load_bytes(data, before + MIDDLE_AT) >> np.uint64(16) & LOW_16:
        control |= stored.SAME_BIN
    else:
        store_bytes(out, at, np.uint16(number))
        at += 2
    if bases == int32(data, before + BASES_AT):
        control |= stored.SAME_BASES
    else:
        store_bytes(out, at, np.uint32(bases))
        at += 4
    return control, at


@inlined
def _pack_name(data, start, before, cigar, out, at, control):
    """Pack the name, relative to the previous record's."""
    name, last_name = start + FIXED_BYTES, before + FIXED_BYTES
    length, last_length = cigar - 1 - name, byte(data, before + MIDDLE_AT) - 1
    shorter, same = min(length, last_length), np.int64(0)
    while same < shorter:
        differing = load_bytes(data, name + same) ^ load_bytes(data, last_name + same)
        if differing:
            same += trailing_zeros(differing) >> 3
            break
        same += 8
    same = min(same, shorter)
    if same == length == last_length:
        return control | stored.SAME_NAME, at
    at = put(out, put(out, at, same), length - same)
    return control, copied(out, at, data, name + same, name + length)


@inlined
def _pack_cigar(data, cigar, sequence, bases, out, at, control):
    """Pack the CIGAR."""
    if sequence - cigar == OPERATION_BYTES and int32(data, cigar) == bases << CIGAR_SHIFT:
        return control | stored.ONE_MATCH, at
    store_bytes(out, at, np.uint16((sequence - cigar) // OPERATION_BYTES))
    return control, copied(out, at + 2, data, cigar, sequence)


@inlined
def _pack_bases(data, sequence, bases, out, at, control):
    """Pack the bases, sixteen at a time.

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
            word = word & lowest(left) | FOURS & ~lowest(left)
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
        return control | stored.TWO_BITS, at + (size + 1) // 2
    return control, copied(out, at, data, sequence, sequence + size)


@inlined
def _pack_qualities(signed, qualities, tags, highest, out, at):
    """Pack the qualities, LANES at a time."""
    top, zero = splat(np.int8(highest), LANES), splat(np.int8(0), LANES)
    for begin in range(qualities, tags, LANES):
        values = subtract(top, load(signed, np.int64(begin), LANES))
        width, mask = plane_of(tags - begin)
        weights, place = np.int64(0), at
        at += 1
        for _ in range(WEIGHTS):
            plane = bits_greater(zero, values) & mask
            values = add(values, values)
            store_bytes(out, np.int64(at), np.uint32(plane))
            held = np.int64(plane != 0)
            weights = 2 * weights + held
            at += width * held
        put(out, place, weights)
    return at


@inlined
def _pack_tags(data, tags, end, bases, group, out, at):
    """Pack the tags data[tags:end]; return the control bits and the position after them.

    `group` is the position and size of the first record's tag RG.
    """
    control = np.uint64(0)
    if group[1] and end - tags >= group[1] and _same(data, end - group[1], group[0], group[1]):
        control |= stored.GROUP
        end -= group[1]
    word = load_bytes(data, tags)
    if tags + 4 <= end and word & TAG == NM_C:
        value = word >> np.uint64(24) & LOW_8
        if value == 0:
            control |= stored.NM_ZERO
        else:
            control |= stored.NM
            at = put(out, at, value)
        tags += 4
    digits, count = digits_of(bases)
    tags, md, at = _pack_text(data, tags, end, MD, (digits, count), out, at)
    matches = digits | MATCH << np.uint64(8 * count)
    tags, mc, at = _pack_text(data, tags, end, MC, (matches, count + 1 if count else count), out, at)
    tags, ms, at = _pack_number(data, tags, end, MS, out, at)
    tags, score, at = _pack_number(data, tags, end, AS, out, at)
    tags, suboptimal, at = _pack_number(data, tags, end, XS, out, at)
    control |= md | mc | ms | score | suboptimal
    if tags < end:
        control |= stored.OTHERS
        store_bytes(out, at, np.uint16(end - tags))
        at = copied(out, at + 2, data, tags, end)
    return control, at


@inlined
def _same(data, one, other, count):
    """Return True if data[one : one + count] and data[other : other + count] are equal."""
    for k in range(0, count, 8):
        if (load_bytes(data, one + k) ^ load_bytes(data, other + k)) & lowest(count - k):
            return False
    return True


@inlined
def _pack_text(data, tag, end, kind, expected, out, at):
    """Pack a text tag if it is at data[tag]; return the position of the next tag, the control bit and the new `at`.

    `expected` is the tag's usual text as a word, and its number of letters; 0 if there is no usual text.
    """
    letters, length = expected
    text, nothing = tag + TAG_BYTES, np.uint64(0)
    if text + 1 > end or load_bytes(data, tag) & TAG != kind.word:
        return tag, nothing, at
    if length and text + length + 1 <= end and load_bytes(data, text) & lowest(length + 1) == letters:
        return text + length + 1, kind.is_expected, at
    close = end_of_text(data, text, end)
    if close == end or close - text > LONGEST_TEXT:
        return tag, nothing, at
    return close + 1, kind.is_there, copied(out, put(out, at, close - text), data, text, close)


@inlined
def _pack_number(data, tag, end, kind, out, at):
    """Pack a number tag of one or two bytes if it is at data[tag]; return the same as `_pack_text`."""
    word = load_bytes(data, tag)
    if tag + 4 <= end and word & TAG == kind.short_word:
        return tag + 4, kind.is_short, put(out, at, word >> np.uint64(24) & LOW_8)
    if tag + 5 <= end and word & TAG == kind.long_word:
        store_bytes(out, np.int64(at), np.uint16(word >> np.uint64(24) & LOW_16))
        return tag + 5, kind.is_long, at + 2
    return tag, np.uint64(0), at


@inlined
def _highest_quality(data, begin, end):
    """Return the highest quality of the first records of a piece; 0 if they have none."""
    highest, start = np.uint8(0), begin
    for _ in range(SAMPLED_RECORDS):
        if start < end:
            _, _, qualities, tags = parts_of(data, start)
            for k in range(np.uint64(max(tags - qualities, 0))):
                highest = max(highest, data[np.uint64(qualities) + k])
            start += SIZE_BYTES + int32(data, start)
    return highest

"""Kernels that write BAM records in two passes: first the size of each, then the bytes. See `quire.io.bam.encode`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bam.bins_cpu import bin_of
from quire.io.bam.layout import FIXED_BYTES, NUMBER_OF_CODE, NUMBER_OF_COMPLEMENT, OPERATION_BYTES, SIZE_BYTES
from quire.sam import CIGAR_HARD_CLIP, CIGAR_LETTERS, FLAG_PAIRED, FLAG_REVERSE, FLAG_SECONDARY
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.bits import ONES, copy_items, load_bytes, prefetch, reverse_complement, store_bytes
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined


class Places(NamedTuple):
    """Results of the first pass for n records.

    Attributes:
        starts: int64[n + 1], where each begins if they are written end to end.
        clips: int64[n, 2], bases hard-clipped at the start and at the end of the CIGAR.
        mate_scores: int32[n], the tag ms; -1 for none.
    """

    starts: NDArray[np.int64]
    clips: NDArray[np.int64]
    mate_scores: NDArray[np.int32]


LOWEST_SCORED_QUALITY = 15  # lowest quality that samtools fixmate -m adds up
OPERATION_LETTERS = np.frombuffer(CIGAR_LETTERS.encode(), np.uint8)
_AHEAD, _LINE_BYTES = 2, 64  # distance of the prefetch in records, and size of a cache line

# Tags, then type letters: unsigned integers of one, two and four bytes, text, and float.
_NM, _MD, _MC, _MS, _AS, _XS, _SA, _RG = map(tuple, (b"NM", b"MD", b"MC", b"ms", b"AS", b"XS", b"SA", b"RG"))
_RX = tuple(b"RX")
_NH, _HI, _TH, _PA, _OM, _LT = map(tuple, (b"NH", b"HI", b"th", b"pa", b"om", b"lt"))
_ONE_BYTE, _TWO_BYTES, _FOUR_BYTES, _TEXT, _FLOAT = b"CSIZf"
_FLOAT_BYTES = 7  # including tag and type
_ZERO = ord("0")


@inlined
def _digits(value):
    """Return the number of decimal digits of a value >= 0."""
    count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


@inlined
def _integer_bytes(value):
    """Return the size of an integer tag, which has the smallest unsigned type; 0 if negative."""
    if value < 0:
        return 0
    return 4 if value < 256 else (5 if value < 65536 else 7)


@inlined
def _text_bytes(length):
    """Return the size of a text tag; 0 if it is empty."""
    return length + 4 if length > 0 else 0


@compiled
def find_places(given, paired):
    """Compute the Places of records (Inputs), the first pass; `paired` is True if there are second mates."""
    inputs = borrowed(given)
    count = len(inputs.flag)
    starts, clips, mate_scores = (
        np.zeros(count + 1, np.int64),
        np.empty((count, 2), np.int64),
        np.full(count, -1, np.int32),
    )
    for r in range(count):
        i = inputs.read[r]
        if inputs.mate[r]:
            length = inputs.offsets2[i + 1] - inputs.offsets2[i]
        else:
            length = inputs.offsets1[i + 1] - inputs.offsets1[i]
        if paired and inputs.flag[r] & FLAG_PAIRED:
            if inputs.mate[r]:
                mate_scores[r] = _quality_sum(inputs.qualities1[inputs.offsets1[i] : inputs.offsets1[i + 1]])
            else:
                mate_scores[r] = _quality_sum(inputs.qualities2[inputs.offsets2[i] : inputs.offsets2[i + 1]])
        operations = inputs.cigar[inputs.cigar_offsets[r] : inputs.cigar_offsets[r + 1]]
        clips[r, 0], clips[r, 1] = _hard_clips(operations)
        length = 0 if inputs.flag[r] & FLAG_SECONDARY else length - clips[r, 0] - clips[r, 1]
        name_bytes = inputs.name_offsets[i + 1] - inputs.name_offsets[i] + 1
        size = FIXED_BYTES + name_bytes + OPERATION_BYTES * len(operations) + (length + 1) // 2 + length
        starts[r + 1] = starts[r] + size + _tag_bytes(inputs, r, mate_scores[r])
    return Places(starts, clips, mate_scores)


@inlined
def _hard_clips(operations):
    """Return the bases hard-clipped at the start and at the end of a CIGAR."""
    leading, trailing, last = np.int64(0), np.int64(0), len(operations) - 1
    if last >= 0 and operation_of(operations[0]) == CIGAR_HARD_CLIP:
        leading = length_of(operations[0])
    if last >= 1 and operation_of(operations[last]) == CIGAR_HARD_CLIP:
        trailing = length_of(operations[last])
    return leading, trailing


@inlined
def _tag_bytes(inputs, r, mate_score):
    """Return the size of all tags of record `r`."""
    size = _integer_bytes(inputs.edit_distance[r]) + _text_bytes(inputs.md_offsets[r + 1] - inputs.md_offsets[r])
    other = inputs.mate_record[r]
    if other >= 0:
        text = 0
        for k in range(inputs.cigar_offsets[other], inputs.cigar_offsets[other + 1]):
            text += _digits(length_of(inputs.cigar[k])) + 1
        size += _text_bytes(text)
    size += _integer_bytes(mate_score) + _integer_bytes(inputs.alignment_score[r])
    size += _integer_bytes(inputs.suboptimal_score[r]) + _text_bytes(inputs.sa_offsets[r + 1] - inputs.sa_offsets[r])
    if len(inputs.hit_count) > 0:
        size += _integer_bytes(inputs.hit_count[r]) + _integer_bytes(inputs.hit_index[r])
        size += _integer_bytes(inputs.all_hits[r])
    if len(inputs.alternate_share) > 0 and inputs.alternate_share[r] != 0:
        size += _FLOAT_BYTES
    if len(inputs.original_quality) > 0:
        size += _integer_bytes(inputs.original_quality[r])
        size += _text_bytes(inputs.lifts_offsets[r + 1] - inputs.lifts_offsets[r])
    if len(inputs.umi_offsets) > 0:
        size += _text_bytes(inputs.umi_offsets[inputs.read[r] + 1] - inputs.umi_offsets[inputs.read[r]])
    return size + _text_bytes(len(inputs.group))


@inlined
def _quality_sum(qualities):
    """Return the sum of the qualities that `samtools fixmate -m` counts."""
    total = np.int32(0)
    for i in range(len(qualities)):
        quality = np.int32(qualities[i])
        total += quality if quality >= LOWEST_SCORED_QUALITY else np.int32(0)
    return total


class RecordMemory(NamedTuple):
    """Memory for records, and their places in it.

    Attributes:
        out: uint8[], the memory.
        begins: int64[], where each record begins, such as `Places.starts`.
        origin: int64, subtracted from `begins`.
        fixed: FIXED_FIELDS[1], scratch memory for the fixed fields; fixed_bytes: uint8[], the same memory.
    """

    out: NDArray[np.uint8]
    begins: NDArray[np.int64]
    origin: np.int64
    fixed: NDArray[np.void]
    fixed_bytes: NDArray[np.uint8]


@compiled
def write_records(given, places, target, first_record, last_record):
    """Write records `first_record` to `last_record - 1` to their places in `target`, the second pass."""
    inputs, (starts, clips, mate_scores) = borrowed(given), borrowed(places)
    out, begins, origin, fixed, fixed_bytes = borrowed(target)
    cigar, cigar_offsets, name_offsets = inputs.cigar, inputs.cigar_offsets, inputs.name_offsets
    fields = fixed[0]
    for r in range(first_record, last_record):
        i, at = inputs.read[r], begins[r] - origin
        ahead = r + _AHEAD
        if ahead < last_record:  # consecutive records of a batch are not adjacent in buckets
            size = starts[ahead + 1] - starts[ahead]
            for line in range(0, size, _LINE_BYTES):
                prefetch(out, begins[ahead] - origin + line)
        flag = np.int64(inputs.flag[r])
        first_operation, last_operation = cigar_offsets[r], cigar_offsets[r + 1]
        first_name, last_name = name_offsets[i], name_offsets[i + 1]
        if inputs.mate[r]:
            first, last = inputs.offsets2[i], inputs.offsets2[i + 1]
        else:
            first, last = inputs.offsets1[i], inputs.offsets1[i + 1]
        first += clips[r, 1] if flag & FLAG_REVERSE else clips[r, 0]
        last -= clips[r, 0] if flag & FLAG_REVERSE else clips[r, 1]
        if flag & FLAG_SECONDARY:
            last = first
        fields.block_size = starts[r + 1] - starts[r] - SIZE_BYTES
        fields.contig = inputs.contig[r]
        fields.position = inputs.position[r]
        fields.name_bytes = last_name - first_name + 1
        fields.mapping_quality = inputs.mapping_quality[r]
        fields.bin = bin_of(flag, inputs.position[r], cigar, first_operation, last_operation)
        fields.operations = last_operation - first_operation
        fields.flag = flag
        fields.bases = last - first
        fields.mate_contig = inputs.mate_contig[r]
        fields.mate_position = inputs.mate_position[r]
        fields.template_length = inputs.template_length[r]
        at = copy_items(out, at, fixed_bytes, 0, FIXED_BYTES)
        at = copy_items(out, at, inputs.names, first_name, last_name)
        out[at] = 0
        at += 1
        for k in range(first_operation, last_operation):
            _put32(out, at, cigar[k])
            at += OPERATION_BYTES
        if inputs.mate[r]:
            at = _put_read(out, at, inputs.bases2, inputs.qualities2, first, last, flag & FLAG_REVERSE != 0)
        else:
            at = _put_read(out, at, inputs.bases1, inputs.qualities1, first, last, flag & FLAG_REVERSE != 0)
        _put_tags(inputs, r, mate_scores[r], out, at)


@inlined
def _put_tags(inputs, r, mate_score, out, at):
    """Write the tags of record `r`; `_tag_bytes` gives their size."""
    at = _put_integer(out, at, _NM, inputs.edit_distance[r])
    at = _put_text(out, at, _MD, inputs.md, inputs.md_offsets[r], inputs.md_offsets[r + 1])
    other = inputs.mate_record[r]
    if other >= 0:
        at = _put_cigar(out, at, _MC, inputs.cigar, inputs.cigar_offsets[other], inputs.cigar_offsets[other + 1])
    at = _put_integer(out, at, _MS, mate_score)
    at = _put_integer(out, at, _AS, inputs.alignment_score[r])
    at = _put_integer(out, at, _XS, inputs.suboptimal_score[r])
    at = _put_text(out, at, _SA, inputs.sa, inputs.sa_offsets[r], inputs.sa_offsets[r + 1])
    if len(inputs.hit_count) > 0:
        at = _put_integer(out, at, _NH, inputs.hit_count[r])
        at = _put_integer(out, at, _HI, inputs.hit_index[r])
        at = _put_integer(out, at, _TH, inputs.all_hits[r])
    if len(inputs.alternate_share) > 0 and inputs.alternate_share[r] != 0:
        out[at], out[at + 1], out[at + 2] = _PA[0], _PA[1], _FLOAT
        _put32(out, at + 3, inputs.alternate_share[r])
        at += _FLOAT_BYTES
    if len(inputs.original_quality) > 0:
        at = _put_integer(out, at, _OM, inputs.original_quality[r])
        at = _put_text(out, at, _LT, inputs.lifts, inputs.lifts_offsets[r], inputs.lifts_offsets[r + 1])
    if len(inputs.umi_offsets) > 0:
        i = inputs.read[r]
        at = _put_text(out, at, _RX, inputs.umis, inputs.umi_offsets[i], inputs.umi_offsets[i + 1])
    _put_text(out, at, _RG, inputs.group, 0, len(inputs.group))


@inlined
def _put32(out, at, value):
    """Write 32 bits, little-endian."""
    store_bytes(out, np.int64(at), np.uint32(value))


@inlined
def _eight_letters(codes):
    """Return BAM's four bytes (uint32) for eight codes, one per byte."""
    low, high = codes & ONES, codes >> np.uint64(1) & ONES
    # 1 << code for codes up to 3, and 15 for an N.
    letters = ONES + low + np.uint64(3) * (high + (low & high)) + np.uint64(14) * (codes >> np.uint64(2) & ONES)
    pairs = (letters << np.uint64(4) | letters >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    pairs = (pairs | pairs >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    return np.uint32((pairs | pairs >> np.uint64(16)) & np.uint64(0xFFFFFFFF))


@inlined
def _put_read(out, at, bases, qualities, first, last, reverse):
    """Write packed bases and qualities, reverse-complemented if `reverse`; return the position after them."""
    # With unsigned indices, as in `copy_items`, the loop over qualities is vectorised.
    end = np.uint64(last - 1)
    eights = (last - first) // 8
    if reverse:
        for k in range(eights):
            _put32(out, at + 4 * k, _eight_letters(reverse_complement(load_bytes(bases, last - 8 - 8 * k))))
    else:
        for k in range(eights):
            _put32(out, at + 4 * k, _eight_letters(load_bytes(bases, first + 8 * k)))
    at += 4 * eights
    for k in range(8 * eights, last - first, 2):
        letters = (NUMBER_OF_COMPLEMENT[bases[last - 1 - k]] if reverse else NUMBER_OF_CODE[bases[first + k]]) << 4
        if k + 1 < last - first:
            letters |= NUMBER_OF_COMPLEMENT[bases[last - 2 - k]] if reverse else NUMBER_OF_CODE[bases[first + k + 1]]
        out[at] = letters
        at += 1
    if not reverse:
        return copy_items(out, at, qualities, first, last)
    target = np.uint64(at)
    for k in range(np.uint64(last - first)):
        out[target + k] = qualities[end - k]
    return at + last - first


@inlined
def _put_integer(out, at, tag, value):
    """Write an integer tag of the smallest unsigned type, nothing if negative; return the position after it."""
    if value < 0:
        return at
    out[at], out[at + 1] = tag[0], tag[1]
    if value < 256:
        out[at + 2], out[at + 3] = _ONE_BYTE, value
        return at + 4
    if value < 65536:
        out[at + 2], out[at + 3], out[at + 4] = _TWO_BYTES, value & 255, value >> 8
        return at + 5
    out[at + 2] = _FOUR_BYTES
    _put32(out, at + 3, value)
    return at + 7


@inlined
def _put_text(out, at, tag, text, start, end):
    """Write `text[start:end]` as a text tag, nothing if empty; return the position after it."""
    if start == end:
        return at
    out[at], out[at + 1], out[at + 2] = tag[0], tag[1], _TEXT
    at = copy_items(out, at + 3, text, start, end)
    out[at] = 0
    return at + 1


@inlined
def _put_cigar(out, at, tag, cigar, start, end):
    """Write `cigar[start:end]` as a text tag, nothing if empty; return the position after it."""
    if start == end:
        return at
    out[at], out[at + 1], out[at + 2] = tag[0], tag[1], _TEXT
    at += 3
    for k in range(start, end):
        length = length_of(cigar[k])
        digits = _digits(length)
        for d in range(digits - 1, -1, -1):
            out[at + d] = _ZERO + length % 10
            length //= 10
        out[at + digits] = OPERATION_LETTERS[operation_of(cigar[k])]
        at += digits + 1
    out[at] = 0
    return at + 1

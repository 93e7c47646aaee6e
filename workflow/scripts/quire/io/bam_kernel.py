"""The kernels that lay out BAM records: first the size of each, then all bytes. `quire.io.bam` calls them."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from quire.device.bits import ONES, load_bytes, reverse_complement, store_bytes


class Inputs(NamedTuple):
    """The arrays of a RecordBatch and of its ReadBatches (1 and 2 for the mates) that both passes need."""

    mate: NDArray[np.uint8]
    read: NDArray[np.int64]
    flag: NDArray[np.uint16]
    cigar: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]
    alignment_score: NDArray[np.int32]
    suboptimal_score: NDArray[np.int32]
    edit_distance: NDArray[np.int32]
    md: NDArray[np.uint8]
    md_offsets: NDArray[np.int64]
    mate_record: NDArray[np.int64]
    sa: NDArray[np.uint8]
    sa_offsets: NDArray[np.int64]
    group: NDArray[np.uint8]
    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    bases1: NDArray[np.uint8]
    qualities1: NDArray[np.uint8]
    offsets1: NDArray[np.int64]
    bases2: NDArray[np.uint8]
    qualities2: NDArray[np.uint8]
    offsets2: NDArray[np.int64]


FIXED_BYTES = 36  # block_size and the fixed fields
REVERSE, PAIRED, UNMAPPED = 0x10, 0x1, 0x4
HARD_CLIP = 5
REFERENCE_OPERATIONS = (1 << 0) | (1 << 2) | (1 << 3) | (1 << 7) | (1 << 8)  # M D N = X
LOWEST_SCORED_QUALITY = 15  # samtools fixmate -m adds up qualities from here on
OPERATIONS = np.frombuffer(b"MIDNSHP=X", np.uint8).copy()


# Four-bit letters of a code, forward and complemented (A 1, C 2, G 4, T 8, N 15).
FORWARD = np.array([1, 2, 4, 8, 15], np.uint8)
COMPLEMENT = np.array([8, 4, 2, 1, 15], np.uint8)


@njit(cache=True, nogil=True, forceinline=True)
def _digits(value):
    """Decimal digits of a value >= 0."""
    count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


@njit(cache=True, nogil=True, forceinline=True)
def _integer_bytes(value):
    """Bytes of an integer tag: none when negative, else tag, type and the smallest unsigned type that holds it."""
    if value < 0:
        return 0
    return 4 if value < 256 else (5 if value < 65536 else 7)


@njit(cache=True, nogil=True, forceinline=True)
def _text_bytes(length):
    """Bytes of a text tag: none when empty, else tag, 'Z', the text and its NUL."""
    return length + 4 if length > 0 else 0


@njit(cache=True, nogil=True)
def record_starts(inputs, paired, clips, mate_scores):
    """Where each record starts in the output (int64[n + 1]); fills `clips` (leading, trailing H) and `mate_scores`."""
    starts = np.zeros(len(inputs.flag) + 1, np.int64)
    for r in range(len(inputs.flag)):
        i = inputs.read[r]
        if inputs.mate[r]:
            length = inputs.offsets2[i + 1] - inputs.offsets2[i]
        else:
            length = inputs.offsets1[i + 1] - inputs.offsets1[i]
        if paired and inputs.flag[r] & PAIRED:
            if inputs.mate[r]:
                mate_scores[r] = _quality_sum(inputs.qualities1[inputs.offsets1[i] : inputs.offsets1[i + 1]])
            else:
                mate_scores[r] = _quality_sum(inputs.qualities2[inputs.offsets2[i] : inputs.offsets2[i + 1]])
        operations = inputs.cigar[inputs.cigar_offsets[r] : inputs.cigar_offsets[r + 1]]
        clips[r, 0], clips[r, 1] = _hard_clips(operations)
        length -= clips[r, 0] + clips[r, 1]
        name_bytes = inputs.name_offsets[i + 1] - inputs.name_offsets[i] + 1
        size = FIXED_BYTES + name_bytes + 4 * len(operations) + (length + 1) // 2 + length
        starts[r + 1] = starts[r] + size + _tag_bytes(inputs, r, mate_scores[r])
    return starts


@njit(cache=True, nogil=True, forceinline=True)
def _hard_clips(operations):
    """Bases under H at the start and at the end of a CIGAR."""
    leading, trailing, last = np.int64(0), np.int64(0), len(operations) - 1
    if last >= 0 and operations[0] & 15 == HARD_CLIP:
        leading = np.int64(operations[0] >> 4)
    if last >= 1 and operations[last] & 15 == HARD_CLIP:
        trailing = np.int64(operations[last] >> 4)
    return leading, trailing


@njit(cache=True, nogil=True, forceinline=True)
def _tag_bytes(inputs, r, mate_score):
    """Bytes of all tags of record `r`."""
    size = _integer_bytes(inputs.edit_distance[r]) + _text_bytes(inputs.md_offsets[r + 1] - inputs.md_offsets[r])
    other = inputs.mate_record[r]
    if other >= 0:
        text = 0
        for k in range(inputs.cigar_offsets[other], inputs.cigar_offsets[other + 1]):
            text += _digits(np.int64(inputs.cigar[k] >> 4)) + 1
        size += _text_bytes(text)
    size += _integer_bytes(mate_score) + _integer_bytes(inputs.alignment_score[r])
    size += _integer_bytes(inputs.suboptimal_score[r]) + _text_bytes(inputs.sa_offsets[r + 1] - inputs.sa_offsets[r])
    return size + _text_bytes(len(inputs.group))


@njit(cache=True, nogil=True)
def _quality_sum(qualities):
    """Sum of the qualities that `samtools fixmate -m` counts."""
    total = np.int32(0)
    for i in range(len(qualities)):
        quality = np.int32(qualities[i])
        total += quality if quality >= LOWEST_SCORED_QUALITY else np.int32(0)
    return total


@njit(cache=True, nogil=True)
def write_records(
    inputs, clips, mate_scores, contig, position, mapping_quality,
    mate_contig, mate_position, template_length, starts, first_record, last_record, out,
):  # fmt: skip
    """Write records `first_record` to `last_record - 1`, the first of them to the beginning of `out`."""
    # Arrays are taken out of `inputs` once: each use of it inside the loop would count references of all its arrays.
    cigar, cigar_offsets, names, name_offsets = inputs.cigar, inputs.cigar_offsets, inputs.names, inputs.name_offsets
    bases1, qualities1, offsets1 = inputs.bases1, inputs.qualities1, inputs.offsets1
    bases2, qualities2, offsets2 = inputs.bases2, inputs.qualities2, inputs.offsets2
    alignment_score, suboptimal_score = inputs.alignment_score, inputs.suboptimal_score
    edit_distance, md, md_offsets = inputs.edit_distance, inputs.md, inputs.md_offsets
    mate_record, sa, sa_offsets, group = inputs.mate_record, inputs.sa, inputs.sa_offsets, inputs.group
    mates, reads, flags = inputs.mate, inputs.read, inputs.flag
    for r in range(first_record, last_record):
        i, at = reads[r], starts[r] - starts[first_record]
        flag = np.int64(flags[r])
        first_operation, last_operation = cigar_offsets[r], cigar_offsets[r + 1]
        first_name, last_name = name_offsets[i], name_offsets[i + 1]
        if mates[r]:
            first, last = offsets2[i], offsets2[i + 1]
        else:
            first, last = offsets1[i], offsets1[i + 1]
        first += clips[r, 1] if flag & REVERSE else clips[r, 0]
        last -= clips[r, 0] if flag & REVERSE else clips[r, 1]
        span_bin = _bin(flag, position[r], cigar, first_operation, last_operation)
        _put32(out, at, starts[r + 1] - starts[r] - 4)
        _put32(out, at + 4, contig[r])
        _put32(out, at + 8, position[r])
        _put32(out, at + 12, (last_name - first_name + 1) | np.int64(mapping_quality[r]) << 8 | span_bin << 16)
        _put32(out, at + 16, (last_operation - first_operation) | flag << 16)
        _put32(out, at + 20, last - first)
        _put32(out, at + 24, mate_contig[r])
        _put32(out, at + 28, mate_position[r])
        _put32(out, at + 32, template_length[r])
        at = _copy(out, at + FIXED_BYTES, names, first_name, last_name)
        out[at] = 0
        at += 1
        for k in range(first_operation, last_operation):
            _put32(out, at, cigar[k])
            at += 4
        if mates[r]:
            at = _put_read(out, at, bases2, qualities2, first, last, flag & REVERSE != 0)
        else:
            at = _put_read(out, at, bases1, qualities1, first, last, flag & REVERSE != 0)
        _put_tags(
            out, at, r, mate_scores[r], alignment_score, suboptimal_score, edit_distance,
            md, md_offsets, mate_record, cigar, cigar_offsets, sa, sa_offsets, group,
        )  # fmt: skip


@njit(cache=True, nogil=True, forceinline=True)
def _put_tags(
    out, at, r, mate_score, alignment_score, suboptimal_score, edit_distance,
    md, md_offsets, mate_record, cigar, cigar_offsets, sa, sa_offsets, group,
):  # fmt: skip
    """Write the tags of record `r`; `_tag_bytes` counted them."""
    at = _put_integer(out, at, 78, 77, edit_distance[r])  # NM
    at = _put_text(out, at, 77, 68, md, md_offsets[r], md_offsets[r + 1])  # MD
    other = mate_record[r]
    if other >= 0:
        at = _put_cigar(out, at, 77, 67, cigar, cigar_offsets[other], cigar_offsets[other + 1])  # MC
    at = _put_integer(out, at, 109, 115, mate_score)  # ms
    at = _put_integer(out, at, 65, 83, alignment_score[r])  # AS
    at = _put_integer(out, at, 88, 83, suboptimal_score[r])  # XS
    at = _put_text(out, at, 83, 65, sa, sa_offsets[r], sa_offsets[r + 1])  # SA
    _put_text(out, at, 82, 71, group, 0, len(group))  # RG


@njit(cache=True, nogil=True, forceinline=True)
def _bin(flag, position, cigar, first_operation, last_operation):
    """Bin of the record's span (SAM specification 5.3); a span of one base where nothing is aligned."""
    span = np.int64(0)
    if not flag & UNMAPPED:
        for k in range(first_operation, last_operation):
            if REFERENCE_OPERATIONS >> np.int64(cigar[k] & 15) & 1:
                span += np.int64(cigar[k] >> 4)
    first = np.int64(position)
    last = first + max(span, 1) - 1
    offset, shift = 4681, 14
    while shift <= 26:
        if first >> shift == last >> shift:
            return (offset + (first >> shift)) & 0xFFFF
        shift += 3
        offset = (offset - 1) >> 3
    return 0


@njit(cache=True, nogil=True, forceinline=True)
def _put32(out, at, value):
    """Write 32 bits, little-endian."""
    store_bytes(out, np.int64(at), np.uint32(value))


@njit(cache=True, nogil=True)
def _copy(out, at, source, first, last):
    """Copy `source[first:last]`; return the position behind it.

    Unsigned indices here and below: with signed ones Numba adds a test for negatives that keeps loops from vectorising,
    and slices instead would cost a reference count each.
    """
    target, start = np.uint64(at), np.uint64(first)
    for k in range(np.uint64(last - first)):
        out[target + k] = source[start + k]
    return at + last - first


@njit(cache=True, nogil=True, forceinline=True)
def _eight_letters(codes):
    """The four bytes (uint32) that BAM has for eight codes, one a byte."""
    low, high = codes & ONES, codes >> np.uint64(1) & ONES
    # 1 << code for codes up to 3, and 15 for an N.
    letters = ONES + low + np.uint64(3) * (high + (low & high)) + np.uint64(14) * (codes >> np.uint64(2) & ONES)
    pairs = (letters << np.uint64(4) | letters >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    pairs = (pairs | pairs >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    return np.uint32((pairs | pairs >> np.uint64(16)) & np.uint64(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def _put_read(out, at, bases, qualities, first, last, reverse):
    """Write packed bases and qualities, turned round if `reverse`; return the position behind them."""
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
        letters = (COMPLEMENT[bases[last - 1 - k]] if reverse else FORWARD[bases[first + k]]) << 4
        if k + 1 < last - first:
            letters |= COMPLEMENT[bases[last - 2 - k]] if reverse else FORWARD[bases[first + k + 1]]
        out[at] = letters
        at += 1
    if not reverse:
        return _copy(out, at, qualities, first, last)
    target = np.uint64(at)
    for k in range(np.uint64(last - first)):
        out[target + k] = qualities[end - k]
    return at + last - first


@njit(cache=True, nogil=True, forceinline=True)
def _put_integer(out, at, first, second, value):
    """Write an integer tag of the smallest unsigned type, nothing if negative; return the position behind it."""
    if value < 0:
        return at
    out[at], out[at + 1] = first, second
    if value < 256:
        out[at + 2], out[at + 3] = 67, value  # C
        return at + 4
    if value < 65536:
        out[at + 2], out[at + 3], out[at + 4] = 83, value & 255, value >> 8  # S
        return at + 5
    out[at + 2] = 73  # I
    _put32(out, at + 3, value)
    return at + 7


@njit(cache=True, nogil=True, forceinline=True)
def _put_text(out, at, first, second, text, start, end):
    """Write `text[start:end]` as a text tag, nothing if empty; return the position behind it."""
    if start == end:
        return at
    out[at], out[at + 1], out[at + 2] = first, second, 90
    at = _copy(out, at + 3, text, start, end)
    out[at] = 0
    return at + 1


@njit(cache=True, nogil=True, forceinline=True)
def _put_cigar(out, at, first, second, cigar, start, end):
    """Write `cigar[start:end]` as a text tag, nothing if empty; return the position behind it."""
    if start == end:
        return at
    out[at], out[at + 1], out[at + 2] = first, second, 90
    at += 3
    for k in range(start, end):
        length = np.int64(cigar[k] >> 4)
        digits = _digits(length)
        for d in range(digits - 1, -1, -1):
            out[at + d] = 48 + length % 10
            length //= 10
        out[at + digits] = OPERATIONS[cigar[k] & 15]
        at += digits + 1
    out[at] = 0
    return at + 1

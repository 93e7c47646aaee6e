"""The kernels that lay out BAM records: first the size of each, then all bytes. `quire.io.bam` calls them."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


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


def _base_pairs() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Four-bit letters of a code, forward and complemented: A 1, C 2, G 4, T 8, N 15."""
    return np.array([1, 2, 4, 8, 15], np.uint8), np.array([8, 4, 2, 1, 15], np.uint8)


FORWARD, COMPLEMENT = _base_pairs()


@njit(cache=True, nogil=True)
def _digits(value):
    """Decimal digits of a value >= 0."""
    count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


@njit(cache=True, nogil=True)
def _integer_bytes(value):
    """Bytes of an integer tag: none when negative, else tag, type and the smallest unsigned type that holds it."""
    if value < 0:
        return 0
    return 4 if value < 256 else (5 if value < 65536 else 7)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _hard_clips(operations):
    """Bases under H at the start and at the end of a CIGAR."""
    leading, trailing, last = np.int64(0), np.int64(0), len(operations) - 1
    if last >= 0 and operations[0] & 15 == HARD_CLIP:
        leading = np.int64(operations[0] >> 4)
    if last >= 1 and operations[last] & 15 == HARD_CLIP:
        trailing = np.int64(operations[last] >> 4)
    return leading, trailing


@njit(cache=True, nogil=True)
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
    mate_contig, mate_position, template_length, starts, out,
):  # fmt: skip
    """Write every record to `out[starts[r]:starts[r + 1]]`."""
    for r in range(len(inputs.flag)):
        i, at = inputs.read[r], starts[r]
        flag = np.int64(inputs.flag[r])
        operations = inputs.cigar[inputs.cigar_offsets[r] : inputs.cigar_offsets[r + 1]]
        name = inputs.names[inputs.name_offsets[i] : inputs.name_offsets[i + 1]]
        if inputs.mate[r]:
            first, last = inputs.offsets2[i], inputs.offsets2[i + 1]
        else:
            first, last = inputs.offsets1[i], inputs.offsets1[i + 1]
        first += clips[r, 1] if flag & REVERSE else clips[r, 0]
        last -= clips[r, 0] if flag & REVERSE else clips[r, 1]
        span_bin = _bin(flag, position[r], operations)
        _put32(out, at, starts[r + 1] - at - 4)
        _put32(out, at + 4, contig[r])
        _put32(out, at + 8, position[r])
        _put32(out, at + 12, (len(name) + 1) | np.int64(mapping_quality[r]) << 8 | span_bin << 16)
        _put32(out, at + 16, len(operations) | flag << 16)
        _put32(out, at + 20, last - first)
        _put32(out, at + 24, mate_contig[r])
        _put32(out, at + 28, mate_position[r])
        _put32(out, at + 32, template_length[r])
        at = _copy(out, at + FIXED_BYTES, name)
        out[at] = 0
        at += 1
        for k in range(len(operations)):
            _put32(out, at, operations[k])
            at += 4
        if inputs.mate[r]:
            at = _put_read(out, at, inputs.bases2[first:last], inputs.qualities2[first:last], flag & REVERSE != 0)
        else:
            at = _put_read(out, at, inputs.bases1[first:last], inputs.qualities1[first:last], flag & REVERSE != 0)
        _put_tags(out, at, inputs, r, mate_scores[r])


@njit(cache=True, nogil=True)
def _put_tags(out, at, inputs, r, mate_score):
    """Write the tags of record `r`; `_tag_bytes` counted them."""
    at = _put_integer(out, at, 78, 77, inputs.edit_distance[r])  # NM
    at = _put_text(out, at, 77, 68, inputs.md[inputs.md_offsets[r] : inputs.md_offsets[r + 1]])  # MD
    other = inputs.mate_record[r]
    if other >= 0 and inputs.cigar_offsets[other + 1] > inputs.cigar_offsets[other]:
        mate_cigar = inputs.cigar[inputs.cigar_offsets[other] : inputs.cigar_offsets[other + 1]]
        at = _put_cigar(out, at, 77, 67, mate_cigar)  # MC
    at = _put_integer(out, at, 109, 115, mate_score)  # ms
    at = _put_integer(out, at, 65, 83, inputs.alignment_score[r])  # AS
    at = _put_integer(out, at, 88, 83, inputs.suboptimal_score[r])  # XS
    at = _put_text(out, at, 83, 65, inputs.sa[inputs.sa_offsets[r] : inputs.sa_offsets[r + 1]])  # SA
    _put_text(out, at, 82, 71, inputs.group)  # RG


@njit(cache=True, nogil=True)
def _bin(flag, position, operations):
    """Bin of the record's span (SAM specification 5.3); a span of one base where nothing is aligned."""
    span = 0
    if not flag & UNMAPPED:
        for k in range(len(operations)):
            if REFERENCE_OPERATIONS >> np.int64(operations[k] & 15) & 1:
                span += np.int64(operations[k] >> 4)
    first = np.int64(position)
    last = first + max(span, 1) - 1
    offset, shift = 4681, 14
    while shift <= 26:
        if first >> shift == last >> shift:
            return (offset + (first >> shift)) & 0xFFFF
        shift += 3
        offset = (offset - 1) >> 3
    return 0


@njit(cache=True, nogil=True)
def _put32(out, at, value):
    """Write 32 bits, little-endian."""
    word = np.uint32(value)
    out[at] = np.uint8(word)
    out[at + 1] = np.uint8(word >> np.uint32(8))
    out[at + 2] = np.uint8(word >> np.uint32(16))
    out[at + 3] = np.uint8(word >> np.uint32(24))


@njit(cache=True, nogil=True)
def _copy(out, at, text):
    """Copy `text`; return the position behind it."""
    for k in range(len(text)):
        out[at + k] = text[k]
    return at + len(text)


@njit(cache=True, nogil=True)
def _put_read(out, at, bases, qualities, reverse):
    """Write packed bases and qualities, turned round if `reverse`; return the position behind them."""
    length = len(bases)
    pairs = out[at : at + length // 2]
    last = length - 1
    if reverse:
        for k in range(len(pairs)):
            pairs[k] = COMPLEMENT[bases[last - 2 * k]] << 4 | COMPLEMENT[bases[last - 2 * k - 1]]
    else:
        for k in range(len(pairs)):
            pairs[k] = FORWARD[bases[2 * k]] << 4 | FORWARD[bases[2 * k + 1]]
    at += length // 2
    if length & 1:
        out[at] = (COMPLEMENT[bases[0]] if reverse else FORWARD[bases[last]]) << 4
        at += 1
    written = out[at : at + length]
    if reverse:
        for k in range(length):
            written[k] = qualities[last - k]
    else:
        for k in range(length):
            written[k] = qualities[k]
    return at + length


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _put_text(out, at, first, second, text):
    """Write a text tag, nothing if empty; return the position behind it."""
    if len(text) == 0:
        return at
    out[at], out[at + 1], out[at + 2] = first, second, 90
    at = _copy(out, at + 3, text)
    out[at] = 0
    return at + 1


@njit(cache=True, nogil=True)
def _put_cigar(out, at, first, second, operations):
    """Write a CIGAR as a text tag; return the position behind it."""
    out[at], out[at + 1], out[at + 2] = first, second, 90
    at += 3
    for k in range(len(operations)):
        length = np.int64(operations[k] >> 4)
        digits = _digits(length)
        for d in range(digits - 1, -1, -1):
            out[at + d] = 48 + length % 10
            length //= 10
        out[at + digits] = OPERATIONS[operations[k] & 15]
        at += digits + 1
    out[at] = 0
    return at + 1

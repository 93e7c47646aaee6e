"""Numba: BAM record bytes to the columns of `reads.Reads` (SAM specification 4.2)."""

import numpy as np
from numba import njit

# Why a read is not used, in the order in which the reasons are tried; the last is "used".
FILTERS = (
    "unmapped",
    "secondary",
    "duplicate",
    "failed_quality_check",
    "low_mapping_quality",
    "malformed",
    "thinned",
    "used",
)
_UNMAPPED, _SECONDARY, _DUPLICATE, _FAILED, _LOW, _MALFORMED, THINNED, USED = range(8)
HIGH_QUALITY_CLIP = 28  # ReferenceConfidenceModel.HQ_BASE_QUALITY_SOFTCLIP_THRESHOLD
_FAR = 1 << 60


@njit(cache=True, nogil=True)
def _int32(data, at):
    value = (
        np.int64(data[at]) | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24
    )
    return value - (np.int64(1) << 32) if value >= np.int64(1) << 31 else value


@njit(cache=True, nogil=True)
def _verdict(data, at, minimum_mapping_quality):
    """Index into FILTERS of the record whose fixed part starts at `at` (after block_size)."""
    flag = np.int64(data[at + 14]) | np.int64(data[at + 15]) << 8
    if flag & 4:
        return _UNMAPPED
    if flag & 256:
        return _SECONDARY
    if flag & 1024:
        return _DUPLICATE
    if flag & 512:
        return _FAILED
    mapping_quality = data[at + 9]
    if mapping_quality < minimum_mapping_quality or mapping_quality == 255:
        return _LOW
    operations = np.int64(data[at + 12]) | np.int64(data[at + 13]) << 8
    length = _int32(data, at + 16)
    cigar = at + 32 + data[at + 8]
    query = 0
    reference = 0
    for i in range(operations):
        element = _int32(data, cigar + 4 * i)
        operation = element & 15
        size = (element & 0xFFFFFFFF) >> 4
        if operation == 3 or operation == 6:  # spliced or padded
            return _MALFORMED
        if operation in (0, 1, 4, 7, 8):
            query += size
        if operation in (0, 2, 7, 8):
            reference += size
    qualities = cigar + 4 * operations + (length + 1) // 2
    if length == 0 or query != length or reference == 0 or data[qualities] == 255:
        return _MALFORMED
    return USED


@njit(cache=True, nogil=True)
def _well_defined_fragment(flag, start, end, mate_start, template_length):
    """ReadUtils.hasWellDefinedFragmentSize, in 0-based half-open coordinates."""
    if template_length == 0 or not flag & 1 or flag & 8:
        return False
    reverse = flag & 16 != 0
    if reverse == (flag & 32 != 0):
        return False
    if reverse:
        return end > mate_start + 1
    return start <= mate_start + template_length


@njit(cache=True, nogil=True)
def parse_records(data, owned, minimum_mapping_quality):
    """Columns of `Reads`, and counts per filter of reads that start in the owned spans (int64[n, 2], in order)."""
    codes = np.full(16, 4, np.uint8)
    codes[1], codes[2], codes[4], codes[8] = 0, 1, 2, 3
    counts = np.zeros(len(FILTERS), np.int64)
    n = 0
    span = 0
    total_bases = 0
    total_cigar = 0
    at = 0
    while at + 36 <= len(data):
        size = _int32(data, at)
        fixed = at + 4
        verdict = _verdict(data, fixed, minimum_mapping_quality)
        position = _int32(data, fixed + 4)
        while span < len(owned) and owned[span, 1] <= position:
            span += 1
        if span < len(owned) and owned[span, 0] <= position:
            counts[verdict] += 1
        if verdict == USED:
            n += 1
            total_bases += _int32(data, fixed + 16)
            total_cigar += np.int64(data[fixed + 12]) | np.int64(data[fixed + 13]) << 8
        at += 4 + size
    aligned_start = np.empty(n, np.int64)
    aligned_end = np.empty(n, np.int64)
    start = np.empty(n, np.int64)
    end = np.empty(n, np.int64)
    keep_from = np.empty(n, np.int64)
    keep_to = np.empty(n, np.int64)
    mate_start = np.empty(n, np.int64)
    usable = np.empty(n, np.uint8)
    reverse = np.empty(n, np.uint8)
    mapping_quality = np.empty(n, np.uint8)
    soft_clips = np.empty(n, np.int32)
    name_hash = np.empty(n, np.uint64)
    base_offsets = np.zeros(n + 1, np.int64)
    bases = np.empty(total_bases, np.uint8)
    qualities = np.empty(total_bases, np.uint8)
    cigar_offsets = np.zeros(n + 1, np.int64)
    cigar = np.empty(total_cigar, np.uint32)
    effective_offsets = np.zeros(n + 1, np.int64)
    effective = np.empty(total_cigar, np.uint32)
    effective_first = np.zeros(n, np.int32)
    i = 0
    at = 0
    while at + 36 <= len(data):
        size = _int32(data, at)
        fixed = at + 4
        at = fixed + size
        if _verdict(data, fixed, minimum_mapping_quality) != USED:
            continue
        name_length = np.int64(data[fixed + 8])
        operations = np.int64(data[fixed + 12]) | np.int64(data[fixed + 13]) << 8
        flag = np.int64(data[fixed + 14]) | np.int64(data[fixed + 15]) << 8
        length = _int32(data, fixed + 16)
        contig = _int32(data, fixed)
        mate_contig = _int32(data, fixed + 20)
        mate = _int32(data, fixed + 24)
        template_length = _int32(data, fixed + 28)
        mapping_quality[i] = data[fixed + 9]
        reverse[i] = 1 if flag & 16 else 0
        aligned_start[i] = _int32(data, fixed + 4)
        mate_mapped = flag & 1 != 0 and flag & 8 == 0
        usable[i] = 0 if mate_mapped and mate_contig != contig else 1
        mate_start[i] = mate if mate_mapped and mate_contig == contig else -1
        value = np.uint64(14695981039346656037)
        for b in range(fixed + 32, fixed + 31 + name_length):
            value = (value ^ np.uint64(data[b])) * np.uint64(1099511628211)
        name_hash[i] = value
        source = fixed + 32 + name_length
        c = cigar_offsets[i]
        aligned_end[i] = aligned_start[i]
        for k in range(operations):
            element = np.uint32(_int32(data, source + 4 * k) & 0xFFFFFFFF)
            operation = element & np.uint32(15)
            if operation == 7 or operation == 8:
                element = element & np.uint32(0xFFFFFFF0)
                operation = np.uint32(0)
            cigar[c + k] = element
            if operation == 0 or operation == 2:
                aligned_end[i] += np.int64(element >> np.uint32(4))
        cigar_offsets[i + 1] = c + operations
        b = base_offsets[i]
        base_offsets[i + 1] = b + length
        packed = source + 4 * operations
        for k in range(length):
            bases[b + k] = codes[(data[packed + k // 2] >> (4 * (1 - k % 2))) & 15]
        packed += (length + 1) // 2
        for k in range(length):
            qualities[b + k] = data[packed + k]
        soft_clips[i] = _high_quality_clips(cigar, c, c + operations, qualities, b)
        revert = _well_defined_fragment(flag, aligned_start[i], aligned_end[i], mate, template_length)
        keep_from[i] = -_FAR
        keep_to[i] = _FAR
        if revert:
            if flag & 16:
                keep_from[i] = mate
            else:
                keep_to[i] = aligned_start[i] + abs(template_length)
        start[i], end[i], effective_first[i], effective_offsets[i + 1] = _effective(
            cigar, c, c + operations, revert, aligned_start[i], effective, effective_offsets[i]
        )
        i += 1
    columns = (
        aligned_start, aligned_end, start, end, keep_from, keep_to, mate_start, usable, reverse, mapping_quality,
        soft_clips, name_hash, base_offsets, bases, qualities, cigar_offsets, cigar, effective_offsets, effective,
        effective_first,
    )  # fmt: skip
    return columns, counts


@njit(cache=True, nogil=True)
def _high_quality_clips(cigar, first, last, qualities, base):
    """AlignmentUtils.countHighQualitySoftClips."""
    count = 0
    for c in range(first, last):
        operation = cigar[c] & np.uint32(15)
        size = np.int64(cigar[c] >> np.uint32(4))
        if operation == 4:
            for k in range(size):
                count += qualities[base + k] > HIGH_QUALITY_CLIP
        if operation == 0 or operation == 1 or operation == 4:
            base += size
    return count


@njit(cache=True, nogil=True)
def _effective(cigar, first, last, revert, start, effective, at):
    """Write the CIGAR with soft clips reverted to M (or cut off): (start, end, first query base, end of the CIGAR)."""
    query_first = 0
    begun = at
    for c in range(first, last):
        operation = cigar[c] & np.uint32(15)
        size = cigar[c] >> np.uint32(4)
        if operation == 5:
            continue
        if operation == 4:
            if not revert:
                if at == begun:
                    query_first += np.int64(size)
                continue
            if at == begun:
                start -= np.int64(size)
                if start < 0:
                    size = np.uint32(np.int64(size) + start)
                    query_first -= start
                    start = 0
                    if size == 0:
                        continue
            operation = np.uint32(0)
        if at > begun and effective[at - 1] & np.uint32(15) == operation:
            effective[at - 1] += size << np.uint32(4)
        else:
            effective[at] = size << np.uint32(4) | operation
            at += 1
    end = start
    for c in range(begun, at):
        if effective[c] & np.uint32(15) != 1:
            end += np.int64(effective[c] >> np.uint32(4))
    return start, end, query_first, at

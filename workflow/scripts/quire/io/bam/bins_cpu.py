"""The bins of BAM's indexes (SAM specification, section 5.3)."""

import numpy as np

from quire.io.bai import BAI_DEPTH, WINDOW_SHIFT
from quire.sam import CONSUMES_REFERENCE, FLAG_UNMAPPED
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.compiled import inlined


@inlined
def smallest_bin(begin, end, depth):
    """Return the smallest bin that holds [begin, end) (reg2bin of the specification)."""
    last = end - 1
    shift, level = WINDOW_SHIFT, depth
    while level > 0:
        if begin >> shift == last >> shift:
            return ((np.int64(1) << 3 * level) - 1) // 7 + (begin >> shift)
        shift += 3
        level -= 1
    return np.int64(0)


@inlined
def bin_of(flag, position, cigar, first_operation, last_operation):
    """Return the lowest 16 bits of a record's bin, as BAM stores it; a record without aligned bases spans one base."""
    span = np.int64(0)
    if not flag & FLAG_UNMAPPED:
        for k in range(first_operation, last_operation):
            if CONSUMES_REFERENCE >> operation_of(cigar[k]) & 1:
                span += length_of(cigar[k])
    return smallest_bin(np.int64(position), np.int64(position) + max(span, 1), BAI_DEPTH) & 0xFFFF

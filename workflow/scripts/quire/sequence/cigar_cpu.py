"""Splitting and building of CIGAR elements in kernels."""

import numpy as np

from quire.sam import CIGAR_MASK, CIGAR_SHIFT
from quire.simd.compiled import inlined


@inlined
def operation_of(element):
    """Return the operation (int64, CIGAR_* of `quire.sam`) of a CIGAR element (uint32)."""
    return np.int64(element & np.uint32(CIGAR_MASK))


@inlined
def length_of(element):
    """Return the length (int64) of a CIGAR element (uint32)."""
    return np.int64(element >> np.uint32(CIGAR_SHIFT))


@inlined
def element_of(length, operation):
    """Return the CIGAR element (uint32) of a length and an operation."""
    return np.uint32(np.int64(length) << np.int64(CIGAR_SHIFT) | np.int64(operation))


@inlined
def append_operation(cigar, begin, end, operation):
    """Append one base of an operation to cigar[begin:end] (uint32[]) and return the new end."""
    if end > begin and operation_of(cigar[end - 1]) == operation:
        cigar[end - 1] += np.uint32(1 << CIGAR_SHIFT)
        return end
    cigar[end] = element_of(1, operation)
    return end + 1

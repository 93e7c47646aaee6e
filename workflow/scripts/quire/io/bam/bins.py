"""The bin of a record, by which indexes of BAM find it (SAM specification, 5.3)."""

import numpy as np

from quire.sam import CONSUMES_REFERENCE, FLAG_UNMAPPED
from quire.sequence.cigar import length_of, operation_of
from quire.simd.compiled import inlined


@inlined
def bin_of(flag, position, cigar, first_operation, last_operation):
    """Bin of the record's span (SAM specification 5.3); a span of one base where nothing is aligned."""
    span = np.int64(0)
    if not flag & FLAG_UNMAPPED:
        for k in range(first_operation, last_operation):
            if CONSUMES_REFERENCE >> operation_of(cigar[k]) & 1:
                span += length_of(cigar[k])
    first = np.int64(position)
    last = first + max(span, 1) - 1
    offset, shift = 4681, 14
    while shift <= 26:
        if first >> shift == last >> shift:
            return (offset + (first >> shift)) & 0xFFFF
        shift += 3
        offset = (offset - 1) >> 3
    return 0

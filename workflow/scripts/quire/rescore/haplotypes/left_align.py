"""Left alignment of the indels of a CIGAR with Numba (AlignmentUtils.leftAlignIndels)."""

import numpy as np

from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MATCH
from quire.simd.compiled import compiled

# Typed constants: Numba gives a Python literal a type of its own and would compile every helper again for it.
_MATCH, _INSERTION, _DELETION = np.uint8(CIGAR_MATCH), np.uint8(CIGAR_INSERTION), np.uint8(CIGAR_DELETION)
_ZERO = np.int64(0)


@compiled
def left_aligned(operations, lengths, reference, query):
    """Move every indel left as far as the bases allow, merging indels that meet.

    Args:
        operations: uint8, M, I and D as numbered in `quire.sam`, spanning both sequences.
        lengths: int64, bases of each element.
        reference: uint8 codes.
        query: uint8 codes.

    Returns:
        Operations and lengths of the new alignment.
    """
    room = 4 * len(operations) + 4
    new_operations = np.empty(room, np.uint8)
    new_lengths = np.empty(room, np.int64)
    size = _ZERO  # elements are written from the right
    inserted, deleted = _ZERO, _ZERO  # the current indel, which ends at reference_end, query_end
    reference_end, query_end = len(reference), len(query)
    for element in range(len(operations) - 1, -1, -1):
        length = lengths[element]
        if operations[element] == _INSERTION:
            inserted += length
            continue
        if operations[element] == _DELETION:
            deleted += length
            continue
        if inserted > 0 and deleted > 0:
            shared = _ZERO  # the common end of both alleles is not part of the indel
            while (
                shared < min(inserted, deleted)
                and reference[reference_end - 1 - shared] == query[query_end - 1 - shared]
            ):
                shared += 1
            size = _push(new_operations, new_lengths, size, _MATCH, shared)
            inserted, deleted = inserted - shared, deleted - shared
            reference_end, query_end = reference_end - shared, query_end - shared
        shift = _ZERO
        if (inserted > 0) != (deleted > 0):
            while shift < length and reference[reference_end - 1 - shift] == query[query_end - 1 - shift]:
                shift += 1
        size = _push(new_operations, new_lengths, size, _MATCH, shift)
        reference_end, query_end = reference_end - shift, query_end - shift
        if shift == length and element > 0 and length > 0 and inserted + deleted > 0:
            continue  # the block on the left is used up, so the indel meets the next one
        size = _push(new_operations, new_lengths, size, _DELETION, deleted)
        size = _push(new_operations, new_lengths, size, _INSERTION, inserted)
        reference_end -= deleted
        query_end -= inserted
        inserted, deleted = _ZERO, _ZERO
        size = _push(new_operations, new_lengths, size, _MATCH, length - shift)
        reference_end -= length - shift
        query_end -= length - shift
    size = _push(new_operations, new_lengths, size, _DELETION, deleted)
    size = _push(new_operations, new_lengths, size, _INSERTION, inserted)
    return new_operations[:size][::-1].copy(), new_lengths[:size][::-1].copy()


@compiled
def _push(operations, lengths, size, operation, length):
    if length == 0:
        return size
    if size > 0 and operations[size - 1] == operation:
        lengths[size - 1] += length
        return size
    operations[size] = operation
    lengths[size] = length
    return size + 1

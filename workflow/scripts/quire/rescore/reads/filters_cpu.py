"""Filters of reads: HaplotypeCallerEngine.makeStandardHCReadFilters, and thinning of deep positions."""

import numpy as np
from numpy.typing import NDArray

from quire import sam
from quire.io.bam.decode_cpu import cigar_begin, cigar_element, qualities_begin
from quire.sequence.cigar_cpu import length_of, operation_of
from quire.simd.compiled import compiled, inlined

FILTERS = (
    "unmapped",
    "secondary",
    "duplicate",
    "failed_quality_check",
    "low_mapping_quality",
    "malformed",
    "no_copies",
    "thinned",
    "used",
)
"""Reasons why a read is not used, in the order of their tests; the last is "used"."""
UNMAPPED, SECONDARY, DUPLICATE, FAILED, LOW_MAPPING_QUALITY, MALFORMED, NO_COPIES, THINNED, USED = range(len(FILTERS))


def count_verdicts(
    verdicts: NDArray[np.uint8], positions: NDArray[np.int32], owned: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the reads (`positions`) that start in the owned spans (int64[n, 2], in order and disjoint), by verdict."""
    span = np.searchsorted(owned[:, 1], positions, side="right")
    # Of all spans that end after a position, only the first may hold it.
    begins = np.append(owned[:, 0], np.iinfo(np.int64).max)
    return np.bincount(verdicts[begins[span] <= positions], minlength=len(FILTERS)).astype(np.int64)


def thinned_out(positions: NDArray[np.int32], name_hash: NDArray[np.uint64], most: int) -> NDArray[np.int64]:
    """Return the indices of the reads to drop where more than `most` start at one position.

    The reads with the smallest hash of the name stay. GATK's PositionalDownsampler draws at random; with a hash, every
    job keeps the same reads.
    """
    _, first, sizes = np.unique(positions, return_index=True, return_counts=True)
    dropped = [np.zeros(0, np.int64)]
    for start, size in zip(first[sizes > most].tolist(), sizes[sizes > most].tolist(), strict=True):
        dropped.append(start + np.argsort(name_hash[start : start + size], kind="stable")[most:])
    return np.sort(np.concatenate(dropped))


@compiled
def judge(data, starts, fixed, minimum_mapping_quality):
    """Return uint8[n]: the index into FILTERS of each record, before `no_copies` and `thinned` are decided."""
    verdicts = np.empty(len(starts), np.uint8)
    for i in range(len(starts)):
        fields = fixed[i]
        if fields.flag & sam.FLAG_UNMAPPED:
            verdicts[i] = UNMAPPED
        elif fields.flag & sam.FLAG_SECONDARY:
            verdicts[i] = SECONDARY
        elif fields.flag & sam.FLAG_DUPLICATE:
            verdicts[i] = DUPLICATE
        elif fields.flag & sam.FLAG_FAILED_QUALITY_CHECK:
            verdicts[i] = FAILED
        elif (
            fields.mapping_quality < minimum_mapping_quality
            or fields.mapping_quality == sam.UNAVAILABLE_MAPPING_QUALITY
        ):
            verdicts[i] = LOW_MAPPING_QUALITY
        elif _is_malformed(data, starts[i], fields):
            verdicts[i] = MALFORMED
        else:
            verdicts[i] = USED
    return verdicts


@inlined
def _is_malformed(data, start, fields):
    """Return True if a record lacks bases, qualities or aligned bases, is spliced or padded, or is inconsistent."""
    query, reference = np.int64(0), np.int64(0)
    cigar = cigar_begin(start, fields)
    for k in range(fields.operations):
        element = cigar_element(data, cigar, k)
        operation, length = operation_of(element), length_of(element)
        if operation in (sam.CIGAR_SKIP, sam.CIGAR_PADDING):
            return True
        query += length * (sam.CONSUMES_READ >> operation & 1)
        reference += length * (sam.CONSUMES_REFERENCE >> operation & 1)
    if fields.bases == 0 or query != fields.bases or reference == 0:
        return True
    return data[qualities_begin(start, fields)] == sam.UNAVAILABLE_QUALITY

"""From all alignments of a batch to those that are reported, in the order of the reads."""

import numpy as np
from numba import njit

from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import MOST_SUPPLEMENTARY


def take_reported(alignments: Alignments, selection: Selection) -> Reported:
    """The rows that records are made of.

    Args:
        alignments: of a batch of reads.
        selection: what is reported of them.
    """
    first, rows, chosen, quality, second = _choose(selection)
    return Reported(first, rows, selection.proper, quality, second, *_take(alignments, chosen))


@njit(cache=True, nogil=True)
def _choose(selection):
    """First row of each read, and how many it has; alignment, quality and second score of every row."""
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    primary, supplementary = selection.primary, selection.supplementary
    primary_quality, primary_second = selection.quality, selection.second
    supplementary_quality, supplementary_second = selection.supplementary_quality, selection.supplementary_second
    reads = len(primary)
    first, rows = np.empty(reads, np.int64), np.zeros(reads, np.int32)
    total = np.int64(0)
    for read in range(reads):
        first[read] = total
        rows[read] = primary[read] >= 0
        for i in range(MOST_SUPPLEMENTARY):
            rows[read] += supplementary[read, i] >= 0
        total += rows[read]
    chosen, quality, second = np.empty(total, np.int64), np.empty(total, np.uint8), np.empty(total, np.int32)
    row = 0
    for read in range(reads):
        if primary[read] >= 0:
            chosen[row], quality[row], second[row] = primary[read], primary_quality[read], primary_second[read]
            row += 1
        for i in range(MOST_SUPPLEMENTARY):
            if supplementary[read, i] >= 0:
                chosen[row] = supplementary[read, i]
                quality[row], second[row] = supplementary_quality[read, i], supplementary_second[read, i]
                row += 1
    return first, rows, chosen, quality, second


@njit(cache=True, nogil=True)
def _take(alignments, chosen):
    """The columns of the chosen alignments from `strand` on, their operations one behind the other."""
    begins, lengths, cigar = alignments.cigar_begin, alignments.cigar_length, alignments.cigar
    operations = np.int64(0)
    for row in range(len(chosen)):
        operations += lengths[chosen[row]]
    taken_begins, taken = np.empty(len(chosen), np.int64), np.empty(operations, np.uint32)
    used = np.int64(0)
    for row in range(len(chosen)):
        taken_begins[row] = used
        begin = begins[chosen[row]]
        for i in range(begin, begin + lengths[chosen[row]]):
            taken[used] = cigar[i]
            used += 1
    return (
        _column(alignments.strand, chosen), _column(alignments.score, chosen), _column(alignments.read_begin, chosen),
        _column(alignments.read_end, chosen), _column(alignments.axis_begin, chosen),
        _column(alignments.axis_end, chosen), _column(alignments.contig, chosen), _column(alignments.position, chosen),
        taken_begins, _column(lengths, chosen), taken,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _column(values, chosen):
    taken = np.empty(len(chosen), values.dtype)
    for row in range(len(chosen)):
        taken[row] = values[chosen[row]]
    return taken

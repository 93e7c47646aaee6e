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
    chosen, first, rows, quality, second = _choose(selection)
    cigar_length = alignments.cigar_length[chosen]
    cigar_begin, cigar = _operations(alignments.cigar, alignments.cigar_begin, cigar_length, chosen)
    columns = (alignments.strand, alignments.score, alignments.read_begin, alignments.read_end, alignments.axis_begin,
               alignments.axis_end, alignments.contig, alignments.position)  # fmt: skip
    return Reported(
        first, rows, selection.proper, quality, second, *(column[chosen] for column in columns), cigar_begin,
        cigar_length, cigar,
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _choose(selection):
    """Alignment, quality and second score of every row; first row of each read, and how many it has."""
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
    return chosen, first, rows, quality, second


@njit(cache=True, nogil=True)
def _operations(cigar, cigar_begin, cigar_length, chosen):
    """Operations of the chosen alignments one behind the other, and where those of each begin."""
    begins = np.empty(len(chosen), np.int64)
    taken = np.empty(cigar_length.sum(), np.uint32)
    used = np.int64(0)
    for row in range(len(chosen)):
        begins[row] = used
        begin = cigar_begin[chosen[row]]
        for i in range(cigar_length[row]):
            taken[used] = cigar[begin + i]
            used += 1
    return begins, taken

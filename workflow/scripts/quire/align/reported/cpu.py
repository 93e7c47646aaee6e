"""From all alignments of a batch to those that are reported, in the order of the reads."""

import numpy as np

from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import MOST_SUPPLEMENTARY
from quire.simd.compiled import compiled


def take_reported(alignments: Alignments, selection: Selection) -> Reported:
    """The rows that records are made of.

    Args:
        alignments: of a batch of reads.
        selection: what is reported of them.
    """
    first, rows, chosen, quality, suboptimal_score = _choose(selection)
    return Reported(first, rows, selection.proper, quality, suboptimal_score, *_take(alignments, chosen))


@compiled
def _choose(selection):
    """First row of each read, and how many it has; alignment, mapping quality and suboptimal score of every row."""
    # Taken out once: each use of a tuple inside the loop would count references of all its arrays.
    primary, supplementary = selection.primary, selection.supplementary
    primary_quality, primary_suboptimal = selection.quality, selection.suboptimal_score
    supplementary_quality = selection.supplementary_quality
    supplementary_suboptimal = selection.supplementary_suboptimal_score
    reads = len(primary)
    first, rows = np.empty(reads, np.int64), np.zeros(reads, np.int32)
    total = np.int64(0)
    for read in range(reads):
        first[read] = total
        rows[read] = primary[read] >= 0
        for i in range(MOST_SUPPLEMENTARY):
            rows[read] += supplementary[read, i] >= 0
        total += rows[read]
    chosen, quality = np.empty(total, np.int64), np.empty(total, np.uint8)
    suboptimal = np.empty(total, np.int32)
    row = 0
    for read in range(reads):
        if primary[read] >= 0:
            chosen[row], quality[row] = primary[read], primary_quality[read]
            suboptimal[row] = primary_suboptimal[read]
            row += 1
        for i in range(MOST_SUPPLEMENTARY):
            if supplementary[read, i] >= 0:
                chosen[row] = supplementary[read, i]
                quality[row] = supplementary_quality[read, i]
                suboptimal[row] = supplementary_suboptimal[read, i]
                row += 1
    return first, rows, chosen, quality, suboptimal


@compiled
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


@compiled
def _column(values, chosen):
    taken = np.empty(len(chosen), values.dtype)
    for row in range(len(chosen)):
        taken[row] = values[chosen[row]]
    return taken

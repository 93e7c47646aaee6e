"""Selection of the reported alignments of a batch, in the order of the reads."""

import numpy as np
from numpy.typing import NDArray

from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import MOST_SUPPLEMENTARY, RIVAL_DENOMINATOR, RIVAL_NUMERATOR
from quire.simd.compiled import compiled, inlined

NO_ALTERNATE = np.empty(0, np.uint8)


def take_reported(
    alignments: Alignments, selection: Selection, alternate: NDArray[np.uint8] = NO_ALTERNATE
) -> Reported:
    """Return the rows from which records are made, and the rivals with which `quire.align.lift_over` compares them.

    `alternate` (uint8[contigs], 1 for alternate contigs) is empty unless places are lifted over: then all good
    alignments of a read that has one on an alternate contig are taken.
    """
    first, rows, chosen, quality, suboptimal_score, all_rows, rank = _choose(alignments, selection, alternate)
    columns = [first, rows, selection.proper, quality, suboptimal_score, *_take(alignments, chosen), all_rows, rank]
    return Reported(*columns)


@compiled
def _choose(alignments, selection, alternate):
    """Return first row and number of rows of each read, and alignment, quality and suboptimal score of every row."""
    # Also return the number of rows of each read including rivals, and the rank of each row in its read; both are empty
    # if `alternate` is.
    # Unpack once: each access to a tuple inside the loop would count references of all its arrays.
    primary, supplementary = selection.primary, selection.supplementary
    primary_quality, primary_suboptimal = selection.quality, selection.suboptimal_score
    supplementary_quality = selection.supplementary_quality
    supplementary_suboptimal = selection.supplementary_suboptimal_score
    offsets, score, contig = alignments.offsets, alignments.score, alignments.contig
    reads = len(primary)
    first, rows = np.empty(reads, np.int64), np.zeros(reads, np.int32)
    with_rivals = len(alternate) > 0
    all_rows = np.zeros(reads if with_rivals else 0, np.int32)
    total = np.int64(0)
    for read in range(reads):
        first[read] = total
        rows[read] = primary[read] >= 0
        for i in range(MOST_SUPPLEMENTARY):
            rows[read] += supplementary[read, i] >= 0
        total += rows[read]
        if with_rivals:
            all_rows[read] = rows[read]
            least = _least_rival(score, contig, offsets, primary, supplementary, read, alternate)
            if least >= 0:
                for i in range(offsets[read], offsets[read + 1]):
                    all_rows[read] += score[i] >= least and not _is_reported(primary, supplementary, read, i)
            total += all_rows[read] - rows[read]
    chosen, quality = np.empty(total, np.int64), np.zeros(total, np.uint8)
    suboptimal, rank = np.zeros(total, np.int32), np.empty(total if with_rivals else 0, np.int32)
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
        if with_rivals:
            if all_rows[read] > rows[read]:
                least = _least_rival(score, contig, offsets, primary, supplementary, read, alternate)
                for i in range(offsets[read], offsets[read + 1]):
                    if score[i] >= least and not _is_reported(primary, supplementary, read, i):
                        chosen[row] = i
                        row += 1
            for i in range(first[read], row):
                rank[i] = chosen[i] - offsets[read]
    return first, rows, chosen, quality, suboptimal, all_rows, rank


@inlined
def _least_rival(score, contig, offsets, primary, supplementary, read, alternate):
    """Return the least score of the alignments with which a read's reported ones are compared; -1 for none."""
    # There are some if one of its good alignments, reported or not, is on an alternate contig; these come last, best
    # first.
    if primary[read] < 0:
        return np.int64(-1)
    least = np.int64(score[primary[read]])
    for i in range(MOST_SUPPLEMENTARY):
        if supplementary[read, i] >= 0:
            least = min(least, np.int64(score[supplementary[read, i]]))
    least = RIVAL_NUMERATOR * least // RIVAL_DENOMINATOR + 1
    i = offsets[read + 1] - 1
    while i >= offsets[read] and alternate[contig[i]] != 0:
        if score[i] >= least:
            return least
        i -= 1
    return np.int64(-1)


@inlined
def _is_reported(primary, supplementary, read, i):
    found = primary[read] == i
    for j in range(MOST_SUPPLEMENTARY):
        found |= supplementary[read, j] == i
    return found


@compiled
def _take(alignments, chosen):
    """Return the columns from `strand` on of the chosen alignments, with their operations concatenated."""
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

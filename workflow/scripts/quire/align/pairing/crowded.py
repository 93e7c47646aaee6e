"""Reads with so many alignments that there may be more: a pass keeps at most MOST_CANDIDATES."""

import numpy as np

from quire.align.parameters import MOST_CANDIDATES, SHORTEST_CERTAIN
from quire.simd.compiled import inlined


@inlined
def primary_end(alignments, first, last, alternate):
    """Return the end of a read's alignments on the primary assembly, which come first."""
    if len(alternate) > 0:
        while last > first and alternate[alignments.contig[last - 1]] != 0:
            last -= 1
    return last


@inlined
def has_many_places(alignments, i, length, alternate):
    """Return 1 if a read shorter than SHORTEST_CERTAIN has at least MOST_CANDIDATES alignments, else 0.

    Only alignments that compete with its alignment i count: if i is on the primary assembly, none on alternate contigs.
    """
    read = alignments.read[i]
    first, last = alignments.offsets[read], alignments.offsets[read + 1]
    if len(alternate) > 0 and alternate[alignments.contig[i]] == 0:
        last = primary_end(alignments, first, last, alternate)
    return np.int64(last - first >= MOST_CANDIDATES and length < SHORTEST_CERTAIN)


@inlined
def is_crowded(alignments, first, last, chosen):
    """Return True if at least MOST_CANDIDATES alignments of a read are as good as the chosen one.

    If this holds for both mates, other pairs may be as good as theirs.
    """
    as_good = 0
    for i in range(first, last):
        as_good += alignments.score[i] >= alignments.score[chosen]
    return as_good >= MOST_CANDIDATES

"""Reads of so many places that there may be more of them: a look keeps no more than MOST_CANDIDATES."""

import numpy as np

from quire.align.parameters import MOST_CANDIDATES, SHORTEST_CERTAIN
from quire.simd.compiled import inlined


@inlined
def primary_end(alignments, first, last, alternate):
    """Where those of a read's alignments end that lie on the primary assembly; they stand first."""
    if len(alternate) > 0:
        while last > first and alternate[alignments.contig[last - 1]] != 0:
            last -= 1
    return last


@inlined
def has_many_places(alignments, i, length, alternate):
    """1 if a read shorter than SHORTEST_CERTAIN has as many places as a look keeps at most, or more; else 0.

    Those count that compete with its alignment i: where that lies on the primary assembly, none on alternate contigs.
    """
    read = alignments.read[i]
    first, last = alignments.offsets[read], alignments.offsets[read + 1]
    if len(alternate) > 0 and alternate[alignments.contig[i]] == 0:
        last = primary_end(alignments, first, last, alternate)
    return np.int64(last - first >= MOST_CANDIDATES and length < SHORTEST_CERTAIN)


@inlined
def is_crowded(alignments, first, last, chosen):
    """Whether a read has so many places that are as good as the chosen one.

    Where both mates have, other pairs may be as good as theirs.
    """
    as_good = 0
    for i in range(first, last):
        as_good += alignments.score[i] >= alignments.score[chosen]
    return as_good >= MOST_CANDIDATES

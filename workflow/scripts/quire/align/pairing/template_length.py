"""Template lengths: of two alignments, and of the unique pairs of a batch, which the insert size is fitted to."""

import numpy as np

from quire.align.model import Alignments
from quire.align.parameters import LONGEST_INSERT, UNIQUE_DENOMINATOR, UNIQUE_NUMERATOR
from quire.reads import Reads
from quire.simd.compiled import compiled, inlined


@inlined
def template_length(alignments, forward, reverse, reverse_length):
    """Distance from the 5' end of a forward alignment to that of a reverse one on the same contig, clips included."""
    begin = alignments.position[forward] - alignments.read_begin[forward]
    span = alignments.axis_end[reverse] - alignments.axis_begin[reverse]
    return alignments.position[reverse] + span + reverse_length - alignments.read_end[reverse] - begin


def unique_template_lengths(alignments: Alignments, reads: Reads) -> np.ndarray:
    """int64[pairs]: template length of each pair, -1 unless its mates are unique and face each other."""
    lengths: np.ndarray = _unique_template_lengths(alignments, np.diff(reads.offsets))
    return lengths


@compiled
def _unique_template_lengths(alignments, lengths):
    """See `unique_template_lengths`; lengths: int64[2 * pairs], of the reads."""
    pairs = len(lengths) // 2
    found = np.full(pairs, -1, np.int64)
    for pair in range(pairs):
        first, second = alignments.offsets[pair], alignments.offsets[pairs + pair]
        if not (_is_unique(alignments, pair) and _is_unique(alignments, pairs + pair)):
            continue
        if (
            alignments.contig[first] != alignments.contig[second]
            or alignments.strand[first] == alignments.strand[second]
        ):
            continue
        forward, reverse, reverse_read = first, second, pairs + pair
        if alignments.strand[first] == 1:
            forward, reverse, reverse_read = second, first, pair
        length = template_length(alignments, forward, reverse, lengths[reverse_read])
        if 0 < length <= LONGEST_INSERT:
            found[pair] = length
    return found


@inlined
def _is_unique(alignments, read):
    first, last = alignments.offsets[read], alignments.offsets[read + 1]
    if first == last:
        return False
    if last - first == 1:
        return True
    return alignments.score[first + 1] * UNIQUE_DENOMINATOR <= alignments.score[first] * UNIQUE_NUMERATOR

"""Template lengths and orientations of pairs, and of the unique pairs to which models are fitted."""

import numpy as np

from quire.align.model import Alignments
from quire.align.parameters import LONGEST_INSERT, UNIQUE_DENOMINATOR, UNIQUE_NUMERATOR
from quire.reads import Reads
from quire.simd.compiled import compiled, inlined


@inlined
def five_prime_end(alignments, i, length):
    """Return the position of the read's 5' end on the contig, with clips: before the first or after the last base."""
    if alignments.strand[i] == 0:
        return alignments.position[i] - alignments.read_begin[i]
    span = alignments.axis_end[i] - alignments.axis_begin[i]
    return alignments.position[i] + span + length - alignments.read_end[i]


@inlined
def orientation_of(strand_first, strand_second, distance):
    """Return the index in ORIENTATIONS for the strands of two mates and the distance that `pair_distance` returns."""
    orientation = 0 if strand_first == strand_second else 1
    return orientation if distance > 0 else orientation ^ 3


@inlined
def pair_distance(alignments, first, second, first_length, second_length):
    """Return the distance from the first mate's 5' end to the second's on one contig, in the first's direction."""
    distance = five_prime_end(alignments, second, second_length) - five_prime_end(alignments, first, first_length)
    return distance if alignments.strand[first] == 0 else -distance


def unique_template_lengths(alignments: Alignments, reads: Reads) -> np.ndarray:
    """Return 4 * template length + orientation of each pair (int64[pairs]); -1 unless both are unique on one contig."""
    lengths: np.ndarray = _unique_template_lengths(alignments, np.diff(reads.offsets))
    return lengths


@compiled
def _unique_template_lengths(alignments, lengths):
    """See `unique_template_lengths`; lengths: int64[2 * pairs], bases of the reads."""
    pairs = len(lengths) // 2
    found = np.full(pairs, -1, np.int64)
    for pair in range(pairs):
        first, second = alignments.offsets[pair], alignments.offsets[pairs + pair]
        if not (_is_unique(alignments, pair) and _is_unique(alignments, pairs + pair)):
            continue
        if alignments.contig[first] != alignments.contig[second]:
            continue
        distance = pair_distance(alignments, first, second, lengths[pair], lengths[pairs + pair])
        if 0 < abs(distance) <= LONGEST_INSERT:
            orientation = orientation_of(alignments.strand[first], alignments.strand[second], distance)
            found[pair] = abs(distance) << 2 | orientation
    return found


@inlined
def _is_unique(alignments, read):
    first, last = alignments.offsets[read], alignments.offsets[read + 1]
    if first == last:
        return False
    if last - first == 1:
        return True
    return alignments.score[first + 1] * UNIQUE_DENOMINATOR <= alignments.score[first] * UNIQUE_NUMERATOR

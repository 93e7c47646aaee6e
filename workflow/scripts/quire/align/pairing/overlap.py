"""Overlap of alignments on their read."""

from quire.simd.compiled import inlined


@inlined
def overlaps(alignments, a, b, length):
    """Return True if two alignments of a read share at least half of the shorter one's part of the read."""
    begin_a, end_a = alignments.read_begin[a], alignments.read_end[a]
    if alignments.strand[a] == 1:
        begin_a, end_a = length - alignments.read_end[a], length - alignments.read_begin[a]
    begin_b, end_b = alignments.read_begin[b], alignments.read_end[b]
    if alignments.strand[b] == 1:
        begin_b, end_b = length - alignments.read_end[b], length - alignments.read_begin[b]
    shared = min(end_a, end_b) - max(begin_a, begin_b)
    return 2 * shared >= min(end_a - begin_a, end_b - begin_b)

"""Detection of simple sequence, which has so few different words that it occurs in many places."""

import numpy as np

from quire.align.parameters import SIMPLE_SCORE, SIMPLE_SHARE, SIMPLE_SHARE_OF_SHORT, SIMPLE_WORD
from quire.simd.compiled import compiled, inlined


@inlined
def is_simple_alignment(alignments, reads, read, i):
    """Return True if the aligned part of a read is simple sequence; False for scores from SIMPLE_SCORE on."""
    begin, end, score = reads.offsets[read], reads.offsets[read + 1], alignments.score[i]
    if score >= SIMPLE_SCORE:
        return False
    share = SIMPLE_SHARE_OF_SHORT if 2 * score < end - begin else SIMPLE_SHARE
    codes = reads.codes[alignments.strand[i], begin:end]
    return _is_simple(codes[alignments.read_begin[i] : alignments.read_end[i]], share)


@compiled
def _is_simple(codes, share):
    """Return True if fewer than one in `share` words of a sequence are different, as in poly-A or poly-G.

    bwa mem instead lowers the quality of such reads by the share of their seeds that are too frequent.
    """
    seen = np.zeros(1 << (2 * SIMPLE_WORD), np.bool_)
    word, different = 0, 0
    for i in range(len(codes)):
        word = (word << 2 | np.int64(codes[i] & 3)) & ((1 << (2 * SIMPLE_WORD)) - 1)
        if i >= SIMPLE_WORD - 1 and not seen[word]:
            seen[word] = True
            different += 1
    return different * share < len(codes) - SIMPLE_WORD + 1

"""Mapping qualities as bwa mem estimates them, but in integers, since a card could round floating point differently.

Simple sequence, which has so few different words that it occurs in many places, has quality 0.
"""

import numpy as np

from quire.align.parameters import (
    CHANCE_SCORE,
    COUNT_COST,
    CROWDED_PARTS,
    LENGTH_FACTOR,
    LONGEST_SPAN,
    MOST_QUALITY,
    QUALITY_SHIFT,
    SIMPLE_SHARE,
    SIMPLE_WORD,
)
from quire.simd.compiled import compiled, inlined


@inlined
def count_cost(count):
    """Return the loss of quality for `count` places that are nearly as good as the second best."""
    return COUNT_COST[min(count, 1024)]


@inlined
def raw_quality(difference):
    """Return the quality that corresponds to a score difference: 6.02 per unit."""
    return (difference * 602 + 50) // 100


@inlined
def lowered(quality, crowded):
    """Return a quality from 0 to MOST_QUALITY, less one part in CROWDED_PARTS for each of `crowded` reads."""
    return min(max(np.int64(0), quality) * (CROWDED_PARTS - crowded) // CROWDED_PARTS, np.int64(MOST_QUALITY))


@inlined
def single_quality(score, suboptimal_score, near_best_count, read_span, axis_span, crowded):
    """Return the mapping quality of an alignment without regard to a mate.

    `suboptimal_score` is that of the best other place of the same part of the read, 0 for none; `near_best_count` the
    number of other places that score less by at most the cost of a gap; `crowded` 1 if the read reached the
    MOST_CANDIDATES cap, else 0. Spans are in bases.
    """
    suboptimal_score = max(suboptimal_score, CHANCE_SCORE)
    if suboptimal_score >= score:
        return np.int64(0)
    span = max(read_span, axis_span)
    identity = ((4 * span + score) << QUALITY_SHIFT) // (5 * span)
    squared = (identity * identity) >> QUALITY_SHIFT
    fourth = (squared * squared) >> QUALITY_SHIFT
    weight = (LENGTH_FACTOR[min(span, LONGEST_SPAN)] * fourth) >> QUALITY_SHIFT
    quality = ((score - suboptimal_score) * 602 * weight // 100 + (1 << (QUALITY_SHIFT - 1))) >> QUALITY_SHIFT
    if near_best_count > 0:
        quality -= count_cost(near_best_count)
    return lowered(quality, crowded)


@inlined
def is_simple_alignment(alignments, reads, read, i):
    """Return True if the aligned part of a read is simple sequence."""
    codes = reads.codes[alignments.strand[i], reads.offsets[read] : reads.offsets[read + 1]]
    return _is_simple(codes[alignments.read_begin[i] : alignments.read_end[i]])


@compiled
def _is_simple(codes):
    """Return True if fewer than one in SIMPLE_SHARE words of a sequence are different, as in poly-A or poly-G."""
    # bwa mem instead lowers the quality of such reads by the share of their seeds that are too frequent.
    seen = np.zeros(1 << (2 * SIMPLE_WORD), np.bool_)
    word, different = 0, 0
    for i in range(len(codes)):
        word = (word << 2 | np.int64(codes[i] & 3)) & ((1 << (2 * SIMPLE_WORD)) - 1)
        if i >= SIMPLE_WORD - 1 and not seen[word]:
            seen[word] = True
            different += 1
    return different * SIMPLE_SHARE < len(codes) - SIMPLE_WORD + 1

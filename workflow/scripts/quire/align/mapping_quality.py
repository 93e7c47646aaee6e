"""Mapping qualities as bwa mem estimates them, in integers: no floating point decides a record (DESIGN, contract 1)."""

import math

import numpy as np
from numba import njit

MOST = 60
_SHIFT = 15
_LONGEST = 4096
# A second place is at least as good as a chance match of a seed (bwa mem: min_seed_len).
_CHANCE_SCORE = 19
_SHORT = 50


def _length_factor(length: int) -> int:
    """Squared ln(50) / ln(length), 1 for shorter alignments, in 2^15ths."""
    factor = 1.0 if length < _SHORT else math.log(_SHORT) / math.log(length)
    return round(factor * factor * (1 << _SHIFT))


LENGTH_FACTOR = np.array([_length_factor(max(length, 1)) for length in range(_LONGEST + 1)], np.int64)
# Phred-scaled cost of n further places that are nearly as good: 10 log10(n + 1).
COUNT_COST = np.array([int(4.343 * math.log(n + 1) + 0.499) if n else 0 for n in range(1025)], np.int64)


@njit(cache=True, nogil=True, forceinline=True)
def count_cost(count):
    """Quality lost to `count` places nearly as good as the second best."""
    return COUNT_COST[min(count, 1024)]


@njit(cache=True, nogil=True, forceinline=True)
def raw_quality(difference):
    """Quality of a score difference alone: 6.02 a unit."""
    return (difference * 602 + 50) // 100


@njit(cache=True, nogil=True, forceinline=True)
def single_quality(score, second, near_count, read_span, axis_span):
    """Mapping quality of an alignment by itself.

    Args:
        score: of the alignment; second: of the best other place of the same part of the read (0: none).
        near_count: other places within a gap's cost of the best.
        read_span, axis_span: bases of the alignment on the read and on the axis.
    """
    second = max(second, _CHANCE_SCORE)
    if second >= score:
        return np.int64(0)
    span = max(read_span, axis_span)
    identity = ((4 * span + score) << _SHIFT) // (5 * span)
    squared = (identity * identity) >> _SHIFT
    fourth = (squared * squared) >> _SHIFT
    weight = (LENGTH_FACTOR[min(span, _LONGEST)] * fourth) >> _SHIFT
    quality = ((score - second) * 602 * weight // 100 + (1 << (_SHIFT - 1))) >> _SHIFT
    if near_count > 0:
        quality -= count_cost(near_count)
    return max(np.int64(0), min(quality, np.int64(MOST)))

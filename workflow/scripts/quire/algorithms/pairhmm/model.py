"""PairHMM's recurrence as the fast kernels compute it, and the constants that they share; NumPy on the host only.

With prior p, match-to-match a, gap openings d_I and d_D, gap continuation c, the textbook recurrence is

    M[i,j] = p (a M[i-1,j-1] + (1-c) (I[i-1,j-1] + D[i-1,j-1]))
    I[i,j] = d_I M[i-1,j] + c I[i-1,j]
    D[i,j] = d_D M[i,j-1] + c D[i,j-1]

The kernels carry E = D / d_D, and take (1-c) out of the bracket, which leaves two multiplications and four fused ones:

    M[i,j] = emission * fma(stay, M[i-1,j-1], fma(deletion, E[i-1,j-1], I[i-1,j-1]))
    I[i,j] = fma(insertion, M[i-1,j], c * I[i-1,j])
    E[i,j] = fma(c, E[i,j-1], M[i,j-1])

with emission = p (1-c), stay = a / (1-c), insertion = d_I of row i, deletion = d_D of row i-1 (1 for the first row).
Row 0 holds M = I = 0 and E = 2**SCALE_EXPONENT. The division by the haplotype's length is left to the logarithm, so
that a column depends only on the haplotype's bases up to it. The sum of M + I over the last row runs left to right.
Tasks are computed in float32, and again in float64 if the sum falls below FLOAT32_FLOOR or overflows.

The continuation c may differ from row to row; all three lines use that of the row's base.

Every kernel performs these operations in this order, each rounded once according to IEEE 754, to nearest, ties to even.
In float32, subnormal operands and results count as zero with the same sign: a result is zero if its magnitude, rounded
to 24 bits with an unlimited exponent, is below 2**-126. Cells far from the likely alignments pass through that range,
where many processors are ten times slower. On x86-64 the CPU's kernel sets the processor's flags
(quire.simd.subnormals); on a card, -ftz=true has this effect. In float64, subnormal numbers are kept. All kernels
therefore agree to the last bit.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.simd.powers_of_ten import log10, power_of_ten

SCALE_EXPONENT = {np.dtype(np.float32): 112, np.dtype(np.float64): 960}
"""Exponent of the scale in row 0; float32 leaves 2**15 for the sum over columns (GKL starts at 2**120 / length)."""

FLOAT32_FLOOR = np.float32(1e-28)
"""Smaller scaled sums are recomputed in float64 (GKL's bound: 1e10 times the smallest normal float32)."""


_LOG10_OF_2 = float(log10(np.array([2.0]))[0])
LOG10_OF_SCALE = {dtype: np.float64(exponent * _LOG10_OF_2) for dtype, exponent in SCALE_EXPONENT.items()}


class Tables(NamedTuple):
    """Factors of the recurrence by phred quality, all in one dtype (float32 or float64).

    Attributes:
        agree, differ: [256] by base quality: emission where the bases agree (or either is N) or differ.
        opening: [256] by gap opening quality: insertion or deletion.
        stay: [65536] by insertion quality * 256 + deletion quality.
        continuation: c, a scalar; an array in `stacked_tables`.
        start: E of row 0, a scalar.
    """

    agree: NDArray[np.floating]
    differ: NDArray[np.floating]
    opening: NDArray[np.floating]
    stay: NDArray[np.floating]
    continuation: Any
    start: np.floating


@lru_cache(maxsize=32)
def tables(gap_continuation_quality: int, dtype: np.dtype[np.floating]) -> Tables:
    """Return the factors, computed in float64 from one table of 10^(-q/10) and rounded to `dtype` once."""
    probability = power_of_ten(-np.arange(256) / 10)
    continuation = probability[gap_continuation_quality]
    stay = np.maximum(0.0, 1.0 - (probability[:, None] + probability[None, :])) / (1.0 - continuation)
    return Tables(
        ((1.0 - probability) * (1.0 - continuation)).astype(dtype),
        ((probability / 3.0) * (1.0 - continuation)).astype(dtype),
        probability.astype(dtype),
        stay.ravel().astype(dtype),
        dtype.type(continuation),
        dtype.type(2.0 ** SCALE_EXPONENT[dtype]),
    )


@lru_cache(maxsize=8)
def stacked_tables(gap_continuation_qualities: tuple[int, ...], dtype: np.dtype[np.floating]) -> Tables:
    """Return the factors of several continuation qualities (phred, each >= 1), concatenated.

    The k-th quality has entries [256 k, 256 (k + 1)) of agree and differ, [65536 k, 65536 (k + 1)) of stay, and entry k
    of `continuation`.
    """
    several = [tables(quality, dtype) for quality in gap_continuation_qualities]
    return Tables(
        np.concatenate([table.agree for table in several]),
        np.concatenate([table.differ for table in several]),
        several[0].opening,
        np.concatenate([table.stay for table in several]),
        np.array([table.continuation for table in several], dtype),
        several[0].start,
    )


def log10_of_lengths(longest: int) -> NDArray[np.float64]:
    """Return log10 of 1, 2, ... haplotype bases (float64[longest])."""
    return log10(np.arange(1.0, longest + 1))


def needs_float64(sums: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return True for each float32 sum that is too small, infinite or NaN (bool[t])."""
    return ~((sums >= FLOAT32_FLOOR) & (sums < np.inf))


def log10_of_sums(
    sums: NDArray[np.floating], exponent: int, haplotype_lengths: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return log10 likelihoods (float64[t]) from the scaled sums of the last row."""
    likelihoods = log10(sums.astype(np.float64)) - exponent * _LOG10_OF_2
    of_lengths = log10_of_lengths(int(haplotype_lengths.max(initial=0)))  # many tasks, few lengths
    return likelihoods - of_lengths[haplotype_lengths - 1]

"""Tables of reference confidence, computed in Python so that kernels need no logarithm.

The sum of two probabilities is taken from a table of log10(1 + 10^-x) in steps of 0.0001, as in
MathUtils.approximateLog10SumLog10, so that PLs agree with GATK's to the last phred.
"""

from functools import cache
from math import inf

import numpy as np
from numpy.typing import NDArray

from quire.simd import powers_of_ten

DELETED = 5  # code of a column where the read has no base
MINIMUM_BASE_QUALITY = 6  # a base counts above it (ReferenceConfidenceModel.BASE_QUAL_THRESHOLD)
DELETION_QUALITY = 30  # quality of a deleted base (REF_MODEL_DELETION_QUAL)
LONGEST_INDEL = 10  # longest indel that is tested (indelSizeToEliminateInRefModel)
MOST_INDEL_READS = 40  # reads that count (MAX_N_INDEL_INFORMATIVE_READS)
_INDEL_QUALITY = 45  # 10^-4.5 indel errors per base
_QUALITIES = 256
_STEP = 0.0001
_NEGLIGIBLE = 8.0  # difference in log10 from which the smaller of two probabilities is not added


@cache
def _corrections() -> list[float]:
    """Return log10(1 + 10^-x) for x from 0 to _NEGLIGIBLE in steps of _STEP."""
    differences = np.array([step * _STEP for step in range(round(_NEGLIGIBLE / _STEP) + 1)])
    return list(map(float, powers_of_ten.log10(1.0 + powers_of_ten.power_of_ten(-differences))))


def log10_sum(a: float, b: float) -> float:
    """Return log10(10^a + 10^b), by table."""
    small, large = sorted((a, b))
    if small == -inf:
        return large
    difference = large - small
    return large + (_corrections()[int(difference * (1.0 / _STEP) + 0.5)] if difference < _NEGLIGIBLE else 0.0)


@cache
def _logarithms(most: int) -> list[float]:
    """Return log10 of 0 (-inf) to `most`."""
    return list(map(float, powers_of_ten.log10(np.arange(most + 1.0))))


@cache
def _right() -> list[float]:
    """Return log10(1 - 10^(-q / 10)) by quality q."""
    return list(map(float, powers_of_ten.log10(1.0 - powers_of_ten.power_of_ten(np.arange(_QUALITIES) / -10.0))))


@cache
def base_table(ploidy: int) -> NDArray[np.float64]:
    """Return float64[256, 2, ploidy + 1]: log10 likelihood of a base by quality, (agrees, differs) and alternates.

    Each value is larger than the likelihood by log10(ploidy), which GATK subtracts at the end, once per read.
    """
    table, log10 = np.zeros((_QUALITIES, 2, ploidy + 1)), _logarithms(max(ploidy, 3))
    for quality in range(1, _QUALITIES):
        right, wrong = _right()[quality], quality * -0.1 - log10[3]
        for differs in range(2):
            reference, other = (wrong, right) if differs else (right, wrong)
            table[quality, differs, 0] = reference + log10[ploidy]
            table[quality, differs, ploidy] = other + log10[ploidy]
            for count in range(1, ploidy):
                table[quality, differs, count] = log10_sum(reference + log10[ploidy - count], other + log10[count])
    return table


@cache
def indel_table(ploidy: int) -> NDArray[np.float64]:
    """Return float64[MOST_INDEL_READS + 1, ploidy + 1]: log10 likelihoods of genotypes by reads without an indel."""
    table, log10 = np.zeros((MOST_INDEL_READS + 1, ploidy + 1)), _logarithms(ploidy)
    none, some = _right()[_INDEL_QUALITY], _INDEL_QUALITY * -0.1
    for reads in range(1, MOST_INDEL_READS + 1):
        table[reads, 0] = reads * none
        for count in range(1, ploidy + 1):
            both = log10_sum(none + log10[ploidy - count], some + log10[count])
            table[reads, count] = reads * (both - log10[ploidy])
    return table

"""Strand bias: counts of reads by strand and allele, and GATK's two measures, with the same bits on every machine.

Logarithms come from `quire.simd.powers_of_ten`, because the last bits of the C library's results vary.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from quire.simd import powers_of_ten
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten import LN_OF_10
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

TARGET_TABLE = 200.0  # FisherStrand shrinks larger tables to about this many reads
SMALLEST_P = 1e-320
_LIKELY_ENOUGH = 1e-7 / LN_OF_10  # log10 tolerance of "at most as likely"


@compiled
def strand_counts(best, kept, sample, reverse, samples):
    """Count reads by allele (reference, any kept alternate) and strand (forward, reverse) (int64[samples, 4]).

    Args:
        best: int64[reads], from `best_alleles`.
        kept: bool[alleles], alleles that count.
        sample: number of each read's sample.
        reverse: 1 for each read on the reverse strand, else 0.
        samples: number of samples.
    """
    table = np.zeros((samples, 4), np.int64)
    for i in range(len(best)):
        if best[i] >= 0 and kept[best[i]]:
            table[sample[i], 2 * (best[i] > 0) + reverse[i]] += 1
    return table


@compiled
def sum_of_rows(table, minimum):
    """Return the four sums over the rows (int64[n, 4]) with more than `minimum` reads."""
    sums = np.zeros(4, np.int64)
    for row in range(len(table)):
        if table[row].sum() > minimum:
            sums += table[row]
    return sums[0], sums[1], sums[2], sums[3]


@cache
def log10_factorials(size: int) -> NDArray[np.float64]:
    """Return log10 of n! (float64[size + 1]), summed from the smallest factor on."""
    return np.concatenate([[0.0], np.cumsum(powers_of_ten.log10(np.arange(1.0, size + 1)))])


@compiled
def fisher_strand(table, factorials):
    """Return the phred of the two-sided Fisher test of strand against allele.

    Args:
        table: four counts, as in `strand_counts`.
        factorials: from `log10_factorials`, up to twice TARGET_TABLE.
    """
    a, b, c, d = table
    total = a + b + c + d
    if total > 2 * TARGET_TABLE:
        factor = total / TARGET_TABLE
        a, b, c, d = np.int64(a / factor), np.int64(b / factor), np.int64(c / factor), np.int64(d / factor)
    return phred(max(fisher_exact(a, b, c, d, factorials), SMALLEST_P))


@compiled
def fisher_exact(a, b, c, d, factorials):
    """Return the two-sided p of a 2 x 2 table: the probability of all tables with its margins that are not likelier."""
    first, second, column = a + b, c + d, a + c
    observed = _log10_probability(a, first, second, column, factorials)
    total = 0.0
    for x in range(max(0, column - second), min(first, column) + 1):
        value = _log10_probability(x, first, second, column, factorials)
        if value <= observed + _LIKELY_ENOUGH:
            total += power_of_ten(value)
    return min(1.0, total)


@compiled
def _log10_probability(x, first, second, column, factorials):
    """Return log10 of the probability of x in the first cell, given the sums of both rows and of the first column."""
    rows = _log10_choose(first, x, factorials) + _log10_choose(second, column - x, factorials)
    return rows - _log10_choose(first + second, column, factorials)


@compiled
def _log10_choose(n, k, factorials):
    return factorials[n] - factorials[k] - factorials[n - k]


@compiled
def odds_ratio(table):
    """Return the symmetric odds ratio of a table of four floats, scaled by unevenness (calculateSOR)."""
    a, b, c, d = table
    ratio = (a / b) * (d / c) + (b / a) * (c / d)
    unevenness = log10(min(a, b) / max(a, b)) - log10(min(c, d) / max(c, d))
    return (log10(ratio) + unevenness) * LN_OF_10


@compiled
def phred(p):
    """Return -10 log10 of a probability, at least 0."""
    return max(0.0, -10.0 * log10(p))

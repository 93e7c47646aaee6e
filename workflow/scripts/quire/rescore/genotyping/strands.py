"""Strand bias: counts of reads by strand and allele, and GATK's two measures, with the same bits on every machine.

Logarithms come from `quire.simd.powers_of_ten`, because the last bits of the C library's results vary.
"""

import numpy as np

from quire.simd import powers_of_ten
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten import LN_OF_10
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

TARGET_TABLE = 200.0  # FisherStrand shrinks larger tables to about this many reads
SMALLEST_P = 1e-320
_LIKELY_ENOUGH = 1e-7 / LN_OF_10  # log10 tolerance of "at most as likely"
# log10 of n!, up to twice TARGET_TABLE, summed from the smallest factor on.
_LOG10_FACTORIALS = np.concatenate([[0.0], np.cumsum(powers_of_ten.log10(np.arange(1.0, 513.0)))])


@compiled
def strand_counts(best, kept, sample, reverse, samples):
    """Count reads by allele (reference, any kept alternate) and strand (forward, reverse) (int64[samples, 4]).

    `best` is the result of `best_alleles`, `kept` (bool[alleles]) marks the alleles that count, and `reverse` is 1 for
    each read on the reverse strand.
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


@compiled
def fisher_strand(table):
    """Return the phred of the two-sided Fisher test of strand against allele (table: counts as in `strand_counts`)."""
    a, b, c, d = table
    total = a + b + c + d
    if total > 2 * TARGET_TABLE:
        factor = total / TARGET_TABLE
        a, b, c, d = np.int64(a / factor), np.int64(b / factor), np.int64(c / factor), np.int64(d / factor)
    return max(0.0, -10.0 * log10(max(fisher_exact(a, b, c, d), SMALLEST_P)))


@compiled
def fisher_exact(a, b, c, d):
    """Return the two-sided p of a 2 x 2 table: the probability of all tables with its margins that are not likelier."""
    first, second, column = a + b, c + d, a + c
    observed = _log10_probability(a, first, second, column)
    total = 0.0
    for x in range(max(0, column - second), min(first, column) + 1):
        value = _log10_probability(x, first, second, column)
        if value <= observed + _LIKELY_ENOUGH:
            total += power_of_ten(value)
    return min(1.0, total)


@compiled
def _log10_probability(x, first, second, column):
    """Return log10 of the probability of x in the first cell, given the sums of both rows and of the first column."""
    rows = _log10_choose(first, x) + _log10_choose(second, column - x)
    return rows - _log10_choose(first + second, column)


@compiled
def _log10_choose(n, k):
    return _LOG10_FACTORIALS[n] - _LOG10_FACTORIALS[k] - _LOG10_FACTORIALS[n - k]


@compiled
def strand_odds_ratio(table):
    """Return the symmetric odds ratio, scaled by the unevenness of each allele's strands (calculateSOR)."""
    a, b, c, d = table[0] + 1.0, table[1] + 1.0, table[2] + 1.0, table[3] + 1.0
    ratio = (a / b) * (d / c) + (b / a) * (c / d)
    unevenness = log10(min(a, b) / max(a, b)) - log10(min(c, d) / max(c, d))
    return (log10(ratio) + unevenness) * LN_OF_10

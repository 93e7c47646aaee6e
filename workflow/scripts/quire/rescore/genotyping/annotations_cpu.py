"""INFO fields that are commonly used for filtering, as GATK's annotator classes compute them.

FisherStrand (FS), StrandOddsRatio (SOR), QualByDepth (QD), RMSMappingQuality (MQ), Coverage (DP), and allele counts.
Logarithms come from `quire.simd.powers_of_ten`, because the last bits of the C library's results vary.
"""

import numpy as np

from quire.io.vcf import Value
from quire.rescore.genotyping import NO_CALL, Call, best_alleles
from quire.rescore.genotyping.cohort_cpu import cohort_info
from quire.rescore.genotyping.sites import SiteRows
from quire.simd import powers_of_ten
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten import LN_OF_10
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

MAXIMUM_QD = 35.0  # GATK replaces larger values by random numbers around 30; here they are set to the limit
TARGET_TABLE = 200.0  # FisherStrand shrinks larger tables to about this many reads
SMALLEST_P = 1e-320
_LIKELY_ENOUGH = 1e-7 / LN_OF_10  # log10 tolerance of "at most as likely"
# log10 of n!, up to twice TARGET_TABLE, summed from the smallest factor on.
_LOG10_FACTORIALS = np.concatenate([[0.0], np.cumsum(powers_of_ten.log10(np.arange(1.0, 513.0)))])


def annotate(call: Call, rows: SiteRows) -> dict[str, Value]:
    """Return the INFO fields of a call at the site of `rows`, by their keys in `quire.rescore.records.FIELDS`."""
    alleles = range(1, len(call.kept))
    called = [allele for genotype in call.genotypes for allele in genotype if allele != NO_CALL]
    counts = [called.count(a) for a in alleles]
    diploid = [s for s, genotype in enumerate(call.genotypes) if len(genotype) == 2]
    genotypes = len(call.kept) * (len(call.kept) + 1) // 2
    phreds = np.array([call.phreds[s] for s in diploid], np.int64).reshape(len(diploid), genotypes)
    table = strand_table(call, rows.sample, rows.reverse)
    info: dict[str, Value] = {
        "AC": counts,
        "AF": [count / len(called) if called else 0.0 for count in counts],
        "AN": len(called),
        "DP": len(rows.sample),
        "FS": fisher_strand(sum_of_rows(table, 2)),
        **likeliest_frequencies(call.likeliest_counts, len(called)),
        **cohort_info(phreds, any(NO_CALL not in call.genotypes[s] for s in diploid), len(call.kept)),
    }
    if len(rows.sample):
        info["MQ"] = root_mean_square(rows.mapping_quality)
    depth = variant_depth(call, rows.sample)
    if depth:
        info["QD"] = float(min(call.quality / depth, MAXIMUM_QD))
    info["SOR"] = strand_odds_ratio(sum_of_rows(table, 0))
    return info


@compiled
def root_mean_square(qualities):
    """Return the root mean square of mapping qualities; NaN if there are none."""
    if len(qualities) == 0:
        return np.nan
    total = np.int64(0)
    for quality in qualities:
        total += np.int64(quality) * np.int64(quality)
    return np.sqrt(total / len(qualities))


def likeliest_frequencies(counts: list[int], called: int) -> dict[str, Value]:
    """Return MLEAC and MLEAF from the likeliest copies of each alternate and the number of called alleles."""
    return {"MLEAC": counts, "MLEAF": [min(1.0, count / called) if called else None for count in counts]}


def strand_table(call: Call, sample: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Count clear reads for the reference and for any written alternate, forward and reverse (int64[samples, 4])."""
    kept = np.zeros(call.likelihoods.shape[1], np.bool_)
    kept[call.kept] = True
    table: np.ndarray = strand_counts(best_alleles(call.likelihoods), kept, sample, reverse, len(call.genotypes))
    return table


def variant_depth(call: Call, sample: np.ndarray) -> int:
    """Return the depth of the samples with a variant genotype (QualByDepth.getDepth)."""
    depth, restricted = 0, 0
    for s, genotype in enumerate(call.genotypes):
        if not any(allele > 0 for allele in genotype):
            continue
        own = int(call.allele_depths[s].sum())
        if own == 0:
            depth += int((sample == s).sum())
            continue
        if own - int(call.allele_depths[s, 0]) > 1:
            restricted += own
        depth += own
    return restricted or depth


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

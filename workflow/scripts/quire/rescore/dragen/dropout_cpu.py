"""Base-quality dropout: errors that occur together, on one strand, late in the reads, at bases of poor quality.

GATK's GenotypeLikelihoodCalculatorDRAGEN.calculateBQDLikelihoods. A homozygous genotype gets an alternative
explanation: from some sequencing cycle on, half of a strand's reads show an error allele, whatever the true allele. The
cost is 2.5 times the mean quality of the affected bases, minus 5 for each base of a homopolymer of the error allele
before the site, in the direction of the strand. The best cycle is chosen for each strand. Only alleles as long as the
reference can be such errors.
"""

import numpy as np

from quire.rescore.dragen.evidence_cpu import NO_BASE
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, log10_sum
from quire.simd.compiled import compiled

_PER_QUALITY = 2.5
_PER_HOMOPOLYMER_BASE = 5.0
_LONGEST_HOMOPOLYMER = 4
_LOG10_HALF = -0.3010299956639812
_BEFORE, _AFTER = range(2)  # columns of `sides`


@compiled
def raise_by_dropout(likelihoods, ploidy, by_allele, rows, evidence, as_long, sides):
    """Raise the likelihoods of homozygous genotypes that dropout explains better (in place).

    Args:
        likelihoods: float64[genotypes], log10, of one sample.
        ploidy: the sample's.
        by_allele: float64[reads, alleles], log10; rows of reads that no haplotype explains are NaN.
        rows: int64[n], the sample's reads.
        evidence: `SiteEvidence` of all reads.
        as_long: bool[alleles], True for alleles as long as the reference.
        sides: int64[alleles, 2], lengths of the homopolymer of each allele's first base before and after the site.
    """
    forward = _late_first(rows, evidence, 0)
    reverse = _late_first(rows, evidence, 1)
    for allele in range(len(as_long)):
        genotype = genotype_count(ploidy, allele + 1) - 1
        for error in range(len(as_long)):
            if error == allele or not as_long[allele] or not as_long[error]:
                continue
            phred = _strand(by_allele, forward, evidence, allele, error, sides[error, _BEFORE])
            phred += _strand(by_allele, reverse, evidence, allele, error, sides[error, _AFTER])
            likelihoods[genotype] = max(likelihoods[genotype], -0.1 * phred)


@compiled
def homopolymers(codes, position, base):
    """Count copies of a base directly before and directly after a position, at most four on either side."""
    before, after = 0, 0
    while before < _LONGEST_HOMOPOLYMER and position - 1 - before >= 0 and codes[position - 1 - before] == base:
        before += 1
    while after < _LONGEST_HOMOPOLYMER and position + 1 + after < len(codes) and codes[position + 1 + after] == base:
        after += 1
    return before, after


@compiled
def _late_first(rows, evidence, reverse):
    """Return the reads of a strand by descending cycle, then by ascending base quality (0 without a base)."""
    count = 0
    for row in rows:
        count += evidence.reverse[row] == reverse
    strand, keys = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for row in rows:
        if evidence.reverse[row] == reverse:
            strand[count] = row
            keys[count] = -evidence.cycle[row] * 256 + max(evidence.base_quality[row], 0)
            count += 1
    return strand[np.argsort(keys, kind="mergesort")]


@compiled
def _strand(by_allele, strand, evidence, allele, error, homopolymer):
    """Return the phred of a strand's reads under a homozygous genotype, with dropout from the best cycle on."""
    if len(strand) == 0:
        return 0.0
    total = 0.0  # phred of all reads without dropout
    for row in strand:
        if not np.isnan(by_allele[row, 0]):
            total += -10.0 * by_allele[row, allele]
    best = total
    dropped, kept = 0.0, total
    quality, bases = 0.0, 0
    for row in strand:
        if not np.isnan(by_allele[row, 0]):
            mixed = log10_sum(by_allele[row, error] + _LOG10_HALF, by_allele[row, allele] + _LOG10_HALF)
            dropped += -10.0 * mixed
            kept -= -10.0 * by_allele[row, allele]
        if evidence.base_quality[row] != NO_BASE:
            quality += evidence.base_quality[row]
            bases += 1
        cost = max(0.0, quality / max(bases, 1) * _PER_QUALITY - homopolymer * _PER_HOMOPOLYMER_BASE)
        best = min(best, cost + dropped + kept)
    return best

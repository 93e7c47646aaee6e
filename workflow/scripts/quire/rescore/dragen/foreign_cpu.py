"""Foreign reads: reads that come from elsewhere in the genome and are mapped here.

GATK's GenotypeLikelihoodCalculatorDRAGEN.calculateFRDLikelihoods. A homozygous genotype gets an alternative
explanation: the reads of one strand, or of both, with a mapping quality below some threshold are a mixture of the
genotype's own reads and of foreign reads with another allele. The cost is the probability that such a read is misplaced
and, for an allele other than the reference, that the foreign location has it. The share of foreign reads is that of
reads that support the allele, at most a half. Allele, strands and threshold are chosen to maximise the likelihood.
"""

import numpy as np

from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, log10_sum
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

FLAT_PRIOR = 34.77  # phred of a foreign substitution (DRAGENGenotypesModel.FLAT_SNP_HET_PRIOR)
_MARGIN = 0.0000001  # log10; tolerance of the comparison with the threshold


@compiled
def raise_by_foreign_reads(likelihoods, ploidy, by_allele, rows, evidence, foreign_prior):
    """Raise the likelihoods of homozygous genotypes that foreign reads explain better (in place).

    Arguments as in `raise_by_dropout`; `foreign_prior` (float64[alleles]) is the phred that a foreign location has the
    allele, 0 for the reference.
    """
    scored = rows[~np.isnan(by_allele[rows, 0])]
    for foreign in range(len(foreign_prior)):
        # Thresholds come from all reads, including those that no haplotype explains.
        cost = -0.1 * evidence.misplaced[rows] - 0.1 * foreign_prior[foreign]
        thresholds = np.unique(cost)
        own_cost = -0.1 * evidence.misplaced[scored] - 0.1 * foreign_prior[foreign]
        for allele in range(len(foreign_prior)):
            if allele == foreign:
                continue
            genotype = genotype_count(ploidy, allele + 1) - 1
            own, other = by_allele[scored, allele], by_allele[scored, foreign]
            for strand in range(3):  # forward, reverse, both
                in_strand = (evidence.reverse[scored] == strand) | (strand == 2)
                for threshold in thresholds:
                    is_beyond = own_cost + _MARGIN > threshold
                    mixture = _mixture(own, other, in_strand, is_beyond)
                    likelihoods[genotype] = max(likelihoods[genotype], threshold + mixture)


@compiled
def _mixture(own, foreign, in_strand, is_beyond):
    """Return the log10 likelihood of all reads if reads of a strand beyond a threshold may be foreign."""
    support, reads = 0.0, 0
    for i in range(len(own)):
        if in_strand[i]:
            reads += 1
            if is_beyond[i]:
                support += power_of_ten(foreign[i] - log10_sum(foreign[i], own[i]))
    share = min(support / reads, 0.5) if reads > 0 else 0.0
    log10_foreign = log10(share) if share > 0 else -np.inf
    log10_own = log10(1.0 - share)
    total = 0.0
    for i in range(len(own)):
        likelihood = own[i]
        if in_strand[i]:
            other = foreign[i] if is_beyond[i] else -np.inf
            likelihood = log10_sum(log10_foreign + other, log10_own + own[i])
        total += likelihood
    return total

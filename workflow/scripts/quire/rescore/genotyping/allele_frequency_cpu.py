"""Probability of a variant and of each allele: GATK's AlleleFrequencyCalculator, over samples of any ploidy.

Genotypes of ploidy P over A alleles are numbered as in the VCF specification (last allele slowest). Allele frequencies
are found by expectation maximisation under a Dirichlet prior. The probability that an allele (or any alternate) is
absent is then the product over samples of its posterior under those frequencies.
"""

import numpy as np

from quire.simd.compiled import compiled
from quire.simd.powers_of_ten.cpu import log10, log10_of_all, power_of_ten

_CONVERGED = 0.1  # THRESHOLD_FOR_ALLELE_COUNT_CONVERGENCE


@compiled
def binomial(n, k):
    """Return n choose k."""
    result = 1
    for i in range(k):
        result = result * (n - i) // (i + 1)
    return result


@compiled
def genotype_count(ploidy, alleles):
    """Return the number of genotypes."""
    return binomial(ploidy + alleles - 1, ploidy)


@compiled
def genotype_counts(ploidy, alleles):
    """Return copies of each allele in each genotype (int64[genotypes, alleles]), in VCF order."""
    result = np.zeros((genotype_count(ploidy, alleles), alleles), np.int64)
    members = np.zeros(ploidy, np.int64)  # sorted; in VCF order the first member changes fastest
    for g in range(len(result)):
        for m in members:
            result[g, m] += 1
        for place in range(ploidy):
            limit = members[place + 1] if place + 1 < ploidy else alleles - 1
            if members[place] < limit:
                members[place] += 1
                members[:place] = 0
                break
    return result


@compiled
def log10_sum(a, b):
    """Return log10(10^a + 10^b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + log10(1.0 + power_of_ten(b - a))


@compiled
def _log10_combinations(counts, ploidy):
    """Return log10 of the number of distinct orders of a genotype's alleles."""
    result = 0.0
    left = ploidy
    for count in counts:
        result += log10(binomial(left, count))
        left -= count
    return result


@compiled
def _posteriors(likelihoods, counts, combinations, frequencies):
    """Return normalised log10 posteriors of one sample's genotypes."""
    result = np.empty(len(likelihoods))
    largest = -np.inf
    for g in range(len(likelihoods)):
        value = combinations[g] + likelihoods[g]
        for a in range(len(frequencies)):
            value += counts[g, a] * frequencies[a]
        result[g] = value
        largest = max(largest, value)
    total = 0.0
    for value in result:
        total += power_of_ten(value - largest)
    return result - (largest + log10(total))


@compiled
def no_variant_log10(likelihoods, ploidies, pseudocounts, spanning_deletion):
    """Return the probability that only the reference (or a spanning deletion) exists, and that each allele is absent.

    `likelihoods` (float64, log10) are of the genotypes of sample 0, then of sample 1, ... in VCF order; `pseudocounts`
    of the prior have the reference first. `spanning_deletion` is the index of the allele '*', -1 if there is none.

    Returns:
        log10 P(no variant); float64[alleles] log10 P(allele absent) (meaningless for the reference);
        float64[alleles] expected allele counts.
    """
    alleles = len(pseudocounts)
    allele_counts = np.zeros(alleles)
    frequencies = np.full(alleles, -log10(alleles))
    converged = False
    # Recomputed only when the ploidy changes from one sample to the next: for each of many samples it would dominate.
    tabled = np.int64(ploidies[0])
    counts, combinations = _table(tabled, alleles)
    while True:
        renewed, nothing, absent = np.zeros(alleles), 0.0, np.zeros(alleles)
        at = 0
        for s in range(len(ploidies)):
            if ploidies[s] != tabled:
                tabled = np.int64(ploidies[s])
                counts, combinations = _table(tabled, alleles)
            posteriors = _posteriors(likelihoods[at : at + len(counts)], counts, combinations, frequencies)
            at += len(counts)
            if not converged:
                for g in range(len(counts)):
                    weight = power_of_ten(posteriors[g])
                    for a in range(alleles):
                        renewed[a] += weight * counts[g, a]
                continue
            plain = -np.inf
            without = np.full(alleles, -np.inf)
            for g in range(len(counts)):
                others = ploidies[s] - counts[g, 0] - (counts[g, spanning_deletion] if spanning_deletion > 0 else 0)
                if others == 0:
                    plain = log10_sum(plain, posteriors[g])
                for a in range(alleles):
                    if counts[g, a] == 0:
                        without[a] = log10_sum(without[a], posteriors[g])
            nothing += min(0.0, plain)
            for a in range(alleles):
                absent[a] += min(0.0, without[a])
        if converged:
            return nothing, absent, allele_counts
        converged = not np.abs(renewed - allele_counts).max() > _CONVERGED
        allele_counts = renewed
        weights = pseudocounts + allele_counts
        frequencies = log10_of_all(weights / weights.sum())  # the posterior mean (Dirichlet.log10MeanWeights)


@compiled
def _table(ploidy, alleles):
    """Return allele counts of every genotype and log10 of their combinations."""
    counts = genotype_counts(ploidy, alleles)
    combinations = np.empty(len(counts))
    for g in range(len(counts)):
        combinations[g] = _log10_combinations(counts[g], ploidy)
    return counts, combinations


@compiled
def absence_by_copies(likelihoods, ploidies, pseudocounts, spanning_deletion):
    """Return the first two answers of `no_variant_log10`, from the probability of each number of copies in all samples.

    Follows Li 2011 (doi:10.1093/bioinformatics/btr509): k copies of an allele have the prior heterozygosity / k, and
    every choice of chromosomes for them is equally likely. One error in each of two samples is then less likely a
    variant than two reads in one sample. The arguments are those of `no_variant_log10`.
    """
    alleles = len(pseudocounts)
    absent = np.zeros(alleles)
    for a in range(alleles):
        absent[a] = _no_copies_log10(likelihoods, ploidies, pseudocounts, spanning_deletion, a)
    return absent[0], absent


@compiled
def _no_copies_log10(likelihoods, ploidies, pseudocounts, spanning_deletion, allele):
    """Return log10 of the probability that no sample has an allele; for the reference, that none has another one."""
    heterozygosity = (pseudocounts[allele] if allele > 0 else pseudocounts[1:].max()) / pseudocounts[0]
    largest = ploidies.max()
    # Mean likelihood of k copies among the chromosomes of the samples so far, over all choices of them, relative to
    # the greatest; and that of none. Both are scaled: `scale` is log10 of the factor.
    means, total = np.zeros(ploidies.sum() + 1), np.int64(0)
    means[0], scale, nothing = 1.0, 0.0, 0.0
    tabled = np.int64(ploidies[0])
    counts, _ = _table(tabled, len(pseudocounts))
    own, renewed = np.zeros(largest + 1), np.zeros_like(means)
    at = 0
    for s in range(len(ploidies)):
        ploidy = np.int64(ploidies[s])
        if ploidy != tabled:
            tabled = ploidy
            counts, _ = _table(tabled, len(pseudocounts))
        own[:] = 0.0
        for g in range(len(counts)):
            copies = counts[g, allele]
            if allele == 0:
                spanning = counts[g, spanning_deletion] if spanning_deletion > 0 else 0
                copies = ploidy - counts[g, 0] - spanning
            own[copies] = max(own[copies], power_of_ten(likelihoods[at + g]))
        nothing += log10(own[0]) if own[0] > 0.0 else -300.0
        at += len(counts)
        total += ploidy
        greatest = 0.0
        for k in range(total + 1):
            renewed[k] = 0.0
            for c in range(max(0, k - total + ploidy), min(k, ploidy) + 1):
                share = np.float64(binomial(ploidy, c))  # hypergeometric: c of the k copies are in this sample
                for i in range(c):
                    share *= (k - i) / (total - i)
                for i in range(ploidy - c):
                    share *= (total - k - i) / (total - c - i)
                renewed[k] += share * own[c] * means[k - c]
            greatest = max(greatest, renewed[k])
        scale += log10(greatest)
        for k in range(total + 1):
            means[k] = renewed[k] / greatest
    present, harmonic = 0.0, 0.0
    for k in range(1, total + 1):
        present += means[k] / k
        harmonic += 1.0 / k
    without = nothing + log10(1.0 - heterozygosity * min(harmonic, 0.5 / heterozygosity))
    return without - log10_sum(without, scale + log10(heterozygosity * present))

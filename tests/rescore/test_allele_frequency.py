"""Genotype order and the allele frequency model against plain Python over all genotypes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.genotyping.allele_frequency_cpu import (
    absence_by_copies,
    genotype_count,
    genotype_counts,
    no_variant_log10,
)

from tests.support.examples import examples


def genotypes_in_vcf_order(ploidy: int, alleles: int) -> list[tuple[int, ...]]:
    """Enumerate genotypes by the VCF specification's recursion: by the last (largest) allele first."""
    if ploidy == 0:
        return [()]
    return [(*smaller, last) for last in range(alleles) for smaller in genotypes_in_vcf_order(ploidy - 1, last + 1)]


def slow_no_variant(likelihoods, ploidies, pseudocounts, spanning):
    """Run AlleleFrequencyCalculator.calculate in linear space, genotype by genotype."""
    alleles = len(pseudocounts)
    frequencies = [1 / alleles] * alleles
    counts = [0.0] * alleles
    samples = []
    at = 0
    for ploidy in ploidies:
        genotypes = genotypes_in_vcf_order(ploidy, alleles)
        samples.append([(g, 10 ** likelihoods[at + i]) for i, g in enumerate(genotypes)])
        at += len(genotypes)

    def posteriors(sample):
        weights = []
        for genotype, likelihood in sample:
            orders = len(set(itertools.permutations(genotype)))
            weights.append(orders * likelihood * math.prod(frequencies[a] for a in genotype))
        return [w / sum(weights) for w in weights]

    while True:
        renewed = [0.0] * alleles
        for sample in samples:
            for (genotype, _), weight in zip(sample, posteriors(sample), strict=True):
                for allele in genotype:
                    renewed[allele] += weight
        moved = max(abs(a - b) for a, b in zip(renewed, counts, strict=True))
        counts = renewed
        total = sum(counts) + sum(pseudocounts)
        frequencies = [(c + p) / total for c, p in zip(counts, pseudocounts, strict=True)]
        if moved <= 0.1:
            break
    nothing, absent = 0.0, [0.0] * alleles
    for sample in samples:
        own = posteriors(sample)
        plain = sum(w for (g, _), w in zip(sample, own, strict=True) if set(g) <= {0, spanning})
        nothing += math.log10(plain)
        for allele in range(alleles):
            without = sum(w for (g, _), w in zip(sample, own, strict=True) if allele not in g)
            absent[allele] += math.log10(without) if without > 0 else -math.inf
    return nothing, absent


@pytest.mark.parametrize("ploidy", [1, 2, 3, 5])
@pytest.mark.parametrize("alleles", [1, 2, 3, 4])
def test_genotypes_come_in_the_order_of_the_vcf_specification(ploidy: int, alleles: int) -> None:
    expected = [[g.count(a) for a in range(alleles)] for g in genotypes_in_vcf_order(ploidy, alleles)]
    assert genotype_counts(ploidy, alleles).tolist() == expected
    assert genotype_count(ploidy, alleles) == len(expected)


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_probability_of_no_variant_and_of_absent_alleles(data: st.DataObject) -> None:
    alleles = data.draw(st.integers(2, 3))
    ploidies = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    spanning = data.draw(st.sampled_from([-1, alleles - 1])) if alleles > 2 else -1
    size = sum(genotype_count(ploidy, alleles) for ploidy in ploidies)
    phreds = data.draw(st.lists(st.integers(0, 60), min_size=size, max_size=size))
    likelihoods = np.array(phreds) / -10.0
    pseudocounts = np.array([10.0, 0.01, 0.00125][:alleles])
    nothing, absent, counts = no_variant_log10(likelihoods, np.array(ploidies), pseudocounts, spanning)
    slow_nothing, slow_absent = slow_no_variant(likelihoods, ploidies, pseudocounts, spanning)
    # Sums of some tens of terms in two orders: 1e-9 is far above rounding errors and far below any threshold.
    assert nothing == pytest.approx(slow_nothing, abs=1e-9)
    assert absent[1:] == pytest.approx(slow_absent[1:], abs=1e-9)
    assert counts.sum() == pytest.approx(sum(ploidies))


def slow_absence(likelihoods, ploidies, pseudocounts, spanning, allele):
    """Return log10 P(no copies of an allele, or of any but the reference for 0), over all choices of chromosomes."""
    best, at = [], 0
    for ploidy in ploidies:
        own = [0.0] * (ploidy + 1)
        for genotype in genotypes_in_vcf_order(ploidy, len(pseudocounts)):
            copies = sum(a == allele for a in genotype) if allele else sum(a not in (0, spanning) for a in genotype)
            own[copies] = max(own[copies], 10 ** likelihoods[at])
            at += 1
        best.append(own)
    total, sums = sum(ploidies), [0.0] * (sum(ploidies) + 1)
    for choice in itertools.product((0, 1), repeat=total):
        chromosomes, likelihood = iter(choice), 1.0
        for ploidy, own in zip(ploidies, best, strict=True):
            likelihood *= own[sum(itertools.islice(chromosomes, ploidy))]
        sums[sum(choice)] += likelihood / math.comb(total, sum(choice))
    heterozygosity = (pseudocounts[allele] if allele else max(pseudocounts[1:])) / pseudocounts[0]
    priors = [heterozygosity / k for k in range(1, total + 1)]
    weights = [own * prior for own, prior in zip(sums, [1 - sum(priors), *priors], strict=True)]
    return math.log10(weights[0] / sum(weights))


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_probability_of_no_copies(data: st.DataObject) -> None:
    alleles = data.draw(st.integers(2, 3))
    ploidies = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    spanning = data.draw(st.sampled_from([-1, alleles - 1])) if alleles > 2 else -1
    size = sum(genotype_count(ploidy, alleles) for ploidy in ploidies)
    phreds = data.draw(st.lists(st.integers(0, 60), min_size=size, max_size=size))
    likelihoods, pseudocounts = np.array(phreds) / -10.0, np.array([10.0, 0.01, 0.00125][:alleles])
    nothing, absent = absence_by_copies(likelihoods, np.array(ploidies), pseudocounts, spanning)
    slow = [slow_absence(likelihoods, ploidies, pseudocounts, spanning, allele) for allele in range(alleles)]
    assert [nothing, *absent[1:]] == pytest.approx(slow, abs=1e-9)  # as above


def test_two_reads_of_one_sample_say_more_than_one_of_each_of_two() -> None:
    """With 20 samples, and with 1,500, an error in two of them is likelier than a variant that both carry."""
    for samples in (20, 1500):
        ploidies, pseudocounts = np.full(samples, 2), np.array([10.0, 0.01])
        flat, one, two = ([0.0, -0.3, -3.5], [-3.7, 0.0, -0.3], [-7.4, 0.0, 0.0])
        together = np.array([two, *[flat] * (samples - 1)]).ravel()
        apart = np.array([one, one, *[flat] * (samples - 2)]).ravel()
        nothing = [absence_by_copies(own, ploidies, pseudocounts, -1)[0] for own in (together, apart)]
        assert nothing[0] < nothing[1] - 0.5
        certain = np.array([[-300.0, -3.0, 0.0]] * samples).ravel()
        assert np.isfinite(absence_by_copies(certain, ploidies, pseudocounts, -1)[0])

"""Genotype order and the allele frequency model against plain Python over all genotypes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.genotyping.allele_frequency_cpu import genotype_count, genotype_counts, no_variant_log10

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

"""Genotype likelihoods against an enumeration of all assignments of reads to alleles; calls from clear reads."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.genotyping import NO_CALL, allele_depths, best_alleles, call_site, genotype_phreds, marginalise
from quire.rescore.genotyping.sites import SPANNING, Site

from tests.rescore.test_allele_frequency import genotypes_in_vcf_order
from tests.support.examples import examples


def slow_phreds(by_allele: np.ndarray, sample: np.ndarray, ploidies: list[int]) -> list[int]:
    """Return -10 log10 of the product over reads of the mean over the genotype's alleles, best 0, rounded."""
    result: list[int] = []
    for s, ploidy in enumerate(ploidies):
        values = []
        for genotype in genotypes_in_vcf_order(ploidy, by_allele.shape[1]):
            log10 = 0.0
            for row in by_allele[sample == s]:
                if not np.isnan(row[0]):
                    log10 += math.log10(sum(10 ** row[a] for a in genotype) / ploidy)
            values.append(log10)
        result += [math.floor(-10 * (value - max(values)) + 0.5) for value in values]
    return result


@given(st.data())
@settings(max_examples=examples(60), deadline=None)
def test_genotype_phreds(data: st.DataObject) -> None:
    alleles = data.draw(st.integers(2, 4))
    ploidies = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    reads = data.draw(st.integers(0, 8))
    sample = np.array([data.draw(st.integers(0, len(ploidies) - 1)) for _ in range(reads)], np.int64)
    values = st.floats(-8, 0).map(lambda x: round(x, 3) - 1e-4 * math.pi)
    by_allele = np.array([[data.draw(values) for _ in range(alleles)] for _ in range(reads)]).reshape(reads, alleles)
    if reads and data.draw(st.booleans()):
        by_allele[0] = np.nan
    fast = genotype_phreds(by_allele, sample, np.array(ploidies, np.int64))
    # The two add in different orders, so a value on the border of two phreds may be rounded either way.
    assert np.abs(fast - slow_phreds(by_allele, sample, ploidies)).max() <= 1
    assert (fast != slow_phreds(by_allele, sample, ploidies)).sum() <= 1


def test_marginalise_takes_the_best_haplotype_of_an_allele() -> None:
    likelihoods = np.array([[-1.0, -2.0, -0.5], [np.nan, np.nan, np.nan]])
    carriers = np.array([[True, True, False], [False, False, True]])
    result = marginalise(likelihoods, carriers)
    assert result[0].tolist() == [-1.0, -0.5]
    assert np.isnan(result[1]).all()


def test_only_clear_reads_count_as_depth() -> None:
    by_allele = np.array([[0.0, -3.0], [-3.0, 0.0], [0.0, -0.1], [np.nan, np.nan]])
    assert best_alleles(by_allele).tolist() == [0, 1, -1, -1]
    assert allele_depths(by_allele, np.array([0, 1, 1, 1]), 2).tolist() == [[1, 0], [0, 1]]


def reads_for(counts: list[int], difference: float = 3.0) -> np.ndarray:
    """Return counts[a] reads that prefer haplotype a by `difference`."""
    rows = []
    for allele, count in enumerate(counts):
        row = np.full(len(counts), -difference)
        row[allele] = 0.0
        rows += [row] * count
    return np.array(rows)


def site(alleles: list[bytes]) -> Site:
    return Site(100, tuple(alleles), np.eye(len(alleles), dtype=bool), (90,) if SPANNING in alleles else ())


def test_genotypes_at_several_ploidies() -> None:
    matrix = reads_for([10, 10])
    for ploidy, expected in ((2, (0, 1)), (4, (0, 0, 1, 1))):
        call = call_site(site([b"\0", b"\1"]), matrix, np.zeros(20, np.int64), np.array([ploidy]), 30.0, False)
        assert call is not None
        assert call.genotypes == [expected]
        assert call.allele_depths.tolist() == [[10, 10]]
        assert min(call.phreds[0]) == 0
    call = call_site(site([b"\0", b"\1"]), reads_for([0, 9]), np.zeros(9, np.int64), np.array([1]), 30.0, False)
    assert call is not None
    assert call.genotypes == [(1,)]


def test_unlikely_alleles_are_left_out_and_lone_spans_are_no_call() -> None:
    sample = np.zeros(21, np.int64)
    call = call_site(site([b"\0", b"\1", b"\2"]), reads_for([10, 10, 1]), sample, np.array([2]), 30.0, False)
    assert call is not None
    assert call.site.alleles == (b"\0", b"\1")
    assert call.genotypes == [(0, 1)]
    assert call_site(site([b"\0", SPANNING]), reads_for([10, 11]), sample, np.array([2]), 30.0, True) is None
    three = site([b"\0", b"\1", SPANNING])
    call = call_site(three, reads_for([0, 10, 11]), sample, np.array([2]), 30.0, True)
    assert call is not None
    assert call.genotypes == [(1, 2)]
    call = call_site(three, reads_for([0, 10, 11]), sample, np.array([2]), 30.0, False)
    assert call is not None
    assert SPANNING not in call.site.alleles


def test_a_sample_without_reads_is_no_call() -> None:
    call = call_site(site([b"\0", b"\1"]), reads_for([9, 9]), np.zeros(18, np.int64), np.array([2, 3]), 30.0, False)
    assert call is not None
    assert call.genotypes[1] == (NO_CALL,) * 3
    assert call.genotype_qualities[1] == NO_CALL


def test_too_many_alleles_are_reduced_to_the_likeliest() -> None:
    alleles = [bytes([a % 4] * (1 + a // 4)) for a in range(9)]
    counts = [20, 0, 0, 0, 0, 20, 0, 0, 1]
    call = call_site(site(alleles), reads_for(counts), np.zeros(41, np.int64), np.array([2]), 30.0, False)
    assert call is not None
    assert call.site.alleles == (alleles[0], alleles[5])
    call = call_site(site(alleles), reads_for(counts), np.zeros(41, np.int64), np.array([12]), 30.0, False)
    assert call is not None
    assert alleles[5] in call.site.alleles

"""Comparison with a truth set: equal sets, equivalent haplotypes, and left-alignment against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire.report.truth import TruthCounts, Variant, clusters, compare, haplotype_pairs, normalise, spell

REGIONS = {"one": np.array([[0, 1000]])}


def sequence_of(bases: str):
    return lambda _contig, start, end: bases[start:end]


def apply_one(bases: str, variant: Variant) -> str:
    return bases[: variant.position] + variant.alternate + bases[variant.end :]


@st.composite
def genotyped_reference(draw):
    """Draw a low-complexity reference (so that indels can shift) and non-overlapping genotyped variants."""
    bases = draw(st.text("AC", min_size=20, max_size=60))
    genotypes: dict[Variant, int] = {}
    position = 1
    while position < len(bases) - 6:
        position += draw(st.integers(0, 12))
        length = draw(st.integers(1, 4))
        before = bases[position : position + length]
        after = draw(st.text("ACG", min_size=1, max_size=4))
        if before and after != before:
            genotypes[Variant(position, before, after)] = draw(st.sampled_from((1, 2)))
        position += length + 1
    return bases, genotypes


@given(genotyped_reference())
def test_identical_sets_agree_fully(case):
    bases, genotypes = case
    comparison = compare({"one": genotypes}, {"one": genotypes}, REGIONS, sequence_of(bases))
    for counts in comparison.counts.values():
        assert counts.missed == counts.false_calls == 0
        assert counts.truth_found == counts.calls_right
        assert counts.f1 == (1.0 if counts.truth_found else 0.0)
    assert sum(counts.truth_found for counts in comparison.counts.values()) == len(genotypes)


@given(genotyped_reference())
def test_nothing_called_misses_everything(case):
    bases, genotypes = case
    alone = dict(list(genotypes.items())[:1])  # several could cancel each other: an insertion and its deletion
    comparison = compare({"one": alone}, {}, REGIONS, sequence_of(bases))
    assert sum(counts.missed for counts in comparison.counts.values()) == len(alone) == len(comparison.missed)
    assert not comparison.false_calls


@given(genotyped_reference())
def test_normalising_keeps_the_haplotype_and_is_leftmost(case):
    bases, genotypes = case
    for variant in genotypes:
        placed = normalise("one", variant, sequence_of(bases))
        assert apply_one(bases, placed) == apply_one(bases, variant)
        assert placed.reference
        assert placed.alternate
        assert normalise("one", placed, sequence_of(bases)) == placed
        if placed.kind == "indel" and placed.reference[0] == placed.alternate[0]:
            assert placed == leftmost_pure_indel(bases, variant)


def leftmost_pure_indel(bases: str, variant: Variant) -> Variant:
    """Return the leftmost pure insertion or deletion, with one anchor base, that gives the same haplotype."""
    wanted = apply_one(bases, variant)
    size = len(wanted) - len(bases)
    for position in range(len(bases)):
        if size < 0:
            found = Variant(position, bases[position : position - size + 1], bases[position])
        else:
            found = Variant(position, bases[position], wanted[position : position + size + 1])
        if found.alternate[:1] == bases[position] and apply_one(bases, found) == wanted:
            return found
    raise AssertionError("no pure indel spells the haplotype")


@given(genotyped_reference(), st.data())
def test_other_spellings_of_the_same_haplotypes_match(case, data):
    """Variants on one haplotype match the same change written as one long replacement."""
    bases, genotypes = case
    if not genotypes or len(genotypes) > 8:
        return
    copies = data.draw(st.sampled_from((1, 2)))
    truth = dict.fromkeys(genotypes, copies)
    if any(len(cluster) < len(truth) for cluster in clusters(truth)):
        return
    start = min(variant.position for variant in truth)
    end = max(variant.end for variant in truth)
    spelled = spell(list(truth), bases[start:end], start)
    if spelled in (bases[start:end], ""):
        return
    calls = {Variant(start, bases[start:end], spelled): copies}
    comparison = compare({"one": truth}, {"one": calls}, REGIONS, sequence_of(bases))
    assert not comparison.missed
    assert not comparison.false_calls


@given(genotyped_reference())
def test_a_wrong_genotype_is_missed_and_false(case):
    bases, genotypes = case
    alone = [variant for variant, copies in genotypes.items() if copies == 2][:1]
    truth, calls = dict.fromkeys(alone, 2), dict.fromkeys(alone, 1)
    comparison = compare({"one": truth}, {"one": calls}, REGIONS, sequence_of(bases))
    assert len(comparison.missed) == len(comparison.false_calls) == len(alone)


def test_two_snvs_equal_one_multi_base_substitution():
    bases = "ACGTACGTACGTACGT"
    truth = {Variant(4, "A", "G"): 2, Variant(5, "C", "T"): 2}
    calls = {Variant(4, "AC", "GT"): 2}
    comparison = compare({"one": truth}, {"one": calls}, REGIONS, sequence_of(bases))
    assert comparison.counts["snv"] == TruthCounts(truth_found=2, missed=0, calls_right=1, false_calls=0)


def test_opposite_phases_do_not_equal_one_haplotype_of_both():
    bases = "ACGTACGTACGTACGT"
    truth = {Variant(4, "A", "G"): 1, Variant(6, "G", "T"): 1}
    both = {Variant(4, "ACG", "GCT"): 1}
    one_each = {Variant(4, "ACG", "GCG"): 1, Variant(4, "ACG", "ACT"): 1}
    assert haplotype_pairs(truth, bases, 0) >= haplotype_pairs(both, bases, 0)
    assert not haplotype_pairs(one_each, bases, 0) & haplotype_pairs(both, bases, 0)


def test_only_variants_inside_the_regions_count():
    bases = "ACGTACGTACGTACGT"
    genotypes = {Variant(2, "G", "A"): 1, Variant(7, "TAC", "T"): 1}
    comparison = compare({"one": genotypes}, {}, {"one": np.array([[0, 9]])}, sequence_of(bases))
    assert comparison.missed == [("one", Variant(2, "G", "A"))]


@pytest.mark.parametrize(("gap", "groups"), [(30, 1), (31, 2)])
def test_clusters_end_after_thirty_bases(gap, groups):
    assert len(list(clusters([Variant(10, "AC", "A"), Variant(12 + gap, "G", "T")]))) == groups


def test_empty_counts_have_no_division_by_zero():
    assert (TruthCounts().recall, TruthCounts().precision, TruthCounts().f1) == (0.0, 0.0, 0.0)

"""Dropout, foreign reads and posteriors against their definitions, and whole calls against GATK's DRAGEN mode."""

import gzip
import math
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire import reference as reference_stage
from quire.rescore import chunks, intervals
from quire.rescore.dragen.disqualification_cpu import MOMENTS, least_likelihoods
from quire.rescore.dragen.dropout_cpu import homopolymers, raise_by_dropout
from quire.rescore.dragen.evidence_cpu import SiteEvidence
from quire.rescore.dragen.foreign_cpu import raise_by_foreign_reads
from quire.rescore.dragen.priors import (
    FLAT_PRIOR,
    NON_REFERENCE,
    genotype_priors,
    indel_prior,
    likeliest_genotype,
    repeat_prior,
)
from quire.rescore.dragen.tables import DEFAULT, parse_tables, write_tables

from tests.oracles import dragen as oracle
from tests.support.calling import call_gvcf, call_variants
from tests.support.defaults import default_settings
from tests.support.examples import examples
from tests.support.gvcf import REAL

DATA = Path(__file__).parents[2] / "data" / "dragen"
SETTINGS = default_settings("rescore") | {
    "error_model": "dragen",
    "minimum_quality": 0,
    "minimum_mapping_quality": 1,
}


@st.composite
def pileups(draw) -> tuple[SiteEvidence, np.ndarray, np.ndarray]:
    """Draw evidence, likelihoods of two or three alleles (for some reads none), and indices of the sample's reads."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, alleles = draw(st.integers(1, 25)), draw(st.integers(2, 3))
    evidence = SiteEvidence(
        np.zeros(n, np.int64),
        random.integers(0, 2, n).astype(np.uint8),
        random.integers(0, 12, n),
        random.choice([-1, 2, 11, 11, 37, 40], n),
        random.choice([1.0, 20.0, 20.0, 40.0], n),
    )
    by_allele = random.choice([-0.1, -0.5, -3.0, -4.6], (n, alleles)) - random.random((n, alleles))
    by_allele[random.random(n) < 0.15] = np.nan
    return evidence, by_allele, np.flatnonzero(random.random(n) < 0.9)


LOWEST = -1e9


@settings(max_examples=examples(150), deadline=None)
@given(pileups(), st.integers(1, 3), st.integers(0, 2**32))
def test_dropout(pileup, ploidy: int, seed: int) -> None:
    evidence, by_allele, rows = pileup
    alleles = by_allele.shape[1]
    sides = np.random.default_rng(seed).integers(0, 5, (alleles, 2))
    as_long = np.array([True, True, seed % 2 == 0][:alleles])
    likelihoods = np.full(math.comb(ploidy + alleles - 1, ploidy), LOWEST)
    raise_by_dropout(likelihoods, ploidy, by_allele, rows, evidence, as_long, sides)
    expected = np.full(len(likelihoods), LOWEST)
    for allele in range(alleles):
        for error in range(alleles):
            if allele != error and as_long[allele] and as_long[error]:
                reads = [
                    (
                        bool(evidence.reverse[i]),
                        int(evidence.cycle[i]),
                        int(evidence.base_quality[i]),
                        *((None, None) if np.isnan(by_allele[i, 0]) else by_allele[i, [allele, error]].tolist()),
                    )
                    for i in rows.tolist()
                ]
                homozygous = math.comb(ploidy + allele, ploidy) - 1
                value = oracle.dropout(reads, (int(sides[error, 0]), int(sides[error, 1])))
                expected[homozygous] = max(expected[homozygous], value)
    np.testing.assert_allclose(likelihoods, expected, rtol=0, atol=1e-9)


@settings(max_examples=examples(150), deadline=None)
@given(pileups(), st.integers(1, 3))
def test_foreign_reads(pileup, ploidy: int) -> None:
    evidence, by_allele, rows = pileup
    rows = rows[~np.isnan(by_allele[rows, 0])]
    alleles = by_allele.shape[1]
    prior = np.array([0.0, 34.77, 12.0][:alleles])
    likelihoods = np.full(math.comb(ploidy + alleles - 1, ploidy), LOWEST)
    raise_by_foreign_reads(likelihoods, ploidy, by_allele, rows, evidence, prior)
    expected = np.full(len(likelihoods), LOWEST)
    for allele in range(alleles):
        for foreign in range(alleles):
            if allele != foreign:
                reads = [
                    (bool(evidence.reverse[i]), evidence.misplaced[i], by_allele[i, allele], by_allele[i, foreign])
                    for i in rows.tolist()
                ]
                homozygous = math.comb(ploidy + allele, ploidy) - 1
                expected[homozygous] = max(expected[homozygous], oracle.foreign_reads(reads, prior[foreign]), LOWEST)
    np.testing.assert_allclose(likelihoods, expected, rtol=0, atol=1e-9)


def test_homopolymers_end_at_four() -> None:
    reference = np.array([1, 0, 0, 0, 0, 0, 2, 3, 3, 1], np.uint8)
    assert tuple(homopolymers(reference, 6, 0)) == (4, 0)
    assert tuple(homopolymers(reference, 6, 3)) == (0, 2)
    assert tuple(homopolymers(reference, 0, 0)) == (0, 4)
    assert tuple(homopolymers(reference, 9, 1)) == (0, 0)


def test_priors_of_genotypes() -> None:
    """GATK writes PG 0,34.77,37.78 at substitutions, and API and API + 3 at indels."""
    substitution = genotype_priors(2, [b"\0", b"\1"], FLAT_PRIOR)
    np.testing.assert_allclose(-10 * substitution, [0, 34.771, 37.782], atol=1e-3)
    indel = genotype_priors(2, [b"\0\0", b"\0"], repeat_prior(8.0))
    np.testing.assert_allclose(-10 * indel, [0, 8, 11.0103], atol=1e-4)
    # 0/0 0/1 1/1 0/2 1/2 2/2 of a substitution and an allele without reads
    both = genotype_priors(2, [b"\0", b"\1", NON_REFERENCE], repeat_prior(8.0))
    np.testing.assert_allclose(-10 * both, [0, 34.771, 37.782, 8, 42.771, 11.010], atol=1e-3)
    haploid = genotype_priors(1, [b"\0", b"\1"], FLAT_PRIOR)
    np.testing.assert_allclose(-10 * haploid, [0, 34.771], atol=1e-3)


def test_prior_of_an_indel_is_that_of_the_repeat_after_the_site() -> None:
    reference = np.array([1, 2] + [0] * 9 + [3, 1, 2], np.uint8)
    assert indel_prior(DEFAULT, reference, 1) == 12.0  # nine copies of one base
    assert indel_prior(DEFAULT, reference, 5) == 12.0  # copies before the site count as well
    assert indel_prior(DEFAULT, reference, 0) == 39.0
    assert indel_prior(DEFAULT, reference, 13) == 39.0  # the site ends the reference


def test_genotype_by_posterior() -> None:
    """A record of GATK: PL 73,0,40, GQ 37, QUAL 38.23."""
    plain = np.array([True, False, False])
    found = likeliest_genotype(np.array([73, 0, 40]), genotype_priors(2, [b"\0", b"\1"], FLAT_PRIOR), plain)
    assert found.number == 1
    assert (found.quality, found.no_variant) == (37, pytest.approx(38.23))
    weak = likeliest_genotype(np.array([30, 0, 40]), genotype_priors(2, [b"\0", b"\1"], FLAT_PRIOR), plain)
    assert (weak.number, weak.no_variant) == (0, 0.0)


def test_a_read_may_be_as_unlikely_as_its_qualities_say() -> None:
    """A read's lowest likelihood follows GATK's means and variances of its qualities, as for reads of one quality."""
    np.testing.assert_allclose(MOMENTS[[1, 20, 40], 0], [5.996842844, 0.290923699, 0.004911394], rtol=1e-7)
    np.testing.assert_allclose(MOMENTS[[1, 20, 40], 1], [0.196616587, 6.053379213, 0.200422214], rtol=1e-6)
    poor, good = np.full(100, 6, np.uint8), np.full(100, 60, np.uint8)
    least = least_likelihoods(np.concatenate([poor, good]), np.array([0, 100, 200]))
    assert least[0] == pytest.approx(-0.1 * (100 * MOMENTS[6, 0] + math.sqrt(100 * MOMENTS[6, 1])))
    assert least[1] == -12.0  # three errors


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dragen")
    (root / "genome.fa").write_bytes(gzip.decompress((REAL / "genome.fa.gz").read_bytes()))
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    for sample in "AB":
        (root / f"{sample}.bam").write_bytes((REAL / f"{sample}.bam").read_bytes())
        pysam.index(str(root / f"{sample}.bam"))
        tables = parse_tables((DATA / f"{sample}.repeats.txt").read_text(), sample)
        write_tables(tables, sample, root / f"{sample}.repeats.txt")
    return root


def sample_of(root: Path, sample: str) -> dict:
    return {"sample": sample, "ploidy": 2, "bam": root / f"{sample}.bam", "repeats": root / f"{sample}.repeats.txt"}


WHOLE = [("chr22_8kb", 0, 8000)]


def records(path: Path) -> dict[tuple[str, str, str], list[str]]:
    """Return QUAL, GT (without phases, as in the data), GQ and PL by position and alleles."""
    found = {}
    with pysam.BGZFile(str(path)) as stream:
        for line in stream:
            fields = line.decode().split("\t")
            if line.startswith(b"#") or "END=" in fields[7]:
                continue
            own = dict(zip(fields[8].split(":"), fields[9].split(":"), strict=True))
            found[fields[1], fields[3], fields[4]] = [fields[5], own["GT"].replace("|", "/"), own["GQ"], own["PL"]]
    return found


def gatks(sample: str, kind: str) -> dict[tuple[str, str, str], list[str]]:
    lines = [line.split("\t") for line in (DATA / "calls.tsv").read_text().splitlines()]
    return {(f[2], f[3], f[4]): f[5:] for f in lines if f[:2] == [sample, kind]}


def compare(found: dict, expected: dict) -> tuple[int, int]:
    """Count records with the same genotype, and among them those with the same QUAL, GQ and PL too."""
    both = found.keys() & expected.keys()
    genotypes = [key for key in both if found[key][1] == expected[key][1]]
    alike = [
        key
        for key in genotypes
        if found[key][2:] == expected[key][2:]
        and float(found[key][0]) == pytest.approx(float(expected[key][0]), abs=0.011)
    ]
    return len(genotypes), len(alike)


@pytest.mark.parametrize("sample", ["A", "B"])
def test_calls_are_gatks(world: Path, tmp_path: Path, sample: str) -> None:
    """All calls are GATK's."""
    part = tmp_path / "part.vcf.gz"
    call_variants(world / "reference", [sample_of(world, sample)], WHOLE, part, SETTINGS, tmp_path / "ledger.json")
    found, expected = records(part), gatks(sample, "variants")
    assert found.keys() == expected.keys()
    assert compare(found, expected) == {"A": (22, 22), "B": (23, 23)}[sample]


@pytest.mark.parametrize("sample", ["A", "B"])
def test_gvcf_calls_are_gatks(world: Path, tmp_path: Path, sample: str) -> None:
    """All calls are GATK's."""
    part = tmp_path / "part.g.vcf.gz"
    call_gvcf(world / "reference", [sample_of(world, sample)], WHOLE, part, SETTINGS, tmp_path / "ledger.json")
    found, expected = records(part), gatks(sample, "gvcf")
    assert found.keys() == expected.keys()
    assert compare(found, expected) == {"A": (22, 22), "B": (24, 24)}[sample]


def test_pieces_batches_and_threads_do_not_show(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two samples with their own tables give the same calls in one piece and in small pieces."""

    def call(name: str, intervals: list[tuple[str, int, int]], threads: int = 1) -> list[str]:
        part = tmp_path / f"{name}.vcf.gz"
        samples = [sample_of(world, sample) for sample in "AB"]
        call_variants(world / "reference", samples, intervals, part, SETTINGS, tmp_path / "l.json", threads=threads)
        with pysam.BGZFile(str(part)) as stream:
            return [line.decode() for line in stream if not line.startswith(b"#")]

    whole = call("whole", WHOLE)
    assert len(whole) > 20
    monkeypatch.setattr(intervals, "UNIT_BASES", 1000)
    monkeypatch.setattr(chunks, "FIRST_TILES", 1)
    monkeypatch.setattr(chunks, "TILES_PER_CHUNK", 1)
    monkeypatch.setattr(chunks, "BASES_PER_BATCH", 1)
    assert call("small", WHOLE, threads=2) == whole


def test_quality_is_held_against_the_posterior(world: Path, tmp_path: Path) -> None:
    part = tmp_path / "part.vcf.gz"
    strict = SETTINGS | {"minimum_quality": 40}
    call_variants(world / "reference", [sample_of(world, "A")], WHOLE, part, strict, tmp_path / "ledger.json")
    expected = {key for key, values in gatks("A", "variants").items() if float(values[0]) >= 40}
    assert 0 < len(expected) < 22
    assert records(part).keys() == expected

"""Annotations against computed and published values; VCF lines, parts and their gathering."""

from itertools import product
from math import comb

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.errors import QuireError
from quire.io.vcf import VariantRecord, header, write_part
from quire.io.vcf_parts import join
from quire.rescore.genotyping import NO_CALL, call_site
from quire.rescore.genotyping.annotations_cpu import (
    annotate,
    fisher_exact,
    fisher_strand,
    strand_odds_ratio,
    sum_of_rows,
    variant_depth,
)
from quire.rescore.genotyping.sites import SPANNING, Site, SiteRows
from quire.rescore.records import FIELDS, trim_right, variant_record

from tests.support.examples import examples


def slow_fisher(a: int, b: int, c: int, d: int) -> float:
    """Enumerate all 2 x 2 tables with the same margins."""
    tables = [t for t in product(range(a + b + 1), range(c + d + 1)) if sum(t) == a + c]
    weights = {t: comb(a + b, t[0]) * comb(c + d, t[1]) for t in tables}
    return sum(w for w in weights.values() if w <= weights[(a, c)]) / sum(weights.values())


@pytest.mark.parametrize(
    "table", [(0, 0, 0, 0), (3, 1, 2, 9), (10, 0, 0, 10), (5, 5, 5, 5), (1, 7, 0, 2), (12, 3, 4, 0)]
)
def test_fisher(table: tuple[int, int, int, int]) -> None:
    assert fisher_exact(*table) == pytest.approx(slow_fisher(*table))


@given(st.tuples(*[st.integers(0, 40)] * 4))
@settings(max_examples=examples(100), deadline=None)
def test_fisher_of_any_table(table: tuple[int, int, int, int]) -> None:
    assert fisher_exact(*table) == pytest.approx(slow_fisher(*table), rel=1e-9)


def test_values_of_gatks_unit_tests() -> None:
    # StrandOddsRatioUnitTest and FisherStrandUnitTest of GATK 4.
    assert strand_odds_ratio((41, 0, 0, 41)) == pytest.approx(7.475339, abs=1e-6)
    assert strand_odds_ratio((1, 1, 1, 1)) == pytest.approx(0.693147, abs=1e-6)
    assert fisher_strand((20, 20, 20, 20)) == pytest.approx(0.0, abs=1e-6)
    assert fisher_strand((2000, 2000, 2000, 2000)) == pytest.approx(0.0, abs=1e-6)
    assert fisher_exact(20_000 // 500, 0, 0, 10) < 1e-8


def test_samples_with_few_clear_reads_do_not_count_for_strands() -> None:
    table = np.array([[1, 0, 1, 0], [4, 3, 2, 1]])
    assert sum_of_rows(table, 2) == (4, 3, 2, 1)
    assert sum_of_rows(table, 0) == (5, 3, 3, 1)


def called(counts=(10, 10), ploidies=(2,), alleles=(b"\0", b"\1")):
    """Make a call from clear reads of the first sample; return it with the rows of its site."""
    matrix = np.array(
        [[0.0 if a == h else -3.0 for h in range(len(counts))] for a, n in enumerate(counts) for _ in range(n)]
    )
    site = Site(99, alleles, np.eye(len(alleles), dtype=bool))
    sample = np.zeros(len(matrix), np.int64)
    call = call_site(site, matrix, sample, np.array(ploidies), 30.0, True)
    assert call is not None
    reverse = (np.arange(len(matrix)) % 2).astype(np.uint8)
    return call, SiteRows(site, matrix, sample, reverse, np.full(len(matrix), 60, np.uint8))


def test_annotations_of_a_heterozygous_site() -> None:
    call, rows = called()
    info = annotate(call, rows)
    assert (info["AC"], info["AF"], info["AN"], info["DP"]) == ([1], [0.5], 2, 20)
    texts = {key: FIELDS.info[key].text(value) for key, value in info.items()}
    assert (texts["AF"], texts["MQ"], texts["FS"], texts["SOR"]) == ("0.5", "60.00", "0.000", "0.693")
    assert variant_depth(call, rows.sample) == 20
    assert texts["QD"] == f"{call.quality / 20:.2f}"


def test_a_record_and_a_sample_without_reads() -> None:
    call, rows = called(ploidies=(2, 1))
    line = variant_record("chr1", call, annotate(call, rows)).line(FIELDS)
    fields = line.rstrip("\n").split("\t")
    assert fields[:5] == ["chr1", "100", ".", "A", "C"]
    assert fields[8] == "GT:AD:DP:GQ:PL"
    assert fields[9].startswith("0/1:10,10:20:99:")
    assert fields[10] == ".:0,0:0:.:0,0"
    assert call.genotype_qualities[1] == NO_CALL


def test_shared_ends_of_alleles_are_cut() -> None:
    assert trim_right([b"\0\1\2", b"\0\2"]) == [b"\0\1", b"\0"]
    assert trim_right([b"\0\1\1", b"\0\1", SPANNING]) == [b"\0\1", b"\0", SPANNING]
    assert trim_right([b"\1", b"\1\1"]) == [b"\1", b"\1\1"]


CONTIGS = [("HLA:1*01", 3000), ("b", 900)]


def part(path, places, samples=("s",), contigs=CONTIGS):
    """Write a part with records at places (contig, position)."""
    records = [
        VariantRecord(contig, position - 1, ("A", "C"), 50.0, (), {"DP": 9}, [{"GT": "0/1"}] * len(samples))
        for contig, position in places
    ]
    assert write_part(path, header(contigs, samples, FIELDS), (r.line(FIELDS) for r in records)) == len(places)
    return path


@pytest.mark.parametrize("suffix", [".tbi", ".csi"])
def test_parts_are_gathered_and_indexed(tmp_path, suffix: str) -> None:
    parts = [
        part(tmp_path / "0.vcf.gz", [("HLA:1*01", 5), ("HLA:1*01", 7)]),
        part(tmp_path / "1.vcf.gz", []),
        part(tmp_path / "2.vcf.gz", [("HLA:1*01", 2500), ("b", 1)]),
    ]
    output = tmp_path / "all.vcf.gz"
    assert join(parts, output, f"{output}{suffix}") == 4
    with pysam.VariantFile(str(output)) as file:
        assert [(r.contig, r.pos) for r in file] == [("HLA:1*01", 5), ("HLA:1*01", 7), ("HLA:1*01", 2500), ("b", 1)]
        assert [r.pos for r in file.fetch("b")] == [1]
        assert list(file.header.samples) == ["s"]


def test_a_long_contig_gets_a_csi_index(tmp_path) -> None:
    long = part(tmp_path / "0.vcf.gz", [("long", 600_000_000)], contigs=[("long", 700_000_000)])
    output = tmp_path / "all.vcf.gz"
    join([long], output, f"{output}.tbi")
    with pysam.BGZFile(f"{output}.tbi") as index:
        assert index.read(3) == b"CSI"


def test_parts_that_do_not_belong_together_leave_no_output(tmp_path) -> None:
    first = part(tmp_path / "0.vcf.gz", [("b", 5)])
    for second, message in (
        (part(tmp_path / "1.vcf.gz", [("HLA:1*01", 5)]), "out of genome order"),
        (part(tmp_path / "2.vcf.gz", [], samples=("t",)), "samples"),
    ):
        with pytest.raises(QuireError, match=message):
            join([first, second], tmp_path / "all.vcf.gz", tmp_path / "all.vcf.gz.tbi")
    assert not list(tmp_path.glob("*all*"))

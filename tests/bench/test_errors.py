"""The parts of docs/errors.md: evidence for a variant, filters, tables, and qualities against errors."""

from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire.report.truth import Variant, spell

from bench.error_evidence import evidence, spellings
from bench.errors import GATK_LIMITS, filter_command, put_table
from bench.qualities import Judged, bins_of, draw

UNIQUE = "".join("ACGT"[code] for code in np.random.default_rng(5).integers(0, 4, 400))


@given(
    unit=st.sampled_from(["A", "AC", "ACG"]), copies=st.integers(0, 12), changed=st.integers(-3, 3), snv=st.booleans()
)
def test_spellings_tell_the_alleles_apart(unit: str, copies: int, changed: int, snv: bool) -> None:
    letters = UNIQUE[:200] + "T" + unit * copies + UNIQUE[200:]
    longer = "T" + unit * max(0, copies + changed)
    variant = Variant(200, "T", "C") if snv or not changed else Variant(200, "T" + unit * copies, longer)
    other = Variant(196, letters[196], "ACGT"["CGTA".index(letters[196])])
    spelled = spellings("c", variant, [variant, other], lambda _, start, end: letters[start:end])
    for carried, own, others in (([variant], *spelled), ([], spelled.reference, spelled.alternate)):
        for more in ([], [other]):
            sequence = spell([*carried, *more], letters, 0)
            assert sequence is not None
            if variant.reference != variant.alternate:
                assert any(text in sequence for text in own)
                assert not any(text in sequence for text in others)


def test_evidence_counts_reads_by_allele_and_mapping_quality(tmp_path: Path) -> None:
    variant = Variant(200, UNIQUE[200], "ACGT"["CGTA".index(UNIQUE[200])])
    carrier = UNIQUE[:200] + variant.alternate + UNIQUE[201:]
    header = pysam.AlignmentHeader.from_references(["c"], [400])
    path = tmp_path / "reads.bam"
    with pysam.AlignmentFile(str(path), "wb", header=header) as out:
        for number, (bases, quality, flag) in enumerate(
            [
                (carrier, 60, 0),
                (carrier, 60, 16),
                (UNIQUE, 20, 0),
                (carrier, 19, 0),
                (UNIQUE, 0, 0),
                (carrier, 60, 1024),
            ]
        ):
            read = pysam.AlignedSegment(header)
            read.query_name, read.flag, read.reference_id, read.reference_start = f"r{number}", flag, 0, 150
            read.mapping_quality, read.cigarstring, read.query_sequence = quality, "100M", bases[150:250]
            out.write(read)
    pysam.index(str(path))
    spelled = spellings("c", variant, [], lambda _, start, end: UNIQUE[start:end])
    seen = evidence(path, "c", variant, spelled)
    assert (seen.usable, seen.poor, seen.holding, seen.poor_holding, seen.reference) == (3, 2, 2, 1, 1)
    assert seen.share == pytest.approx(2 / 3)


def test_filters_as_expressions() -> None:
    command = filter_command(Path("a.vcf"), Path("b.vcf.gz"), {"snv": {"maximum_SOR": None, "minimum_QUAL": 30}})
    assert command.count("bcftools filter") == 1
    assert """-s SNV -e 'TYPE!="indel" && (QUAL<30)'""" in command
    everything = filter_command(Path("a.vcf"), Path("b.vcf.gz"), GATK_LIMITS)
    assert "INFO/SOR>3" in everything
    assert """TYPE="indel" && (QUAL<30 || INFO/QD<2 || INFO/FS>200""" in everything


def test_a_table_replaces_the_one_of_its_name(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- one -->\nold\n<!-- end of one -->\nb\n<!-- two -->\n<!-- end of two -->\nc\n")
    put_table("two", ("x", "y"), [(1, 2)], page)
    put_table("one", ("x",), [(3,)], page)
    assert page.read_text() == (
        "a\n<!-- one -->\n| x |\n| --- |\n| 3 |\n<!-- end of one -->\nb\n"
        "<!-- two -->\n| x | y |\n| --- | --- |\n| 1 | 2 |\n<!-- end of two -->\nc\n"
    )
    with pytest.raises(ValueError, match="no table"):
        put_table("three", ("x",), [(3,)], page)


def test_bins_count_predicted_and_observed_errors() -> None:
    calls = [Judged(30.0, False), Judged(39.9, True), Judged(3.0, True), Judged(500.0, False)]
    low, middle, high = bins_of(calls)
    assert low == (0, 1, 1, pytest.approx(10**-0.3))
    assert middle == (30, 2, 1, pytest.approx(10**-3 + 10**-3.99))
    assert high == (99, 1, 0, pytest.approx(10**-6))


def test_the_plot_tells_calls_and_errors(tmp_path: Path) -> None:
    """Every tenth call of Phred 60 is an error."""
    calls = [Judged(60.0, number % 10 == 0) for number in range(1000)]
    draw([("QUAL", bins_of(calls))], tmp_path / "plot.svg")
    assert "QUAL from 60: 100 errors in 1000 calls" in (tmp_path / "plot.svg").read_text()

"""Mistakes that do not depend on each other are all reported at once, each in a sentence."""

from pathlib import Path

import pytest
from quire.errors import InputError, InputErrors, Mistakes
from quire.run.before_jobs import check_before_jobs
from quire.run.config import load
from quire.run.schema import SCHEMAS

SAMPLES = "sample\tploidy\tsex\nA\t2\tF\nB\t2\tM\n"
UNITS = "sample\tunit\tfq1\tfq2\nA\tL1\tA1.fq\tA2.fq\nB\tL1\tB1.fq\tB2.fq\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a reference, and with the reads of two samples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "genome.fa").write_text(">chr\n" + "ACGT" * 30 + "\n")
    (tmp_path / "genome.fa.fai").write_text("chr\t120\t5\t120\t121\n")
    for sample in "AB":
        for mate in "12":
            bases = f"{'ACGT' * 7}{sample}{mate}".translate(str.maketrans("B12", "CGT"))
            Path(f"{sample}{mate}.fq").write_text(f"@{sample}/{mate}\n{bases}\n+\n{'I' * 30}\n")
    return tmp_path


def mistakes_of(settings: dict[str, object] | None = None, samples: str = SAMPLES, units: str = UNITS) -> list[str]:
    """Return the sentences about a configuration of these two sheets."""
    Path("samples.tsv").write_text(samples)
    Path("units.tsv").write_text(units)
    raw = {"reference": {"fasta": "genome.fa"}, "samples": "samples.tsv", "units": "units.tsv", **(settings or {})}
    with pytest.raises(InputError) as caught:
        check_before_jobs(load(raw, SCHEMAS))
    return str(caught.value).split("\nquire: error: ")


def test_keys(folder: Path) -> None:
    """All unknown keys and all wrong values are named."""
    found = mistakes_of({"align": {"formt": "bam", "umis": "name"}, "rescore": {"gvcf": "perhaps"}, "threads": 3})
    for key, part in zip(("threads", "align.formt", "align.umis"), found[:3], strict=True):
        assert part.startswith(f"configuration: the key {key} is unknown")
    assert found[3].startswith("configuration: rescore.gvcf is 'perhaps'")
    assert len(found) == 4


def test_keys_that_are_missing(folder: Path) -> None:
    """Each missing key of a list's entry is named."""
    found = mistakes_of({"mems": [{"unique": "both"}]})
    assert [part.split(";")[0] for part in found] == [
        f"configuration: the key mems[1].{key} is missing" for key in ("name", "queries")
    ]


def test_columns_and_values_of_both_sheets(folder: Path) -> None:
    """Wrong values of one sheet and wrong columns of the other are reported together."""
    samples = SAMPLES.replace("A\t2\tF", "A\ttwo\tlady").replace("B\t2", "B\t0")
    found = mistakes_of(None, samples, UNITS.replace("sample\tunit\tfq1\tfq2", "sampel\tunit\tread1\tfq2"))
    assert [" ".join(part.split()[:5]) for part in found] == [
        "samples.tsv, line 2: ploidy 'two'",
        "samples.tsv, line 2: sex 'lady'",
        "samples.tsv, line 3: ploidy '0'",
        "units.tsv: the column sampel is",
        "units.tsv: the column read1 is",
    ]


def test_rows_files_and_settings(folder: Path) -> None:
    """A unit given twice, missing files, a wrong reference and wrong settings are reported together."""
    units = UNITS.replace("A2.fq", "A3.fq") + "A\tL1\tA1.fq\tA2.fq\nC\tL1\tC1.fq\t\n"
    found = mistakes_of(
        {
            "reference": {"fasta": "gnome.fa"},
            "rescore": {"intervals": "no.bed", "emit": "all_sites"},
            "report": {"pedigree": "no.fam", "truth": {"sample": "D"}},
        },
        units=units,
    )
    expected = [
        "reference.fasta: gnome.fa does not exist",
        "units.tsv, line 5: sample C is not in samples.tsv",
        "units.tsv, line 4: unit A.L1 is already in line 2",
        "units.tsv, line 2, column fq2: A3.fq does not exist",
        "units.tsv, line 5, column fq1: C1.fq does not exist",
        "configuration: report.truth.sample is given without report.truth.vcf",
        "configuration: report.truth.sample D is not in samples.tsv",
        "rescore.emit: needs rescore.gvcf: true; give both or neither.",
        "rescore.intervals: no.bed does not exist",
        "report.pedigree: no.fam does not exist",
    ]
    assert [part[: len(start)] for part, start in zip(found, expected, strict=True)] == expected


def test_first_reads_and_contigs(folder: Path) -> None:
    """Exchanged mates of two units and BED files of another reference are reported together."""
    Path("other.bed").write_text("1\t0\t10\n")
    Path("long.bed").write_text("chr\t0\t1000\t1\n")
    units = UNITS.replace("A1.fq\tA2.fq", "A2.fq\tA1.fq").replace("B1.fq\tB2.fq", "B2.fq\tB1.fq")
    found = mistakes_of({"rescore": {"intervals": "other.bed", "ploidy_regions": "long.bed"}}, units=units)
    assert [part.split(":")[0] for part in found] == [
        "rescore.intervals",
        "rescore.ploidy_regions",
        "units.tsv, A.L1, column fq1",
        "units.tsv, B.L1, column fq1",
    ]


def test_many_mistakes_are_counted(folder: Path) -> None:
    """A wrong folder makes no list of thousands of lines."""
    rows = [f"{sample}\tL{number}\tno/{sample}{number}.fq\t\n" for sample in "AB" for number in range(30)]
    found = mistakes_of(units="sample\tunit\tfq1\tfq2\n" + "".join(rows))
    assert len(found) == InputErrors.MOST + 1
    assert found[-1] == "40 more mistakes are not listed; correct these first."


def test_other_errors_are_not_hidden() -> None:
    """An error of the program is raised as it is, and a block without mistakes raises nothing."""
    with Mistakes() as mistakes:
        assert mistakes.check(divmod, 7, 2) == (3, 1)
    mistakes.add("the first.")
    mistakes.add("the first.")
    error = ZeroDivisionError()
    assert mistakes.__exit__(ZeroDivisionError, error, None) is None
    with pytest.raises(InputErrors) as caught:
        mistakes.__exit__(InputError, InputError("the last."), None)
    assert caught.value.sentences == ["the first.", "the last."]

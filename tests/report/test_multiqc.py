"""Folder for MultiQC: files equal those of samtools, bcftools and Picard, and have what MultiQC searches for."""

import json
import re
from pathlib import Path

import pysam
import pysam.bcftools
import pytest
from quire.io.files import read_json, write_json_atomic
from quire.report.counts import read_sample_counts
from quire.report.criteria import CRITERIA
from quire.report.multiqc import duplication_metrics, write_sample
from quire.report.page import ReportInputs, ReportOutputs, write_report
from quire.report.terminal import load_summary

from tests.support.report_files import Run


@pytest.fixture(scope="module")
def folder(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of the small run and return its folder for MultiQC."""
    out = tmp_path_factory.mktemp("multiqc")
    write_report(
        ReportOutputs(out / "report.html", out / "summary.json", out / "multiqc"),
        ReportInputs(
            samples=[{"sample": "sample", "ploidy": 2, "bam": run.bam, "counts": run.counts, "ledgers": []}],
            vcf=run.vcf,
            variants=run.variants,
        ),
    )
    return out / "multiqc"


def numbers(lines: list[str], section: str) -> dict[str, float]:
    """Return the numbers of a section by the text before them."""
    rows = [line.split("\t") for line in lines if line.startswith(section + "\t")]
    return {
        "\t".join(row[1:-1]) if section != "SN" else row[1]: float(row[-1] if section != "SN" else row[2])
        for row in rows
    }


def test_flagstat_and_idxstats_are_samtools_own(folder: Path, run: Run) -> None:
    """The files equal samtools' line by line; MultiQC finds flagstat by its first line and idxstats by its name."""
    assert (folder / "sample.flagstat").read_text() == str(pysam.samtools.flagstat(str(run.bam)))
    assert (folder / "sample.idxstats").read_text() == str(pysam.samtools.idxstats(str(run.bam)))


def test_stats_hold_samtools_numbers(folder: Path, run: Run) -> None:
    mine = (folder / "sample.stats.txt").read_text().splitlines()
    theirs = str(pysam.samtools.stats(str(run.bam))).splitlines()
    # MultiQC recognises the file by this line, and would take a version in brackets for that of samtools.
    assert mine[0].startswith("# This file was produced by samtools stats")
    assert not re.match(r"# This file was produced by samtools stats \([\d.]+", mine[0])
    summary, expected = numbers(mine, "SN"), numbers(theirs, "SN")
    assert {name: expected[name] for name in summary} == pytest.approx(summary)
    # Numbers that MultiQC sums or divides by.
    needed = ("raw total sequences", "filtered sequences", "reads MQ0", "reads mapped", "reads unmapped", "error rate")
    assert {f"{name}:" for name in needed} <= set(summary)
    assert [line for line in mine if line.startswith("IS\t")] == [line for line in theirs if line.startswith("IS\t")]


def test_bcftools_stats_hold_its_numbers(folder: Path, run: Run, tmp_path: Path) -> None:
    passing = tmp_path / "passing.vcf.gz"
    pysam.bcftools.view("-f", "PASS", "-Oz", "-o", str(passing), str(run.vcf), catch_stdout=False)
    mine = (folder / "sample.bcftools_stats.txt").read_text().splitlines()
    theirs = str(pysam.bcftools.stats(str(passing))).splitlines()
    assert mine[0].startswith("# This file was produced by bcftools stats")
    assert mine[1] == "ID\t0\tsample.vcf.gz"
    for section in ("TSTV", "ST"):
        assert [line for line in mine if line.startswith(section + "\t")] == [
            line for line in theirs if line.startswith(section + "\t")
        ]
    lengths = [[line.split("\t")[:4] for line in lines if line.startswith("IDD\t")] for lines in (mine, theirs)]
    assert lengths[0] == lengths[1] == [["IDD", "0", "-2", "1"]]
    sites = [dict(line.split("\t")[2:4] for line in lines if line.startswith("SN\t")) for lines in (mine, theirs)]
    assert sites[0].items() <= sites[1].items()


@pytest.mark.parametrize(
    ("name", "marker", "columns", "rows"),
    [
        (
            "markdup_metrics",
            "picard.sam.DuplicationMetrics",
            {"LIBRARY", "READ_PAIRS_EXAMINED", "PERCENT_DUPLICATION"},
            1,
        ),
        ("gc_bias_metrics", "picard.analysis.GcBiasDetailMetrics", {"GC", "NORMALIZED_COVERAGE"}, 101),
    ],
)
def test_metrics_are_tables_as_picard_has_them(
    folder: Path, name: str, marker: str, columns: set[str], rows: int
) -> None:
    """Metrics have a class line, a header, rows of equal length and an empty line; INPUT names the sample."""
    lines = (folder / f"sample.{name}.txt").read_text().split("\n")
    assert "INPUT=sample.bam" in lines[1]
    at = lines.index(f"## METRICS CLASS\t{marker}")
    head = lines[at + 1].split("\t")
    assert columns <= set(head)
    table = [line.split("\t") for line in lines[at + 2 :]]
    assert [len(row) for row in table[: rows + 1]] == [*[len(head)] * rows, 1]


def test_each_sample_has_its_own_files(run: Run, tmp_path: Path) -> None:
    """Each of two samples has its GC curve, named by it, and one with a target the depth of its positions."""
    (of_one,) = read_json(run.variants)["samples"].values()
    counts = read_json(run.counts)
    other = counts["gc_bias"] | {"normalized_coverage": [0.5] * 101}
    write_json_atomic(tmp_path / "two.json", counts | {"gc_bias": other})
    on_target = counts["depth"] | {"histogram": [2, 0, 5, 1]}
    write_json_atomic(tmp_path / "target.json", counts | {"depth": on_target, "target": {"bed": "x", "positions": 8}})
    (tmp_path / "multiqc").mkdir()
    for name, counted in (
        ("one", read_sample_counts(run.counts)),
        ("two", read_sample_counts(tmp_path / "two.json", tmp_path / "target.json")),
    ):
        write_sample(tmp_path / "multiqc", name, counted, of_one, name == "two")
    curves = {}
    for name in ("one", "two"):
        lines = (tmp_path / f"multiqc/{name}.gc_bias_metrics.txt").read_text().splitlines()
        assert f"INPUT={name}.bam" in lines[1]
        curves[name] = [float(line.split("\t")[4]) for line in lines if line.startswith("All Reads")]
    assert curves == {"one": counts["gc_bias"]["normalized_coverage"], "two": [0.5] * 101}
    assert not (tmp_path / "multiqc/one.mosdepth.region.dist.txt").exists()
    assert (tmp_path / "multiqc/two.mosdepth.region.dist.txt").read_text().splitlines() == [
        *("total\t3\t0.1250", "total\t2\t0.7500", "total\t1\t0.7500", "total\t0\t1.0000"),
    ]


@pytest.mark.parametrize(("counted", "expected"), [(7, "7"), (None, "0")])
def test_optical_duplicates_are_those_counted(run: Run, counted: int | None, expected: str) -> None:
    """Optical duplicates are those counted, and 0 without align.optical_distance."""
    (library,) = json.loads(run.counts.read_text())["libraries"]
    counts = {"libraries": [library | {"read_pair_optical_duplicates": counted}]}
    head, row = (line.split("\t") for line in list(duplication_metrics("sample", counts))[4:6])
    assert dict(zip(head, row, strict=True))["READ_PAIR_OPTICAL_DUPLICATES"] == expected


def test_checks_and_figures_are_custom_content(folder: Path) -> None:
    checks = json.loads((folder / "quire_checks_mqc.json").read_text())
    assert (checks["id"], checks["plot_type"]) == ("quire_checks", "table")
    assert set(checks["headers"]) == set(checks["data"]["sample"]) == {criterion.key for criterion in CRITERIA}
    figures = json.loads((folder / "quire_figures_mqc.json").read_text())
    summary = load_summary(folder.parent / "summary.json")["samples"][0]
    assert figures["plot_type"] == "generalstats"
    assert figures["data"]["sample"]["coverage"] == summary["coverage"]["mean"]
    assert "contamination" not in figures["data"]["sample"]
    assert {key for column in figures["pconfig"] for key in column} >= set(figures["data"]["sample"])


def test_without_samples_the_folder_is_empty(tmp_path: Path) -> None:
    write_report(ReportOutputs(tmp_path / "x.html", tmp_path / "x.json", tmp_path / "multiqc"), ReportInputs())
    assert list((tmp_path / "multiqc").iterdir()) == []

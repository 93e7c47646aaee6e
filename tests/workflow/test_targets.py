"""Stages as targets, and added and removed samples and lanes."""

import re
from collections.abc import Callable

import pytest

from tests.workflow.runs import SMALL_UNIT, Run, errors_of

pytestmark = pytest.mark.full


def planned(output: str) -> dict[str, int]:
    """Return the number of jobs of each rule in a dry run."""
    table = output.split("Job stats:")[1].split("total")[0]
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}


def test_a_stage_ends_where_it_is_asked_to(continued: Callable[[], Run]) -> None:
    """`--until` a rule works with the target of a stage."""
    run = continued()
    result = run.snakemake("call", "--until", "finish_sample", "--dry-run", "--forcerun", "map_unit")
    assert result.returncode == 0, result.stdout
    assert {"map_unit", "finish_sample"} <= planned(result.stdout).keys()
    assert not {"rescore_interval", "gather_variants", "write_report"} & planned(result.stdout).keys()


@pytest.mark.parametrize(
    ("target", "last"),
    [
        ("align", "finish_sample"),
        ("call", "gather_variants"),
        ("rescore", "gather_variants"),
        ("report", "write_report"),
    ],
)
def test_stages_are_targets(target: str, last: str, continued: Callable[[], Run]) -> None:
    """Each target ends with the rule that makes its results."""
    run = continued()
    result = run.snakemake(target, "--dry-run", "--forcerun", "map_unit")
    assert result.returncode == 0, result.stdout
    jobs = planned(result.stdout)
    assert {target, last} <= jobs.keys()
    later = {"align": {"rescore_interval", "write_report"}, "report": set()}.get(target, {"write_report"})
    assert not later & jobs.keys()


def test_a_sample_that_is_added_is_mapped_alone(continued: Callable[[], Run]) -> None:
    """No other sample is mapped or sorted again."""
    run = continued()
    (run.folder / "second.fq").write_text("@a\nACGT\n+\nIIII\n")
    run.samples = [*run.samples, {"sample": "second", "ploidy": "2"}]
    run.units = [dict(SMALL_UNIT), {**SMALL_UNIT, "sample": "second", "fq1": "second.fq", "fq2": ""}]
    run.write()
    result = run.snakemake("--dry-run")
    jobs = planned(result.stdout)
    assert (jobs["map_unit"], jobs["finish_sample"]) == (1, 1)
    assert "wildcards: sample=second, unit=lane_1" in result.stdout
    assert not {"pack_reference", "index_page"} & jobs.keys()


def test_what_the_sheets_name_no_longer_is_said(continued: Callable[[], Run]) -> None:
    """Samples that the sheets no longer name are each reported once after the run, and their files stay."""
    run = continued()
    (run.output / "align/former.counts.json").write_text("{}")
    (run.output / "ledger/NA12878.lane_0.json").write_text("{}")
    (run.output / "report/report.html").unlink()
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    said = re.findall(r"^leftover +(\S+) is from an earlier run", result.stdout, re.MULTILINE)
    assert said == ["former", "NA12878.lane_0"]
    assert (run.output / "align/former.counts.json").exists()
    # A line when a job begins and one when it ends; Snakemake's further output about it is in its log.
    ends = r"^[\d:]{8}  write_report done in [\d.]+ s; 1 of 2 steps \(50%\) done$"
    assert re.search(r"^[\d:]{8}  write_report$", result.stdout, re.MULTILINE)
    assert re.search(ends, result.stdout, re.MULTILINE)
    assert re.search(r"^[\d:]{8}  2 jobs: write_report, all$", result.stdout, re.MULTILINE)
    assert len(result.stdout.split("write_report")[0].splitlines()) <= 2  # before the first word of a job
    assert "reason: " not in result.stdout
    assert "reason: " in sorted((run.folder / ".snakemake/log").glob("*.log"))[-1].read_text()


def test_a_stage_without_samples_is_refused(continued: Callable[[], Run]) -> None:
    run = continued()
    genome = run.config["reference"]["fasta"]
    run.config |= {"report": {}, "samples": "", "units": "", "mems": [{"name": "own", "queries": genome}]}
    run.write()
    result = run.snakemake("align", "--dry-run")
    assert result.returncode != 0
    assert "samples is not given, and align needs their sheet" in errors_of(result.stdout)[-1]

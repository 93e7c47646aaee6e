"""Jobs, or Snakemake itself, killed with SIGKILL in any stage: the same command then gives the same results."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.workflow.runs import Run, errors_of
from tests.workflow.test_road import finished_rules

pytestmark = pytest.mark.full

STAGES = [
    "pack_reference",
    "index_page",
    "map_unit",
    "finish_sample",
    "rescore_interval",
    "gather_variants",
    "write_report",
]
RESULTS = ("align/NA12878.bam", "rescore/all.vcf.gz", "ledger/NA12878.lane_1.json", "align/NA12878.duplicates.tsv")


def results(run: Run) -> dict[str, bytes]:
    """Return the contents that must not depend on an interruption."""
    return {name: (run.output / name).read_bytes() for name in RESULTS}


def kill_in_the_middle(run: Run, rule: str, log: Path, whole: bool, retries: int = 0) -> str:
    """Start Snakemake so that `rule` runs, and kill the job, or everything, once the job has started its work.

    Args:
        run: the run.
        rule: rule of the job.
        log: log of the job.
        whole: kill Snakemake and all its jobs.
        retries: number of times that Snakemake may start a job again.

    Returns:
        Snakemake's output.
    """
    with (run.folder / "terminal.txt").open("w") as terminal:
        snakemake = subprocess.Popen(
            run.command("--forcerun", rule, "--retries", str(retries)),
            stdout=terminal,
            stderr=subprocess.STDOUT,
            cwd=run.folder,
            start_new_session=True,
        )
        jobs: list[psutil.Process] = []
        while not jobs:
            assert snakemake.poll() is None, (run.folder / "terminal.txt").read_text()
            time.sleep(0.02)  # jobs need more to import what they work with
            jobs = jobs_of(psutil.Process(snakemake.pid), rule)
        # Snakemake deletes the old log; the job writes a new one when its own work begins.
        while not (log.exists() and log.stat().st_size):
            assert snakemake.poll() is None, (run.folder / "terminal.txt").read_text()
            time.sleep(0.001)
        if whole:
            os.killpg(snakemake.pid, signal.SIGKILL)
        else:
            jobs[0].kill()
        snakemake.wait(60)
    return (run.folder / "terminal.txt").read_text()


def jobs_of(snakemake: psutil.Process, rule: str) -> list[psutil.Process]:
    """Return the processes that run the script of a rule."""
    with suppress(psutil.NoSuchProcess):
        return [
            process
            for process in snakemake.children(recursive=True)
            if any(part.endswith(f".{rule}.py") for part in process.cmdline())
        ]
    return []


def log_of(run: Run, rule: str) -> Path:
    """Return the log of the rule's only job in the small set."""
    names = {
        "pack_reference": "pack_reference.log",
        "index_page": "index_page/0.log",
        "map_unit": "map_unit/NA12878.lane_1.log",
        "finish_sample": "finish_sample/NA12878.log",
        "rescore_interval": "rescore_interval/0.log",
        "gather_variants": "gather_variants.log",
        "write_report": "write_report.log",
    }
    return run.output / "logs" / names[rule]


def test_kills_are_made_up_for(finished: Run, continued: Callable[[], Run]) -> None:
    """After a kill in each stage in turn, the same command gives the same results in the end.

    A killed job is reported in the last line. Once everything is killed, as in a power cut, and the folder is unlocked.
    """
    run = continued()
    for rule in STAGES:
        said = kill_in_the_middle(run, rule, log_of(run, rule), whole=False)
        assert errors_of(said) == said.splitlines()[-1:]
        assert f"a job of rule {rule} ended without an error message" in said
        if rule == "map_unit":
            kill_in_the_middle(run, rule, log_of(run, rule), whole=True)
            assert "removed with the --unlock argument" in " ".join(run.snakemake().stdout.split())
            assert run.snakemake("--unlock").returncode == 0
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    assert finished_rules(result.stdout) == {STAGES[-1]}
    assert results(run) == results(finished)


def test_killed_job_is_tried_again_with_more_memory(finished: Run, continued: Callable[[], Run]) -> None:
    """A job killed as a cluster does for its memory is retried with twice as much, and gives the same results."""
    run = continued()
    said = kill_in_the_middle(run, "finish_sample", log_of(run, "finish_sample"), whole=False, retries=1)
    assert re.search(
        r"finish_sample NA12878 failed after .*\n[\d:]{8}  finish_sample NA12878, again with twice the memory",
        said,
    )
    assert not errors_of(said)
    log = log_of(run, "finish_sample")
    assert "quire.job done" in log.read_text()
    told = sorted((run.folder / ".snakemake/log").glob("*.log"))[-1].read_text()
    first, second = map(int, re.findall(r"rule finish_sample:.*?mem_mb=(\d+)", told, re.DOTALL))
    assert second == 2 * first
    assert results(run) == results(finished)


def test_a_job_that_says_what_is_wrong_does_not_work_again(continued: Callable[[], Run]) -> None:
    """After a damaged file, further attempts repeat the sentence without mapping again."""
    run = continued()
    content = Path(run.units[0]["fq1"]).read_bytes()
    (run.folder / "bad.fq.gz").write_bytes(content[: len(content) // 2])
    run.units = [{**run.units[0], "fq1": "bad.fq.gz"}]
    run.write()
    result = run.snakemake("--retries", "3")
    assert result.returncode != 0
    assert result.stdout.count("map_unit NA12878.lane_1 failed after") == 1
    assert "with twice the memory" not in result.stdout
    assert "quire.align" not in log_of(run, "map_unit").read_text()
    assert "bad.fq.gz: the gzip stream ends too early" in errors_of(result.stdout)[-1]

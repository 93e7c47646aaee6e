"""What a terminal is told of jobs."""

import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quire.run.short_log import shorten


def terminal(is_dry_run: Callable[[], bool] = lambda: False) -> tuple[io.StringIO, logging.Logger]:
    """What a terminal shows, with lines ended by |, and what tells it."""
    stream = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.handlers[0].setFormatter(logging.Formatter("%(message)s"))
    logger.handlers[0].terminator = "|"
    shorten(logger, is_dry_run)
    return stream, logger


def test_a_job_is_two_lines(tmp_path: Path) -> None:
    """Its name, then its end with time, rate and progress; chatter is left out, warnings and errors are not."""
    (tmp_path / "map.log").write_text("12:00:00 quire.align 51678 reads mapped, 54640 reads/s\n")
    stream, logger = terminal()
    shorten(logger)  # changes nothing

    def tell(message: str, level: int = logging.INFO, **fields: Any) -> None:
        logger.log(level, message, extra=fields)

    job = {
        "event": "job_info",
        "jobid": 3,
        "rule_msg": None,
        "rule_name": "map_unit",
        "log": [str(tmp_path / "map.log")],
    }
    tell("16 lines", event="workflow_started")
    tell("Provided cores: 2")
    stats = {"map_unit": 12, "finish_sample": 1, "total": 13}
    tell("a table", event="run_info", stats=stats)
    tell("ten lines", **job, wildcards={"sample": "NA12878", "unit": "lane"})
    tell("ten lines", **{**job, "jobid": 4, "rule_msg": "Compiling."}, wildcards={})
    tell("Select jobs to execute...")
    tell("Finished jobid: 3 (Rule: map_unit)", event="job_finished", job_id=3)
    tell("1 of 2 steps (50%) done", event="progress")
    tell("Touching output file cannot be said", logging.WARNING)
    said = [line for line in stream.getvalue().split("|") if line]
    assert said.pop(0).endswith("  13 jobs: map_unit x 12, finish_sample")
    assert said[0].endswith("  map_unit NA12878.lane")
    assert said[1].endswith("  Compiling.")
    assert "  map_unit NA12878.lane done in 0.0 s, 51678 reads mapped, 54640 reads/s; 1 of 2 steps" in said[2]
    assert said[3:] == ["Touching output file cannot be said"]


def test_a_job_that_fails_is_one_line() -> None:
    """It names the log; what Snakemake says of the place in the rules is in its own log. A target has no lines."""
    stream, logger = terminal()
    job = {"rule_msg": None, "rule_name": "map_unit", "log": ["map.log"], "wildcards": {"unit": "lane"}}
    for number, told in enumerate(({**job, "output": ["x"]}, {**job, "log": [], "output": []})):
        logger.info("ten lines", extra={**told, "event": "job_info", "jobid": number})
    logger.error("RuleException:\nCalledProcessError in file align.smk, line 42:\nCommand ...")
    logger.error("ten lines", extra={"event": "job_error", "jobid": 0})
    logger.info("Trying to restart job 0.")
    logger.info("done", extra={"event": "job_finished", "job_id": 1})
    logger.info("Shutting down, this might take some time.")
    logger.error("Exiting because a job execution failed. Look above for error messages")
    logger.error("Error submitting jobscript")  # of a cluster
    said = [line for line in stream.getvalue().split("|") if line]
    assert said[0].endswith("  map_unit lane")
    assert said[1].endswith("  map_unit lane failed after 0.0 s; its log: map.log")
    assert said[2].endswith("  It is tried again, and asks for twice the memory.")
    assert said[3:] == ["Error submitting jobscript"]


REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: invalid partition: big'.
    sbatch call:
        sbatch --parsable --partition big
For further error details see the cluster/cloud log and the log files of the involved rule(s)."""


def test_why_slurm_refused_a_job_is_told() -> None:
    """Its log holds nothing; the command, and where else to look, are left out."""
    stream, logger = terminal()
    job = {"rule_msg": None, "rule_name": "map_unit", "log": ["map.log"], "wildcards": {"unit": "lane"}}
    for number, said in enumerate((REFUSED, REFUSED[REFUSED.index("For further") :], None)):
        logger.info("ten lines", extra={**job, "event": "job_info", "jobid": number})
        logger.error("ten lines", extra={"event": "job_error", "jobid": number, "rule_msg": said})
    said = [line for line in stream.getvalue().split("|") if " failed after " in line]
    line = "  map_unit lane failed after 0.0 s; its log: map.log"
    assert said[0].endswith(
        f"{line}\n          SLURM sbatch failed. The error message was 'sbatch: error: invalid partition: big'."
    )
    assert [one.endswith(line) for one in said[1:]] == [True, True]


@pytest.mark.parametrize("is_told", [True, False])
def test_of_a_group_those_are_told_that_say_why(is_told: bool, tmp_path: Path) -> None:
    """Snakemake says of each job of a group that it failed; where none says why, one line stands for all."""
    stream, logger = terminal()
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    logs[0].write_text("12:00:00 quire.index at work\n")
    if is_told:
        logs[0].write_text("12:00:00 quire quire: error: a.fa: is empty.\n")
    jobs = [{"rule_name": "index_page", "jobid": number, "log": [str(log)]} for number, log in enumerate(logs)]
    for job in jobs:
        logger.info("ten lines", extra={**job, "event": "job_info", "rule_msg": None, "wildcards": {}})
    logger.error("lines", extra={"event": "group_error", "job_error_info": jobs, "aux_logs": ["slurm.log"]})
    for job in jobs:
        logger.error("ten lines", extra={**job, "event": "job_error", "rule_msg": None, "indent": True})
    (said,) = (line for line in stream.getvalue().split("|") if "failed" in line)
    if is_told:
        assert said.endswith(f"  index_page failed after 0.0 s; its log: {logs[0]}")
    else:
        assert said.endswith(f"  a group of 2 jobs (index_page) failed, and none says why; see slurm.log, {logs[0]}")


def test_a_dry_run_has_all_words() -> None:
    """As soon as Snakemake knows that it is one."""
    dry = [False]
    stream, logger = terminal(lambda: dry[0])
    logger.info("Building DAG of jobs...")
    dry[0] = True
    logger.info("ten lines", extra={"event": "job_info"})
    assert stream.getvalue().strip("|") == "ten lines"

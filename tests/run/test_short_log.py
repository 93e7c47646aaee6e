"""Check the terminal's lines about jobs."""

import io
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quire.errors import QuireError
from quire.run.job import RUN
from quire.run.short_log import shorten, watch


def terminal(is_dry_run: Callable[[], bool] = lambda: False) -> tuple[io.StringIO, logging.Logger]:
    """Return the terminal's output, with lines that end with |, and a logger that writes to it."""
    stream = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.handlers[0].setFormatter(logging.Formatter("%(message)s"))
    logger.handlers[0].terminator = "|"
    shorten(logger, is_dry_run)
    return stream, logger


def test_a_job_is_two_lines(tmp_path: Path) -> None:
    """The first line has its name, the second time, rate and progress; only warnings and errors pass otherwise."""
    (tmp_path / "map.log").write_text("12:00:00 quire.align 51678 reads mapped, 54640 reads/s\n")
    stream, logger = terminal()
    shorten(logger)  # a second call changes nothing

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
    tell("Provided cores: 2", event="resources_info")
    stats = {"map_unit": 12, "finish_sample": 1, "total": 13}
    tell("a table", event="run_info", stats=stats)
    tell("ten lines", **job, wildcards={"sample": "NA12878", "unit": "lane"})
    tell("ten lines", **{**job, "jobid": 4, "rule_msg": "Compiling."}, wildcards={})
    tell("Select jobs to execute...")
    tell("Finished jobid: 3 (Rule: map_unit)", event="job_finished", job_id=3)
    tell("1 of 2 steps (50%) done", event="progress", done=1, total=2)
    tell("Touching output file.")
    tell("Touching output file failed.", logging.WARNING)
    tell("2 of 2 steps (100%) done", event="progress", done=2, total=2)
    tell("Complete log(s): a.log")
    said = [line for line in stream.getvalue().split("|") if line]
    assert said.pop(0).endswith("  13 jobs: map_unit x 12, finish_sample")
    assert said[0].endswith("  map_unit NA12878.lane")
    assert said[1].endswith("  Compiling.")
    assert "  map_unit NA12878.lane done in 0.0 s, 51678 reads mapped, 54640 reads/s; 1 of 2 steps" in said[2]
    assert said[3:] == ["Touching output file failed.", "2 of 2 steps (100%) done", "Complete log(s): a.log"]


def test_the_number_of_jobs_is_said_when_it_is_known() -> None:
    """Checkpoints add jobs; until the last one is done, the steps have no total that would grow."""
    stream, logger = terminal()
    jobs = ("pack_reference", "compile_kernels", "split_intervals", "index_page")
    logger.info("", extra={"event": "run_info", "stats": dict.fromkeys(jobs, 1) | {"total": 4}})
    for number, rule in enumerate(jobs):
        job = {"rule_msg": None, "rule_name": rule, "log": [], "wildcards": {}}
        logger.info("", extra={**job, "event": "job_info", "jobid": number})
        logger.info("", extra={"event": "job_finished", "job_id": number})
        steps = {"done": number + 1, "total": 11}
        logger.info(f"{number + 1} of 11 steps (9%) done", extra={"event": "progress", **steps})
    said = [line.split("; ")[1] for line in stream.getvalue().split("|") if "; " in line]
    assert "  at least 4 jobs: pack_reference, " in stream.getvalue()
    assert said == ["steps done: 1", "steps done: 2", "steps done: 3", "4 of 11 steps (9%) done"]


def test_a_job_that_fails_is_one_line() -> None:
    """The line names the log, which has Snakemake's details; a target has no lines."""
    stream, logger = terminal()
    job = {"rule_msg": None, "rule_name": "map_unit", "log": ["map.log"], "wildcards": {"unit": "lane"}}
    for number, told in enumerate(({**job, "output": ["x"]}, {**job, "log": [], "output": []})):
        logger.info("ten lines", extra={**told, "event": "job_info", "jobid": number})
    logger.error("RuleException:\nCalledProcessError", extra={"event": "error", "exception": "RuleException"})
    logger.error("ten lines", extra={"event": "job_error", "jobid": 0})
    logger.info("ten lines", extra={**job, "event": "job_info", "jobid": 0})
    logger.info("Select jobs to execute...")
    logger.info("done", extra={"event": "job_finished", "job_id": 1})
    logger.error("Error submitting jobscript")  # an error of a cluster
    logger.info("Complete log(s): a.log")
    said = [line for line in stream.getvalue().split("|") if line]
    assert said[0].endswith("  map_unit lane")
    assert said[1].endswith("  map_unit lane failed after 0.0 s; its log: map.log")
    assert said[2].endswith("  map_unit lane, again with twice the memory")
    assert said[3:] == ["Error submitting jobscript", "Complete log(s): a.log"]


@pytest.mark.parametrize(("run", "times"), [("this one", 1), ("an older one", 2)])
def test_a_failure_that_more_memory_does_not_help_is_told_once(
    run: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second attempt only repeats the sentence, which ends the run; a note of an older run does not count."""
    monkeypatch.setenv(RUN, "this one")
    log = tmp_path / "map.log"
    job = {"rule_msg": None, "rule_name": "map_unit", "log": [str(log)], "wildcards": {}, "output": ["x"]}
    stream, logger = terminal()
    for _ in range(2):
        logger.info("ten lines", extra={**job, "event": "job_info", "jobid": 1})
        (tmp_path / "map.log.failed").write_text(f"run {run}\nquire: error: a.fq: is truncated.")
        logger.error("ten lines", extra={"event": "job_error", "jobid": 1})
    assert stream.getvalue().count("  map_unit failed after") == times
    assert stream.getvalue().count(", again with twice the memory") == times - 1


REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: invalid partition: big'.
    sbatch call:
        sbatch --parsable --partition big
For further error details see the cluster/cloud log and the log files of the involved rule(s)."""


def test_why_slurm_refused_a_job_is_told() -> None:
    """The job's log is empty, so the reason is printed, without the further lines of the command."""
    stream, logger = terminal()
    job = {"rule_msg": None, "rule_name": "map_unit", "log": ["map.log"], "wildcards": {"unit": "lane"}}
    for number, said in enumerate((REFUSED, None)):
        logger.info("ten lines", extra={**job, "event": "job_info", "jobid": number})
        logger.error("ten lines", extra={"event": "job_error", "jobid": number, "rule_msg": said})
    said = [line for line in stream.getvalue().split("|") if " failed after " in line]
    line = "  map_unit lane failed after 0.0 s; its log: map.log"
    assert said[0].endswith(
        f"{line}\n          SLURM sbatch failed. The error message was 'sbatch: error: invalid partition: big'."
    )
    assert said[1].endswith(line)


@pytest.mark.parametrize("is_told", [True, False])
def test_of_a_group_those_are_told_that_say_why(is_told: bool, tmp_path: Path) -> None:
    """Snakemake reports each job of a failed group as failed; if none gives a reason, one line represents them all."""
    stream, logger = terminal()
    logs = [tmp_path / f"{number}.log" for number in range(2)]
    run = f"12:00:00 quire.job run {os.environ.get(RUN, 'without a name')}\n"
    logs[0].write_text(run + ("12:00:00 quire quire: error: a.fa: is empty.\n" if is_told else ""))
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
        assert said.endswith(
            f"  a group of 2 jobs (index_page) failed without an error message; see slurm.log, {logs[0]}"
        )


def test_a_dry_run_has_all_words() -> None:
    """The full output appears as soon as Snakemake knows that it is a dry run."""
    dry = [False]
    stream, logger = terminal(lambda: dry[0])
    logger.info("sixteen lines", extra={"event": "workflow_started"})
    dry[0] = True
    logger.info("ten lines", extra={"event": "job_info"})
    assert stream.getvalue().strip("|") == "ten lines"


def test_limits_that_allow_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell's limit on memory or processes is one sentence; Python's own error names neither."""

    def refuse(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(
        QuireError, match="a thread or a process cannot be started; raise the limits on memory and processes"
    ):
        watch(terminal()[1])

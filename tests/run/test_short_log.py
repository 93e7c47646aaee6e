"""What a terminal is told of jobs."""

import io
import logging
from pathlib import Path
from typing import Any

from quire.run.short_log import shorten


def test_a_job_is_two_lines(tmp_path: Path) -> None:
    """Its name, then its end with time, rate and progress; chatter is left out, warnings and errors are not."""
    (tmp_path / "map.log").write_text("12:00:00 quire.align 51678 reads mapped, 54640 reads/s\n")
    stream = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.handlers[0].setFormatter(logging.Formatter("%(message)s"))
    logger.handlers[0].terminator = "|"
    shorten(logger)
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
    assert "  Finished jobid: 3 (Rule: map_unit) in 0.0 s, 51678 reads mapped, 54640 reads/s; 1 of 2 steps" in said[2]
    assert said[3:] == ["Touching output file cannot be said"]


def test_a_dry_run_has_all_words() -> None:
    """As soon as Snakemake knows that it is one."""
    stream, dry = io.StringIO(), [False]
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(stream))
    logger.handlers[0].setFormatter(logging.Formatter("%(message)s"))
    shorten(logger, lambda: dry[0])
    logger.info("Building DAG of jobs...")
    dry[0] = True
    logger.info("ten lines", extra={"event": "job_info"})
    assert stream.getvalue().split() == ["ten", "lines"]

"""Which jobs that fail are tried again."""

import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
from quire.run.second_attempts import only_for_memory

SAID = {
    "damaged": "03:15:24 quire quire: error: a.fq: is truncated.\n",
    "crashed": "03:15:23 quire work\nFatal Python error: Segmentation fault\n\nThread 0x1:\n  File a.py\n",
    "of a process that crashed": "Fatal Python error: Bus error\n\nquire: error: memory ran out: a process of a\n",
    "lacking": "03:15:24 quire quire: error: memory ran out in rule map_unit; give it more.\n",
    "killed": "03:15:23 quire.align at work\n",
    "unbegun": None,
}


def job(number: int, folder: Path, name: str) -> SimpleNamespace:
    """What is used of a job of Snakemake, at its first of three attempts."""
    log = folder / f"{number}.log"
    if (text := SAID[name]) is not None:
        log.write_text(text)
    one = SimpleNamespace(jobid=number, log=[str(log)], restart_times=2, _attempt=1)
    one.is_group = lambda: False
    return one


def told_of(number: int, *running: SimpleNamespace, said: str | None = None) -> None:
    """The handler, told that a job failed, and what Slurm or its plugin said of it."""
    logger = logging.Logger("test")
    only_for_memory(logger, lambda: running)
    only_for_memory(logger, lambda: running)
    assert len(logger.handlers) == 1
    logger.error("failed", extra={"event": "job_error", "jobid": number, "rule_msg": said})
    logger.error("nothing else uses attempts up", extra={"event": "error", "jobid": number})


@pytest.mark.parametrize(
    ("name", "attempt"),
    [
        *(("damaged", 3), ("lacking", 1), ("killed", 1), ("unbegun", 1)),
        *(("crashed", 3), ("of a process that crashed", 3)),
    ],
)
def test_a_job(name: str, attempt: int, tmp_path: Path) -> None:
    """Snakemake begins a job again while restart_times > attempt - 1."""
    failed, other = job(1, tmp_path, name), job(2, tmp_path, "damaged")
    told_of(1, failed, other)
    assert (failed._attempt, other._attempt) == (attempt, 1)


FURTHER = "For further error details see the cluster/cloud log and the log files of the involved rule(s)."


@pytest.mark.parametrize(
    ("said", "attempt"),
    [
        (
            "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: big'.\n    sbatch",
            3,
        ),
        ("Job submission failed with exception: no such account", 3),
        ("SLURM-job '12' failed, SLURM status is: 'CANCELLED'. Reason: None.", 3),
        ("SLURM-job '12' failed, SLURM status is: 'TIMEOUT'. Detailed failure reason unavailable", 3),
        ("SLURM-job '12' failed, SLURM status is: 'OUT_OF_MEMORY'. Reason: Unknown.", 1),
        ("SLURM-job '12' failed due to a node failure, SLURM status is: 'NODE_FAIL'.", 1),
        ("", 1),
    ],
)
def test_a_job_of_slurm(said: str, attempt: int, tmp_path: Path) -> None:
    """One that was refused, cancelled or too long has said nothing in its log, as one that was killed."""
    failed = job(1, tmp_path, "unbegun")
    told_of(1, failed, said=said + FURTHER)
    assert failed._attempt == attempt


def test_what_an_earlier_run_said_does_not_count(tmp_path: Path) -> None:
    """Its logs go when the job begins, an earlier attempt's is kept; a dry run and others' logs change nothing."""
    logs: list[Path | None] = [None]
    logger = logging.Logger("test")
    failed = job(1, tmp_path, "damaged")
    only_for_memory(logger, lambda: [failed], lambda: logs[0])
    begun = {"event": "job_info", "jobid": 1, "log": failed.log}

    def remains() -> bool:
        logger.info("ten lines", extra=begun)
        return Path(failed.log[0]).exists()

    assert remains()
    logs[0] = tmp_path / "elsewhere"
    assert remains()
    logs[0] = tmp_path
    begun["jobid"] = 2
    kept = Path(f"{failed.log[0]}.attempt_1")
    kept.write_text("of an earlier run")
    assert not remains()
    assert not kept.exists()
    assert not remains()  # it was refused: there was no log to keep
    assert not list(tmp_path.iterdir())
    Path(failed.log[0]).write_text(str(SAID["lacking"]))
    assert not remains()
    assert Path(f"{failed.log[0]}.attempt_2").read_text() == SAID["lacking"]


@pytest.mark.parametrize(
    ("names", "attempt"), [(["killed", "unbegun"], 1), (["killed", "lacking"], 1), (["killed", "damaged"], 3)]
)
def test_a_group(names: list[str], attempt: int, tmp_path: Path) -> None:
    """Snakemake tells the failure of each of its jobs, whichever failed."""
    jobs = [job(number, tmp_path, name) for number, name in enumerate(names)]
    group = SimpleNamespace(jobs=jobs, restart_times=2, _attempt=1, is_group=lambda: True)
    told_of(0, group)
    assert group._attempt == attempt


def test_a_job_without_a_log(tmp_path: Path) -> None:
    """A target's, which cannot fail by itself, but may be told of."""
    target = job(1, tmp_path, "killed")
    target.log = []
    told_of(1, target)
    assert target._attempt == 1

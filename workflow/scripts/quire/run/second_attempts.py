"""Which jobs that fail are tried again: those that were killed, or whose memory ran out. No others.

Snakemake's `retries` begins every job again that fails, whatever the reason: a damaged file would be mapped twice, and
on a cluster wait for a machine twice, for the same sentence. A job that says in its log what is wrong is therefore
given no further attempt. One that says nothing was killed: by the kernel, by Slurm (OUT_OF_MEMORY), or with its
machine; but not where it crashed, or where Slurm refused it, cancelled it, or ended it for its time.

What a log says counts only if it is of this attempt. Snakemake removes a log where the job begins its work, which on a
cluster may never come; here it goes when the job is submitted. That of an earlier attempt is kept beside it.
"""

import glob
import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from quire.errors import MEMORY
from quire.run.job import crash_of_log, sentence_of_log

# What Snakemake's plugin for Slurm says of jobs that more memory does not help.
_OF_SLURM = re.compile(
    r"sbatch failed|submission failed|failed array sbatch|SLURM status is: '(?:CANCELLED|TIMEOUT|DEADLINE)"
)


class _OnlyForMemory(logging.Handler):
    """Hears of each job before it begins, and if it fails before Snakemake decides whether to begin it again."""

    def __init__(self, running: Callable[[], Iterable[Any]], logs: Callable[[], Path | None]) -> None:
        super().__init__()
        self.running, self.logs = running, logs
        self.begun: dict[int, int] = {}  # how often, by the number of the job

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a record of a job that begins or fails."""
        event = getattr(record, "event", "")
        if event == "job_info":
            self._begin(record)
        elif event == "job_error":
            self._fail(record)

    def _begin(self, record: logging.LogRecord) -> None:
        """Take away what the log of a job holds: a job that is killed at once would seem to say it."""
        folder, number = self.logs(), record.__dict__["jobid"]
        if folder is None:
            return
        attempts = self.begun[number] = self.begun.get(number, 0) + 1
        for log in map(Path, record.__dict__["log"]):
            if log.is_relative_to(folder):
                with suppress(OSError):
                    _clear(log, attempts)

    def _fail(self, record: logging.LogRecord) -> None:
        """Use up the attempts of a job, or of the group that it is in, if its log or Slurm says why it failed."""
        by_slurm = _OF_SLURM.search(str(record.__dict__.get("rule_msg") or ""))
        for running in list(self.running()):
            jobs = list(running.jobs) if running.is_group() else [running]
            logs = [Path(job.log[0]) for job in jobs if job.log]
            # Of a group Snakemake does not say which job it was; those that ended well, or never began, say nothing.
            is_it = any(job.jobid == record.__dict__["jobid"] for job in jobs)
            if is_it and (by_slurm or not all(map(may_help, logs))):
                # Not by its setter: that forgets what memory the job holds, which is not free yet.
                running._attempt = running.restart_times + 1


def _clear(log: Path, attempt: int) -> None:
    """Keep the log of an earlier attempt of this run under another name, and remove those of an earlier run."""
    if attempt > 1:
        log.replace(f"{log}.attempt_{attempt - 1}")
        return
    for old in [*log.parent.glob(f"{glob.escape(log.name)}.attempt_*"), log]:
        old.unlink()


def may_help(log: Path) -> bool:
    """Whether more memory may help a job that failed, by its log: it lacked memory, or was killed without a word."""
    said = sentence_of_log(log)
    return crash_of_log(log) is None and (said is None or MEMORY in said)


def only_for_memory(
    logger: logging.Logger,
    running: Callable[[], Iterable[Any]],
    logs: Callable[[], Path | None] = lambda: None,
) -> None:
    """Let Snakemake try only those jobs again whose memory may have run out.

    Args:
        logger: Snakemake's, which is told of a job's failure first.
        running: gives the jobs, and groups of jobs, that run; only asked once a job has failed.
        logs: gives the folder of the logs of jobs that are truly begun; None in a dry run. Other logs are left alone.
    """
    if not any(isinstance(handler, _OnlyForMemory) for handler in logger.handlers):
        logger.addHandler(_OnlyForMemory(running, logs))

"""Short terminal output: one line when a job begins and one when it ends, with its time and its reads per second.

Snakemake prints a dozen lines for each job. They stay in its own log file, which it names at the end of a run.
Warnings, and errors of no job with a log, are printed unchanged. Records are distinguished by their `event`, which
Snakemake's interface for logger plugins defines.

Jobs write their progress into their logs (`quire.progress`), which on a cluster lie on a shared file system. A thread
of the first Snakemake process reads them periodically and logs it. Nothing waits for the thread.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from quire.errors import QuireError
from quire.progress import DONE
from quire.run.job import describe, earlier_failure, why_it_failed

# Exceptions with which Snakemake reports the rule's location and the command of a failed job.
_FAILED = ("RuleException", "CalledProcessError")
PROGRESS = "quire_progress"  # attribute of the records about long jobs, which are printed
SECONDS_BETWEEN_LOOKS = 30
CHECKPOINTS = frozenset({"pack_reference", "split_intervals"})  # rules after which Snakemake plans more jobs
_TAIL = 1 << 16  # bytes read from the end of a log
_RATE = re.compile(r"[\d,]+ (?:reads mapped, [\d,]+ reads/s|records recovered from .*)")


class ShortFormatter(logging.Formatter):
    """Formatter that shortens Snakemake's records about jobs, and leaves all others to the previous formatter."""

    def __init__(
        self,
        handler: logging.Handler,
        whole_words: Callable[[], bool] = lambda: False,
        kept: str = "",
        plan: Callable[[], list[str]] = list,
    ) -> None:
        """Replace the formatter of a handler, except while `whole_words` asks for the full output."""
        super().__init__()
        self.whole_words = whole_words
        self.kept = kept  # the message that ends a run without jobs
        self.plan = plan  # the lines that end a dry run
        self.handler = handler
        self.whole = handler.formatter or logging.Formatter()
        self.begun: dict[int, logging.LogRecord] = {}  # by number of the job
        self.failed: set[int] = set()  # numbers of jobs
        self.repeating: set[int] = set()  # numbers of those that fail again with the same sentence, which is not told
        self.is_running = True  # until the end of the last job
        self.ended: list[str] = []  # lines held back until the progress, which follows
        self.checkpoints: set[str] = set()  # still to come, or done a moment ago: the number of jobs is not known
        self.last = ""  # rule of the job that ended last

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, or nothing."""
        if self.whole_words():
            ends = str(record.msg).startswith("This was a dry-run")
            return "\n".join([self.whole.format(record), *(self.plan() if ends else ())])
        # Keeps Snakemake from printing an empty line before a job.
        self.handler.__dict__["last_msg_was_job_info"] = True
        event, clock = str(getattr(record, "event", "")), time.strftime("%H:%M:%S", time.localtime(record.created))
        if event in ("workflow_started", "resources_info", "job_started"):
            return ""
        if event == "run_info":
            self.is_running = True
            self.checkpoints = CHECKPOINTS & record.__dict__["stats"].keys()
            return f"{clock}  {'at least ' if self.checkpoints else ''}{_jobs(record.__dict__['stats'])}"
        if event == "job_info":
            number = record.__dict__["jobid"]
            self.begun[number] = record
            self.is_running = True
            if number in self.failed and any(earlier_failure(Path(log)) for log in record.__dict__["log"]):
                self.repeating.add(number)
                return ""
            again = ", again with twice the memory" if number in self.failed else ""
            return f"{clock}  {name_of(record)}{again}" if _makes_something(record) else ""
        if event == "group_error":
            return _group_that_failed(record, clock)
        if event == "job_error":
            self.is_running = True  # a target alone has no plan
            number = record.__dict__.get("jobid", -1)
            begun = self.begun.pop(number, None)
            self.failed.add(number)
            if begun and number not in self.repeating and begun.__dict__["log"]:
                # Snakemake reports every job of a failed group as failed, also those that succeeded or never began.
                if record.__dict__.get("indent") and not why_it_failed("", Path(begun.__dict__["log"][0])):
                    return ""
                lasted = f"{record.created - begun.created:,.1f} s"
                failed = f"{clock}  {_short_name(begun)} failed after {lasted}; its log: {begun.__dict__['log'][0]}"
                return "\n".join([failed, *_reason(record)])
        if event == "job_finished":
            begun = self.begun.pop(record.__dict__["job_id"], None)
            self.last = begun.__dict__["rule_name"] if begun else ""
            if begun is None or _makes_something(begun):
                self.ended.append(f"{clock}  {_end(begun, record)}")
            return ""
        if event == "progress":
            lines, self.ended = self.ended, []
            self.is_running = record.__dict__.get("done") != record.__dict__.get("total")
            done = f"steps done: {record.__dict__['done']}" if self.checkpoints else self.whole.format(record)
            self.checkpoints.discard(self.last)  # Snakemake plans after this line
            return "\n".join([*lines[:-1], f"{lines[-1]}; {done}"] if lines else [done])
        self.is_running &= record.levelno < logging.ERROR and record.msg != self.kept
        chatter = self.is_running and record.levelno <= logging.INFO and not event and not hasattr(record, PROGRESS)
        return "" if chatter or record.__dict__.get("exception") in _FAILED else self.whole.format(record)


def _reason(record: logging.LogRecord) -> list[str]:
    """Return the reason of a failed job that its log cannot contain: Slurm refused it, or ended it."""
    lines = str(record.__dict__.get("rule_msg") or "").splitlines()
    return [" " * 10 + lines[0]] if lines else []  # Snakemake's own log has the remaining lines: the command of sbatch


def _group_that_failed(record: logging.LogRecord, clock: str) -> str:
    """Return a line for a group in which no job gives a reason; nothing if one does, since that job has a line."""
    jobs: list[dict[str, Any]] = record.__dict__["job_error_info"]
    if any(why_it_failed("", Path(job["log"][0])) for job in jobs if job["log"]):
        return ""
    rules = ", ".join(sorted({job["rule_name"] for job in jobs}))
    logs = [*record.__dict__["aux_logs"], *(log for job in jobs for log in job["log"][:1] if Path(log).exists())]
    named = f"; see {', '.join(map(str, logs))}" if logs else ""
    return f"{clock}  a group of {len(jobs)} jobs ({rules}) failed without an error message{named}"


def _makes_something(begun: logging.LogRecord) -> bool:
    """Return True if a job has outputs; a target has none and only waits for other jobs."""
    return bool(begun.__dict__.get("output", True))


def _end(begun: logging.LogRecord | None, ended: logging.LogRecord) -> str:
    """Return the job that ended, its time since it began or was submitted, and its mapping rate, if it mapped reads."""
    if begun is None:
        return ended.getMessage()
    mapped = begun.__dict__["rule_name"] == "map_unit"
    logs = [log for log in map(Path, begun.__dict__["log"] if mapped else ()) if log.exists()]
    rates = [rate for log in logs for rate in _RATE.findall(log.read_text("utf-8", "replace"))]
    return f"{_short_name(begun)} done in {ended.created - begun.created:,.1f} s" + (f", {rates[-1]}" if rates else "")


def _jobs(stats: Mapping[str, int]) -> str:
    """Return the number of jobs of a run by rule, as text."""
    rules = [f"{name} x {count}" if count > 1 else name for name, count in stats.items() if name != "total"]
    return f"{stats['total']} jobs: {', '.join(rules)}"


def name_of(record: logging.LogRecord) -> str:
    """Return a name for a job: the message of its rule, or the name of the rule and its wildcards."""
    return str(record.__dict__["rule_msg"] or _short_name(record))


def _short_name(record: logging.LogRecord) -> str:
    """Return the name of a job's rule and its wildcards."""
    return f"{record.__dict__['rule_name']} {'.'.join(record.__dict__['wildcards'].values())}".rstrip()


def shorten(
    logger: logging.Logger,
    whole_words: Callable[[], bool] = lambda: False,
    kept: str = "",
    plan: Callable[[], list[str]] = list,
) -> None:
    """Make the terminal's handler print short lines from now on.

    `whole_words` returns True while the full output is wanted (a dry run), which `plan` ends. `kept` is Snakemake's
    message for a run without jobs, which is printed.
    """
    for handler in logger.handlers:
        to_terminal = isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler)
        if to_terminal and handler.formatter is not None and not isinstance(handler.formatter, ShortFormatter):
            handler.setFormatter(ShortFormatter(handler, whole_words, kept, plan))


def watch(logger: logging.Logger, seconds: float = SECONDS_BETWEEN_LOOKS) -> None:
    """Log periodically the progress of the jobs that a logger's handlers have seen begin (`short_log.shorten`)."""
    formatters = [handler.formatter for handler in logger.handlers if isinstance(handler.formatter, ShortFormatter)]
    said: dict[str, str] = {}

    def look_again() -> None:
        while True:
            time.sleep(seconds)
            for formatter in formatters:
                for line in lines_of(formatter.begun, said):
                    logger.info(line, extra={PROGRESS: True})

    if formatters:
        try:
            threading.Thread(target=look_again, name="quire-progress", daemon=True).start()
        except RuntimeError as error:
            raise QuireError(describe(error)) from None


def lines_of(begun: Mapping[int, logging.LogRecord], said: dict[str, str]) -> list[str]:
    """Return a line for each job whose log has new progress; `said` holds the last progress by log and is updated."""
    lines = []
    for job in list(begun.values()):
        for log in job.__dict__["log"]:
            far = _last_said(Path(log), job.created)
            if far and said.get(log) != far:
                said[log] = far
                lines.append(f"{time.strftime('%H:%M:%S')}  {name_of(job)}: {far}")
    return lines


def _last_said(log: Path, begun: float) -> str | None:
    """Return the last progress in a log; None if there is none, or if the log is of an earlier run."""
    try:
        with log.open("rb") as stream:
            size = log.stat().st_size
            if log.stat().st_mtime < begun - 1:
                return None
            stream.seek(max(0, size - _TAIL))
            found = DONE.findall(stream.read().decode(errors="replace"))
    except OSError:
        return None
    return found[-1] if found else None

"""Fewer words on the terminal: a line where a job begins and one where it ends, with its time and its reads per second.

Snakemake says a dozen lines of each job. They stay in its own log file, which it names at the end of a run, and errors
and warnings stay on the terminal as they are.
"""

import logging
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

_CHATTER = re.compile(
    r"Select jobs to execute|Execute \d+ jobs|DAG of jobs will be updated|Updating checkpoint dependencies"
    r"|Touching output file|Removing temporary output"
    r"|Assuming unrestricted shared|Building DAG of jobs|Using shell:|Provided cores:|Rules claiming more threads"
    r"|Conda environments: ignored"
)
_RATE = re.compile(r"[\d,]+ (?:reads mapped, [\d,]+ reads/s|records taken back from .*)")


class ShortFormatter(logging.Formatter):
    """Shortens what Snakemake says of jobs, and leaves everything else to the formatter that was there before."""

    def __init__(self, handler: logging.Handler, whole_words: Callable[[], bool] = lambda: False) -> None:
        """Take the place of the formatter of a handler that has one, but where `whole_words` are asked for."""
        super().__init__()
        self.whole_words = whole_words
        self.handler = handler
        self.whole = handler.formatter or logging.Formatter()
        self.begun: dict[int, logging.LogRecord] = {}  # by the number of the job
        self.ended: list[str] = []  # lines that wait for the progress, which is told next

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, or nothing."""
        if self.whole_words():
            return self.whole.format(record)
        self.handler.__dict__["last_msg_was_job_info"] = True  # Snakemake's leaves a line empty before a job otherwise
        event, clock = str(getattr(record, "event", "")), time.strftime("%H:%M:%S", time.localtime(record.created))
        if event == "workflow_started":
            return ""
        if event == "run_info":
            return f"{clock}  {_jobs(record.__dict__['stats'])}"
        if event == "job_info":
            self.begun[record.__dict__["jobid"]] = record
            return f"{clock}  {name_of(record)}"
        if event == "job_error":
            self.begun.pop(record.__dict__.get("jobid", -1), None)
        if event == "job_finished":
            self.ended.append(f"{clock}  {record.getMessage()}{self._effort(record)}")
            return ""
        if event == "progress":
            lines, self.ended = self.ended, []
            done = self.whole.format(record)
            return "\n".join([*lines[:-1], f"{lines[-1]}; {done}"] if lines else [done])
        said = self.whole.format(record)
        return "" if record.levelno <= logging.INFO and _CHATTER.match(said) else said

    def _effort(self, record: logging.LogRecord) -> str:
        """The time of a job since it was begun or submitted, and how fast it mapped, if it did."""
        begun = self.begun.pop(record.__dict__["job_id"], None)
        if begun is None:
            return ""
        mapped = begun.__dict__["rule_name"] == "map_unit"
        rates = [rate for log in begun.__dict__["log"] for rate in _rates(Path(log))] if mapped else []
        return f" in {record.created - begun.created:,.1f} s" + (f", {rates[-1]}" if rates else "")


def _jobs(stats: Mapping[str, int]) -> str:
    """How many jobs a run has now, by rule."""
    rules = [f"{name} x {count}" if count > 1 else name for name, count in stats.items() if name != "total"]
    return f"{stats['total']} jobs: {', '.join(rules)}"


def name_of(record: logging.LogRecord) -> str:
    """What a job is: the message of its rule, or the name of this and of what it works on."""
    of_record = record.__dict__
    return of_record["rule_msg"] or f"{of_record['rule_name']} {'.'.join(of_record['wildcards'].values())}".rstrip()


def _rates(log: Path) -> list[str]:
    return _RATE.findall(log.read_text(errors="replace")) if log.exists() else []


def shorten(logger: logging.Logger, whole_words: Callable[[], bool] = lambda: False) -> None:
    """Let the handler of the terminal shorten from now on, but while `whole_words` are asked for (a dry run)."""
    for handler in logger.handlers:
        to_terminal = isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler)
        if to_terminal and handler.formatter is not None and not isinstance(handler.formatter, ShortFormatter):
            handler.setFormatter(ShortFormatter(handler, whole_words))

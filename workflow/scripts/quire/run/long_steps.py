"""What the terminal is told of jobs that take long: how far each is, by its own log, wherever it runs.

Jobs say it in their logs (`quire.progress`), which on a cluster lie on a file system that all machines see. A thread of
the first Snakemake process looks there now and then; nothing waits for it, and it ends with the process.
"""

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from quire.progress import DONE
from quire.run.short_log import ShortFormatter, name_of

SECONDS_BETWEEN_LOOKS = 30
_TAIL = 1 << 16  # bytes of a log that are looked at


def watch(logger: logging.Logger, seconds: float = SECONDS_BETWEEN_LOOKS) -> None:
    """Tell now and then how far the jobs are that a logger's handlers were told of (`short_log.shorten`)."""
    formatters = [handler.formatter for handler in logger.handlers if isinstance(handler.formatter, ShortFormatter)]
    said: dict[str, str] = {}

    def look_again() -> None:
        while True:
            time.sleep(seconds)
            for formatter in formatters:
                for line in lines_of(formatter.begun, said):
                    logger.info(line)

    if formatters:
        threading.Thread(target=look_again, name="quire-progress", daemon=True).start()


def lines_of(begun: Mapping[int, logging.LogRecord], said: dict[str, str]) -> list[str]:
    """A line for each job that says more than it said before, by its log.

    Args:
        begun: what Snakemake said of the jobs that run, or wait for a machine of a cluster.
        said: what was told of each job, by the path of its log; brought up to date.
    """
    lines = []
    for job in list(begun.values()):
        for log in job.__dict__["log"]:
            far = _last_said(Path(log), job.created)
            if far and said.get(log) != far:
                said[log] = far
                lines.append(f"{time.strftime('%H:%M:%S')}  {name_of(job)}: {far}")
    return lines


def _last_said(log: Path, begun: float) -> str | None:
    """How far a log says that its job is; None where it does not, or is of an earlier run."""
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

"""Progress of long jobs on the terminal, taken from their logs, on whichever machine they run.

Jobs write their progress into their logs (`quire.progress`), which on a cluster lie on a shared file system. A thread
of the first Snakemake process reads them periodically. Nothing waits for the thread, and it ends with the process.
"""

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from quire.progress import DONE
from quire.run.short_log import PROGRESS, ShortFormatter, name_of

SECONDS_BETWEEN_LOOKS = 30
_TAIL = 1 << 16  # bytes read from the end of a log


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
        threading.Thread(target=look_again, name="quire-progress", daemon=True).start()


def lines_of(begun: Mapping[int, logging.LogRecord], said: dict[str, str]) -> list[str]:
    """Return a line for each job whose log has new progress.

    Args:
        begun: Snakemake's records of the jobs that run, or wait for a machine of a cluster.
        said: last progress reported for each job, by the path of its log; updated.
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

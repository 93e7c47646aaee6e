"""Progress and remaining time of a job, in its log, from which the terminal shows them (`quire.run.short_log`)."""

import logging
import re
import time
from collections.abc import Callable

SECONDS_BETWEEN = 10
DONE = re.compile(r"^[\d:.]+ \S+ (.*, [\d.]+ % done, [\d.]+ \w+ left)$", re.MULTILINE)
"""Progress line of a job's log; the group is its text without time and logger."""


class Progress:
    """Periodic log lines with the share of a step that is done and the remaining time at the current pace."""

    def __init__(self, log: logging.Logger) -> None:
        """Begin a step that is reported to `log`."""
        self._log = log
        self.start = self._last = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Return the seconds since the step began."""
        return max(time.monotonic() - self.start, 1e-9)

    def tell_count(self, done: int, total: int, what: str) -> None:
        """Report that `done` of `total` items of the kind `what` are done."""
        self.tell(lambda: f"{done} of {total} {what}", lambda: done / total if total else None)

    def tell(self, said: Callable[[], str], share_done: Callable[[], float | None]) -> None:
        """Report what is done, and the remaining time if the share is known, unless the last report is too recent."""
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN:
            return
        self._last, share = now, share_done()
        if share is None or not 0 < share <= 1:
            self._log.info("%s", said())
        else:
            left = duration((now - self.start) * (1 - share) / share)
            self._log.info("%s, %.1f %% done, %s left", said(), 100 * share, left)


def duration(seconds: float) -> str:
    """Return a duration in words: `50 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

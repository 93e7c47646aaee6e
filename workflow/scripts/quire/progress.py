"""How far a job is and how long it goes on, in its log: from there the terminal is told (`quire.run.short_log`)."""

import logging
import re
import time
from collections.abc import Callable

SECONDS_BETWEEN = 10
DONE = re.compile(r"^[\d:.]+ \S+ (.*, [\d.]+ % done, [\d.]+ \w+ left)$", re.MULTILINE)
"""A line of a job's log that says how far it is; the group is what it says."""


class Progress:
    """Says now and then how much of a step is done, and how long the rest takes at the pace so far."""

    def __init__(self, log: logging.Logger) -> None:
        """Begin a step; `log` is told."""
        self._log = log
        self.start = self._last = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return max(time.monotonic() - self.start, 1e-9)

    def tell_count(self, done: int, total: int, what: str) -> None:
        """Say that so many of `what` are done."""
        self.tell(lambda: f"{done} of {total} {what}", lambda: done / total if total else None)

    def tell(self, said: Callable[[], str], share_done: Callable[[], float | None]) -> None:
        """Say what was done, and what it means for the rest, unless that was said a moment ago.

        Args:
            said: called for what was done.
            share_done: called for the share of the step, from 0 to 1; None where it is not known.
        """
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
    """In words: `50 s`, `12 min`, `3.4 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

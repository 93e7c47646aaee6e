"""Time that threads spend on each kind of work, for the last lines of the log, which show the bottleneck."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

_IMPORTED = time.monotonic()


def seconds_of_process() -> float:
    """Return the age of this process in seconds; outside Linux the time since this module was imported."""
    try:
        begun = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return float(Path("/proc/uptime").read_text().split()[0]) - begun
    except (OSError, ValueError, IndexError):
        return time.monotonic() - _IMPORTED


class TimeSpent:
    """Seconds by kind of work, summed over all threads that use the object.

    Attributes:
        seconds: seconds by kind of work, in the order of first use.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = Lock()

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count the time of a block, also if it ends with an exception."""
        start = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[what] += time.monotonic() - start

    def shares(self, elapsed: float) -> str:
        """Return a log line with the elapsed seconds and the percentage of each kind of work."""
        elapsed = max(elapsed, 1e-9)
        parts = (f"{what} {100 * seconds / elapsed:.0f} %" for what, seconds in self.seconds.items())
        return f"of {elapsed:.1f} s: {', '.join(parts)}"

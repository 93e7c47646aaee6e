"""What threads spend their time on: for the last lines of the log, which name the next bottleneck by a figure."""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

_IMPORTED = time.monotonic()


def seconds_of_process() -> float:
    """How long this process lives, to a hundredth of a second; outside of Linux since this module was imported."""
    try:
        begun = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return float(Path("/proc/uptime").read_text().split()[0]) - begun
    except (OSError, ValueError, IndexError):
        return time.monotonic() - _IMPORTED


class TimeSpent:
    """Seconds by what they were spent on, of all threads that use it.

    Attributes:
        seconds: by name, in the order of first use.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._lock = Lock()

    @contextmanager
    def on(self, what: str) -> Iterator[None]:
        """Count a block, also one that ends in an error."""
        start = time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self.seconds[what] += time.monotonic() - start

    def shares(self, elapsed: float) -> str:
        """A line for the log: the seconds that went by, and each of `seconds` in percent of them."""
        elapsed = max(elapsed, 1e-9)
        parts = (f"{what} {100 * seconds / elapsed:.0f} %" for what, seconds in self.seconds.items())
        return f"of {elapsed:.1f} s: {', '.join(parts)}"

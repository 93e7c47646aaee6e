"""What threads spend their time on: for the last lines of the log, which name the next bottleneck by a figure."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


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

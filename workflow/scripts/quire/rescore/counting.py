"""A VCF's records counted while its parts are put together, several stretches at a time."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from os import getpid
from types import TracebackType

from quire.errors import QuireError
from quire.rescore.processes import die_with
from quire.rescore.variant_counts import VariantCounter

_LEAST_BYTES = 4 << 20  # of lines that are counted in another process


class CountingPool:
    """Counts lines in processes of its own; a context manager.

    Attributes:
        counter: everything, once the block has ended.
    """

    def __init__(self, head: Sequence[str], processes: int) -> None:
        """Count below a header, with so many processes; with one, in this process alone."""
        self.counter = VariantCounter(head)
        self._head = list(head)
        self._pool = (
            ProcessPoolExecutor(processes, get_context("fork"), die_with, (getpid(),)) if processes > 1 else None
        )
        self._waiting: deque[Future[VariantCounter]] = deque()
        self._most = 2 * processes

    def __enter__(self) -> "CountingPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while self._waiting and kind is None:
                self._take()
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def add(self, lines: bytes) -> None:
        """Count whole lines."""
        if self._pool is None or len(lines) < _LEAST_BYTES:
            self.counter.merge(count(self._head, lines))
            return
        for begin, end in _stretches(lines):
            if len(self._waiting) >= self._most:
                self._take()
            self._waiting.append(self._pool.submit(count, self._head, lines[begin:end]))

    def _take(self) -> None:
        try:
            self.counter.merge(self._waiting.popleft().result())
        except BrokenProcessPool:
            raise QuireError(
                "a process of the job was killed, as happens where memory lacks; give the rule more memory (mem_mb) or "
                "fewer threads."
            ) from None


def _stretches(lines: bytes) -> list[tuple[int, int]]:
    """Begins and ends of runs of whole lines of at least _LEAST_BYTES, but for the last."""
    found, begin = [], 0
    while begin < len(lines):
        end = lines.find(b"\n", begin + _LEAST_BYTES) + 1 or len(lines)
        found.append((begin, end))
        begin = end
    return found


def count(head: Sequence[str], lines: bytes) -> VariantCounter:
    """Count lines below a header."""
    counter = VariantCounter(head)
    for line in lines.splitlines():
        counter.add(line)
    return counter

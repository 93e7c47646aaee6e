"""A pool of processes that count the records of a VCF while its parts are joined.

Each process has one counter, which is fetched only at the end, since a counter holds figures for each pair of samples
(48 MB for 1,000 samples). The counts do not depend on which process counted which record.
"""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from os import getpid
from threading import Barrier, BrokenBarrierError
from types import TracebackType
from typing import TypeVar

from quire.errors import QuireError
from quire.rescore.processes import KILLED, die_with
from quire.rescore.variant_counts import VariantCounter

Result = TypeVar("Result")
_LEAST_BYTES = 4 << 20  # fewer bytes of lines are counted in this process
_FETCHING_SECONDS = 600  # most that a process waits until the others are asked too
_own: tuple[VariantCounter, Barrier] | None = None  # set in the processes of the pool


class CountingPool:
    """A context manager that counts lines in several processes; `counter` is complete once the block has ended."""

    def __init__(self, head: Sequence[str], processes: int) -> None:
        """Start the processes, given the lines of the header; with 1, this process counts."""
        self.counter = VariantCounter(head)
        self._pool = None
        self._processes = processes if processes > 1 else 0
        if self._processes:
            context = get_context("fork")
            start = (getpid(), list(head), context.Barrier(processes))
            self._pool = ProcessPoolExecutor(processes, context, _start, start)
        self._waiting: deque[Future[None]] = deque()
        self._is_used = False

    def __enter__(self) -> "CountingPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def add(self, lines: bytes) -> None:
        """Count whole lines."""
        if self._pool is None or len(lines) < _LEAST_BYTES:
            _count(self.counter, lines)
            return
        self._is_used = True
        for begin, end in _stretches(lines):
            if len(self._waiting) >= 2 * self._processes:
                counted(self._waiting.popleft())
            self._waiting.append(self._pool.submit(_count_here, lines[begin:end]))

    def _finish(self) -> None:
        """Wait for the processes and add their counts."""
        while self._waiting:
            counted(self._waiting.popleft())
        if self._pool is None or not self._is_used:
            return
        fetched = deque(self._pool.submit(_fetch) for _ in range(self._processes))
        while fetched:
            self.counter.merge(counted(fetched.popleft()))


def counted(future: "Future[Result]") -> Result:
    """Return the result of a process of a pool; QuireError if it was killed."""
    try:
        return future.result()
    except (BrokenProcessPool, BrokenBarrierError):
        raise QuireError(KILLED) from None


def _stretches(lines: bytes) -> list[tuple[int, int]]:
    """Return start and end of runs of whole lines; all runs but the last have at least _LEAST_BYTES."""
    found, begin = [], 0
    while begin < len(lines):
        end = lines.find(b"\n", begin + _LEAST_BYTES) + 1 or len(lines)
        found.append((begin, end))
        begin = end
    return found


def _start(parent: int, head: Sequence[str], all_fetch: Barrier) -> None:
    """Initialise a process of the pool."""
    global _own
    die_with(parent)
    _own = VariantCounter(head), all_fetch


def _count_here(lines: bytes) -> None:
    assert _own is not None
    _count(_own[0], lines)


def _fetch() -> VariantCounter:
    """Return the counter of this process; each process answers once, since it waits until the others are asked."""
    assert _own is not None
    counter, all_fetch = _own
    all_fetch.wait(_FETCHING_SECONDS)
    return counter


def _count(counter: VariantCounter, lines: bytes) -> None:
    for line in lines.splitlines():
        counter.add(line)

"""A pool of processes that count the records of a VCF while its parts are joined.

Each process has one counter, which it sends back only at the end, since a counter holds figures for each pair of
samples (48 MB for 1,000 samples). The counts do not depend on which process counted which record.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from os import getpid

from quire.errors import QuireError
from quire.io.pedigree import Person
from quire.processes import KILLED, die_with
from quire.rescore.ploidy import PloidyMap
from quire.rescore.variant_counts import NO_PLOIDIES, VariantCounter

_FORK = get_context("fork")
_LEAST_BYTES = 4 << 20  # fewer bytes of lines are counted in this process


class CountingPool:
    """Counter of lines in several processes; see `counting_pool`."""

    def __init__(
        self,
        head: Sequence[str],
        processes: int,
        people: Sequence[Person] = (),
        ploidies: Mapping[str, PloidyMap] = NO_PLOIDIES,
    ) -> None:
        """Start the processes, given what a `VariantCounter` takes; with 1, this process counts."""
        self.counter = VariantCounter(head, people, ploidies)
        self.processes, self._pipes, self._sent = [], [], 0
        for _ in range(processes if processes > 1 else 0):
            ours, theirs = _FORK.Pipe()
            counter = VariantCounter(head, people, ploidies)
            self.processes.append(_FORK.Process(target=_count_all, args=(theirs, counter, getpid()), daemon=True))
            self.processes[-1].start()
            theirs.close()  # otherwise this process would not notice when the other ends
            self._pipes.append(ours)

    def add(self, lines: bytes) -> None:
        """Count whole lines; raise QuireError if a process was killed."""
        if not self._pipes or len(lines) < _LEAST_BYTES:
            _count(self.counter, lines)
            return
        begin = 0
        while begin < len(lines):
            end = lines.find(b"\n", begin + _LEAST_BYTES) + 1 or len(lines)
            with _killed_in_one_sentence():
                self._pipes[self._sent % len(self._pipes)].send_bytes(lines[begin:end])
            self._sent += 1
            begin = end

    def finish(self) -> None:
        """Add the counts of the processes that were sent lines."""
        used = self._pipes[: self._sent]
        with _killed_in_one_sentence():
            for pipe in used:
                pipe.send_bytes(b"")
            for pipe in used:
                self.counter.merge(pipe.recv())


@contextmanager
def counting_pool(
    head: Sequence[str],
    processes: int,
    people: Sequence[Person] = (),
    ploidies: Mapping[str, PloidyMap] = NO_PLOIDIES,
) -> Iterator[CountingPool]:
    """Yield a pool of processes that count lines; its `counter` is complete once the block has ended."""
    pool = CountingPool(head, processes, people, ploidies)
    try:
        yield pool
        pool.finish()
    finally:
        for process in pool.processes:
            process.kill()
            process.join()


@contextmanager
def _killed_in_one_sentence() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise QuireError(KILLED) from None


def _count_all(pipe: Connection, counter: VariantCounter, parent: int) -> None:
    """Count the lines that come through a pipe, until an empty message, and send the counter back."""
    die_with(parent)
    while lines := pipe.recv_bytes():
        _count(counter, lines)
    pipe.send(counter)


def _count(counter: VariantCounter, lines: bytes) -> None:
    for line in lines.splitlines():
        counter.add(line)

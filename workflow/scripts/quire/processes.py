"""Processes that share the work of one job, forked from a parent that has imported and opened everything.

A fork takes milliseconds, a separate job seconds of imports. A process takes its next unit when it is free, so a unit
with many reads delays no other. Results come back in the order of the units. Only a few units are begun ahead of the
results that were taken, so the results of a whole contig need not fit into memory.
"""

import ctypes
import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from quire.errors import MEMORY, QuireError

Unit = TypeVar("Unit")
Result = TypeVar("Result")
AHEAD = 4  # units per process that may be begun or done beyond the results taken: enough to wait for a slow one
KILLED = (
    f"{MEMORY}: a process of the job was killed, probably for lack of memory; give the rule more memory (mem_mb) or "
    "fewer threads."
)
_SET_PARENT_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
# The function and units of the forked processes. A global, since open files and mapped arrays cannot be sent to them.
_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def in_processes(
    function: Callable[[Unit], Result],
    units: Sequence[Unit],
    processes: int,
    prepare: Callable[[], object] = lambda: None,
) -> Iterator[Result]:
    """Yield function(unit) for all units, in their order, and keep no result that was yielded.

    At most AHEAD units for each process are begun, or done and held, beyond the yielded ones. Results, and a QuireError
    of the function, must pickle. With one process or unit, this process does everything. `prepare` is called once
    before the fork, for work that each process would otherwise repeat.
    """
    processes = min(processes, len(units))
    if processes > 1:
        prepare()
    # Imported objects stay: the garbage collector need not visit them, which would copy their pages in each process.
    gc.freeze()
    if processes <= 1:
        yield from map(function, units)
        return
    global _work
    _work = function, units
    try:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(processes, context, die_with, (os.getpid(),)) as pool:
            waiting: deque[Future[Result]] = deque()
            try:
                for number in range(len(units)):
                    if len(waiting) == AHEAD * processes:
                        yield waiting.popleft().result()
                    waiting.append(pool.submit(_run, number))
                while waiting:
                    yield waiting.popleft().result()
            except BrokenProcessPool:
                raise QuireError(KILLED) from None
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        _work = None


def _run(number: int) -> Any:
    assert _work is not None
    function, units = _work
    return function(units[number])


def die_with(parent: int) -> None:
    """Make this process end with its parent, even a killed one, and leave a terminal's interrupt to the parent."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

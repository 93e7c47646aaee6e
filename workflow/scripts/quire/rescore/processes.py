"""Work shared out among processes of one job: forked from a parent that has imported and opened everything already.

A fork costs milliseconds where a job of its own costs seconds of imports. What each process takes next is decided when
it is free, so that a unit with many reads holds up nobody else; results come back in the order of the units. Few
units are begun ahead of what has been taken: a job of a whole contig need not fit into memory.
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
AHEAD = 4  # units for each process, begun or done, beyond what has been taken: enough behind one that is slow
_SET_PARENT_DEATH_SIGNAL = 1  # prctl's PR_SET_PDEATHSIG
# What the processes are forked for. A module's variable, since open files and mapped arrays cannot be sent to them.
_work: tuple[Callable[[Any], Any], Sequence[Any]] | None = None


def in_processes(
    function: Callable[[Unit], Result],
    units: Sequence[Unit],
    processes: int,
    prepare: Callable[[], object] = lambda: None,
) -> Iterator[Result]:
    """Yield function(unit) of all units in their order, and hold no result that has been yielded.

    At most AHEAD units for each process are begun, or done and held, beyond those that have been yielded.

    Args:
        function: called in the processes; what it returns, and a QuireError that it raises, must pickle.
        units: what to do.
        processes: how many; with one, or one unit, everything happens in this process.
        prepare: called once before others are forked, with what each of them would have to do for itself.

    Raises:
        QuireError: one of the function's, or a process was killed.
    """
    processes = min(processes, len(units))
    if processes > 1:
        prepare()
    # What is imported stays: the garbage collector need not visit it, nor copy its pages in each process.
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
                raise QuireError(
                    f"{MEMORY}: a process of the job was killed, as happens where memory lacks; give the rule more "
                    "memory (mem_mb) or fewer threads."
                ) from None
            finally:
                pool.shutdown(cancel_futures=True)
    finally:
        _work = None


def _run(number: int) -> Any:
    assert _work is not None
    function, units = _work
    return function(units[number])


def die_with(parent: int) -> None:
    """End with the parent, also where that is killed; leave an interrupt of the terminal to it."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

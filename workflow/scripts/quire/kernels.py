"""Compilation of a run's kernels before its jobs run in parallel, once for each state of sources and processor.

`python -m quire.kernels LEVEL` compiles all of them for a level of x86-64, for wheels (`make wheel`) and images.
"""

import gc
import logging
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from importlib import import_module
from pathlib import Path
from typing import Any

from quire.errors import QuireError
from quire.kernel_list import LIST, Entry, all_entries, listed, with_callees
from quire.processes import KILLED, die_with
from quire.simd import stamps
from quire.sources import sources_of, state, states

log = logging.getLogger("quire.compiled")
_FOUND = states()  # before Numba and the kernels are imported
_OUT_OF_DATE = ImportError, AttributeError, TypeError  # names or fields that a later version of Quire lacks


def compile_stage(stage: str, threads: int, **options: bool) -> None:
    """Compile the kernels of a stage, unless they are; `options` select additional kernels.

    Raises:
        QuireError: the folder of compiled kernels cannot be written, or a process was killed.
    """
    began, name = time.time(), "-".join([stage, *(option for option, chosen in options.items() if chosen)])
    entries = listed(stage, **options)
    if stamps.are_compiled(name, entries.values()):
        log.info("the kernels of %s are compiled already", name)
        return
    compile_entries(entries, threads)
    if any(state(path) != _FOUND.get(path) for path in sources_of(entry.module for entry in entries.values())):
        log.warning("sources changed while the kernels of %s were compiled: the next run compiles them again", name)
    else:
        stamps.remember(name, entries.values(), began)
    log.info("the kernels of %s are compiled: %.1f s", name, time.time() - began)


def compile_entries(entries: Mapping[int, Entry], processes: int) -> None:
    """Compile the listed kernels that the cache lacks in several processes, each function once, callees first.

    A process keeps the code of a function for other kernels in a temporary folder, where the others find it. Of the
    functions whose callees are compiled, the one with the longest chain of callers comes first.
    """
    for module in {entry.module for entry in entries.values()}:
        with suppress(ImportError):
            import_module(module)  # once, before the processes fork
    missing = (number for number, entry in entries.items() if not (entry.part or _is_kept(entry)))
    entries = with_callees(entries, missing)
    gc.disable()  # Numba's millions of objects all stay alive; collecting garbage among them took a fifth of the time
    gc.freeze()
    chains = _chains(entries)
    order = TopologicalSorter({number: entry.needs for number, entry in entries.items()})
    order.prepare()
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(processes, context, _begin, (os.getpid(), folder)) as pool:
            running: dict[Future[str], int] = {}
            waiting: list[tuple[float, int]] = []
            try:
                while order.is_active():
                    for number in order.get_ready():
                        heappush(waiting, (-chains[number], number))
                    while waiting and len(running) < processes:
                        number = heappop(waiting)[1]
                        running[pool.submit(_compile, entries[number])] = number
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        if problem := future.result():
                            log.warning("%s: the list of kernels is out of date: %s", LIST, problem)
                        order.done(running.pop(future))
            except BrokenProcessPool:
                raise QuireError(KILLED) from None
            finally:
                pool.shutdown(cancel_futures=True)
    gc.enable()


def load_stage(stage: str, **options: bool) -> None:
    """Load the kernels of a stage into this process, before it forks others that would each load them."""
    for entry in listed(stage, **options).values():
        if not entry.part:
            _compile(entry)


def _chains(entries: Mapping[int, Entry]) -> dict[int, float]:
    """Return the seconds of the longest chain of callers of each entry, the entry included."""
    chains = {number: entry.seconds for number, entry in entries.items()}
    for number in sorted(entries, reverse=True):  # callers follow their callees
        for needed in entries[number].needs:
            chains[needed] = max(chains[needed], entries[needed].seconds + chains[number])
    return chains


# The next functions import Numba, which takes a second, when they need it.
def compile_for_installations(level: str, chosen: Mapping[int, Entry]) -> None:
    """Compile listed kernels for a level of x86-64, in a process that has not imported any.

    A wheel or an image has the result in `stamps.SHIPPED`, so that its first run need not compile.
    """
    from numba.core import config

    from quire.simd.processor import LEVELS

    os.environ[stamps.FOLDER] = str(stamps.SHIPPED / level)
    config.reload_config()  # Numba would do it later, when it sees the variable
    config.CPU_NAME, config.CPU_FEATURES = level, LEVELS[level]
    compile_entries(chosen, len(os.sched_getaffinity(0)))


def _begin(parent: int, folder: str) -> None:
    from quire.simd import compiled

    die_with(parent)
    compiled.parts = Path(folder)


def _is_kept(entry: Entry) -> bool:
    """Return True if a kernel's code is in the cache."""
    with suppress(*_OUT_OF_DATE):
        kernel, types = _kernel(entry)
        return bool(kernel.is_kept(types))
    return False


def _compile(entry: Entry) -> str:
    """Compile a function, or load it, and return what prevents it, if the list is of another version."""
    from numba.core.errors import NumbaError

    try:
        kernel, types = _kernel(entry)
        (kernel.part if entry.part else kernel).compile(types)
    except (*_OUT_OF_DATE, NumbaError) as error:
        return f"{entry.function}: {str(error).strip().splitlines()[0]}"
    return ""


def _kernel(entry: Entry) -> tuple[Any, tuple[Any, ...]]:
    from quire.simd.signatures import type_of

    return getattr(import_module(entry.module), entry.function.partition(":")[2]), tuple(map(type_of, entry.types))


if __name__ == "__main__":
    compile_for_installations(sys.argv[1], all_entries())

"""Shared parts of measurements on a card: times of whole calls and of each kernel, and the speed of a copy."""

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
from quire.device.card import Card, Kernel
from quire.device.choice import use_backend

from bench.common import measured_on

REPEATS = 5
Clock = Callable[[Card, Callable[[], Any]], float]  # returns the seconds of a launch
KERNEL_HEADER = ("kernel", "calls", "ms", "share", "registers", "threads/SM")


@contextmanager
def first_card() -> Iterator[Card | None]:
    """Yield the first available card and print its name; yield None and print the reason if there is none."""
    with use_backend("auto") as (backend, open_card):
        if open_card is None:
            print(f"not measured: {backend.reason}")
            yield None
        else:
            card = open_card()
            print(f"# {card.name}, {card.architecture}")
            measured_on(card.name)
            yield card
            card.release()  # programs started later need the card


def name_card(wanted: str) -> bool:
    """Record the name of the card for this backend in the run's line of JSON; return True if there is one."""
    with use_backend(wanted) as (backend, _):
        measured_on(backend.card)
        return backend.card is not None


def fastest(card: Card, work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the seconds of the fastest of some calls, after one that compiles and allocates."""
    work()
    times = []
    for _ in range(repeats):
        card.synchronize()
        start = time.perf_counter()
        work()
        card.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def median_time(card: Card, clock: Clock, launch: Callable[[], Any]) -> float:
    """Return the median seconds of a launch, after one that compiles."""
    launch()
    return median(clock(card, launch) for _ in range(REPEATS))


def seconds_by_events(_card: Card, launch: Callable[[], Any]) -> float:
    """Return the seconds that a launch takes on the card itself, between two events."""
    import cupy

    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / 1000


def clock_rate() -> float:
    """Return the highest clock of the card in use, in Hz."""
    import cupy

    return cupy.cuda.Device().attributes["ClockRate"] * 1e3


def resources(kernel: Kernel, threads: int, shared_bytes: int) -> tuple[object, object]:
    """Return the registers of a thread, and the threads that a multiprocessor holds at once, on a real card.

    Args:
        kernel: A kernel of the card.
        threads: Threads of a block.
        shared_bytes: Dynamic shared memory of a block.
    """
    if not hasattr(kernel.function, "ptr"):
        return "-", "-"
    from cupy_backends.cuda.api import driver

    function = kernel.function.ptr
    registers = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_NUM_REGS, function)
    return registers, threads * driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, shared_bytes)


@contextmanager
def profiled(card: Card) -> Iterator[None]:
    """Let a waiting profiler (`bench.counters`) observe this block; do nothing on an emulated card."""
    real = sys.modules.get("quire.device.cupy_card")
    if real is None or not isinstance(card, real.CupyCard):
        yield
        return
    from cupy.cuda import runtime

    runtime.profilerStart()
    try:
        yield
    finally:
        runtime.profilerStop()


def kernel_times(card: Card, work: Callable[[], object]) -> list[tuple[object, ...]]:
    """Return rows of KERNEL_HEADER for one call with a wait after each launch; "array functions" is the rest.

    Waiting removes the overlap of launches, so the sum exceeds the time of a normal call.
    """
    spent: dict[str, list[float]] = defaultdict(list)
    facts: dict[str, tuple[object, object]] = {}
    launch = Kernel.__call__

    def timed(kernel: Kernel, grid, block, *given, shared_bytes: int = 0) -> None:
        card.synchronize()
        start = time.perf_counter()
        launch(kernel, grid, block, *given, shared_bytes=shared_bytes)
        card.synchronize()
        spent[kernel.entry].append(time.perf_counter() - start)
        facts[kernel.entry] = resources(kernel, int(np.prod(block)), shared_bytes)

    Kernel.__call__ = timed
    try:
        with profiled(card):
            start = time.perf_counter()
            work()
            card.synchronize()
            total = time.perf_counter() - start
    finally:
        Kernel.__call__ = launch
    spent["array functions"] = [total - sum(map(sum, spent.values()))]
    rows = sorted(spent.items(), key=lambda item: -sum(item[1]))
    return [
        (name, len(times), f"{sum(times) * 1e3:.3f}", f"{sum(times) / total:.1%}", *facts.get(name, ("-", "-")))
        for name, times in rows
    ]


def upload_bandwidth(card: Card, size: int = 1 << 28, repeats: int = REPEATS) -> float:
    """Return the bytes per second from the host's staging memory to the card."""
    source = card.staging(size)
    source[:] = 1
    return size / fastest(card, lambda: card.upload_ahead(source, card.mark()).array(), repeats)


def copy_bandwidth(card: Card, words: int, repeats: int = REPEATS) -> float:
    """Return the bytes per second, read and written, of a copy within the card's memory."""
    source, target = card.zeros(words, np.uint64), card.empty(words, np.uint64)

    def copy() -> None:
        target[:] = source

    return 2 * source.nbytes / fastest(card, copy, repeats)

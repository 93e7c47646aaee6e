"""What measurements on a card share: times of whole calls and of each kernel, and the speed of a copy."""

import time
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from quire.device.card import Card, Kernel

REPEATS = 5


def fastest(card: Card, work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of the fastest of some calls, after one that compiles and takes memory."""
    work()
    times = []
    for _ in range(repeats):
        card.synchronize()
        start = time.perf_counter()
        work()
        card.synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def kernel_times(card: Card, work: Callable[[], object]) -> list[tuple[str, int, str, str]]:
    """Calls, milliseconds and share of each kernel in one call, each launch waited for; "array functions" is the rest.

    Waiting takes the overlap of launches away: the sum is more than the call takes by itself.
    """
    spent: dict[str, list[float]] = defaultdict(list)
    launch = Kernel.__call__

    def timed(kernel: Kernel, *given, **named) -> None:
        card.synchronize()
        start = time.perf_counter()
        launch(kernel, *given, **named)
        card.synchronize()
        spent[kernel.entry].append(time.perf_counter() - start)

    Kernel.__call__ = timed
    try:
        start = time.perf_counter()
        work()
        card.synchronize()
        total = time.perf_counter() - start
    finally:
        Kernel.__call__ = launch
    spent["array functions"] = [total - sum(map(sum, spent.values()))]
    rows = sorted(spent.items(), key=lambda item: -sum(item[1]))
    return [(name, len(times), f"{sum(times) * 1e3:.3f}", f"{sum(times) / total:.1%}") for name, times in rows]


def copy_bandwidth(card: Card, words: int, repeats: int = REPEATS) -> float:
    """Bytes a second, read and written, of a copy within the card's memory."""
    source, target = card.zeros(words, np.uint64), card.empty(words, np.uint64)

    def copy() -> None:
        target[:] = source

    return 2 * source.nbytes / fastest(card, copy, repeats)

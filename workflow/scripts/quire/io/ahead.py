"""Run a generator ahead of its consumer in a thread, with a bounded queue."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

Item = TypeVar("Item")
POLL_SECONDS = 0.1
# For the producer to notice that nobody listens. Not for ever: a generator that was dropped is closed by whichever
# thread collects garbage, which may hold a lock that the producer needs to end.
FAREWELL_SECONDS = 10.0


def ahead(start: Callable[[], Iterator[Item]], depth: int) -> Generator[Item, None, None]:
    """Yield what `start()` yields, produced by a helper thread that is at most `depth` items ahead; it begins at once.

    An exception of the producer is raised in the consumer, after the items that came before it. The thread ends when
    the consumer closes this generator (or drops it).
    """
    consumer = _consumer(start, depth)
    next(consumer)  # so that the thread begins, and closing the generator ends it
    return consumer  # type: ignore[return-value]


def _consumer(start: Callable[[], Iterator[Item]], depth: int) -> Generator[Item | None, None, None]:
    """`ahead`, with one item of no meaning before all others."""
    items: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(entry: tuple[Item | None, BaseException | None]) -> None:
        while not stopped.is_set():
            try:
                items.put(entry, timeout=POLL_SECONDS)
                return
            except queue.Full:
                continue

    def produce() -> None:
        failure: BaseException | None = None
        try:
            for item in start():
                put((item, None))
                if stopped.is_set():
                    return
        except BaseException as error:  # crosses to the consumer
            failure = error
        put((None, failure))

    worker = threading.Thread(target=produce, name="quire-ahead", daemon=True)
    worker.start()
    try:
        yield None
        while True:
            item, failure = items.get()
            if failure is not None:
                raise failure
            if item is None:
                return
            yield item
    finally:
        stopped.set()
        worker.join(FAREWELL_SECONDS)

"""Run a generator ahead of its consumer in a thread, with a bounded queue."""

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

Item = TypeVar("Item")
# Time for the producer to notice that the consumer has stopped. Limited, since a dropped generator is closed by the
# thread that collects garbage, which may hold a lock that the producer needs to end.
FAREWELL_SECONDS = 10.0


def ahead(start: Callable[[], Iterator[Item]], depth: int) -> Generator[Item, None, None]:
    """Yield the items of `start()`, which a helper thread produces up to `depth` items ahead.

    The thread starts at once, not at the first `next`. It ends when the consumer closes or drops this generator. An
    exception of the producer is raised in the consumer, after the items produced before it.
    """
    consumer = _consumer(start, depth)
    next(consumer)  # starts the thread, so that closing the generator ends it
    return consumer  # type: ignore[return-value]


def _consumer(start: Callable[[], Iterator[Item]], depth: int) -> Generator[Item | None, None, None]:
    """Yield None, then the items of `ahead`."""
    items: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def produce() -> None:
        failure: BaseException | None = None
        try:
            for item in start():
                items.put((item, None))
                if stopped.is_set():
                    return
        except BaseException as error:  # raised in the consumer
            failure = error
        items.put((None, failure))

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
        while not items.empty():  # a producer that waits for room puts one more item, and ends
            items.get()
        worker.join(FAREWELL_SECONDS)

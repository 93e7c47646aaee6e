"""Reading ahead ends as soon as its consumer does."""

import time
from collections.abc import Iterator

from quire.io.ahead import ahead


def test_a_producer_that_waits_for_room_ends_at_once() -> None:
    ended = []

    def numbers() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            ended.append(time.monotonic())

    began = time.monotonic()
    for _ in range(20):
        items = ahead(numbers, 2)
        assert next(items) == 0
        time.sleep(0.005)  # the queue is full now
        items.close()
    assert len(ended) == 20
    assert time.monotonic() - began < 0.8

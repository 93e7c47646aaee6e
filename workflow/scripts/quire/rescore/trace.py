"""Observation of the caller's steps, for `quire.rescore.why`: the code that makes a call tells what it knows.

The steps call `tell` with values that do not come back from them. No answer depends on the observer.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Observer = Callable[[str, Mapping[str, Any]], None]
"""Is given the name of a step and its facts."""
_observer: Observer | None = None


def tell(step: str, **facts: Any) -> None:
    """Tell the observer, if there is one, the facts of a step."""
    if _observer is not None:
        _observer(step, facts)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Tell an observer the steps that this process takes within the block."""
    global _observer
    before, _observer = _observer, observer
    try:
        yield
    finally:
        _observer = before

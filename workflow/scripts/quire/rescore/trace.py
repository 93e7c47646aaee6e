"""Observation of the caller's steps for `quire.rescore.why`: each step reports its facts.

The steps call `tell` with values that they do not return. No answer depends on the observer.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Observer = Callable[[str, Mapping[str, Any]], None]
"""A function that receives the name of a step and its facts."""
_observer: Observer | None = None


def tell(step: str, **facts: Any) -> None:
    """Report the facts of a step to the observer, if there is one."""
    if _observer is not None:
        _observer(step, facts)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Report the steps of this process to an observer while the block runs."""
    global _observer
    before, _observer = _observer, observer
    try:
        yield
    finally:
        _observer = before

"""What the caller says of its steps: `quire.rescore.region_counts` counts it, `quire.rescore.why` retells all of it.

The steps call `tell` where they know something that does not come back from them. No answer depends on who listens.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Listener = Callable[[str, Mapping[str, Any]], None]
"""Is given the name of a step and what is known there."""
_listener: Listener | None = None
_wanted: frozenset[str] | None = None  # what it listens to; None for all


def tell(step: str, **facts: Any) -> None:
    """Say what is known at a step, if somebody listens."""
    if _listener is not None and (_wanted is None or step in _wanted):
        _listener(step, facts)


def is_heard(step: str) -> bool:
    """Whether somebody listens to a step, so that it must be taken where it can be told."""
    return _listener is not None and (_wanted is None or step in _wanted)


@contextmanager
def listening(listener: Listener, wanted: frozenset[str] | None = None) -> Iterator[None]:
    """Listen to the steps that this process takes within the block; who listened before waits.

    Args:
        listener: is told.
        wanted: names of the steps that it listens to; None for all.
    """
    global _listener, _wanted
    before, _listener, _wanted = (_listener, _wanted), listener, wanted
    try:
        yield
    finally:
        _listener, _wanted = before

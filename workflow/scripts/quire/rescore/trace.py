"""What the caller says of its steps: `quire.rescore.region_counts` counts it, `quire.rescore.why` retells all of it.

The steps call `tell` where they know something that does not come back from them. No answer depends on who listens.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Listener = Callable[[str, Mapping[str, Any]], None]
"""Is given the name of a step and what is known there."""
_listener: Listener | None = None


def tell(step: str, **facts: Any) -> None:
    """Say what is known at a step, if somebody listens."""
    if _listener is not None:
        _listener(step, facts)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Listen to the steps that this process takes within the block; who listened before waits."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before

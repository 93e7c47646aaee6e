"""Examples and parameters of tests that only `make test-all` draws."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings


def examples(most: int) -> int:
    """Return the number of examples to draw: all of `most` in `make test-all`, a tenth in `make test`.

    The Hypothesis profile decides (`--hypothesis-profile quick`); a number passed to `settings` would override it.
    """
    return max(5, most * settings.default.max_examples // 100)


def some(count: int, values: Sequence[Any]) -> list[Any]:
    """Return values to parametrize with, of which `make test` takes the first `count` only."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.full) for value in values[count:])]

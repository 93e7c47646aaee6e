"""Number of examples that a property test draws."""

from hypothesis import settings


def examples(most: int) -> int:
    """Return the number of examples to draw: all of `most` in `make test-all`, a tenth in `make test`.

    The Hypothesis profile decides (`--hypothesis-profile quick`); a number passed to `settings` would override it.
    """
    return max(5, most * settings.default.max_examples // 100)

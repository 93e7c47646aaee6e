"""How many examples a property test draws."""

from hypothesis import settings


def examples(most: int) -> int:
    """Return the number of examples to draw: all of `most` in `make test-all`, a tenth in `make test`.

    The profile of Hypothesis decides (`--hypothesis-profile quick`); a number given to `settings` would override it.
    """
    return max(5, most * settings.default.max_examples // 100)

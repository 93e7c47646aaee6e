"""Number of different molecules in a library, by Picard's estimate (DuplicationMetrics.estimateLibrarySize).

N draws from X molecules give C = X (1 - exp(-N / X)) different ones (Lander and Waterman). The equation is solved for
X.
"""

import math

STEPS = 40


def estimate_library_size(pairs: int, unique_pairs: int) -> int | None:
    """Estimate the number of molecules in a library; None if no pair is a duplicate.

    Args:
        pairs: pairs examined.
        unique_pairs: pairs that are not duplicates.
    """
    if not 0 < unique_pairs < pairs:
        return None

    def excess(molecules: float) -> float:
        """Return the difference of the two sides, which decreases with `molecules` and is 0 at the solution."""
        return unique_pairs / molecules - 1 + math.exp(-pairs / molecules)

    # Bisection in multiples of the unique pairs, with Picard's number of steps.
    low, high = 1.0, 100.0
    while excess(high * unique_pairs) > 0:
        high *= 10
    for _ in range(STEPS):
        middle = (low + high) / 2
        rest = excess(middle * unique_pairs)
        if rest == 0:
            low = high = middle
            break
        low, high = (middle, high) if rest > 0 else (low, middle)
    return int(unique_pairs * (low + high) / 2)

"""How many different molecules a library has: Picard's estimate (DuplicationMetrics.estimateLibrarySize).

Lander and Waterman: of X molecules, N draws show C = X (1 - exp(-N / X)) different ones. The equation is solved for X.
"""

import math

STEPS = 40


def estimate_library_size(pairs: int, unique_pairs: int) -> int | None:
    """Molecules of a library, or None where no pair is a duplicate of another.

    Args:
        pairs: that were examined; unique_pairs: without duplicates.
    """
    if not 0 < unique_pairs < pairs:
        return None

    def excess(molecules: float) -> float:
        """Falls with the molecules; 0 at the answer."""
        return unique_pairs / molecules - 1 + math.exp(-pairs / molecules)

    # In multiples of the unique pairs; bisection with as many steps as Picard takes.
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

"""What an FM-index must answer, by scanning the text."""

import numpy as np


def positions(text: np.ndarray, pattern: np.ndarray) -> list[int]:
    """All starts of a pattern (uint8 codes) in a text (uint8 codes), in order; overlapping ones too."""
    starts = range(len(text) - len(pattern) + 1)
    return [start for start in starts if bytes(text[start : start + len(pattern)]) == bytes(pattern)]


def count(text: np.ndarray, pattern: np.ndarray) -> int:
    """How often a pattern occurs."""
    return len(positions(text, pattern))

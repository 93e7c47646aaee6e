"""What an FM-index must answer, by scanning the text."""

import numpy as np


def positions(text: np.ndarray, pattern: np.ndarray) -> list[int]:
    """All starts of a pattern (uint8 codes) in a text (uint8 codes), in order; overlapping ones too."""
    starts = range(len(text) - len(pattern) + 1)
    return [start for start in starts if bytes(text[start : start + len(pattern)]) == bytes(pattern)]


def interval(text: np.ndarray, pattern: np.ndarray) -> tuple[int, int]:
    """Rows (low, high) of the suffixes that start with a pattern that occurs, among all of them sorted."""
    suffixes = [bytes(text[start:]) for start in range(len(text) + 1)]
    low = sum(suffix < bytes(pattern) for suffix in suffixes)
    return low, low + sum(suffix.startswith(bytes(pattern)) for suffix in suffixes)


def count(text: np.ndarray, pattern: np.ndarray) -> int:
    """How often a pattern occurs."""
    return len(positions(text, pattern))

"""The answers of an FM-index, found by scanning the text."""

import numpy as np


def positions(text: np.ndarray, pattern: np.ndarray) -> list[int]:
    """Return all starts of a pattern (uint8 codes) in a text (uint8 codes), ascending; occurrences may overlap."""
    starts = range(len(text) - len(pattern) + 1)
    return [start for start in starts if bytes(text[start : start + len(pattern)]) == bytes(pattern)]


def interval(text: np.ndarray, pattern: np.ndarray) -> tuple[int, int]:
    """Return the rows (low, high) of the suffixes that start with a pattern; it must occur."""
    suffixes = [bytes(text[start:]) for start in range(len(text) + 1)]
    low = sum(suffix < bytes(pattern) for suffix in suffixes)
    return low, low + sum(suffix.startswith(bytes(pattern)) for suffix in suffixes)


def count(text: np.ndarray, pattern: np.ndarray) -> int:
    """Count the occurrences of a pattern."""
    return len(positions(text, pattern))

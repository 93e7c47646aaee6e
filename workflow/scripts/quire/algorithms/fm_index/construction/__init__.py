"""The arrays of an FM-index from a text and its suffix array, built on the CPU or on a card."""

import numpy as np


def first_rows(counts: np.ndarray) -> np.ndarray:
    """Return C of an FM-index (int64[5]) from the counts of the four codes."""
    return np.concatenate(([1], 1 + np.cumsum(counts))).astype(np.int64)

"""The definition of a suffix array: all suffixes, sorted."""

import numpy as np


def suffix_array(codes: np.ndarray) -> np.ndarray:
    """Sort the suffixes as byte strings; Python sorts a prefix before longer strings, as the sentinel does."""
    text = codes.astype(np.uint8).tobytes()
    return np.array(sorted(range(len(text) + 1), key=lambda start: text[start:]), dtype=np.uint32)

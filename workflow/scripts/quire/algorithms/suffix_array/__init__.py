"""Suffix arrays: the order of all suffixes of a text of codes, the shorter of two equal ones first."""

import numpy as np

from quire.device import require_cpu


def suffix_array(codes: np.ndarray, device: str = "cpu") -> np.ndarray:
    """Sort all suffixes of a text.

    Args:
        codes: uint8[n], n < 2^31.
        device: "cpu".

    Returns:
        uint32[n + 1]: start positions of the suffixes in order. The first is n, the empty (sentinel) suffix, which is
        less than all others.

    Raises:
        ValueError: an unknown device.
        MemoryError: the working memory cannot be had.
    """
    require_cpu("suffix_array", device)
    from quire.algorithms.suffix_array.cpu import suffix_array as implementation

    return implementation(codes)

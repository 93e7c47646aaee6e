"""Suffix arrays: the order of all suffixes of a text of codes, the shorter of two equal ones first."""

import numpy as np

from quire.device import require_cpu
from quire.device.card import Card


def suffix_array(codes: np.ndarray, device: str | Card = "cpu") -> np.ndarray:
    """Sort all suffixes of a text.

    Args:
        codes: uint8[n]; n < 2^31 on the CPU. A card takes codes 0..3, and n < 2^32 - 1.
        device: "cpu", or a card.

    Returns:
        uint32[n + 1]: start positions of the suffixes in order. The first is n, the empty (sentinel) suffix, which is
        less than all others.

    Raises:
        ValueError: an unknown device, or a text that is too long.
        MemoryError: the working memory cannot be had.
    """
    if isinstance(device, Card):
        from quire.algorithms.suffix_array.gpu import suffix_array_of_codes

        return suffix_array_of_codes(device, codes)
    require_cpu("suffix_array", device)
    from quire.algorithms.suffix_array.cpu import suffix_array as implementation

    return implementation(codes)

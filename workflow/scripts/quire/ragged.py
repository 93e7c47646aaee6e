"""Ragged data as one flat array and offsets: item i is `flat[offsets[i]:offsets[i + 1]]`. Uses NumPy only."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def offsets_from_lengths(lengths: NDArray[np.integer] | Sequence[int]) -> NDArray[np.int64]:
    """Return the offsets (int64[n + 1], first 0) of concatenated items with these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.asarray(lengths, np.int64), out=offsets[1:])
    return offsets


def pack_bytes(items: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate byte strings and return (uint8 flat, int64[n + 1] offsets)."""
    flat = np.frombuffer(b"".join(items), np.uint8).copy()
    return flat, offsets_from_lengths([len(item) for item in items])

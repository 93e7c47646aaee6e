"""Ragged data as one flat array plus offsets: item i is `flat[offsets[i]:offsets[i + 1]]`. NumPy only."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def offsets_from_lengths(lengths: NDArray[np.integer] | Sequence[int]) -> NDArray[np.int64]:
    """Offsets (int64[n + 1], first 0) of items with these lengths laid end to end."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.asarray(lengths, np.int64), out=offsets[1:])
    return offsets


def pack_bytes(items: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay byte strings end to end: (uint8 flat, int64[n + 1] offsets)."""
    flat = np.frombuffer(b"".join(items), np.uint8).copy()
    return flat, offsets_from_lengths([len(item) for item in items])

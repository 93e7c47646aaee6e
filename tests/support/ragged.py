"""Conversion of ragged data back to lists, for comparisons."""

import numpy as np
from numpy.typing import NDArray


def unpack_bytes(flat: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[bytes]:
    """Invert `quire.ragged.pack_bytes`."""
    whole = np.ascontiguousarray(flat).tobytes()
    return [whole[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1)]

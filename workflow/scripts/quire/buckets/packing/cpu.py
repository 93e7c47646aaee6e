"""Packing and unpacking of pieces, with Numba (`packer`, `unpacker`)."""

import numpy as np
from numpy.typing import NDArray

from quire.buckets.packing.packer import pack_pieces
from quire.buckets.packing.parts import SLACK
from quire.buckets.packing.unpacker import Unpacked, unpack_pieces
from quire.io.bam.decode import Records
from quire.io.bam.layout import FIXED_BYTES, FIXED_FIELDS


def pack(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pack pieces; any thread may call it.

    Args:
        data: uint8[], records end to end, and SLACK bytes after them.
        offsets: int64[n + 1], where each piece begins and the last ends.

    Returns:
        uint8[], the packed pieces end to end, and int64[n + 1], their offsets. A piece without records has no bytes.
    """
    size = int(offsets[-1] - offsets[0])
    # Unwritten pages take no memory. A record of 40 bytes with one base grows by up to 9 bytes.
    out, packed_offsets = np.empty(size + size // 4 + len(offsets) + SLACK, np.uint8), np.empty(len(offsets), np.int64)
    pack_pieces(data, offsets, out, packed_offsets)
    return out[: packed_offsets[-1]], packed_offsets


def unpack(packed: NDArray[np.uint8], offsets: NDArray[np.int64], size: int) -> Records | None:
    """Unpack pieces to records end to end; any thread may call it.

    Args:
        packed: uint8[], the pieces end to end, and SLACK bytes after them.
        offsets: int64[n + 1], where each begins and the last ends.
        size: bytes of all records.

    Returns:
        The records; None if their size is not `size`.
    """
    most = size // FIXED_BYTES  # unwritten pages take no memory
    out, starts = np.empty(size + SLACK, np.uint8), np.empty(most, np.int64)
    fixed = np.empty(most * FIXED_BYTES + SLACK, np.uint8)
    count, found = unpack_pieces(packed, offsets, Unpacked(out, out.view(np.int8), starts, fixed))
    if found != size:
        return None
    return Records(out[:size], starts[:count], fixed[: count * FIXED_BYTES].view(FIXED_FIELDS))

"""Bases packed in two bits each (A 0, C 1, G 2, T 3): base i is in bits 2*(i % 32) of the 64-bit word i // 32."""

import numpy as np
from numpy.typing import NDArray

BASES_PER_WORD = 32
_SIDE_BY_SIDE = np.array(1 << 24 | 1 << 18 | 1 << 12 | 1 << 6, np.dtype("<u4"))

# The four codes of every packed byte, as four bytes in one 32-bit number: unpacking takes one table look-up per byte.
_CODES_OF_BYTE = (
    ((np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3).astype(np.uint8).reshape(-1).view(np.dtype("<u4"))
)


def pack(codes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Pack codes 0..3 (uint8[n], n a multiple of 32) into uint64[n / 32]."""
    # One multiplication gathers the two low bits of each of a number's four bytes in its highest byte.
    fours = np.ascontiguousarray(codes).view(np.dtype("<u4")) * _SIDE_BY_SIDE
    return fours.view(np.uint8)[3::4].copy().view(np.dtype("<u8"))


def unpack(text: NDArray[np.uint64], start: int, end: int) -> NDArray[np.uint8]:
    """Return codes 0..3 (uint8[end - start], a new array) of the packed bases [start, end)."""
    packed = text.view(np.uint8)[start // 4 : (end + 3) // 4]
    codes: NDArray[np.uint8] = _CODES_OF_BYTE[packed].view(np.uint8)
    return codes[start % 4 : start % 4 + end - start]


def stand_in_codes(positions: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return fixed pseudo-random codes (uint8) for ambiguous bases: two bits of splitmix64 of the axis position."""
    mixed = positions.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) & np.uint64(3)).astype(np.uint8)

"""Comparison of a read's bases, one byte each, with a packed text, 32 at a time."""

import numpy as np

from quire.simd.bits import ONES, load_bytes, reverse_complement
from quire.simd.compiled import inlined

LANES = 32  # bases of a packed word
_EIGHT = np.uint64(0x0102040810204080)  # the upper byte of its product with eight bytes of 0 or 1 has their bits
_COMPLEMENT = 3  # XOR with it complements a code; an N becomes 7, which no base of a text equals


@inlined
def _differing(codes, word):
    """Compare eight codes, one per byte, with the lowest eight bases of a word; return a bit for each that differs."""
    bases = word & np.uint64(0xFFFF)
    bases = (bases | bases << np.uint64(24)) & np.uint64(0x000000FF000000FF)
    bases = (bases | bases << np.uint64(12)) & np.uint64(0x000F000F000F000F)
    bases = (bases | bases << np.uint64(6)) & np.uint64(0x0303030303030303)
    other = codes ^ bases
    other = (other | other >> np.uint64(1) | other >> np.uint64(2)) & ONES
    return other * _EIGHT >> np.uint64(56)


@inlined
def differing_bases(codes, first, last, reverse, place, count, word):
    """Compare `count` (0 to 32) bases of an oriented read, from `place` on, with the lowest bits of a packed word.

    The read is codes[first:last] (uint8, 4 for N, which differs from every base), or its reverse complement.

    Returns:
        uint64: bit i is set where base place + i differs; bits from `count` on are 0.
    """
    mask = (np.uint64(1) << np.uint64(count)) - np.uint64(1)
    differing = np.uint64(0)
    item = last - LANES - place if reverse else first + place
    if item >= 0 and item + LANES <= len(codes):
        for k in range(0, LANES, 8):
            if reverse:
                eight = reverse_complement(load_bytes(codes, np.int64(item + LANES - 8 - k)))
            else:
                eight = load_bytes(codes, np.int64(item + k))
            differing |= _differing(eight, word >> np.uint64(2 * k)) << np.uint64(k)
        return differing & mask
    # Near an end of the batch 32 bytes cannot be loaded.
    for i in range(count):
        code = (
            np.uint64(codes[last - 1 - place - i]) ^ np.uint64(_COMPLEMENT) if reverse else np.uint64(codes[item + i])
        )
        if code != (word >> np.uint64(2 * i) & np.uint64(3)):
            differing |= np.uint64(1) << np.uint64(i)
    return differing

"""Reads on both strands with Numba: laying them out, and reading packed words inside other kernels."""

import numpy as np
from numba import njit

from quire.device.bits import UNKNOWN, load_bytes, reverse_complement, store_bytes, two_bits_each


@njit(cache=True, nogil=True)
def hash_names(names, name_offsets):
    """FNV-1a hash, finished by a multiply-shift, of every name: decides ties the same way in every run."""
    count = len(name_offsets) - 1
    hashes = np.empty(count, np.uint64)
    for i in range(count):
        value = np.uint64(0xCBF29CE484222325)
        for j in range(name_offsets[i], name_offsets[i + 1]):
            value = (value ^ np.uint64(names[j])) * np.uint64(0x100000001B3)
        hashes[i] = value ^ (value >> np.uint64(29))
    return hashes


@njit(cache=True, nogil=True, forceinline=True)
def tie_hash(name_hash, position):
    """Hash of (read name, axis position): the order of equally good places (splitmix64 finaliser)."""
    value = name_hash ^ (np.uint64(position) * np.uint64(0x9E3779B97F4A7C15))
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def lay_on_both_strands(codes, offsets, word_offsets, both, packed, ambiguous):
    """Fill `both`, `packed` and `ambiguous` of `Reads` (packed is all zeros before) from codes 0 to 4 as read."""
    forward, backward = both[0], both[1]
    for read in range(len(offsets) - 1):
        begin, end = offsets[read], offsets[read + 1]
        word = word_offsets[read]
        eights = (end - begin) & ~7
        some = np.uint64(0)
        for i in range(0, eights, 8):
            here = load_bytes(codes, begin + i)
            some |= here & UNKNOWN
            store_bytes(forward, begin + i, here)
            packed[0, word + (i >> 5)] |= two_bits_each(here) << np.uint64(2 * (i & 31))
            turned = reverse_complement(load_bytes(codes, end - 8 - i))
            store_bytes(backward, begin + i, turned)
            packed[1, word + (i >> 5)] |= two_bits_each(turned) << np.uint64(2 * (i & 31))
        for i in range(eights, end - begin):
            here, last = codes[begin + i], codes[end - 1 - i]
            turned = np.uint8(4) if last > 3 else np.uint8(3 - last)
            some |= np.uint64(here & 4)
            forward[begin + i], backward[begin + i] = here, turned
            packed[0, word + (i >> 5)] |= np.uint64(here & 3) << np.uint64(2 * (i & 31))
            packed[1, word + (i >> 5)] |= np.uint64(turned & 3) << np.uint64(2 * (i & 31))
        ambiguous[read] = some != 0


@njit(cache=True, nogil=True, forceinline=True)
def packed_word(words, base):
    """32 bases from base index `base` on as one word (base `base` in the lowest bits); reads one word beyond."""
    index = base >> 5
    shift = np.uint64(2 * (base & 31))
    low = words[index] >> shift
    # A shift by 64 is undefined, hence two shifts for the part from the next word.
    return low | ((words[index + 1] << np.uint64(1)) << (np.uint64(63) - shift))


@njit(cache=True, nogil=True, forceinline=True)
def code_at(words, base):
    """Code 0..3 (uint64) of one base of packed words."""
    return (words[base >> 5] >> np.uint64(2 * (base & 31))) & np.uint64(3)

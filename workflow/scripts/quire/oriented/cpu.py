"""Reads on both strands with Numba: laying them out, and reading packed words inside other kernels."""

import numpy as np
from numba import njit


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
    for read in range(len(offsets) - 1):
        begin = offsets[read]
        length = offsets[read + 1] - begin
        word = word_offsets[read]
        for i in range(length):
            code = codes[begin + i]
            mirrored = length - 1 - i
            both[0, begin + i] = code
            if code > 3:
                ambiguous[read] = True
                both[1, begin + mirrored] = 4
                continue
            both[1, begin + mirrored] = 3 - code
            packed[0, word + (i >> 5)] |= np.uint64(code) << np.uint64(2 * (i & 31))
            packed[1, word + (mirrored >> 5)] |= np.uint64(3 - code) << np.uint64(2 * (mirrored & 31))


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

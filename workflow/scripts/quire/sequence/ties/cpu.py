"""Hashes that break ties, with Numba."""

import numpy as np

from quire.simd.compiled import compiled, inlined


@inlined
def hash_of_name(letters, begin, end):
    """Return the hash (uint64) of the name letters[begin:end]: FNV-1a, finished by one shift."""
    value = np.uint64(0xCBF29CE484222325)
    for i in range(begin, end):
        value = (value ^ np.uint64(letters[i])) * np.uint64(0x100000001B3)
    return value ^ (value >> np.uint64(29))


@compiled
def hash_names(names, name_offsets):
    """Return the hash (uint64[n]) of every name, given as flat uint8 and offsets int64[n + 1]."""
    hashes = np.empty(len(name_offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = hash_of_name(names, name_offsets[i], name_offsets[i + 1])
    return hashes


@inlined
def tie_hash(name_hash, position):
    """Return the hash (uint64) that orders equally good places: splitmix64's finaliser of name hash and position."""
    value = name_hash ^ (np.uint64(position) * np.uint64(0x9E3779B97F4A7C15))
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))

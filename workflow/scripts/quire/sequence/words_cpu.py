"""Access to packed words in kernels; see `quire.sequence.packing` for their layout."""

import numpy as np

from quire.simd.compiled import inlined


@inlined
def packed_word(words, base):
    """Return the 32 bases from `base` on as one word, the first in its lowest bits; reads one word beyond."""
    index = base >> 5
    shift = np.uint64(2 * (base & 31))
    low = words[index] >> shift
    # A shift by 64 is undefined, hence two shifts for the part from the next word.
    return low | ((words[index + 1] << np.uint64(1)) << (np.uint64(63) - shift))


@inlined
def code_at(words, base):
    """Return the code 0..3 (uint64) of one base of packed words."""
    return (words[base >> 5] >> np.uint64(2 * (base & 31))) & np.uint64(3)

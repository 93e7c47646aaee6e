"""Steps of seeding with Numba: offsets of seeds, k-mers, and hits from rows. A `page` is `FmIndex`."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.cpu import announce_row, start_of_row
from quire.algorithms.seeding import DEEPEST, DIAGONAL_BIAS, MAXIMUM_SEEDS
from quire.sequence.ties.cpu import tie_hash
from quire.sequence.words_cpu import packed_word
from quire.simd.bits import swap_bytes
from quire.simd.compiled import compiled, inlined

ROWS_AHEAD = 16  # rows of an interval that are prefetched before they are located


class ReadArrays(NamedTuple):
    """The arrays of `Reads` and the `SeedingParameters` that the kernels read.

    `codes` and `packed` are flat: the strand as read, then the other one.
    """

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    name_hash: np.ndarray
    depths: np.ndarray
    stride: int
    maximum_hits: int


@inlined
def spread(length, seed_length, stride):
    """Return the stride for a read of this length; larger for long reads, to limit a strand to MAXIMUM_SEEDS."""
    needed = (length - seed_length + MAXIMUM_SEEDS - 3) // (MAXIMUM_SEEDS - 2)
    return max(stride, needed)


@inlined
def seed_count(length, seed_length, stride):
    """Return the number of seeds of a read on one strand."""
    if length < seed_length:
        return 0
    step = spread(length, seed_length, stride)
    regular = (length - seed_length) // step + 1
    return regular if seed_length + (regular - 1) * step == length else regular + 1


@inlined
def seed_end(ordinal, length, seed_length, stride):
    """Return the (exclusive) end of a seed in the oriented read."""
    return min(seed_length + ordinal * spread(length, seed_length, stride), length)


@inlined
def longest_seed(codes, begin, end, ambiguous):
    """Return the largest depth of a seed ending at `end`: to the read's begin, an N, or DEEPEST."""
    longest = min(end, DEEPEST)
    if ambiguous:
        for depth in range(longest):
            if codes[begin + end - 1 - depth] > 3:
                return depth
    return longest


@inlined
def prefix(packed, word, end, k):
    """Return the k-mer (k <= 32) that ends at `end`, first base most significant."""
    value = packed_word(packed, word * 32 + end - k)
    pairs, nibbles = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    value = (value >> np.uint64(2)) & pairs | (value & pairs) << np.uint64(2)
    value = (value >> np.uint64(4)) & nibbles | (value & nibbles) << np.uint64(4)
    return np.int64(swap_bytes(value) >> np.uint64(64 - 2 * k))


@inlined
def encode_hit(strand, diagonal, ordinal):
    """Return a hit as uint64; hits sort by strand, diagonal, seed."""
    shifted = np.uint64(diagonal + DIAGONAL_BIAS) << np.uint64(8)
    return np.uint64(strand) << np.uint64(63) | shifted | np.uint64(ordinal)


@inlined
def append_owned(page, low, high, begin, seed, hits, used):
    """Append the hits of an interval that a page owns; the seed begins at `begin` of the read."""
    for row in range(low, min(low + ROWS_AHEAD, high)):
        announce_row(page, row)
    for row in range(low, high):
        if row + ROWS_AHEAD < high:
            announce_row(page, row + ROWS_AHEAD)
        start = start_of_row(page, row)
        if start < page.owned_length:
            hits[used] = encode_hit(seed.strand, page.start + start - begin, seed.ordinal)
            used += 1
    return used


@compiled
def keep_smallest(hits, first, used, begin, name_hash, maximum_hits):
    """Keep the `maximum_hits` of hits[first:used] with smallest (hash(name, seed's axis position), position)."""
    if used - first <= maximum_hits:
        return used
    hashes = np.empty(used - first, np.uint64)
    positions = np.empty(used - first, np.int64)
    for i in range(used - first):
        diagonal = np.int64((hits[first + i] << np.uint64(1)) >> np.uint64(9)) - DIAGONAL_BIAS
        positions[i] = diagonal + begin
        hashes[i] = tie_hash(name_hash, positions[i])
    limit = np.sort(hashes)[maximum_hits - 1]
    kept = first
    for i in range(used - first):
        # Two positions with equal 64-bit hashes are practically impossible; both would be kept up to the limit.
        if hashes[i] <= limit and kept - first < maximum_hits:
            hits[kept] = hits[first + i]
            kept += 1
    return kept

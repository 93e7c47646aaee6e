"""The steps of seeding with Numba: offsets of seeds, narrowing an interval, and hits from its rows.

A seed's interval comes from the prefix table and is narrowed by backward steps until it holds at most DIRECT_ROWS rows;
then the rows are located and the text is compared directly, 32 bases at a time, which costs fewer cache misses than
further steps.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from quire.algorithms.fm_index.cpu import backward_step, locate
from quire.algorithms.seeding import DEPTHS, DIAGONAL_BIAS, MAXIMUM_SEEDS, SEED_LENGTH
from quire.device.bits import leading_zeros
from quire.oriented.cpu import packed_word, tie_hash

DIRECT_ROWS = 4
DEEPEST = int(DEPTHS[-1])
DEPTH_COUNT = len(DEPTHS)


class PageArrays(NamedTuple):
    """What the kernels read of a page: the arrays of its `FmIndex`, and where it lies on the axis."""

    blocks: np.ndarray
    words_per_block: int
    C: np.ndarray
    primary: int
    prefix_table: np.ndarray
    prefix_length: int
    suffix_array: np.ndarray
    sa_sampling: int
    sampled_rows: np.ndarray
    unowned_rows: np.ndarray
    start: int
    owned_length: int


class ReadArrays(NamedTuple):
    """What the kernels read of a batch: see `quire.oriented.Reads` and `SeedingParameters`."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    name_hash: np.ndarray
    stride: int
    maximum_hits: int


@njit(cache=True, nogil=True, forceinline=True)
def spread(length, stride):
    """The stride of a read of this length: wider for long reads, which have at most MAXIMUM_SEEDS seeds a strand."""
    needed = (length - SEED_LENGTH + MAXIMUM_SEEDS - 3) // (MAXIMUM_SEEDS - 2)
    return max(stride, needed)


@njit(cache=True, nogil=True, forceinline=True)
def seed_count(length, stride):
    """Number of seeds of a read on one strand."""
    if length < SEED_LENGTH:
        return 0
    step = spread(length, stride)
    regular = (length - SEED_LENGTH) // step + 1
    return regular if SEED_LENGTH + (regular - 1) * step == length else regular + 1


@njit(cache=True, nogil=True, forceinline=True)
def seed_end(ordinal, length, stride):
    """End (exclusive) of a seed in the oriented read."""
    return min(SEED_LENGTH + ordinal * spread(length, stride), length)


@njit(cache=True, nogil=True, forceinline=True)
def longest_seed(codes, begin, end, ambiguous):
    """Bases that a seed ending at `end` may be deep: up to the read's begin, an N, or DEEPEST."""
    longest = min(end, DEEPEST)
    if ambiguous:
        for depth in range(longest):
            if codes[begin + end - 1 - depth] > 3:
                return depth
    return longest


@njit(cache=True, nogil=True, forceinline=True)
def prefix(packed, word, end, k):
    """The k-mer that ends at `end`, first base most significant."""
    value = packed_word(packed, word * 32 + end - k)
    kmer = 0
    for _ in range(k):
        kmer = kmer << 2 | np.int64(value & np.uint64(3))
        value >>= np.uint64(2)
    return kmer


@njit(cache=True, nogil=True, forceinline=True)
def left_match(packed, word, read_end, text, text_end, limit):
    """Bases equal to the left of two positions, at most `limit` (<= 64)."""
    matched = 0
    while matched < limit:
        step = min(32, limit - matched)
        step = min(step, text_end - matched, read_end - matched)
        if step <= 0:
            return matched
        left = packed_word(packed, word * 32 + read_end - matched - step)
        right = packed_word(text, text_end - matched - step)
        difference = (left ^ right) << np.uint64(64 - 2 * step)
        equal = leading_zeros(difference) >> 1
        if equal < step:
            return matched + equal
        matched += step
    return matched


@njit(cache=True, nogil=True, forceinline=True)
def encode_hit(strand, diagonal, ordinal):
    """One hit as uint64; sorting hits sorts by strand, diagonal, seed."""
    shifted = np.uint64(diagonal + DIAGONAL_BIAS) << np.uint64(8)
    return np.uint64(strand) << np.uint64(63) | shifted | np.uint64(ordinal)


@njit(cache=True, nogil=True, forceinline=True)
def start_of_row(page, row):
    return locate(page.suffix_array, page.sa_sampling, page.sampled_rows, page.blocks, page.words_per_block, page.C,
                  page.primary, row)  # fmt: skip


@njit(cache=True, nogil=True, forceinline=True)
def narrow(page, codes, origin, end, wanted, low, high, depth, direct):
    """Backward steps until the seed is `wanted` deep, the interval empty, or (direct) small enough to compare text."""
    while depth < wanted and high > low and (not direct or high - low > DIRECT_ROWS):
        symbol = np.int64(codes[origin + end - depth - 1])
        low, high = backward_step(page.blocks, page.words_per_block, page.C, page.primary, symbol, low, high)
        depth += 1
    return low, high, depth


@njit(cache=True, nogil=True, forceinline=True)
def first_interval(page, packed, word, end):
    kmer = prefix(packed, word, end, page.prefix_length)
    return np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])


@njit(cache=True, nogil=True, forceinline=True)
def append_rows(page, low, high, begin, strand, ordinal, hits, used):
    """Append the hits of a whole interval whose seed begins at `begin` of the read, those that the page owns."""
    for row in range(low, high):
        start = start_of_row(page, row)
        if start < page.owned_length:
            hits[used] = encode_hit(strand, page.start + start - begin, ordinal)
            used += 1
    return used


@njit(cache=True, nogil=True, forceinline=True)
def append_direct(page, text, packed, word, end, depth, wanted, low, high, strand, ordinal, hits, used):
    """Append those rows of a small interval whose text agrees to the left down to depth `wanted`."""
    for row in range(low, high):
        start = start_of_row(page, row) - (wanted - depth)
        if start < 0 or start >= page.owned_length:
            continue
        at = page.start + start + (wanted - depth)
        if left_match(packed, word, end - depth, text, at, wanted - depth) == wanted - depth:
            hits[used] = encode_hit(strand, page.start + start - (end - wanted), ordinal)
            used += 1
    return used


@njit(cache=True, nogil=True)
def append_rarest(page, low, high, begin, strand, ordinal, name_hash, maximum_hits, hits, used):
    """Append the hits of the smallest hashes of a seed that is too frequent."""
    first = used
    used = append_rows(page, low, high, begin, strand, ordinal, hits, used)
    return keep_smallest(hits, first, used, begin, name_hash, maximum_hits)


@njit(cache=True, nogil=True)
def keep_smallest(hits, first, used, begin, name_hash, maximum_hits):
    """Keep the `maximum_hits` hits of smallest (hash(name, seed's axis position), position) in hits[first:used]."""
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
        # Two positions of one hash are as good as impossible (64 bits); both would be kept up to the limit.
        if hashes[i] <= limit and kept - first < maximum_hits:
            hits[kept] = hits[first + i]
            kept += 1
    return kept

"""Seeding with Numba over the FM-index of each page.

A seed's interval comes from the prefix table and is narrowed by backward steps until it holds at most DIRECT_ROWS rows; then
the rows are located and the text is compared directly, 32 bases at a time, which costs fewer cache misses than further steps.
One page: one pass that stops at the first depth within the cap. Several pages: a pass that counts owned hits at every
depth, the choice of depth on the sums, and a pass that locates.
"""

import numpy as np
from numba import njit

from quire.algorithms.fm_index.cpu import backward_step, locate_row
from quire.algorithms.seeding import DEPTHS, DIAGONAL_BIAS, MAXIMUM_SEEDS, RAREST_LIMIT, SEED_LENGTH
from quire.align.reads import packed_word, tie_hash
from quire.device.simd import leading_zeros

DIRECT_ROWS = 6
DEEPEST = int(DEPTHS[-1])
DEPTH_COUNT = len(DEPTHS)
_BIAS = np.uint64(DIAGONAL_BIAS)


def find_hits(pages, reads, text, parameters):
    """See `quire.algorithms.seeding.find_hits`."""
    if len(pages) == 1:
        return _find_in_one_page(pages[0], reads, text, parameters)
    return _find_in_pages(pages, reads, text, parameters)


def _find_in_one_page(page, reads, text, parameters):
    offsets = np.zeros(len(reads) + 1, np.int64)
    hits = np.empty(64 * len(reads) + 4096, np.uint64)
    begin = 0
    while begin < len(reads):
        # The kernel stops in front of the first read whose hits might not fit; the array grows and it goes on from there.
        begin = _one_page_kernel(*page.search_arrays, text, *_read_arrays(reads), parameters.stride,
                                 parameters.maximum_hits, begin, offsets, hits)  # fmt: skip
        if begin < len(reads):
            hits = np.concatenate([hits, np.empty(len(hits), np.uint64)])
    return offsets, hits[: offsets[-1]]


def _find_in_pages(pages, reads, text, parameters):
    counts = np.zeros((len(reads), 2, MAXIMUM_SEEDS, DEPTH_COUNT), np.int32)
    for page in pages:
        _count_kernel(*page.search_arrays, text, *_read_arrays(reads), parameters.stride, counts)
    choice, rarest = _choose_kernel(counts, reads.offsets, parameters.stride, parameters.maximum_hits)
    del counts
    parts = []
    for page in pages:
        offsets = np.zeros(len(reads) + 1, np.int64)
        hits = np.empty(64 * len(reads) + 4096, np.uint64)
        begin = 0
        while begin < len(reads):
            begin = _locate_kernel(*page.search_arrays, text, *_read_arrays(reads), parameters.stride,
                                   parameters.maximum_hits, choice, rarest, begin, offsets, hits)  # fmt: skip
            if begin < len(reads):
                hits = np.concatenate([hits, np.empty(len(hits), np.uint64)])
        parts.append((offsets, hits[: offsets[-1]]))
    return _merge_pages(parts, reads, parameters, rarest)


def _merge_pages(parts, reads, parameters, rarest):
    """Hits of all pages by read, sorted; of a rarest seed again only those of smallest hash."""
    counts = sum(np.diff(offsets) for offsets, _ in parts)
    owners = np.concatenate([np.repeat(np.arange(len(reads)), np.diff(offsets)) for offsets, _ in parts])
    gathered = np.concatenate([hits for _, hits in parts])[np.argsort(owners, kind="stable")]
    offsets = np.zeros(len(reads) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    kept = np.zeros(len(reads) + 1, np.int64)
    _finish_pages(offsets, gathered, rarest, reads.offsets, reads.name_hash, parameters.stride, parameters.maximum_hits, kept)
    return kept, gathered[: kept[-1]]


def _read_arrays(reads):
    return reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, reads.name_hash


@njit(cache=True, nogil=True)
def spread(length, stride):
    """The stride of a read of this length: wider for long reads, which have at most MAXIMUM_SEEDS seeds a strand."""
    needed = (length - SEED_LENGTH + MAXIMUM_SEEDS - 3) // (MAXIMUM_SEEDS - 2)
    return max(stride, needed)


@njit(cache=True, nogil=True)
def seed_count(length, stride):
    """Number of seeds of a read on one strand."""
    if length < SEED_LENGTH:
        return 0
    step = spread(length, stride)
    regular = (length - SEED_LENGTH) // step + 1
    return regular if SEED_LENGTH + (regular - 1) * step == length else regular + 1


@njit(cache=True, nogil=True)
def seed_end(ordinal, length, stride):
    """End (exclusive) of a seed in the oriented read."""
    return min(SEED_LENGTH + ordinal * spread(length, stride), length)


@njit(cache=True, nogil=True)
def _longest_seed(codes, begin, end, ambiguous):
    """Bases that a seed ending at `end` may be deep: up to the read's begin, an N, or DEEPEST."""
    longest = min(end, DEEPEST)
    if ambiguous:
        for depth in range(longest):
            if codes[begin + end - 1 - depth] > 3:
                return depth
    return longest


@njit(cache=True, nogil=True)
def _prefix(packed, word, end, k):
    """The k-mer that ends at `end`, first base most significant."""
    value = packed_word(packed, word * 32 + end - k)
    kmer = 0
    for _ in range(k):
        kmer = kmer << 2 | np.int64(value & np.uint64(3))
        value >>= np.uint64(2)
    return kmer


@njit(cache=True, nogil=True)
def _left_match(packed, word, read_end, text, text_end, limit):
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
        equal = np.int64(leading_zeros(difference)) >> 1
        if equal < step:
            return matched + equal
        matched += step
    return matched

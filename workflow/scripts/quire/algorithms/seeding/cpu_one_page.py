"""Seeding where one page is the whole axis: one pass that stops at the first depth within the cap."""

import numpy as np
from numba import njit

from quire.algorithms.fm_index.cpu import prefetch_row
from quire.algorithms.seeding import DEPTHS, MAXIMUM_SEEDS, RAREST_LIMIT, SEED_LENGTH
from quire.algorithms.seeding.cpu_steps import (
    DEPTH_COUNT,
    DIRECT_ROWS,
    append_direct,
    append_rarest,
    append_rows,
    longest_seed,
    narrow,
    prefix,
    seed_count,
    seed_end,
)
from quire.device.bits import prefetch

GROUP = 16  # reads whose look-ups are announced together


@njit(cache=True, nogil=True)
def hits_of_one_page(page, batch, text, begin_read, offsets, hits):
    """Hits of the reads from `begin_read` on where one page is the whole axis; returns the read it stopped before."""
    used = offsets[begin_read]
    count = len(offsets) - 1
    intervals = np.empty((GROUP, 2, MAXIMUM_SEEDS, 2), np.int64)
    room = 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, DIRECT_ROWS) + RAREST_LIMIT
    for group in range(begin_read, count, GROUP):
        last = min(group + GROUP, count)
        _look_up_group(page, batch, group, last, intervals)
        for read in range(group, last):
            if used + room > len(hits):
                return read
            used = _hits_of_read(page, batch, text, read, intervals[read - group], hits, used)
            offsets[read + 1] = used
    return count


@njit(cache=True, nogil=True)
def _look_up_group(page, batch, group, last, intervals):
    """First intervals of all seeds of some reads. Every look-up is a cache miss, so each is announced a round ahead."""
    for read in range(group, last):
        length = batch.offsets[read + 1] - batch.offsets[read]
        for strand in range(2):
            for ordinal in range(seed_count(length, batch.stride)):
                end = seed_end(ordinal, length, batch.stride)
                kmer = prefix(batch.packed[strand], batch.word_offsets[read], end, page.prefix_length)
                intervals[read - group, strand, ordinal, 0] = kmer
                prefetch(page.prefix_table, 2 * kmer)
    for read in range(group, last):
        length = batch.offsets[read + 1] - batch.offsets[read]
        for strand in range(2):
            for ordinal in range(seed_count(length, batch.stride)):
                kmer = intervals[read - group, strand, ordinal, 0]
                low, high = np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])
                intervals[read - group, strand, ordinal, 0] = low
                intervals[read - group, strand, ordinal, 1] = high
                if high - low > DIRECT_ROWS:
                    prefetch_row(page.blocks, page.words_per_block, low)
                    prefetch_row(page.blocks, page.words_per_block, high)
                elif high > low and page.sa_sampling == 1:
                    prefetch(page.suffix_array, low)


@njit(cache=True, nogil=True)
def _hits_of_read(page, batch, text, read, intervals, hits, used):
    """Append the sorted hits of one read where one page is the whole axis; returns their end."""
    origin, word = batch.offsets[read], batch.word_offsets[read]
    length = batch.offsets[read + 1] - origin
    first = used
    rarest = np.int64(RAREST_LIMIT) + 1
    rarest_low, rarest_begin, rarest_strand, rarest_ordinal = np.int64(0), np.int64(0), 0, 0
    for strand in range(2):
        packed, codes = batch.packed[strand], batch.codes[strand]
        for ordinal in range(seed_count(length, batch.stride)):
            low, high, depth = (
                intervals[strand, ordinal, 0],
                intervals[strand, ordinal, 1],
                np.int64(page.prefix_length),
            )
            if low >= high:
                continue
            end = seed_end(ordinal, length, batch.stride)
            longest = longest_seed(codes, origin, end, batch.ambiguous[read])
            if longest < SEED_LENGTH:
                continue
            low, high, depth = narrow(page, codes, origin, end, SEED_LENGTH, low, high, depth, True)
            if high - low <= DIRECT_ROWS and high - low <= batch.maximum_hits:
                used = append_direct(page, text, packed, word, end, depth, SEED_LENGTH, low, high, strand, ordinal,
                                      hits, used)  # fmt: skip
                continue
            low, high, depth = narrow(page, codes, origin, end, SEED_LENGTH, low, high, depth, False)
            level = 0
            while high - low > batch.maximum_hits and level + 1 < DEPTH_COUNT and DEPTHS[level + 1] <= longest:
                level += 1
                low, high, depth = narrow(page, codes, origin, end, DEPTHS[level], low, high, depth, False)
            if high - low <= batch.maximum_hits:
                used = append_rows(page, low, high, end - depth, strand, ordinal, hits, used)
            elif high - low < rarest:
                rarest, rarest_low, rarest_begin = high - low, low, end - depth
                rarest_strand, rarest_ordinal = strand, ordinal
    if used == first and rarest <= RAREST_LIMIT:
        used = append_rarest(page, rarest_low, rarest_low + rarest, rarest_begin, rarest_strand, rarest_ordinal,
                              batch.name_hash[read], batch.maximum_hits, hits, used)  # fmt: skip
    hits[first:used].sort()
    return used

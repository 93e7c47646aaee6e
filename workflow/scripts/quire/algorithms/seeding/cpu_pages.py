"""Seeding over several pages: count owned hits at every depth, choose the depths on the sums, then locate."""

import numpy as np
from numba import njit

from quire.algorithms.fm_index.cpu import owned_count
from quire.algorithms.seeding import DEPTHS, MAXIMUM_SEEDS, RAREST_LIMIT, SEED_LENGTH
from quire.algorithms.seeding.cpu_steps import (
    DEPTH_COUNT,
    DIRECT_ROWS,
    append_direct,
    append_rarest,
    first_interval,
    keep_smallest,
    left_match,
    longest_seed,
    narrow,
    seed_count,
    seed_end,
    start_of_row,
)

NOT_LOCATED = -1
RAREST = 100  # added to the depth level of a seed that is located although it is too frequent


@njit(cache=True, nogil=True)
def count_seeds(page, batch, text, counts):
    """Add the hits that a page owns of every seed at every depth to counts[read, strand, seed, depth]."""
    for read in range(len(batch.offsets) - 1):
        origin, word = batch.offsets[read], batch.word_offsets[read]
        length = batch.offsets[read + 1] - origin
        for strand in range(2):
            packed, codes = batch.packed[strand], batch.codes[strand]
            for ordinal in range(seed_count(length, batch.stride)):
                end = seed_end(ordinal, length, batch.stride)
                longest = longest_seed(codes, origin, end, batch.ambiguous[read])
                if longest < SEED_LENGTH:
                    continue
                depth = np.int64(page.prefix_length)
                low, high = first_interval(page, packed, word, end)
                row = counts[read, strand, ordinal]
                for level in range(DEPTH_COUNT):
                    wanted = DEPTHS[level]
                    if wanted > longest:
                        break
                    low, high, depth = narrow(page, codes, origin, end, wanted, low, high, depth, True)
                    if low >= high:
                        break
                    if depth == wanted:
                        row[level] += owned_count(page.unowned_rows, low, high)
                    if high - low <= DIRECT_ROWS:
                        later = level + 1 if depth == wanted else level
                        _count_direct(page, text, packed, word, end, depth, longest, low, high, later, row)
                        break


@njit(cache=True, nogil=True, forceinline=True)
def _count_direct(page, text, packed, word, end, depth, longest, low, high, level, row):
    """Count the rows of a small interval at every depth from DEPTHS[level] on by comparing the text."""
    for suffix in range(low, high):
        start = start_of_row(page, suffix)
        reach = depth + left_match(packed, word, end - depth, text, page.start + start, min(longest - depth, start))
        for later in range(level, DEPTH_COUNT):
            wanted = DEPTHS[later]
            if wanted > reach:
                break
            if start - (wanted - depth) < page.owned_length:
                row[later] += 1


@njit(cache=True, nogil=True)
def choose_depths(counts, batch):
    """Depth level of every seed, NOT_LOCATED for none; of a rarest seed that is needed all the same, level + RAREST."""
    choice = np.full(counts.shape[:3], NOT_LOCATED, np.int8)
    for read in range(counts.shape[0]):
        origin = batch.offsets[read]
        length = batch.offsets[read + 1] - origin
        found = 0
        rarest, rarest_strand, rarest_ordinal, rarest_level = np.int64(RAREST_LIMIT) + 1, 0, 0, 0
        for strand in range(2):
            for ordinal in range(seed_count(length, batch.stride)):
                end = seed_end(ordinal, length, batch.stride)
                longest = longest_seed(batch.codes[strand], origin, end, batch.ambiguous[read])
                if longest < SEED_LENGTH:
                    continue
                level = 0
                row = counts[read, strand, ordinal]
                while row[level] > batch.maximum_hits and level + 1 < DEPTH_COUNT and DEPTHS[level + 1] <= longest:
                    level += 1
                if row[level] <= batch.maximum_hits:
                    choice[read, strand, ordinal] = level if row[level] > 0 else NOT_LOCATED
                    found += row[level]
                elif row[level] < rarest:
                    rarest, rarest_strand, rarest_ordinal, rarest_level = row[level], strand, ordinal, level
        if found == 0 and rarest <= RAREST_LIMIT:
            choice[read, rarest_strand, rarest_ordinal] = rarest_level + RAREST
    return choice


@njit(cache=True, nogil=True)
def hits_of_choice(page, batch, text, choice, begin_read, offsets, hits):
    """Hits that a page owns of the seeds at their chosen depths; returns the read it stopped before."""
    used = offsets[begin_read]
    for read in range(begin_read, len(offsets) - 1):
        if used + 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, DIRECT_ROWS) + RAREST_LIMIT > len(hits):
            return read
        origin, word = batch.offsets[read], batch.word_offsets[read]
        length = batch.offsets[read + 1] - origin
        for strand in range(2):
            packed, codes = batch.packed[strand], batch.codes[strand]
            for ordinal in range(seed_count(length, batch.stride)):
                level = np.int64(choice[read, strand, ordinal])
                if level == NOT_LOCATED:
                    continue
                end = seed_end(ordinal, length, batch.stride)
                wanted = DEPTHS[level if level < RAREST else level - RAREST]
                low, high = first_interval(page, packed, word, end)
                low, high, depth = narrow(page, codes, origin, end, wanted, low, high,
                                           np.int64(page.prefix_length), level < RAREST)  # fmt: skip
                if low >= high:
                    continue
                if level >= RAREST:
                    used = append_rarest(page, low, high, end - wanted, strand, ordinal, batch.name_hash[read],
                                          batch.maximum_hits, hits, used)  # fmt: skip
                else:
                    used = append_direct(page, text, packed, word, end, depth, wanted, low, high, strand, ordinal,
                                          hits, used)  # fmt: skip
        offsets[read + 1] = used
    return len(offsets) - 1


@njit(cache=True, nogil=True)
def finish_merge(offsets, hits, batch, choice, kept):
    """Sort the gathered hits of each read in place, cut those of a rarest seed, and close the gaps."""
    used = np.int64(0)
    for read in range(len(offsets) - 1):
        first, last = offsets[read], offsets[read + 1]
        if last - first > batch.maximum_hits and choice[read].max() >= RAREST:
            ordinal = np.int64(hits[first] & np.uint64(255))
            strand = np.int64(hits[first] >> np.uint64(63))
            length = batch.offsets[read + 1] - batch.offsets[read]
            depth = DEPTHS[np.int64(choice[read, strand, ordinal]) - RAREST]
            begin = seed_end(ordinal, length, batch.stride) - depth
            last = keep_smallest(hits, first, last, begin, batch.name_hash[read], batch.maximum_hits)
        hits[first:last].sort()
        for i in range(first, last):
            hits[used] = hits[i]
            used += 1
        kept[read + 1] = used

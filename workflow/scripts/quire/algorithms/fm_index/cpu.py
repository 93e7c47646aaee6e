"""Searching an FM-index on the CPU: small functions to be inlined into Numba kernels, and batches of patterns.

A call that LLVM does not inline costs Numba a counted reference for every array, several times the work of a rank:
hence `forceinline`. Rows, positions and counts are int64, `blocks` and `sampled_rows` are flat uint64 arrays. Functions
are never called with a code above 3 unless they say so.
"""

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.simd.bits import count_ones, prefetch
from quire.simd.compiled import compiled, inlined

PATTERNS_IN_TURN = 32  # enough to hide a read from memory: 14 M ranks/s alone, 82 M with 8, 190 M with 32 (chr20)


@inlined
def split_row(words_per_block, row):
    """(first word of the block, group of 64 rows within the block, row within the group) of a row."""
    group = np.uint64(row) >> np.uint64(6)
    within = np.uint64(row) & np.uint64(63)
    if words_per_block == 4:
        return group << np.uint64(2), np.uint64(0), within
    if words_per_block == 8:
        block = group // np.uint64(3)
        return block << np.uint64(3), group - block * np.uint64(3), within
    if words_per_block == 16:
        block = group // np.uint64(7)
        return block << np.uint64(4), group - block * np.uint64(7), within
    block = group // np.uint64(15)
    return block << np.uint64(5), group - block * np.uint64(15), within


@inlined
def prefetch_row(blocks, words_per_block, row):
    """Ask for what `occurrence` and `symbol_at` will read for a row."""
    first, group, _ = split_row(words_per_block, row)
    prefetch(blocks, np.int64(first))
    if words_per_block >= 16:
        prefetch(blocks, np.int64(first + np.uint64(2) + (group << np.uint64(1))))


@inlined
def occurrence(blocks, words_per_block, primary, symbol, row):
    """How often code `symbol` (0..3) occurs in rows [0, row) of the BWT, the sentinel not counted."""
    first, group, within = split_row(words_per_block, row)
    code = np.uint64(symbol)
    count = np.int64(
        (blocks[first + (code >> np.uint64(1))] >> ((code & np.uint64(1)) << np.uint64(5))) & np.uint64(0xFFFFFFFF)
    )
    # All ones where the symbol's bit is 0: the plane is inverted, and a row matches where both planes are 1.
    low_flip = (code & np.uint64(1)) - np.uint64(1)
    high_flip = (code >> np.uint64(1)) - np.uint64(1)
    plane = first + np.uint64(2)
    last = plane + (group << np.uint64(1))
    while plane < last:
        count += count_ones((blocks[plane] ^ low_flip) & (blocks[plane + np.uint64(1)] ^ high_flip))
        plane += np.uint64(2)
    mask = (np.uint64(1) << within) - np.uint64(1)
    count += count_ones((blocks[plane] ^ low_flip) & (blocks[plane + np.uint64(1)] ^ high_flip) & mask)
    if symbol == 0 and row > primary:
        count -= 1
    return count


@inlined
def backward_step(blocks, words_per_block, C, primary, symbol, low, high):
    """Interval of `symbol` (0..3) put before the pattern of the interval [low, high)."""
    first = C[symbol]
    return (
        first + occurrence(blocks, words_per_block, primary, symbol, low),
        first + occurrence(blocks, words_per_block, primary, symbol, high),
    )


@inlined
def symbol_at(blocks, words_per_block, row):
    """Code of the BWT in a row; 0 for the sentinel's row."""
    first, group, within = split_row(words_per_block, row)
    plane = first + np.uint64(2) + (group << np.uint64(1))
    low = (blocks[plane] >> within) & np.uint64(1)
    high = (blocks[plane + np.uint64(1)] >> within) & np.uint64(1)
    return np.int64(low | (high << np.uint64(1)))


@inlined
def previous_row(blocks, words_per_block, C, primary, row):
    """Row of the suffix that starts one base before the suffix of `row` (LF mapping); not for the row `primary`."""
    symbol = symbol_at(blocks, words_per_block, row)
    return C[symbol] + occurrence(blocks, words_per_block, primary, symbol, row)


@inlined
def sampled_rank(sampled_rows, row):
    """Where a sampled suffix array holds a row; -1 if the row is not sampled."""
    word = (np.uint64(row) >> np.uint64(6)) << np.uint64(1)
    within = np.uint64(row) & np.uint64(63)
    bits = sampled_rows[word]
    if (bits >> within) & np.uint64(1) == 0:
        return np.int64(-1)
    before = bits & ((np.uint64(1) << within) - np.uint64(1))
    return np.int64(sampled_rows[word + np.uint64(1)]) + count_ones(before)


@inlined
def locate(suffix_array, sa_sampling, sampled_rows, blocks, words_per_block, C, primary, row):
    """Start of the suffix of a row in the text."""
    if sa_sampling == 1:
        return np.int64(suffix_array[row])
    steps = 0
    while True:
        rank = sampled_rank(sampled_rows, row)
        if rank >= 0:
            return np.int64(suffix_array[rank]) + steps
        row = previous_row(blocks, words_per_block, C, primary, row)
        steps += 1


@inlined
def last_interval(codes, start, end, C, prefix_table, prefix_length):
    """Interval of as much of the end of codes[start:end] as the prefix table knows: (low, high, where that begins).

    A code above 3 gives (0, 0, start); a pattern shorter than the table's k-mers all rows and `end`.
    """
    for position in range(start, end):
        if codes[position] > 3:
            return np.int64(0), np.int64(0), start
    if end - start < prefix_length:
        return np.int64(0), C[4], end
    kmer = 0
    for position in range(end - prefix_length, end):
        kmer = 4 * kmer + np.int64(codes[position])
    return np.int64(prefix_table[kmer, 0]), np.int64(prefix_table[kmer, 1]), end - prefix_length


@inlined
def interval(codes, start, end, blocks, words_per_block, C, primary, prefix_table, prefix_length):
    """Interval of the pattern codes[start:end] (uint8; a code above 3 gives (0, 0); an empty pattern all rows)."""
    low, high, position = last_interval(codes, start, end, C, prefix_table, prefix_length)
    while position > start and low < high:
        position -= 1
        low, high = backward_step(blocks, words_per_block, C, primary, np.int64(codes[position]), low, high)
    return low, high


@inlined
def owned_count(unowned_rows, low, high):
    """How many rows of [low, high) belong to this page."""
    first, last = 0, unowned_rows.size
    while first < last:
        middle = (first + last) >> 1
        if unowned_rows[middle] < low:
            first = middle + 1
        else:
            last = middle
    count = high - low
    while first < unowned_rows.size and unowned_rows[first] < high:
        count -= 1
        first += 1
    return count


@compiled
def _batch_intervals(patterns, offsets, blocks, words_per_block, C, primary, prefix_table, prefix_length):
    """See `intervals`.

    Patterns take their steps in turns, so that the blocks of one arrive from memory while the others are counted.
    """
    found = np.empty((offsets.size - 1, 2), dtype=np.int64)
    positions = np.empty(offsets.size - 1, dtype=np.int64)
    for first in range(0, positions.size, PATTERNS_IN_TURN):
        last = min(first + PATTERNS_IN_TURN, positions.size)
        for index in range(first, last):
            found[index, 0], found[index, 1], positions[index] = last_interval(
                patterns, offsets[index], offsets[index + 1], C, prefix_table, prefix_length
            )
            prefetch_row(blocks, words_per_block, found[index, 0])
            prefetch_row(blocks, words_per_block, found[index, 1])
        unfinished = True
        while unfinished:
            unfinished = False
            for index in range(first, last):
                low, high = found[index, 0], found[index, 1]
                if positions[index] == offsets[index] or low == high:
                    continue
                positions[index] -= 1
                symbol = np.int64(patterns[positions[index]])
                low, high = backward_step(blocks, words_per_block, C, primary, symbol, low, high)
                prefetch_row(blocks, words_per_block, low)
                prefetch_row(blocks, words_per_block, high)
                found[index, 0], found[index, 1] = low, high
                unfinished = True
    return found


@compiled
def _batch_owned_counts(found, unowned_rows):
    """See `owned_counts`."""
    counts = np.empty(found.shape[0], dtype=np.int64)
    for index in range(found.shape[0]):
        counts[index] = owned_count(unowned_rows, found[index, 0], found[index, 1])
    return counts


@compiled
def _batch_locate(rows, suffix_array, sa_sampling, sampled_rows, blocks, words_per_block, C, primary):
    """See `positions_of_rows`."""
    positions = np.empty(rows.size, dtype=np.int64)
    for index in range(rows.size):
        positions[index] = locate(
            suffix_array, sa_sampling, sampled_rows, blocks, words_per_block, C, primary, rows[index]
        )
    return positions


def intervals(index: FmIndex, patterns: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Find the interval of each pattern.

    Args:
        index: the index.
        patterns: uint8, the codes of all patterns one after the other; a code above 3 matches nothing.
        offsets: int64[m + 1], pattern i is patterns[offsets[i]:offsets[i + 1]]; an empty one occurs in every row.

    Returns:
        int64[m, 2]: (low, high).
    """
    found: np.ndarray = _batch_intervals(
        patterns, offsets, index.blocks, index.words_per_block, index.C, index.primary, index.prefix_table,
        index.prefix_length,
    )  # fmt: skip
    return found


def owned_counts(index: FmIndex, found: np.ndarray) -> np.ndarray:
    """How many rows of each interval (int64[m, 2]) belong to this page: int64[m]."""
    counts: np.ndarray = _batch_owned_counts(found, index.unowned_rows)
    return counts


def positions_of_rows(index: FmIndex, rows: np.ndarray) -> np.ndarray:
    """Start of the suffix of each row (int64[m]) in the text: int64[m]."""
    positions: np.ndarray = _batch_locate(
        rows, index.suffix_array, index.sa_sampling, index.sampled_rows, index.blocks, index.words_per_block, index.C,
        index.primary,
    )  # fmt: skip
    return positions

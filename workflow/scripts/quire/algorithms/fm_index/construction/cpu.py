"""The arrays of an FM-index from a text and its suffix array, each built in one pass by Numba kernels."""

from concurrent.futures import Executor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quire.simd.compiled import compiled


def occurrence_blocks(
    codes: NDArray[np.uint8], suffix_array: NDArray[np.uint32], words_per_block: int, pool: Executor, parts: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Write the Burrows-Wheeler transform of codes (uint8[n], 0..3) as occurrence blocks of 4, 8, 16 or 32 words.

    The blocks are written in `parts` parts by the threads of a pool.

    Returns:
        blocks (uint64, flat), counts of the four codes (int64[4]), and the row of the whole text.
    """
    rows_per_block = 64 * (words_per_block // 2 - 1)
    block_count = suffix_array.size // rows_per_block + 1  # one past the rows: every row in [0, rows] has a block
    blocks = np.zeros((block_count, words_per_block), dtype=np.uint64)
    bounds = list(pairwise(np.linspace(0, block_count, parts + 1).astype(int).tolist()))
    written = list(pool.map(lambda part: write_blocks(part[0], part[1], codes, suffix_array, blocks), bounds))
    counts = np.zeros(4, np.int64)
    for (first, last), (own, _) in zip(bounds, written, strict=True):
        # A part counts from zero. Counts are 32 bits each, two in a word.
        blocks[first:last, :2] += (counts[::2] + (counts[1::2] << 32)).astype(np.uint64)
        counts += own
    counts[0] -= 1  # the sentinel, which was counted as an A
    return blocks.reshape(-1), counts, max(primary for _, primary in written)


@compiled
def write_blocks(first, last, codes, suffix_array, blocks):
    """Write the blocks [first, last) (uint64[blocks, words]) with counts from zero.

    Returns:
        counts of the four codes (int64[4]), with the sentinel as an A; and the row of the whole text, or 0.
    """
    rows = suffix_array.size
    groups = blocks.shape[1] // 2 - 1
    counts = np.zeros(4, dtype=np.int64)
    primary = 0
    row = first * 64 * groups
    for block in range(first, last):
        blocks[block, 0] = np.uint64(counts[0]) | (np.uint64(counts[1]) << np.uint64(32))
        blocks[block, 1] = np.uint64(counts[2]) | (np.uint64(counts[3]) << np.uint64(32))
        for group in range(groups):
            low_bits = np.uint64(0)
            high_bits = np.uint64(0)
            group_end = min(row + 64, rows)
            bit = np.uint64(0)
            while row < group_end:
                position = np.int64(suffix_array[row])
                code = np.int64(0)
                if position == 0:
                    primary = row
                else:
                    code = np.int64(codes[position - 1])
                counts[code] += 1
                low_bits |= np.uint64(code & 1) << bit
                high_bits |= np.uint64(code >> 1) << bit
                bit += np.uint64(1)
                row += 1
            blocks[block, 2 + 2 * group] = low_bits
            blocks[block, 3 + 2 * group] = high_bits
    return counts, primary


@compiled
def prefix_intervals(codes, prefix_length):
    """Return the prefix table: uint32[4^k, 2], the interval of every k-mer.

    A suffix shorter than k sorts just before the k-mer that it becomes when padded with A: it shifts all later rows and
    belongs to no interval.
    """
    size = 4**prefix_length
    table = np.zeros((size, 2), dtype=np.uint32)
    kmer = 0
    for position in range(codes.size):
        kmer = (4 * kmer + np.int64(codes[position])) & (size - 1)
        if position >= prefix_length - 1:
            table[kmer, 1] += np.uint32(1)
    for length in range(min(prefix_length - 1, codes.size), -1, -1):
        short = 0
        for position in range(codes.size - length, codes.size):
            short = 4 * short + np.int64(codes[position])
        table[short * 4 ** (prefix_length - length), 0] += np.uint32(1)
    row = np.int64(0)
    for index in range(size):
        row += np.int64(table[index, 0])
        table[index, 0] = np.uint32(row)
        row += np.int64(table[index, 1])
        table[index, 1] = np.uint32(row)
    return table


@compiled
def sample_suffix_array(suffix_array, sa_sampling):
    """Return the suffix array of the rows whose suffix starts at a multiple of `sa_sampling`, and `sampled_rows`."""
    rows = suffix_array.size
    values = np.empty((rows - 1) // sa_sampling + 1, dtype=np.uint32)
    sampled_rows = np.zeros(2 * ((rows - 1) // 64 + 1), dtype=np.uint64)
    kept = 0
    for row in range(rows):
        if row % 64 == 0:
            sampled_rows[2 * (row // 64) + 1] = np.uint64(kept)
        if suffix_array[row] % sa_sampling == 0:
            sampled_rows[2 * (row // 64)] |= np.uint64(1) << np.uint64(row % 64)
            values[kept] = suffix_array[row]
            kept += 1
    return values, sampled_rows


@compiled
def rows_from(suffix_array, position):
    """Return the sorted rows (uint32) whose suffix starts at or after `position`."""
    rows = np.empty(suffix_array.size - position, dtype=np.uint32)
    count = 0
    for row in range(suffix_array.size):
        if suffix_array[row] >= position:
            rows[count] = row
            count += 1
    return rows

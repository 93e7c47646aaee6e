"""Pattern search in a page on the CPU, for tests of the individual steps of the stages' kernels."""

import numpy as np
from quire.algorithms.fm_index.cpu import backward_step, owned_count, start_of_row
from quire.simd.compiled import compiled


@compiled
def intervals(page, patterns, offsets):
    """Find patterns in a page (`FmIndex`); a code above 3 matches nothing, an empty pattern all rows.

    Args:
        page: the page.
        patterns: uint8[total], the codes of all patterns.
        offsets: int64[m + 1], pattern i is patterns[offsets[i]:offsets[i + 1]].

    Returns:
        int64[m, 2]: (low, high) of each.
    """
    found = np.zeros((offsets.size - 1, 2), np.int64)
    k = page.prefix_length
    for index in range(offsets.size - 1):
        first, position = offsets[index], offsets[index + 1]
        if np.any(patterns[first:position] > 3):
            continue
        low, high = np.int64(0), page.C[4]
        if position - first >= k:
            kmer = 0
            position -= k
            for item in range(position, position + k):
                kmer = 4 * kmer + np.int64(patterns[item])
            low, high = np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])
        while position > first and low < high:
            position -= 1
            symbol = np.int64(patterns[position])
            low, high = backward_step(page.blocks, page.words_per_block, page.C, page.primary, symbol, low, high)
        found[index] = low, high
    return found


@compiled
def owned_counts(page, found):
    """Count the rows of intervals (int64[m, 2]) that the page owns: int64[m]."""
    counts = np.empty(len(found), np.int64)
    for index in range(len(found)):
        counts[index] = owned_count(page.unowned_rows, found[index, 0], found[index, 1])
    return counts


@compiled
def positions_of_rows(page, rows):
    """Locate rows (int64[m]) in the page: int64[m]."""
    positions = np.empty(len(rows), np.int64)
    for index in range(len(rows)):
        positions[index] = start_of_row(page, rows[index])
    return positions

"""Ranges of starts, and the intervals of the k-mers that all their matches contain.

Matches of at least l bases that start in the range [a, b] of a query all contain the bases [b, a + l). A *range* is a
row (A, B, END, RUN, PARENT): its first and last start, the end of its k-mer [B, END), which lies within [b, a + l), the
run of known bases that it lies in, and where its search begins (FROM_TABLE, or a row whose interval it goes on from).
Where the k-mer has many rows, the range is halved: the k-mers of the halves are longer, and those of repeats become
rare one by one. What is left are the *leaves*, whose rows are worth looking at (`cpu_hits`).

A look-up in an index is a cache miss, so ranges are searched together and each asks for what its next step reads a
round ahead, as in `quire.algorithms.seeding.cpu_together`.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.cpu import backward_step, prefetch_row
from quire.algorithms.fm_index.pages.cpu import announce_row, page_of
from quire.algorithms.seeding.cpu_steps import prefix
from quire.sequence.words import code_at
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind

A, B, END, RUN, PARENT = 0, 1, 2, 3, 4
LOW, HIGH = 0, 1
FROM_TABLE = -1
TOGETHER = 256  # ranges that are laid together
MOST_RANGES = 4096  # with their halves; those of one range of MOST_STARTS always have room
MOST_STARTS = 256  # in a range
LONGEST_KMER = 1024  # a page's text goes on for more behind what it owns
SPLIT_ROWS = 64  # rows from which on a range is halved


class Ranges(NamedTuple):
    """Room for ranges that are searched together.

    Attributes:
        rows: int64[MOST_RANGES, 5], the ranges.
        found: int64[MOST_RANGES, pages, 2], the interval of each k-mer in each page.
        at: int64[MOST_RANGES], how far to the left a k-mer was searched.
        listed: int64[MOST_RANGES], ranges in work.
        leaves: int64[MOST_RANGES], ranges that were not halved, by their starts in the end.
        firsts: int64[MOST_RANGES], room for sorting leaves.
    """

    rows: np.ndarray
    found: np.ndarray
    at: np.ndarray
    listed: np.ndarray
    leaves: np.ndarray
    firsts: np.ndarray


@compiled
def room_for_ranges(page_count):
    """Room for ranges on so many pages."""
    return Ranges(
        np.empty((MOST_RANGES, 5), np.int64), np.empty((MOST_RANGES, page_count, 2), np.int64),
        np.empty(MOST_RANGES, np.int64), np.empty(MOST_RANGES, np.int64), np.empty(MOST_RANGES, np.int64),
        np.empty(MOST_RANGES, np.int64),
    )  # fmt: skip


@inlined
def _set_range(row, first, last, kmer_end, run, parent):
    row[A], row[B], row[END], row[RUN], row[PARENT] = first, last, kmer_end, run, parent


@inlined
def lay_ranges(runs, start, end, min_length, seed_length, most, ranges):
    """Lay up to `most` ranges of the starts in [start, end); returns (ranges, start behind the last of them).

    A k-mer has `seed_length` bases, or `min_length` if that is less.
    """
    width = min(max(min_length - seed_length + 1, 1), MOST_STARTS)
    count = 0
    run = first_behind(runs, start)
    while run < len(runs) and start < end and count < most:
        start = max(start, runs[run, 0])
        behind = min(runs[run, 1] - min_length + 1, end)  # of the starts of this run
        while start < behind and count < most:
            last = min(start + width, behind) - 1
            kmer_end = min(start + min_length, last + seed_length)
            _set_range(ranges.rows[count], start, last, kmer_end, run, FROM_TABLE)
            count += 1
            start = last + 1
        if start >= behind:
            run += 1
    if run == len(runs):
        start = end
    return count, min(start, end)


@compiled
def search_ranges(table, words, count, min_length, ranges):
    """Search the first `count` ranges and halve those that occur too often.

    Returns:
        (leaves, start): their number in `ranges.leaves`, those of all starts before `start`. That lies behind all
        ranges, unless there was no room for their halves.
    """
    first, last, leaves = 0, count, 0
    until = ranges.rows[count - 1, B] + 1
    while first < last:
        for number in range(len(table)):
            _search_page(page_of(table, number), number, words, first, last, ranges)
        behind = last
        for index in range(first, last):
            rows = rows_of(ranges.found[index])
            row = ranges.rows[index]
            if rows == 0 or row[A] >= until:
                continue
            if rows <= SPLIT_ROWS or (row[A] == row[B] and row[END] - row[B] == min(min_length, LONGEST_KMER)):
                ranges.leaves[leaves] = index
                leaves += 1
            elif behind + 2 <= MOST_RANGES:
                behind = _halve(ranges.rows, index, behind, min_length)
            else:
                until = row[A]
        first, last = last, behind
    return _sort_leaves(ranges, leaves, until), until


@inlined
def rows_of(found):
    """Rows of a k-mer on all pages."""
    rows = np.int64(0)
    for number in range(len(found)):
        rows += found[number, HIGH] - found[number, LOW]
    return rows


@inlined
def _halve(rows, index, behind, min_length):
    """Append the halves of a range, or a range of one start with a longer k-mer; returns the end of the ranges."""
    first, last, kmer_end, run = rows[index, A], rows[index, B], rows[index, END], rows[index, RUN]
    longest = min(2 * (kmer_end - last), LONGEST_KMER)
    if first == last:
        _set_range(rows[behind], first, last, min(first + min_length, last + longest), run, FROM_TABLE)
        return behind + 1
    middle = (first + last) >> 1
    if kmer_end == first + min_length and kmer_end - middle <= LONGEST_KMER:
        _set_range(rows[behind], first, middle, kmer_end, run, index)
    else:
        _set_range(rows[behind], first, middle, min(first + min_length, middle + longest), run, FROM_TABLE)
    _set_range(rows[behind + 1], middle + 1, last, min(middle + 1 + min_length, last + longest), run, FROM_TABLE)
    return behind + 2


@inlined
def _search_page(page, number, words, first, last, ranges):
    """Fill found[first:last, number]."""
    rows, found, at, listed = ranges.rows, ranges.found, ranges.at, ranges.listed
    k = page.prefix_length
    for index in range(first, last):
        if rows[index, PARENT] == FROM_TABLE and rows[index, END] - rows[index, B] >= k:
            kmer = prefix(words, 0, rows[index, END], k)
            found[index, number, LOW] = kmer
            prefetch(page.prefix_table, 2 * kmer)
    count = 0
    for index in range(first, last):
        parent = rows[index, PARENT]
        if parent != FROM_TABLE:
            low, high = found[parent, number, LOW], found[parent, number, HIGH]
            at[index] = rows[parent, B]
        elif rows[index, END] - rows[index, B] >= k:
            kmer = found[index, number, LOW]
            low, high = np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])
            at[index] = rows[index, END] - k
        else:
            low, high = np.int64(0), page.C[4]
            at[index] = rows[index, END]
        found[index, number, LOW], found[index, number, HIGH] = low, high
        if low < high and at[index] > rows[index, B]:
            prefetch_row(page.blocks, page.words_per_block, low)
            prefetch_row(page.blocks, page.words_per_block, high)
            listed[count] = index
            count += 1
    while count > 0:
        kept = 0
        for item in range(count):
            index = listed[item]
            low, high, position = found[index, number, LOW], found[index, number, HIGH], at[index] - 1
            symbol = np.int64(code_at(words, position))
            low, high = backward_step(page.blocks, page.words_per_block, page.C, page.primary, symbol, low, high)
            found[index, number, LOW], found[index, number, HIGH], at[index] = low, high, position
            if low < high and position == rows[index, B]:
                announce_row(page, low)  # `cpu_hits` will read it
            elif low < high:
                prefetch_row(page.blocks, page.words_per_block, low)
                prefetch_row(page.blocks, page.words_per_block, high)
                listed[kept] = index
                kept += 1
        count = kept


@inlined
def _sort_leaves(ranges, count, until):
    """Sort the first `count` leaves by their starts, without those from `until` on; returns how many are left."""
    kept, sorted_so_far = 0, True
    for item in range(count):
        index = ranges.leaves[item]
        if ranges.rows[index, A] < until:
            ranges.leaves[kept], ranges.firsts[kept] = index, ranges.rows[index, A]
            sorted_so_far &= kept == 0 or ranges.firsts[kept - 1] < ranges.firsts[kept]
            kept += 1
    if not sorted_so_far:
        order = np.argsort(ranges.firsts[:kept])
        for item in range(kept):
            ranges.listed[item] = ranges.leaves[order[item]]
        for item in range(kept):
            ranges.leaves[item] = ranges.listed[item]
    return kept

"""Ranges of starts, and the intervals of the k-mers that all their matches contain.

Matches of at least l bases that start in the range [a, b] of a query all contain the bases [b, a + l). A *range* is a
record of RANGE: its first and last start, the end of its k-mer [last, kmer_end), which lies within [b, a + l), the run
of known bases that it lies in, and where its search begins (FROM_TABLE, or the number of a range whose interval it
extends). A *leaf* is a range whose k-mer is rare enough for its rows to be located.

A range whose k-mer has many rows is halved: the k-mers of the halves are longer, and in repeats they become rare one
after another. The remaining ranges are the leaves, whose rows `cpu_hits` locates.

A look-up in an index is a cache miss. So ranges are searched together, and each prefetches what its next step reads one
round ahead, as in `quire.algorithms.seeding.together_cpu`.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.cpu import announce_row, backward_step, page_of, prefetch_row
from quire.algorithms.mems import Matches
from quire.algorithms.seeding.steps_cpu import prefix
from quire.sequence.words_cpu import code_at
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined
from quire.simd.search import first_behind

RANGE = np.dtype([(name, np.int64) for name in ("first", "last", "kmer_end", "run", "parent")])
INTERVAL = np.dtype([("low", np.int64), ("high", np.int64)])
LONGEST = np.dtype([("longest", np.int64), ("second", np.int64), ("axis", np.int64)])
FROM_TABLE = -1
MOST_RANGES = 4096  # including their halves; the halves of one range of MOST_STARTS always fit
MOST_STARTS = 256  # in a range
HITS_TOGETHER = 1024
LONGEST_KMER = 1024  # less than the text of a page that belongs to the next one
SPLIT_ROWS = 64  # a range with more rows is halved


class Text(NamedTuple):
    """The axis as kernels read it.

    Attributes:
        words, runs: as in `PackedText`; a run of no bases follows all others.
        first_runs: int32[], for each 2^BLOCK_SHIFT bases of the axis the first run that ends after its first base.
        heads: uint64[r], sorted, HEAD bases from the start of each run on, even beyond its end, the first base highest.
        head_starts: int64[r], the starts of these runs.
    """

    words: np.ndarray
    runs: np.ndarray
    first_runs: np.ndarray
    heads: np.ndarray
    head_starts: np.ndarray


class KernelSearch(NamedTuple):
    """The search of one call of `find`.

    Attributes:
        pages: the table of the axis' pages (`page_table`).
        words, runs: the queries, as in `PackedText`.
        min_length, unique: of `WantedMatches`.
        seed_length: bases of the k-mers that are looked up first.
        begin_start, begin_axis: the cursor; matches before it are left out.
    """

    pages: np.ndarray
    text: Text
    words: np.ndarray
    runs: np.ndarray
    min_length: int
    seed_length: int
    unique: bool
    begin_start: int
    begin_axis: int


class Ranges(NamedTuple):
    """Ranges that are searched together.

    Attributes:
        rows: RANGE[MOST_RANGES].
        found: INTERVAL[MOST_RANGES, pages], the interval of each k-mer in each page.
        at: int64[MOST_RANGES], the base of the query down to which a k-mer was searched from its end.
        listed: int64[MOST_RANGES], ranges whose search continues.
        leaves: int64[MOST_RANGES], ranges that were not halved, finally sorted by their starts.
        firsts: int64[MOST_RANGES], scratch for sorting leaves.
    """

    rows: np.ndarray
    found: np.ndarray
    at: np.ndarray
    listed: np.ndarray
    leaves: np.ndarray
    firsts: np.ndarray


class KmerHits(NamedTuple):
    """Hits that are compared together, and the best hits of one range.

    Attributes:
        axis: int64[HITS_TOGETHER], places of k-mers on the axis.
        leaf: int64[HITS_TOGETHER], their ranges, as places in the list of leaves.
        longest: LONGEST[MOST_STARTS + 1], item i for the hits of a range that reach i bases to the left of its last
            start: how far the longest and the second longest reach to the right, and the place of the longest.
    """

    axis: np.ndarray
    leaf: np.ndarray
    longest: np.ndarray


class KernelRoom(NamedTuple):
    """Working space of a search; `found` receives its matches."""

    ranges: Ranges
    hits: KmerHits
    found: Matches


def room_for(page_count: int, limit: int) -> KernelRoom:
    """Allocate the working space to search some pages for `limit` matches."""
    each = [np.empty(MOST_RANGES, np.int64) for _ in range(4)]
    ranges = Ranges(np.empty(MOST_RANGES, RANGE), np.empty((MOST_RANGES, page_count), INTERVAL), *each)
    axis, leaf = (np.empty(HITS_TOGETHER, np.int64) for _ in range(2))
    found = Matches(*(np.empty(2 * limit + MOST_STARTS, np.int64) for _ in range(3)))
    return KernelRoom(ranges, KmerHits(axis, leaf, np.empty(MOST_STARTS + 1, LONGEST)), found)


@inlined
def _set_range(row, first, last, kmer_end, run, parent):
    row.first, row.last, row.kmer_end, row.run, row.parent = first, last, kmer_end, run, parent


@inlined
def lay_ranges(search, start, end, most, ranges):
    """Lay out up to `most` ranges of the starts in [start, end); return their number, and the start after the last one.

    A k-mer has `seed_length` bases, or `min_length` if that is less.
    """
    runs, min_length, seed_length = search.runs, search.min_length, search.seed_length
    width = min(max(min_length - seed_length + 1, 1), MOST_STARTS)
    count = 0
    run = first_behind(runs, start)
    while run < len(runs) and start < end and count < most:
        start = max(start, runs[run, 0])
        stop = min(runs[run, 1] - min_length + 1, end)  # of the starts in this run
        while start < stop and count < most:
            last = min(start + width, stop) - 1
            kmer_end = min(start + min_length, last + seed_length)
            _set_range(ranges.rows[count], start, last, kmer_end, run, FROM_TABLE)
            count += 1
            start = last + 1
        if start >= stop:
            run += 1
    if run == len(runs):
        start = end
    return count, min(start, end)


@compiled
def search_ranges(search, count, ranges):
    """Search the first `count` ranges and halve those that occur too often.

    Returns:
        (leaves, start): the number of `ranges.leaves`, which are complete for all starts before `start`. That is after
        all ranges, unless their halves did not fit.
    """
    longest = min(search.min_length, LONGEST_KMER)
    first, last, leaves = 0, count, 0
    until = ranges.rows[count - 1].last + 1
    while first < last:
        for number in range(len(search.pages)):
            _search_page(page_of(search.pages, number), number, search.words, first, last, ranges)
        laid = last
        for index in range(first, last):
            rows = rows_of(ranges.found, index)
            row = ranges.rows[index]
            if rows == 0 or row.first >= until:
                continue
            if rows <= SPLIT_ROWS or (row.first == row.last and row.kmer_end - row.last == longest):
                ranges.leaves[leaves] = index
                leaves += 1
            elif laid + 2 <= MOST_RANGES:
                laid = _halve(ranges.rows, index, laid, search.min_length)
            else:
                until = row.first
        first, last = last, laid
    return _sort_leaves(ranges, leaves, until), until


@inlined
def rows_of(found, index):
    """Count the rows of a range's k-mer on all pages."""
    rows = np.int64(0)
    for number in range(found.shape[1]):
        rows += found[index, number].high - found[index, number].low
    return rows


@inlined
def _halve(rows, index, laid, min_length):
    """Append the halves of a range, or a range of one start with a longer k-mer; return the end of the ranges."""
    row = rows[index]
    first, last, kmer_end, run = row.first, row.last, row.kmer_end, row.run
    longest = min(2 * (kmer_end - last), LONGEST_KMER)
    if first == last:
        _set_range(rows[laid], first, last, min(first + min_length, last + longest), run, FROM_TABLE)
        return laid + 1
    middle = (first + last) >> 1
    if kmer_end == first + min_length and kmer_end - middle <= LONGEST_KMER:
        _set_range(rows[laid], first, middle, kmer_end, run, index)
    else:
        _set_range(rows[laid], first, middle, min(first + min_length, middle + longest), run, FROM_TABLE)
    _set_range(rows[laid + 1], middle + 1, last, min(middle + 1 + min_length, last + longest), run, FROM_TABLE)
    return laid + 2


@inlined
def _search_page(page, number, words, first, last, ranges):
    """Fill found[first:last, number]."""
    rows, found, at, listed = ranges.rows, ranges.found, ranges.at, ranges.listed
    k = page.prefix_length
    for index in range(first, last):
        row = rows[index]
        if row.parent == FROM_TABLE and row.kmer_end - row.last >= k:
            kmer = prefix(words, 0, row.kmer_end, k)
            found[index, number].low = kmer
            prefetch(page.prefix_table, 2 * kmer)
    count = 0
    for index in range(first, last):
        row, interval = rows[index], found[index, number]
        if row.parent != FROM_TABLE:
            parent = found[row.parent, number]
            low, high = parent.low, parent.high
            at[index] = rows[row.parent].last
        elif row.kmer_end - row.last >= k:
            kmer = interval.low
            low, high = np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])
            at[index] = row.kmer_end - k
        else:
            low, high = np.int64(0), page.C[4]
            at[index] = row.kmer_end
        interval.low, interval.high = low, high
        if low < high and at[index] > row.last:
            prefetch_row(page.blocks, page.words_per_block, low)
            prefetch_row(page.blocks, page.words_per_block, high)
            listed[count] = index
            count += 1
    while count > 0:
        kept = 0
        for item in range(count):
            index = listed[item]
            interval, position = found[index, number], at[index] - 1
            symbol = np.int64(code_at(words, position))
            low, high = backward_step(
                page.blocks, page.words_per_block, page.C, page.primary, symbol, interval.low, interval.high
            )
            interval.low, interval.high, at[index] = low, high, position
            if low < high and position == rows[index].last:
                announce_row(page, low)  # `cpu_hits` will read it
            elif low < high:
                prefetch_row(page.blocks, page.words_per_block, low)
                prefetch_row(page.blocks, page.words_per_block, high)
                listed[kept] = index
                kept += 1
        count = kept


@inlined
def _sort_leaves(ranges, count, until):
    """Sort the first `count` leaves by their starts, drop those from `until` on, and return the number left."""
    kept = 0
    for item in range(count):
        index = ranges.leaves[item]
        if ranges.rows[index].first < until:
            ranges.leaves[kept], ranges.firsts[kept] = index, ranges.rows[index].first
            kept += 1
    ranges.leaves[:kept] = ranges.leaves[:kept][np.argsort(ranges.firsts[:kept])]
    return kept

"""Rows of k-mers to hits: places on the axis, and how far packed text is equal there.

Where a range of one start has many rows, most of them are hits of matches that begin before it: the base before is the
same in the reference and in the query, as the Burrows-Wheeler transform tells for 64 rows at a time. Only the other
rows are located. What such a row does not tell is that a run of known bases begins in the reference (the base before
belongs to another island, or only stands in for an ambiguous one); so the first bases of all runs are kept sorted
(`Text.heads`), and runs that begin with the k-mer are looked up there.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.cpu import split_row
from quire.algorithms.fm_index.pages.cpu import announce_row, page_of, start_of_row
from quire.algorithms.mems.cpu_ranges import END, HIGH, LOW, MOST_STARTS, RUN, SPLIT_ROWS, A, B, rows_of
from quire.algorithms.seeding.cpu_steps import prefix
from quire.sequence.words import code_at, packed_word
from quire.simd.bits import count_ones, leading_zeros, prefetch, trailing_zeros
from quire.simd.compiled import compiled, inlined

HITS_TOGETHER = 1024
ROWS_PER_LINE = 16  # of a whole suffix array
BLOCK_SHIFT = 10  # bases of the axis, as a power of two, for which the first run is known
HEAD = 32  # bases of a run that are kept
ANY = -1  # letter before a range whose rows are all looked at


class Text(NamedTuple):
    """The axis as kernels read it.

    Attributes:
        words: as in `ReferenceText`.
        runs: as in `ReferenceText`.
        first_runs: int32[], for each 2^BLOCK_SHIFT bases of the axis the first run that ends behind its first base.
        heads: uint64[r], sorted, the first HEAD bases of each run and what follows it, the first base highest.
        head_starts: int64[r], where these runs start.
    """

    words: np.ndarray
    runs: np.ndarray
    first_runs: np.ndarray
    heads: np.ndarray
    head_starts: np.ndarray


class RoomForHits(NamedTuple):
    """Room for hits that are looked at together, and for the matches of one range.

    Attributes:
        axis: int64[HITS_TOGETHER], where k-mers stand.
        leaf: int64[HITS_TOGETHER], their ranges, as places in the list of leaves.
        longest: int64[MOST_STARTS + 1, 3], of the hits of a range that reach so many bases to the left of its last
            start: how far the longest reaches to the right (FIRST), the longest but one (SECOND), and where on the axis
            the longest stands (WHERE).
    """

    axis: np.ndarray
    leaf: np.ndarray
    longest: np.ndarray


@compiled
def room_for_hits():
    """Room for hits that are looked at together."""
    return RoomForHits(
        np.empty(HITS_TOGETHER, np.int64), np.empty(HITS_TOGETHER, np.int64), np.empty((MOST_STARTS + 1, 3), np.int64)
    )


@inlined
def equal_before(text, at, words, position, most):
    """How many bases before `at` of the axis and before `position` of the queries are equal, at most `most`."""
    equal = 0
    while equal < most:
        difference = _word_before(text, at - equal) ^ _word_before(words, position - equal)
        if difference != 0:
            return min(equal + (leading_zeros(difference) >> 1), most)
        equal += 32
    return most


@inlined
def _word_before(words, base):
    """The 32 bases before `base` (at least 1), that before it highest; zeros where there are less."""
    if base >= 32:
        return packed_word(words, base - 32)
    return words[0] << np.uint64(64 - 2 * base)


@inlined
def equal_behind(text, at, words, position, most):
    """How many bases from `at` of the axis and from `position` of the queries on are equal, at most `most`."""
    equal = 0
    while equal < most:
        difference = packed_word(text, at + equal) ^ packed_word(words, position + equal)
        if difference != 0:
            return min(equal + (trailing_zeros(difference) >> 1), most)
        equal += 32
    return most


@inlined
def letter_before(ranges, index, words, runs):
    """The letter (0..3) before a range, if only rows with another one are looked at; else ANY."""
    row = ranges.rows[index]
    if row[A] < row[B] or row[A] == runs[row[RUN], 0] or rows_of(ranges.found[index]) <= SPLIT_ROWS:
        return np.int64(ANY)
    return np.int64(code_at(words, row[A] - 1))


@inlined
def _rows_of_others(page, row, letter):
    """Bits of the rows from `row` to the end of its 64: set where another letter stands before the suffix, or none."""
    first, group, within = split_row(page.words_per_block, row)
    plane = first + np.uint64(2) + (group << np.uint64(1))
    code = np.uint64(letter)
    low_flip, high_flip = (code & np.uint64(1)) - np.uint64(1), (code >> np.uint64(1)) - np.uint64(1)
    same = (page.blocks[plane] ^ low_flip) & (page.blocks[plane + np.uint64(1)] ^ high_flip)
    if page.primary >> 6 == row >> 6:
        same &= ~(np.uint64(1) << np.uint64(page.primary & 63))
    return ~same >> within


@inlined
def next_row(page, row, high, letter):
    """The first row of [row, high) that is looked at, or `high`."""
    if letter == ANY:
        return row
    while row < high:
        others = _rows_of_others(page, row, letter)
        if others != 0:
            return min(row + trailing_zeros(others), high)
        row = (row | 63) + 1
    return high


@compiled
def rows_to_look_at(table, text, ranges, index, words, runs):
    """How many hits `gather_hits` lists of a range, at most."""
    letter = letter_before(ranges, index, words, runs)
    if letter == ANY:
        return rows_of(ranges.found[index])
    first, last = _heads_of(text, words, ranges.rows[index])
    count = last - first
    for number in range(len(table)):
        page = page_of(table, number)
        row, high = ranges.found[index, number, LOW], ranges.found[index, number, HIGH]
        while row < high:
            behind = min((row | 63) + 1, high)
            others = _rows_of_others(page, row, letter)
            count += count_ones(others & (~np.uint64(0) >> np.uint64(64 - (behind - row))))
            row = behind
    return count


@inlined
def _heads_of(text, words, row):
    """Which of the sorted heads begin as the k-mer of a range, as far as they go: [first, last)."""
    mask = ~np.uint64(0) << np.uint64(2 * (HEAD - min(row[END] - row[B], HEAD)))
    lowest = np.uint64(prefix(words, 0, row[B] + HEAD, HEAD)) & mask
    return np.searchsorted(text.heads, lowest), np.searchsorted(text.heads, lowest | ~mask, side="right")


@compiled
def gather_hits(table, text, words, runs, ranges, leaves, state, hits):
    """Locate the next hits of leaves, HITS_TOGETHER at most; `state` (leaf, page, row) goes on. Returns their number.

    What extending them will read is asked for.
    """
    leaf, number, row = state[0], state[1], state[2]
    count = 0
    while leaf < leaves and count < HITS_TOGETHER:
        index = ranges.leaves[leaf]
        letter = letter_before(ranges, index, words, runs)
        if number < len(table):
            page = page_of(table, number)
            high = ranges.found[index, number, HIGH]
            row = max(row, ranges.found[index, number, LOW])
            for ahead in range(row, min(high, row + ROWS_PER_LINE)):
                announce_row(page, ahead)
            row = next_row(page, row, high, letter)
            while row < high and count < HITS_TOGETHER:
                if row + ROWS_PER_LINE < high:
                    announce_row(page, row + ROWS_PER_LINE)
                at = start_of_row(page, row)
                if at < page.owned_length:
                    hits.axis[count], hits.leaf[count] = page.start + at, leaf
                    prefetch(text.words, (page.start + at) >> 5)
                    count += 1
                row = next_row(page, row + 1, high, letter)
            if row >= high:
                number, row = number + 1, np.int64(0)
        elif letter == ANY:
            leaf, number, row = leaf + 1, np.int64(0), np.int64(0)
        else:
            count, row = _gather_runs(table, text, words, ranges, leaf, letter, row, hits, count)
            if count < HITS_TOGETHER:
                leaf, number, row = leaf + 1, np.int64(0), np.int64(0)
    state[0], state[1], state[2] = leaf, number, row
    return count


@inlined
def _gather_runs(table, text, words, ranges, leaf, letter, item, hits, count):
    """List the runs that begin with the k-mer of a range and have `letter` before them, from the `item`-th such on.

    Returns (hits now listed, where to go on if there is no more room).
    """
    row = ranges.rows[ranges.leaves[leaf]]
    kmer = row[END] - row[B]
    first, last = _heads_of(text, words, row)
    while first + item < last and count < HITS_TOGETHER:
        at = text.head_starts[first + item]
        # The row of a suffix that nothing stands before in its page is looked at with the others.
        before = at > 0 and np.int64(code_at(text.words, at - 1)) == letter and not _begins_page(table, at)
        if before and equal_behind(text.words, at, words, row[B], kmer) == kmer:
            hits.axis[count], hits.leaf[count] = at, leaf
            count += 1
        item += 1
    return count, item


@inlined
def _begins_page(table, at):
    """Whether a page begins at a place of the axis."""
    begins = False
    for number in range(len(table)):
        begins |= page_of(table, number).start == at
    return begins

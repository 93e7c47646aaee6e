"""The hits of k-mers, that is the places of their rows on the axis, and comparison of packed text there.

Where a range of one start has many rows, most of them are hits of matches that begin before it: the base before is the
same in the reference and in the query. The Burrows-Wheeler transform shows this for 64 rows at a time, and only the
other rows are located. But a run of known bases may begin at a row that is skipped, if the base before belongs to
another island or replaces an ambiguous one. So the first bases of all runs are kept sorted (`Text.heads`), and runs
that begin with the k-mer are looked up there.
"""

import numpy as np

from quire.algorithms.fm_index.cpu import announce_row, page_of, split_row, start_of_row
from quire.algorithms.mems.ranges_cpu import HITS_TOGETHER, SPLIT_ROWS, rows_of
from quire.algorithms.seeding.steps_cpu import prefix
from quire.sequence.words_cpu import code_at, packed_word
from quire.simd.bits import count_ones, leading_zeros, prefetch, trailing_zeros
from quire.simd.compiled import compiled, inlined

ROWS_PER_LINE = 16  # rows of an unsampled suffix array in a cache line
BLOCK_SHIFT = 10  # log2 of the bases per item of `Text.first_runs`
HEAD = 32  # bases of a run in `Text.heads`
ANY = -1  # letter before a range all of whose rows are located


@inlined
def equal_before(text, at, words, position, most):
    """Count equal bases before `at` of the axis and before `position` of the queries, at most `most`."""
    equal = 0
    while equal < most:
        difference = _word_before(text, at - equal) ^ _word_before(words, position - equal)
        if difference != 0:
            return min(equal + (leading_zeros(difference) >> 1), most)
        equal += 32
    return most


@inlined
def _word_before(words, base):
    """Return the 32 bases before `base` (at least 1), the last one highest, with zeros before the first base."""
    if base >= 32:
        return packed_word(words, base - 32)
    return words[0] << np.uint64(64 - 2 * base)


@inlined
def equal_from(text, at, words, position, most):
    """Count equal bases from `at` of the axis and from `position` of the queries on, at most `most`."""
    equal = 0
    while equal < most:
        difference = packed_word(text, at + equal) ^ packed_word(words, position + equal)
        if difference != 0:
            return min(equal + (trailing_zeros(difference) >> 1), most)
        equal += 32
    return most


@inlined
def letter_before(search, ranges, index):
    """Return the letter (0..3) before a range, if rows with this letter before them are skipped; else ANY."""
    row = ranges.rows[index]
    if row.first < row.last or row.first == search.runs[row.run, 0] or rows_of(ranges.found, index) <= SPLIT_ROWS:
        return np.int64(ANY)
    return np.int64(code_at(search.words, row.first - 1))


@inlined
def _rows_of_others(page, row, letter):
    """Return bits of the rows from `row` to the end of its 64: 1 if another letter, or none, precedes the suffix."""
    first, group, within = split_row(page.words_per_block, row)
    plane = first + np.uint64(2) + (group << np.uint64(1))
    code = np.uint64(letter)
    low_flip, high_flip = (code & np.uint64(1)) - np.uint64(1), (code >> np.uint64(1)) - np.uint64(1)
    same = (page.blocks[plane] ^ low_flip) & (page.blocks[plane + np.uint64(1)] ^ high_flip)
    if page.primary >> 6 == row >> 6:
        same &= ~(np.uint64(1) << np.uint64(page.primary & 63))
    return ~same >> within


@inlined
def _next_row(page, row, high, letter):
    """Return the first row of [row, high) that is to be located, or `high`."""
    if letter == ANY:
        return row
    while row < high:
        others = _rows_of_others(page, row, letter)
        if others != 0:
            return min(row + trailing_zeros(others), high)
        row = (row | 63) + 1
    return high


@compiled
def most_hits(search, ranges, index):
    """Return an upper limit of the number of hits that `gather_hits` lists for a range."""
    letter = letter_before(search, ranges, index)
    if letter == ANY:
        return rows_of(ranges.found, index)
    first, last = _heads_of(search, ranges.rows[index])
    count = last - first
    for number in range(len(search.pages)):
        page = page_of(search.pages, number)
        row, high = ranges.found[index, number].low, ranges.found[index, number].high
        while row < high:
            stop = min((row | 63) + 1, high)
            others = _rows_of_others(page, row, letter)
            count += count_ones(others & (~np.uint64(0) >> np.uint64(64 - (stop - row))))
            row = stop
    return count


@inlined
def _heads_of(search, row):
    """Return [first, last) of the sorted heads that begin like the k-mer of a range, as far as both extend."""
    mask = ~np.uint64(0) << np.uint64(2 * (HEAD - min(row.kmer_end - row.last, HEAD)))
    lowest = np.uint64(prefix(search.words, 0, row.last + HEAD, HEAD)) & mask
    heads = search.text.heads
    return np.searchsorted(heads, lowest), np.searchsorted(heads, lowest | ~mask, side="right")


@compiled
def gather_hits(search, room, leaves, state):
    """Locate the next hits of leaves, HITS_TOGETHER at most, and prefetch the text that their extension reads.

    `state` (leaf, page, row) is where the last call stopped. Return the number of hits in `room.hits`.
    """
    ranges, hits, words = room.ranges, room.hits, search.text.words
    leaf, number, row = state[0], state[1], state[2]
    count = 0
    while leaf < leaves and count < HITS_TOGETHER:
        index = ranges.leaves[leaf]
        letter = letter_before(search, ranges, index)
        if number < len(search.pages):
            page = page_of(search.pages, number)
            high = ranges.found[index, number].high
            row = max(row, ranges.found[index, number].low)
            for ahead in range(row, min(high, row + ROWS_PER_LINE)):
                announce_row(page, ahead)
            row = _next_row(page, row, high, letter)
            while row < high and count < HITS_TOGETHER:
                if row + ROWS_PER_LINE < high:
                    announce_row(page, row + ROWS_PER_LINE)
                at = start_of_row(page, row)
                if at < page.owned_length:
                    hits.axis[count], hits.leaf[count] = page.start + at, leaf
                    prefetch(words, (page.start + at) >> 5)
                    count += 1
                row = _next_row(page, row + 1, high, letter)
            if row >= high:
                number, row = number + 1, np.int64(0)
        elif letter == ANY:
            leaf, number, row = leaf + 1, np.int64(0), np.int64(0)
        else:
            count, row = _gather_runs(search, room, leaf, letter, row, count)
            if count < HITS_TOGETHER:
                leaf, number, row = leaf + 1, np.int64(0), np.int64(0)
    state[0], state[1], state[2] = leaf, number, row
    return count


@inlined
def _gather_runs(search, room, leaf, letter, item, count):
    """List runs that begin with the k-mer of a leaf and have `letter` before them, from the `item`-th such run on."""
    # Return (number of hits now listed, the item from which to continue if there is no more space).
    hits, text = room.hits, search.text
    row = room.ranges.rows[room.ranges.leaves[leaf]]
    kmer = row.kmer_end - row.last
    first, last = _heads_of(search, row)
    while first + item < last and count < HITS_TOGETHER:
        at = text.head_starts[first + item]
        # A suffix at the start of its page has no letter before it: its row was located with the others.
        before = at > 0 and np.int64(code_at(text.words, at - 1)) == letter and not _begins_page(search.pages, at)
        if before and equal_from(text.words, at, search.words, row.last, kmer) == kmer:
            hits.axis[count], hits.leaf[count] = at, leaf
            count += 1
        item += 1
    return count, item


@inlined
def _begins_page(pages, at):
    """Return True if a page begins at a place of the axis."""
    begins = False
    for number in range(len(pages)):
        begins |= page_of(pages, number).start == at
    return begins

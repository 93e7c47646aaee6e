"""Hits of the k-mers of ranges, extended to both sides: those that are maximal matches go out, in order.

Every match of at least l bases that starts in a range contains the range's k-mer, so it is among the hits of that k-mer
once; a hit that goes on to the left of the range belongs to a range before. A hit whose letters stand a second time on
the axis has that other place among the hits of the same k-mer too, as a hit that reaches at least as far on both sides.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.pages.cpu import announce_row, page_of, start_of_row
from quire.algorithms.mems.cpu_ranges import END, HIGH, LOW, MOST_STARTS, RUN, A, B
from quire.sequence.words import packed_word
from quire.simd.bits import leading_zeros, prefetch, trailing_zeros
from quire.simd.compiled import compiled, inlined

HITS_TOGETHER = 1024
ROWS_PER_LINE = 16  # of a whole suffix array
BLOCK_SHIFT = 10  # bases of the axis, as a power of two, for which the first run is known
MANY = 32  # matches of a range from which on insertion is no way to sort them
FEW_STARTS_BITS = 48  # of a key: the axis position below the start within a range
FIRST, SECOND, WHERE = 0, 1, 2


class Text(NamedTuple):
    """The axis as kernels read it.

    Attributes:
        words: as in `ReferenceText`.
        runs: as in `ReferenceText`.
        first_runs: int32[], for each 2^BLOCK_SHIFT bases of the axis the first run that ends behind its first base.
    """

    words: np.ndarray
    runs: np.ndarray
    first_runs: np.ndarray


class Hits(NamedTuple):
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


class Found(NamedTuple):
    """Matches as they are found: int64[], as in `Matches`, and int64[] room for sorting them."""

    start: np.ndarray
    axis: np.ndarray
    length: np.ndarray


@compiled
def room_for_hits():
    """Room for hits that are looked at together."""
    return Hits(
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
def _reach(text, words, runs, row, at, min_length):
    """(left, most): how far the hit at `at` of a range's k-mer reaches to the left, and at most behind the k-mer.

    `left` counts from the k-mer's first base; it is at most the starts of the range, and then the match belongs to a
    range before. `most` is negative where the hit is part of no match of `min_length` bases.
    """
    run = text.first_runs[at >> BLOCK_SHIFT]
    while text.runs[run, 1] <= at:
        run += 1
    kmer = row[END] - row[B]
    behind = min(text.runs[run, 1] - at, runs[row[RUN], 1] - row[B]) - kmer
    if at < text.runs[run, 0] or behind < 0:
        return np.int64(0), np.int64(-1)
    most = min(row[B] - row[A] + 1, min(row[B] - runs[row[RUN], 0], at - text.runs[run, 0]))
    left = equal_before(text.words, at, words, row[B], most)
    return left, (behind if left + kmer + behind >= min_length else np.int64(-1))


@inlined
def gather_hits(table, ranges, leaves, text_words, state, hits):
    """Locate the next rows of leaves, HITS_TOGETHER at most; `state` (leaf, page, row) goes on. Returns their number.

    What extending them will read is asked for.
    """
    leaf, number, row = state[0], state[1], state[2]
    count = 0
    while leaf < leaves and count < HITS_TOGETHER:
        found = ranges.found[ranges.leaves[leaf]]
        if number < len(table):
            page = page_of(table, number)
            row = max(row, found[number, LOW])
            high = min(found[number, HIGH], row + HITS_TOGETHER - count)
            for ahead in range(row, min(high, row + ROWS_PER_LINE)):
                announce_row(page, ahead)
            while row < high:
                if row + ROWS_PER_LINE < high:
                    announce_row(page, row + ROWS_PER_LINE)
                at = start_of_row(page, row)
                if at < page.owned_length:
                    hits.axis[count], hits.leaf[count] = page.start + at, leaf
                    prefetch(text_words, (page.start + at) >> 5)
                    count += 1
                row += 1
            if row < found[number, HIGH]:
                continue  # `count` may have room left for rows that other pages own
            number, row = number + 1, np.int64(0)
        if number == len(table):
            leaf, number = leaf + 1, np.int64(0)
    state[0], state[1], state[2] = leaf, number, row
    return count


@compiled
def matches_of_leaves(table, text, words, runs, ranges, leaves, min_length, unique, begin, hits, out, used):
    """Append the matches of the first `leaves` leaves, in order; returns their end.

    `begin` is (start, axis): matches before it are left out. `out` has room for as many matches as the leaves have
    rows, or starts if matches are to be `unique` in the reference.
    """
    state = np.zeros(3, np.int64)
    current, first = np.int64(-1), used
    over = False  # whether hits of the current range belong to ranges before
    while True:
        count = gather_hits(table, ranges, leaves, text.words, state, hits)
        for hit in range(count):
            leaf = hits.leaf[hit]
            if leaf != current:
                if current >= 0:
                    used = _close(table, text, words, runs, ranges, current, min_length, unique, over, begin, hits, out,
                                  first, used)  # fmt: skip
                current, first, over = leaf, used, False
                if unique:
                    hits.longest[: MOST_STARTS + 1] = 0
            at = hits.axis[hit]
            row = ranges.rows[ranges.leaves[leaf]]
            left, most = _reach(text, words, runs, row, at, min_length)
            if most < 0:
                continue
            if left > row[B] - row[A]:
                over = True
                continue
            kmer = row[END] - row[B]
            right = kmer + equal_behind(text.words, at + kmer, words, row[END], most)
            if left + right < min_length:
                continue
            if unique:
                _note(hits.longest[left], right, at)
            elif row[B] - left > begin[0] or at - left >= begin[1]:
                out.start[used], out.axis[used], out.length[used] = row[B] - left, at - left, left + right
                used += 1
        if count == 0:
            break
    if current >= 0:
        used = _close(
            table, text, words, runs, ranges, current, min_length, unique, over, begin, hits, out, first, used
        )
    return used


@inlined
def _note(longest, right, at):
    """Note a hit that reaches so far to the right in a row of `Hits.longest`."""
    if right > longest[FIRST]:
        longest[SECOND], longest[FIRST], longest[WHERE] = longest[FIRST], right, at
    elif right > longest[SECOND]:
        longest[SECOND] = right


@compiled
def _close(table, text, words, runs, ranges, leaf, min_length, unique, over, begin, hits, out, first, used):
    """Sort the matches of a range, out[first:used], or append those that are unique; returns their end."""
    if unique:
        return _append_unique(table, text, words, runs, ranges, leaf, min_length, over, begin, hits, out, used)
    if used - first > MANY:
        _sort_many(out, first, used)
    else:
        _sort_few(out, first, used)
    return used


@inlined
def _sort_few(out, first, used):
    """Sort by start and axis, by insertion."""
    for item in range(first + 1, used):
        start, axis, length = out.start[item], out.axis[item], out.length[item]
        place = item
        while place > first and (
            out.start[place - 1] > start or (out.start[place - 1] == start and out.axis[place - 1] > axis)
        ):
            out.start[place], out.axis[place] = out.start[place - 1], out.axis[place - 1]
            out.length[place] = out.length[place - 1]
            place -= 1
        out.start[place], out.axis[place], out.length[place] = start, axis, length


@compiled
def _sort_many(out, first, used):
    """Sort by start and axis; starts are those of one range."""
    lowest = out.start[first:used].min()
    order = np.argsort((out.start[first:used] - lowest) << FEW_STARTS_BITS | out.axis[first:used])
    out.start[first:used] = out.start[first:used][order]
    out.axis[first:used] = out.axis[first:used][order]
    out.length[first:used] = out.length[first:used][order]


@compiled
def _append_unique(table, text, words, runs, ranges, leaf, min_length, over, begin, hits, out, used):
    """Append the matches of a range whose letters stand nowhere else on the axis, from `hits.longest`."""
    row = ranges.rows[ranges.leaves[leaf]]
    longest = hits.longest
    width = row[B] - row[A] + 1
    most = np.int64(0)
    for left in range(width):
        most = max(most, longest[left, FIRST])
    if most == 0:
        return used
    # How far the hits with more to their left reach to the right, as far as that matters.
    reach = _reach_of_others(table, text, words, runs, ranges, leaf, min_length, most) if over else np.int64(0)
    for left in range(width - 1, -1, -1):
        right = longest[left, FIRST]
        if right > reach and right > longest[left, SECOND]:
            start, axis = row[B] - left, longest[left, WHERE] - left
            if start > begin[0] or axis >= begin[1]:
                out.start[used], out.axis[used], out.length[used] = start, axis, left + right
                used += 1
        reach = max(reach, right)
    return used


@compiled
def _reach_of_others(table, text, words, runs, ranges, leaf, min_length, enough):
    """How far hits of a range that belong to ranges before reach to the right, at most `enough` bases."""
    row = ranges.rows[ranges.leaves[leaf]]
    kmer = row[END] - row[B]
    reach = np.int64(0)
    for number in range(len(table)):
        page = page_of(table, number)
        for index in range(
            ranges.found[ranges.leaves[leaf], number, LOW], ranges.found[ranges.leaves[leaf], number, HIGH]
        ):
            at = start_of_row(page, index)
            if at >= page.owned_length:
                continue
            at += page.start
            left, most = _reach(text, words, runs, row, at, min_length)
            if most >= 0 and left > row[B] - row[A]:
                most = min(most, enough - kmer)
                reach = max(reach, kmer + equal_behind(text.words, at + kmer, words, row[END], most))
                if reach >= enough:
                    return reach
    return reach


@compiled
def first_of_many(table, text, words, runs, ranges, min_length, begin, hits, out, limit):
    """The first `limit` matches of the first leaf, which may have any number of hits.

    `out` has room for `limit` matches and as many more. Returns how many there are, and whether that is not all.
    """
    state = np.zeros(3, np.int64)
    row = ranges.rows[ranges.leaves[0]]
    kmer = row[END] - row[B]
    used, all_of_them = 0, True
    last_start, last_axis = np.int64(np.iinfo(np.int64).max), np.int64(0)  # later ones are not among the first
    while True:
        count = gather_hits(table, ranges, 1, text.words, state, hits)
        if count == 0:
            break
        for hit in range(count):
            at = hits.axis[hit]
            left, most = _reach(text, words, runs, row, at, min_length)
            start, axis = row[B] - left, at - left
            if most < 0 or left > row[B] - row[A] or (start == begin[0] and axis < begin[1]):
                continue
            if start > last_start or (start == last_start and axis > last_axis):
                continue
            right = kmer + equal_behind(text.words, at + kmer, words, row[END], most)
            if left + right < min_length:
                continue
            if used == 2 * limit:
                _sort_many(out, 0, used)
                used, all_of_them = limit, False
                last_start, last_axis = out.start[limit - 1], out.axis[limit - 1]
                if start > last_start or (start == last_start and axis > last_axis):
                    continue
            out.start[used], out.axis[used], out.length[used] = start, axis, left + right
            used += 1
    if used > 1:
        _sort_many(out, 0, used)
    return min(used, limit), not all_of_them or used > limit

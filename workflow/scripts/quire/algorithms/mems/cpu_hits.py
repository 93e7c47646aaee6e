"""Hits of the k-mers of ranges, extended to both sides: those that are maximal matches go out, in order.

Every match of at least l bases that starts in a range contains the range's k-mer, so it is among the hits of that k-mer
once; a hit that goes on to the left of the range belongs to a range before. A hit whose letters stand a second time on
the axis has that other place among the hits of the same k-mer too, as a hit that reaches at least as far on both sides.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.pages.cpu import page_of, start_of_row
from quire.algorithms.mems.cpu_ranges import END, HIGH, LOW, MOST_STARTS, RUN, A, B
from quire.algorithms.mems.cpu_rows import ANY, BLOCK_SHIFT, equal_before, equal_behind, gather_hits, letter_before
from quire.simd.compiled import compiled, inlined

MANY = 32  # matches of a range from which on insertion is no way to sort them
FEW_STARTS_BITS = 48  # of a key: the axis position below the start within a range
FIRST, SECOND, WHERE = 0, 1, 2


class RoomForMatches(NamedTuple):
    """Matches as they are found: int64[], as in `Matches`, and int64[] room for sorting them."""

    start: np.ndarray
    axis: np.ndarray
    length: np.ndarray


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
        count = gather_hits(table, text, words, runs, ranges, leaves, state, hits)
        for hit in range(count):
            leaf = hits.leaf[hit]
            if leaf != current:
                if current >= 0:
                    used = _close(table, text, words, runs, ranges, current, min_length, unique, over, begin, hits, out,
                                  first, used)  # fmt: skip
                current, first = leaf, used
                over = letter_before(ranges, ranges.leaves[leaf], words, runs) != ANY
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
    """Note a hit that reaches so far to the right in a row of `RoomForHits.longest`."""
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
        interval = ranges.found[ranges.leaves[leaf], number]
        # From both ends in turn: of the suffixes of a run of one letter the longest is the first or the last.
        for item in range(interval[HIGH] - interval[LOW]):
            index = interval[LOW] + (item >> 1) if item & 1 else interval[HIGH] - 1 - (item >> 1)
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
        count = gather_hits(table, text, words, runs, ranges, 1, state, hits)
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

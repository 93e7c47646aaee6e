"""Hits of the k-mers of ranges, extended to both sides; the maximal matches among them are found in order.

Every match of at least l bases that starts in a range contains the range's k-mer, so it is exactly one of the hits of
that k-mer. A hit that extends to the left of the range belongs to an earlier range. If the letters of a hit occur a
second time on the axis, that place is also a hit of the same k-mer, and reaches at least as far to both sides.
"""

import numpy as np

from quire.algorithms.fm_index.cpu import page_of, start_of_row
from quire.algorithms.mems.rows_cpu import ANY, BLOCK_SHIFT, equal_before, equal_from, gather_hits, letter_before
from quire.simd.compiled import compiled, inlined

MANY = 32  # matches of a range above which insertion sort is slower
FEW_STARTS_BITS = 48  # of a key: the axis position below the start within a range


@inlined
def _reach(search, row, at):
    """Return (left, most): how far the hit at `at` of a k-mer reaches to the left, and at most after the k-mer."""
    # `left` counts from the k-mer's first base and is at most the number of starts of the range; if it reaches that,
    # the match belongs to an earlier range. `most` is negative if the hit is part of no match of `min_length` bases.
    runs, text = search.runs, search.text
    run = text.first_runs[at >> BLOCK_SHIFT]
    while text.runs[run, 1] <= at:
        run += 1
    kmer = row.kmer_end - row.last
    after = min(text.runs[run, 1] - at, runs[row.run, 1] - row.last) - kmer
    if at < text.runs[run, 0] or after < 0:
        return np.int64(0), np.int64(-1)
    most = min(row.last - row.first + 1, min(row.last - runs[row.run, 0], at - text.runs[run, 0]))
    left = equal_before(text.words, at, search.words, row.last, most)
    return left, (after if left + kmer + after >= search.min_length else np.int64(-1))


@inlined
def _right(search, row, at, most):
    """Return how far a hit reaches to the right of its first base, at most `most` bases after the k-mer."""
    kmer = row.kmer_end - row.last
    return kmer + equal_from(search.text.words, at + kmer, search.words, row.kmer_end, most)


@inlined
def _precedes_cursor(search, start, axis):
    return start == search.begin_start and axis < search.begin_axis


@inlined
def _append(found, used, start, axis, length):
    found.start[used], found.axis[used], found.length[used] = start, axis, length
    return used + 1


@compiled
def matches_of_leaves(search, room, leaves, used):
    """Append the matches of the first `leaves` leaves to the first `used` of `room.found`; return the new number.

    They are sorted. There must be room for as many matches as the leaves have hits, or starts if `search.unique`.
    """
    ranges, hits, found = room.ranges, room.hits, room.found
    state = np.zeros(3, np.int64)
    current, first = np.int64(-1), used
    over = False  # whether hits of the current range belong to earlier ranges
    while True:
        count = gather_hits(search, room, leaves, state)
        for hit in range(count):
            if hits.leaf[hit] != current:
                if current >= 0:
                    used = _close(search, room, ranges.leaves[current], over, first, used)
                current, first = hits.leaf[hit], used
                over = letter_before(search, ranges, ranges.leaves[current]) != ANY
                if search.unique:
                    _clear(hits.longest, ranges.rows[ranges.leaves[current]])
            at = hits.axis[hit]
            row = ranges.rows[ranges.leaves[current]]
            left, most = _reach(search, row, at)
            if most < 0:
                continue
            if left > row.last - row.first:
                over = True
                continue
            right = _right(search, row, at, most)
            if left + right < search.min_length:
                continue
            if search.unique:
                _note(hits.longest[left], right, at)
            elif not _precedes_cursor(search, row.last - left, at - left):
                used = _append(found, used, row.last - left, at - left, left + right)
        if count == 0:
            break
    return used if current < 0 else _close(search, room, ranges.leaves[current], over, first, used)


@inlined
def _clear(longest, row):
    for left in range(row.last - row.first + 1):
        longest[left].longest, longest[left].second = np.int64(0), np.int64(0)


@inlined
def _note(noted, right, at):
    """Note a hit that reaches `right` bases to the right in a record of LONGEST."""
    if right > noted.longest:
        noted.second, noted.longest, noted.axis = noted.longest, right, at
    elif right > noted.second:
        noted.second = right


@compiled
def _close(search, room, index, over, first, used):
    """Sort the matches of a range, found[first:used], or append its unique ones; return the new `used`."""
    if search.unique:
        return _append_unique(search, room, index, over, used)
    if used - first > MANY:
        _sort_many(room.found, first, used)
    else:
        _sort_few(room.found, first, used)
    return used


@inlined
def _sort_few(found, first, used):
    """Sort by start and axis, by insertion."""
    for item in range(first + 1, used):
        start, axis, length = found.start[item], found.axis[item], found.length[item]
        place = item
        while place > first and _is_after(found, place - 1, start, axis):
            found.start[place], found.axis[place] = found.start[place - 1], found.axis[place - 1]
            found.length[place] = found.length[place - 1]
            place -= 1
        found.start[place], found.axis[place], found.length[place] = start, axis, length


@inlined
def _is_after(found, item, start, axis):
    return found.start[item] > start or (found.start[item] == start and found.axis[item] > axis)


@compiled
def _sort_many(found, first, used):
    """Sort by start and axis; all starts are in one range."""
    lowest = found.start[first:used].min()
    order = np.argsort((found.start[first:used] - lowest) << FEW_STARTS_BITS | found.axis[first:used])
    found.start[first:used] = found.start[first:used][order]
    found.axis[first:used] = found.axis[first:used][order]
    found.length[first:used] = found.length[first:used][order]


@compiled
def _append_unique(search, room, index, over, used):
    """Append the matches of a range whose letters occur nowhere else on the axis, from `hits.longest`."""
    row, longest = room.ranges.rows[index], room.hits.longest
    width = row.last - row.first + 1
    most = np.int64(0)
    for left in range(width):
        most = max(most, longest[left].longest)
    if most == 0:
        return used
    # The furthest reach to the right of hits that reach further to the left, as far as it matters.
    reach = _reach_of_others(search, room.ranges, index, most) if over else np.int64(0)
    for left in range(width - 1, -1, -1):
        noted = longest[left]
        if noted.longest > reach and noted.longest > noted.second:
            start, axis = row.last - left, noted.axis - left
            if not _precedes_cursor(search, start, axis):
                used = _append(room.found, used, start, axis, left + noted.longest)
        reach = max(reach, noted.longest)
    return used


@compiled
def _reach_of_others(search, ranges, index, enough):
    """Return how far hits of a range that belong to earlier ranges reach to the right, at most `enough` bases."""
    row = ranges.rows[index]
    kmer = row.kmer_end - row.last
    reach = np.int64(0)
    for number in range(len(search.pages)):
        page = page_of(search.pages, number)
        low, high = ranges.found[index, number].low, ranges.found[index, number].high
        # Rows are taken from both ends in turn: in a run of one letter the longest suffix is the first or the last.
        for item in range(high - low):
            at = start_of_row(page, low + (item >> 1) if item & 1 else high - 1 - (item >> 1))
            if at >= page.owned_length:
                continue
            at += page.start
            left, most = _reach(search, row, at)
            if most >= 0 and left > row.last - row.first:
                reach = max(reach, _right(search, row, at, min(most, enough - kmer)))
                if reach >= enough:
                    return reach
    return reach


@compiled
def first_of_many(search, room, limit):
    """Find the first `limit` matches of the first leaf, which may have any number of hits.

    `room.found` has space for twice `limit` matches. Return the number found, and whether the leaf has more.
    """
    hits, found = room.hits, room.found
    state = np.zeros(3, np.int64)
    row = room.ranges.rows[room.ranges.leaves[0]]
    used, more = 0, False
    last_start, last_axis = np.int64(np.iinfo(np.int64).max), np.int64(0)  # later matches are not wanted
    while True:
        count = gather_hits(search, room, 1, state)
        if count == 0:
            break
        for hit in range(count):
            at = hits.axis[hit]
            left, most = _reach(search, row, at)
            start, axis = row.last - left, at - left
            if most < 0 or left > row.last - row.first or _precedes_cursor(search, start, axis):
                continue
            if start > last_start or (start == last_start and axis > last_axis):
                continue
            right = _right(search, row, at, most)
            if left + right < search.min_length:
                continue
            if used == 2 * limit:
                _sort_many(found, 0, used)
                used, more = limit, True
                last_start, last_axis = found.start[limit - 1], found.axis[limit - 1]
                if start > last_start or (start == last_start and axis > last_axis):
                    continue
            used = _append(found, used, start, axis, left + right)
    if used > 1:
        _sort_many(found, 0, used)
    return min(used, limit), more or used > limit

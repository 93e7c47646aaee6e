"""Maximal exact matches on the CPU: sampled seeds, searched in the FM-index of each page and extended on packed text.

A match of at least l bases that starts in one of w neighbouring places contains the l - w + 1 bases from the last of
these places on. So one k-mer is looked up for every w starts of the query (`cpu_ranges`), and its hits are extended to
both sides, 32 bases at a time (`cpu_hits`). The length of k-mers affects only the speed (`seed_length`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.cpu import page_table
from quire.algorithms.mems import Cursor, Matches, PackedText, Queries, WantedMatches
from quire.algorithms.mems.hits_cpu import first_of_many, matches_of_leaves
from quire.algorithms.mems.ranges_cpu import KernelSearch, Text, lay_ranges, room_for, search_ranges
from quire.algorithms.mems.rows_cpu import BLOCK_SHIFT, HEAD, most_hits
from quire.algorithms.seeding.steps_cpu import prefix
from quire.sequence.packing import BASES_PER_WORD, pack
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled

TOGETHER = 256  # ranges that are laid out together


class MemsAxis(NamedTuple):
    """An axis as `find` takes it: the table of its pages, their indexes (which must outlive it), and its text."""

    pages: np.ndarray
    arrays: Sequence[FmIndex]
    text: Text


def prepare_axis(pages: Sequence[FmIndex], reference: PackedText) -> MemsAxis:
    """Return an axis for `find` from the indexes of all its pages, in order."""
    return MemsAxis(page_table(pages), pages, _prepare_text(reference))


def _prepare_text(reference: PackedText) -> Text:
    runs = np.ascontiguousarray(reference.runs, np.int64).reshape(-1, 2)
    blocks = np.arange(0, max(int(runs[-1, 1]) if len(runs) else 0, 1), 1 << BLOCK_SHIFT)
    closed = np.concatenate((runs, np.full((1, 2), np.iinfo(np.int64).max)))  # ends every search for a run
    first_runs = np.searchsorted(runs[:, 1], blocks, side="right").astype(np.int32)
    blocks_of_text = (len(reference.words) * BASES_PER_WORD >> BLOCK_SHIFT) + 1
    first_runs = np.concatenate((first_runs, np.full(max(blocks_of_text - len(blocks), 0), len(runs), np.int32)))
    words = np.ascontiguousarray(reference.words, np.uint64)
    heads = _heads(words, runs)
    order = np.argsort(heads)
    return Text(words, closed, first_runs, heads[order], runs[order, 0].copy())


@compiled
def _heads(words, runs):
    """Return HEAD bases from the start of each run on, even beyond its end (uint64), the first base highest."""
    heads = np.empty(len(runs), np.uint64)
    for run in range(len(runs)):
        heads[run] = np.uint64(prefix(words, 0, runs[run, 0] + HEAD, HEAD))
    return heads


def prepare_queries(queries: Queries) -> PackedText:
    """Return queries for `find`."""
    codes, offsets = queries
    known = codes <= 3
    padded = np.zeros((-(-len(codes) // BASES_PER_WORD) + 2) * BASES_PER_WORD, np.uint8)
    padded[: len(codes)] = codes * known
    begins, ends = known.copy(), known.copy()
    begins[1:] &= ~known[:-1]
    ends[:-1] &= ~known[1:]
    some = offsets[:-1] < offsets[1:]
    firsts, lasts = offsets[:-1][some], offsets[1:][some] - 1
    begins[firsts], ends[lasts] = known[firsts], known[lasts]
    return PackedText(pack(padded), np.stack((np.flatnonzero(begins), np.flatnonzero(ends) + 1), axis=1))


def seed_length(min_length: int, axis_length: int) -> int:
    """Choose the length of the k-mers that are looked up first; it affects only the speed.

    A k-mer has four bases more than it needs to be rare in a random reference of this length, but a range has at least
    two starts. On chr20, E. coli and yeast, with matches of 10 to 100 bases, this is within 20 % of the best length.
    Ranges of one start take up to seven times as long.
    """
    return min(max(min_length - 1, 1), axis_length.bit_length() // 2 + 4)


def find(
    axis: MemsAxis, queries: PackedText, wanted: WantedMatches, begin: Cursor, end: int, limit: int
) -> tuple[Matches, Cursor]:
    """Find the first matches from a cursor on; see the package for the arguments and the result."""
    room = room_for(len(axis.arrays), limit)
    seeds = seed_length(wanted.min_length, sum(page.owned_length for page in axis.arrays))
    search = KernelSearch(
        axis.pages, axis.text, queries.words, queries.runs, wanted.min_length, seeds, wanted.unique, *begin
    )
    used, start, place = _find(search, end, limit, room)
    return Matches(*(array[:used] for array in room.found)), Cursor(int(start), int(place))


@compiled
def _find(search, end, limit, room):
    """Find matches as `find` does; return (number of matches, start and axis of the cursor)."""
    search, room = borrowed(search), borrowed(room)
    ranges = room.ranges
    start, used, together = search.begin_start, 0, TOGETHER
    while start < end:
        count, after = lay_ranges(search, start, end, together, ranges)
        if count == 0:
            return used, end, np.int64(0)
        leaves, until = search_ranges(search, count, ranges)
        if until == start:  # other ranges left no room for the halves of the first one: lay it alone
            together = 1
            continue
        together = TOGETHER
        if until > ranges.rows[count - 1].last:
            until = after
        taken, left = 0, limit - used
        while taken < leaves:
            row = ranges.rows[ranges.leaves[taken]]
            needed = most_hits(search, ranges, ranges.leaves[taken])
            if search.unique:
                needed = min(needed, row.last - row.first + 1)
            if needed > left:
                break
            left -= needed
            taken += 1
        if taken == 0 and leaves > 0 and used == 0:
            return _of_one_range(search, limit, room)
        used = matches_of_leaves(search, room, taken, used)
        start = until
        if taken < leaves:
            return used, ranges.rows[ranges.leaves[taken]].first, np.int64(0)
    return used, end, np.int64(0)


@compiled
def _of_one_range(search, limit, room):
    """Find the first matches of the first leaf, which may have more than `limit`; return the same as `_find`."""
    if search.unique:
        used = matches_of_leaves(search, room, 1, 0)
        more = used > limit
        used = min(used, limit)
    else:
        used, more = first_of_many(search, room, limit)
    if more:
        return used, room.found.start[used - 1], room.found.axis[used - 1] + 1
    return used, room.ranges.rows[room.ranges.leaves[0]].last + 1, np.int64(0)


def unique_in_query(matches: Matches, offsets: np.ndarray) -> Matches:
    """Select the matches that are also unique in their query; see the package.

    `matches` are all those of whole queries (int64[n + 1], their offsets) that are unique in the reference, by query.
    The selected ones are sorted by query and start on the axis.
    """
    query = np.searchsorted(offsets, matches.start, side="right")
    order = np.lexsort((-matches.length, matches.axis, query))
    kept = order[_not_within_others(query[order], matches.axis[order], matches.length[order])]
    return Matches(*(array[kept] for array in matches))


@compiled
def _not_within_others(query, axis, length):
    """Mark the matches that lie within no other match of their query; they are sorted by query, axis, -length."""
    alone = np.ones(len(axis), np.bool_)
    reach = np.int64(-1)  # end of the matches before, on the axis
    for item in range(len(axis)):
        end = axis[item] + length[item]
        if item > 0 and query[item] != query[item - 1]:
            reach = np.int64(-1)
        if end <= reach:
            alone[item] = False
            same = axis[item] == axis[item - 1] and length[item] == length[item - 1] and query[item] == query[item - 1]
            if same:
                alone[item - 1] = False
        reach = max(reach, end)
    return alone

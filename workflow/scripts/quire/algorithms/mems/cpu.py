"""Maximal exact matches on the CPU: sampled seeds, searched in the FM-index of each page and extended on packed text.

A match of at least l bases that starts in one of w neighbouring places contains the l - w + 1 bases from the last of
these on. So one k-mer is looked up for every w starts of the query (`cpu_ranges`), and its hits are extended to both
sides, 32 bases at a time (`cpu_hits`). How long k-mers are is a matter of time only (`seed_length`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.pages import IndexOfPage
from quire.algorithms.fm_index.pages.cpu import PageArrays, page_arrays, page_table
from quire.algorithms.mems import Cursor, Matches, Queries, ReferenceText
from quire.algorithms.mems.cpu_hits import RoomForMatches, first_of_many, matches_of_leaves
from quire.algorithms.mems.cpu_ranges import (
    MOST_STARTS,
    TOGETHER,
    A,
    B,
    lay_ranges,
    room_for_ranges,
    search_ranges,
)
from quire.algorithms.mems.cpu_rows import BLOCK_SHIFT, HEAD, Text, room_for_hits, rows_to_look_at
from quire.algorithms.seeding.cpu_steps import prefix
from quire.sequence.packing import BASES_PER_WORD
from quire.simd.bits import UNKNOWN, load_bytes, two_bits_each
from quire.simd.compiled import compiled


class Pages(NamedTuple):
    """Pages as kernels see them: their table, and the arrays that it must not outlive."""

    table: np.ndarray
    arrays: list[PageArrays]


class PackedQueries(NamedTuple):
    """Queries as kernels read them.

    Attributes:
        words: uint64[ceil(total / 32) + 2], the codes of `Queries` packed (an A for what is none of A, C, G, T).
        runs: int64[r, 2], the (start, end) in the flat codes of the longest runs of A, C, G, T within one query.
    """

    words: np.ndarray
    runs: np.ndarray


def prepare_pages(pages: Sequence[IndexOfPage]) -> Pages:
    """The pages of an axis for `find`."""
    arrays = [page_arrays(page, page.start, page.owned_length) for page in pages]
    return Pages(page_table(arrays), arrays)


def prepare_reference(reference: ReferenceText) -> Text:
    """The axis for `find`."""
    runs = np.ascontiguousarray(reference.runs, np.int64).reshape(-1, 2)
    blocks = np.arange(0, max(int(runs[-1, 1]) if len(runs) else 0, 1), 1 << BLOCK_SHIFT)
    # One run of no bases behind all others ends every search for a run.
    closed = np.concatenate((runs, np.full((1, 2), np.iinfo(np.int64).max)))
    first_runs = np.searchsorted(runs[:, 1], blocks, side="right").astype(np.int32)
    blocks_of_text = (len(reference.words) * BASES_PER_WORD >> BLOCK_SHIFT) + 1
    first_runs = np.concatenate((first_runs, np.full(max(blocks_of_text - len(blocks), 0), len(runs), np.int32)))
    words = np.ascontiguousarray(reference.words, np.uint64)
    heads = _heads(words, runs)
    order = np.argsort(heads)
    return Text(words, closed, first_runs, heads[order], runs[order, 0].copy())


@compiled
def _heads(words, runs):
    """The first bases of each run and what follows it (uint64), the first highest."""
    heads = np.empty(len(runs), np.uint64)
    for run in range(len(runs)):
        heads[run] = np.uint64(prefix(words, 0, runs[run, 0] + HEAD, HEAD))
    return heads


def prepare_queries(queries: Queries) -> PackedQueries:
    """Queries for `find`."""
    codes = np.ascontiguousarray(queries.codes, np.uint8)
    words = np.zeros(-(-len(codes) // BASES_PER_WORD) + 2, np.uint64)
    borders = _pack(codes, np.ascontiguousarray(queries.offsets, np.int64), words, np.empty(64, np.int64))
    return PackedQueries(words, borders.reshape(-1, 2))


@compiled
def _pack(codes, offsets, words, borders):
    """Fill `words` (zeros before); returns the starts and ends of runs in turn, `borders` being room for them."""
    used = 0
    for query in range(len(offsets) - 1):
        position, end = offsets[query], offsets[query + 1]
        inside = False
        while position < end:
            if position & 31 == 0 and position + BASES_PER_WORD <= end:
                first, second = load_bytes(codes, position), load_bytes(codes, position + 8)
                third, fourth = load_bytes(codes, position + 16), load_bytes(codes, position + 24)
                all_known = (first | second | third | fourth) & UNKNOWN == 0
                if all_known or first & second & third & fourth & UNKNOWN == UNKNOWN:
                    if all_known:
                        low = two_bits_each(first) | two_bits_each(second) << np.uint64(16)
                        high = two_bits_each(third) | two_bits_each(fourth) << np.uint64(16)
                        words[position >> 5] = low | high << np.uint64(32)
                    if all_known != inside:
                        borders, used = _append(borders, used, position)
                        inside = all_known
                    position += BASES_PER_WORD
                    continue
            known = codes[position] <= 3
            if known:
                words[position >> 5] |= np.uint64(codes[position]) << np.uint64(2 * (position & 31))
            if known != inside:
                borders, used = _append(borders, used, position)
                inside = known
            position += 1
        if inside:
            borders, used = _append(borders, used, end)
    return borders[:used].copy()


@compiled
def _append(array, used, value):
    if used == len(array):
        larger = np.empty(2 * used, np.int64)
        larger[:used] = array
        array = larger
    array[used] = value
    return array, used + 1


def seed_length(min_length: int, axis_length: int) -> int:
    """Bases of the k-mers that are looked up first: a matter of time alone.

    Measured on chr20, E. coli and yeast with matches of 10 to 100 bases: four bases more than a random reference of
    this length needs for a k-mer to be rare, and two starts to a range at least, are close to the best (within 20 %);
    ranges of one start take up to seven times as long.

    Args:
        min_length: of matches.
        axis_length: bases of the reference.
    """
    return min(max(min_length - 1, 1), axis_length.bit_length() // 2 + 4)


def find(
    pages: Pages,
    reference: Text,
    queries: PackedQueries,
    min_length: int,
    unique: bool,
    begin: Cursor,
    end: int,
    limit: int,
) -> tuple[Matches, Cursor]:
    """The first matches from a cursor on: see the package."""
    out = RoomForMatches(*(np.empty(2 * limit + MOST_STARTS, np.int64) for _ in range(3)))
    axis_length = sum(page.owned_length for page in pages.arrays)
    used, start, axis = _find(
        pages.table, reference, queries.words, queries.runs, min_length, seed_length(min_length, axis_length), unique,
        begin.start, begin.axis, end, limit, out,
    )  # fmt: skip
    return Matches(*(array[:used] for array in out)), Cursor(int(start), int(axis))


@compiled
def _find(
    table, text, words, runs, min_length, seed_length, unique, begin_start, begin_axis, end, limit, out
):  # fmt: skip
    """See `find`; returns (matches, start, axis)."""
    ranges, hits = room_for_ranges(len(table)), room_for_hits()
    begin = (begin_start, begin_axis)
    start, used, together = begin_start, 0, TOGETHER
    while start < end:
        count, behind = lay_ranges(runs, start, end, min_length, seed_length, together, ranges)
        if count == 0:
            return used, end, np.int64(0)
        leaves, until = search_ranges(table, words, count, min_length, ranges)
        if until == start:  # no room for the halves of the first range beside those of others
            together = 1
            continue
        together = TOGETHER
        if until > ranges.rows[count - 1, B]:
            until = behind
        taken, room = 0, limit - used
        while taken < leaves:
            index = ranges.leaves[taken]
            needed = rows_to_look_at(table, text, ranges, index, words, runs)
            if unique:
                needed = min(needed, ranges.rows[index, B] - ranges.rows[index, A] + 1)
            if needed > room:
                break
            room -= needed
            taken += 1
        if taken == 0 and leaves > 0 and used == 0:
            return _of_one_range(table, text, words, runs, ranges, min_length, unique, begin, hits, out, limit)
        used = matches_of_leaves(table, text, words, runs, ranges, taken, min_length, unique, begin, hits, out, used)
        start = until
        if taken < leaves:
            return used, ranges.rows[ranges.leaves[taken], A], np.int64(0)
    return used, end, np.int64(0)


@compiled
def _of_one_range(table, text, words, runs, ranges, min_length, unique, begin, hits, out, limit):
    """The first matches of the first leaf, of which there may be more than `limit`; returns what `_find` does."""
    if unique:
        used = matches_of_leaves(table, text, words, runs, ranges, 1, min_length, True, begin, hits, out, 0)
        more = used > limit
        used = min(used, limit)
    else:
        used, more = first_of_many(table, text, words, runs, ranges, min_length, begin, hits, out, limit)
    if more:
        return used, out.start[used - 1], out.axis[used - 1] + 1
    return used, ranges.rows[ranges.leaves[0], B] + 1, np.int64(0)


def unique_in_query(matches: Matches, offsets: np.ndarray) -> Matches:
    """Those of matches unique in the reference that are unique in their query too; see the package.

    Args:
        matches: all of whole queries that are unique in the reference, by query.
        offsets: int64[n + 1], of the queries.

    Returns:
        What is left, sorted by query and start on the axis.
    """
    query = np.searchsorted(offsets, matches.start, side="right")
    order = np.lexsort((-matches.length, matches.axis, query))
    kept = order[_not_within_others(query[order], matches.axis[order], matches.length[order])]
    return Matches(*(array[kept] for array in matches))


@compiled
def _not_within_others(query, axis, length):
    """Which of matches sorted by query, axis, and length (longest first) lie within no other one of their query."""
    alone = np.ones(len(axis), np.bool_)
    reach = np.int64(-1)  # of the matches before, on the axis
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

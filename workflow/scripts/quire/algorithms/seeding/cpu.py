"""Seeding with Numba over the FM-indexes of all pages: one pass that stops at the first depth within the cap."""

import numpy as np
from numba import njit

from quire.algorithms.seeding import DEPTHS, MAXIMUM_SEEDS, RAREST_LIMIT, SEED_LENGTH
from quire.algorithms.seeding.cpu_page_table import PageArrays, page_arrays, page_of, page_table
from quire.algorithms.seeding.cpu_steps import (
    DEPTH_COUNT,
    ReadArrays,
    append_owned,
    count_owned,
    encode_hit,
    keep_smallest,
    narrow,
)
from quire.algorithms.seeding.cpu_together import (
    DEPTH,
    END,
    HIGH,
    LONGEST,
    LOW,
    MANY,
    ORDINAL,
    READ,
    STRAND,
    lay_seeds,
    room_together,
    search_page,
)

__all__ = ["PageArrays", "find_hits", "page_arrays"]
LARGEST = np.int64(np.iinfo(np.int64).max)


def find_hits(pages, reads, text, parameters):
    """See `quire.algorithms.seeding.find_hits`; `pages` are `PageArrays`."""
    batch = ReadArrays(reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, reads.name_hash,
                       parameters.stride, parameters.maximum_hits)  # fmt: skip
    table = page_table(pages)
    count = len(batch.offsets) - 1
    offsets = np.zeros(count + 1, np.int64)
    hits = np.empty(64 * count + 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, 1) + RAREST_LIMIT, np.uint64)
    begin = hits_of_reads(table, batch, text, 0, offsets, hits)
    while begin < count:  # it stopped for want of room
        hits = np.concatenate([hits, np.empty(len(hits), np.uint64)])
        begin = hits_of_reads(table, batch, text, begin, offsets, hits)
    return offsets, hits[: offsets[-1]]


@njit(cache=True, nogil=True)
def hits_of_reads(table, batch, text, begin_read, offsets, hits):
    """Hits of the reads from `begin_read` on in the pages of a table; returns the read it stopped before."""
    used = offsets[begin_read]
    room = 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, 1) + RAREST_LIMIT
    together = room_together(len(table))
    read = begin_read
    while read < len(offsets) - 1:
        last, count = lay_seeds(batch, read, together.seeds)
        for number in range(len(table)):
            search_page(page_of(table, number), number, batch, text, count, together)
        seed = 0
        while read < last:
            if used + room > len(hits):
                return read
            end = seed
            while end < count and together.seeds[end, READ] == read:
                end += 1
            used = _hits_of_read(table, batch, text, together, seed, end, hits, used)
            read, seed = read + 1, end
            offsets[read] = used
    return read


@njit(cache=True, nogil=True)
def _hits_of_read(table, batch, text, together, first_seed, last_seed, hits, used):
    """Append the sorted hits of the seeds of one read; returns their end."""
    first = used
    rarest, rarest_seed, rarest_depth = np.int64(RAREST_LIMIT) + 1, 0, np.int64(0)
    for index in range(first_seed, last_seed):
        seed, places = together.seeds[index], together.places[index]
        if _places_in_all(places) <= batch.maximum_hits:
            used = _append_places(places, seed, hits, used)
            continue
        total, depth = _deepen(table, batch, text, seed, together.found[index])
        if total <= batch.maximum_hits:
            used = _append_found(table, batch, text, seed, together.found[index], depth, hits, used)
        elif total < rarest:
            rarest, rarest_seed, rarest_depth = total, index, depth
    if used == first and rarest <= RAREST_LIMIT:
        seed = together.seeds[rarest_seed]
        used = _append_found(table, batch, text, seed, together.found[rarest_seed], rarest_depth, hits, used)
        used = keep_smallest(hits, first, used, seed[END] - rarest_depth, batch.name_hash[seed[READ]],
                             batch.maximum_hits)  # fmt: skip
    hits[first:used].sort()
    return used


@njit(cache=True, nogil=True, forceinline=True)
def _places_in_all(places):
    """Hits of a seed at SEED_LENGTH on all pages; the largest number if one of them was not looked through."""
    total = np.int64(0)
    for number in range(len(places)):
        if places[number, 0] == MANY:
            return LARGEST
        total += places[number, 0]
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _append_places(places, seed, hits, used):
    """Append the hits of a seed whose rows were looked through on all pages."""
    for number in range(len(places)):
        for item in range(1, places[number, 0] + 1):
            diagonal = places[number, item] - (seed[END] - SEED_LENGTH)
            hits[used] = encode_hit(seed[STRAND], diagonal, seed[ORDINAL])
            used += 1
    return used


@njit(cache=True, nogil=True)
def _deepen(table, batch, text, seed, found):
    """Occurrences of a seed at the first depth within the cap, else at its last one, and that depth.

    `found` (int64[page, 3]) is narrowed to that depth, or to small intervals.
    """
    read, strand = seed[READ], seed[STRAND]
    packed, codes = batch.packed[strand], batch.codes[strand]
    origin, word = batch.offsets[read], batch.word_offsets[read]
    level = 0
    while True:
        wanted = DEPTHS[level]
        total = np.int64(0)
        for number in range(len(table)):
            page, interval = page_of(table, number), found[number]
            low, high, depth = narrow(page, codes, origin, seed[END], wanted, interval[LOW], interval[HIGH],
                                       interval[DEPTH], True)  # fmt: skip
            interval[LOW], interval[HIGH], interval[DEPTH] = low, high, depth
            total += count_owned(page, text, packed, word, seed[END], wanted, low, high, depth)
        if total <= batch.maximum_hits or level + 1 == DEPTH_COUNT or DEPTHS[level + 1] > seed[LONGEST]:
            return total, wanted
        level += 1


@njit(cache=True, nogil=True)
def _append_found(table, batch, text, seed, found, wanted, hits, used):
    """Append the hits of a seed at depth `wanted`, from the intervals that `_deepen` left."""
    read, strand = seed[READ], seed[STRAND]
    for number in range(len(table)):
        interval = found[number]
        used = append_owned(page_of(table, number), text, batch.packed[strand], batch.word_offsets[read], seed[END],
                            wanted, interval[LOW], interval[HIGH], interval[DEPTH], strand, seed[ORDINAL],
                            hits, used)  # fmt: skip
    return used

"""Search of the seeds of several reads together: every look-up is a cache miss, so each is prefetched a round ahead.

Seeds are laid out, as items of `seeds` (SEED[s]), until there are at least SEEDS_TOGETHER. For each seed s and page

- `found` (INTERVAL[page, s]) is an interval that is `seed_length` deep, or that became empty or small before, and
- `places` (int64[page, s, 1 + LISTED_ROWS]) holds, if the interval has at most LISTED_ROWS rows, the number of hits
  that the page owns at `seed_length` and their begins on the axis; otherwise MANY.

A seed is not searched further once it is so deep that its few rows are unlikely to match by chance. Its rows are
located, and the rest of the seed is compared with the axis, which for most seeds of a read is the same place in memory.
Seeds that are too frequent on all pages together are searched further, depth by depth, until `choose_depths` knows the
depth of each seed and its intervals on all pages.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.cpu import (
    announce_row,
    backward_step,
    owned_count,
    page_of,
    prefetch_row,
    walk_to_sampled,
)
from quire.algorithms.seeding import MAXIMUM_SEEDS
from quire.algorithms.seeding.steps_cpu import (
    longest_seed,
    prefix,
    seed_count,
    seed_end,
)
from quire.sequence.words_cpu import packed_word
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

SEEDS_TOGETHER = 192
LISTED_ROWS = 4  # rows of an interval that are located together with those of other seeds
MANY = -1
MANY_IN_ALL = np.int64(np.iinfo(np.int64).max)


def _integers(*names: str) -> np.dtype:
    """Return a dtype of int64 fields; aligned, since otherwise Numba copies some fields byte by byte."""
    return np.dtype([(name, np.int64) for name in names], align=True)


# A seed of a read. end: in the oriented read; longest: its largest depth in bases; base, word: index of the read's
# first base and of its first word among those of both strands.
SEED = _integers("read", "strand", "ordinal", "end", "longest", "base", "word")
# Rows [low, high) of a page, whose suffixes begin with the last `depth` bases of a seed.
INTERVAL = _integers("low", "high", "depth")
# The hits of a seed on all pages at the first depth within the cap, or else at its last depth, and that depth.
CHOICE = _integers("total", "depth")


class Together(NamedTuple):
    """Memory for seeds that are searched together, and lists of seeds in progress.

    Attributes:
        seeds, found, places: see the module.
        listed: int64[], seeds, later rows, whose next look-up is prefetched.
        rows: int64[], rows to locate, then their ranks among the sampled ones, then their places in the page.
        steps: int64[], steps from each row to the sampled one.
        owners: int64[], seeds of `rows`.
        chosen: CHOICE[s].
        frequent: int64[], seeds that are too frequent so far.
    """

    seeds: np.ndarray
    found: np.ndarray
    places: np.ndarray
    listed: np.ndarray
    rows: np.ndarray
    steps: np.ndarray
    owners: np.ndarray
    chosen: np.ndarray
    frequent: np.ndarray


@compiled
def make_together(page_count):
    """Allocate memory for the seeds of reads that are searched together."""
    most = SEEDS_TOGETHER + 2 * MAXIMUM_SEEDS
    return Together(
        np.empty(most, SEED), np.empty((page_count, most), INTERVAL),
        np.empty((page_count, most, 1 + LISTED_ROWS), np.int64), np.empty(most * LISTED_ROWS, np.int64),
        np.empty(most * LISTED_ROWS, np.int64), np.empty(most * LISTED_ROWS, np.int64),
        np.empty(most * LISTED_ROWS, np.int64), np.empty(most, CHOICE), np.empty(most, np.int64),
    )  # fmt: skip


@compiled
def lay_seeds(batch, read, seeds):
    """Lay out the seeds, without N in `seed_length` bases, of reads from `read` on; return (next read, seed count)."""
    number = 0
    seed_length = batch.depths[0]
    while read < len(batch.offsets) - 1 and number < SEEDS_TOGETHER:
        origin = batch.offsets[read]
        length = batch.offsets[read + 1] - origin
        for strand in range(2):
            base, word = origin, batch.word_offsets[read]
            if strand == 1:
                base, word = base + len(batch.codes) // 2, word + len(batch.packed) // 2
            for ordinal in range(seed_count(length, seed_length, batch.stride)):
                end = seed_end(ordinal, length, seed_length, batch.stride)
                longest = longest_seed(batch.codes, base, end, batch.ambiguous[read])
                if longest < seed_length:
                    continue
                seed = seeds[number]
                seed.read, seed.strand, seed.ordinal, seed.end, seed.longest = read, strand, ordinal, end, longest
                seed.base, seed.word = base, word
                number += 1
        read += 1
    return read, number


@compiled
def search_page(page, number, batch, count, text, together):
    """Fill found[number, :count] and places[number, :count] with the intervals and hits of the seeds on a page."""
    found, places = together.found[number], together.places[number]
    seed_length = batch.depths[0]
    _look_up(page, batch, together, found, count)
    _narrow(page, batch, together, found, _list_all(together, found, count), seed_length, _beyond_chance(page))
    listed = _list_rows(together, found, places, count)
    _locate(page, together, listed, text)
    for item in range(listed):
        owner = together.owners[item]
        missing = seed_length - found[owner].depth
        start = together.rows[item] - missing
        if 0 <= start < page.owned_length and (
            missing == 0 or _begins_there(batch, together.seeds[owner], seed_length, missing, text, page.start + start)
        ):
            place = places[owner]
            place[0] += 1
            place[place[0]] = page.start + start


@inlined
def _beyond_chance(page):
    """Return the depth from which at most one in sixteen seeds occurs in the page by chance."""
    depth, rows = 2, page.C[4]
    while rows > 0:
        rows >>= 2
        depth += 1
    return depth


@inlined
def _begins_there(batch, seed, seed_length, missing, text, position):
    """Return True if the first `missing` bases of a seed match the axis from `position` on."""
    first = seed.word * 32 + seed.end - seed_length
    differing = packed_word(batch.packed, first) ^ packed_word(text, position)
    return differing << np.uint64(64 - 2 * missing) == 0


@inlined
def _look_up(page, batch, together, found, count):
    """Write the first intervals, from the prefix table."""
    for index in range(count):
        seed = together.seeds[index]
        kmer = prefix(batch.packed, seed.word, seed.end, page.prefix_length)
        found[index].low = kmer
        prefetch(page.prefix_table, 2 * kmer)
    for index in range(count):
        kmer = found[index].low
        low, high = np.int64(page.prefix_table[2 * kmer]), np.int64(page.prefix_table[2 * kmer + 1])
        found[index].low, found[index].high, found[index].depth = low, high, page.prefix_length
        _announce(page, low, high, low < high)


@inlined
def _announce(page, low, high, goes_on):
    """Prefetch the memory that an interval needs next: for a further step, or for its rows."""
    if goes_on:
        prefetch_row(page.blocks, page.words_per_block, low)
        prefetch_row(page.blocks, page.words_per_block, high)
    elif high - low <= LISTED_ROWS:
        for row in range(low, high):
            announce_row(page, row)


@inlined
def _list_all(together, found, count):
    """List the seeds among the first `count` whose intervals are not empty; return their number."""
    listed = 0
    for index in range(count):
        together.listed[listed] = index
        listed += found[index].low < found[index].high
    return listed


@compiled
def _narrow(page, batch, together, found, count, wanted, enough):
    """Take backward steps of the `count` listed intervals, one each per round, until all are empty or `wanted` deep."""
    # From the depth `enough` on, intervals of at most LISTED_ROWS rows take no further step.
    listed = together.listed
    while count > 0:
        kept = 0
        for item in range(count):
            index = listed[item]
            seed = together.seeds[index]
            low, high, depth = found[index].low, found[index].high, found[index].depth + 1
            symbol = np.int64(batch.codes[np.uint64(seed.base + seed.end - depth)])
            low, high = backward_step(page.blocks, page.words_per_block, page.C, page.primary, symbol, low, high)
            found[index].low, found[index].high, found[index].depth = low, high, depth
            goes_on = depth < wanted and low < high and (depth < enough or high - low > LISTED_ROWS)
            _announce(page, low, high, goes_on)
            listed[kept] = index
            kept += goes_on
        count = kept


@inlined
def _list_rows(together, found, places, count):
    """List the rows of all small intervals of the first `count` seeds; return their number."""
    listed = 0
    for index in range(count):
        low, high = found[index].low, found[index].high
        places[index, 0] = MANY if high - low > LISTED_ROWS else 0
        if high - low > LISTED_ROWS:
            continue
        for row in range(low, high):
            together.rows[listed], together.steps[listed], together.owners[listed] = row, 0, index
            listed += 1
    return listed


@inlined
def _locate(page, together, count, text):
    """Turn the first `count` rows into places in the page, and prefetch the axis there."""
    rows, steps, listed = together.rows, together.steps, together.listed
    if page.sa_sampling > 1:
        for item in range(count):
            listed[item] = item
        walk_to_sampled(page, rows, steps, listed, count)
    for item in range(count):
        rows[item] = np.int64(page.suffix_array[rows[item]]) + steps[item]
        prefetch(text, (page.start + rows[item]) >> 5)


@compiled
def choose_depths(table, batch, count, together):
    """Fill chosen[:count], and narrow `found` to the chosen depths."""
    left = 0
    for index in range(count):
        total = places_in_all(together.places, index)
        together.chosen[index].total, together.chosen[index].depth = total, batch.depths[0]
        together.frequent[left] = index
        left += total > batch.maximum_hits
    for number in range(len(table)):
        _deepen(page_of(table, number), batch, together, together.found[number], left, batch.depths[0])
    left = _count_frequent(table, batch, left, together, 0)
    for level in range(1, len(batch.depths)):
        if left == 0:
            return
        for number in range(len(table)):
            page, found = page_of(table, number), together.found[number]
            _deepen(page, batch, together, found, left, batch.depths[level])
        left = _count_frequent(table, batch, left, together, level)


@inlined
def _deepen(page, batch, together, found, count, wanted):
    """Narrow the intervals of the first `count` frequent seeds to a depth."""
    listed = 0
    for item in range(count):
        index = together.frequent[item]
        low, high = found[index].low, found[index].high
        if low < high and found[index].depth < wanted:
            together.listed[listed] = index
            listed += 1
            _announce(page, low, high, True)
    _narrow(page, batch, together, found, listed, wanted, wanted)


@inlined
def places_in_all(places, index):
    """Return the hits of a seed at `seed_length` on all pages; MANY_IN_ALL if its rows on a page were not located."""
    total = np.int64(0)
    for number in range(len(places)):
        if places[number, index, 0] == MANY:
            return MANY_IN_ALL
        total += places[number, index, 0]
    return total


@inlined
def _count_frequent(table, batch, count, together, level):
    """Count the first `count` frequent seeds at a depth; keep those to be searched deeper, and return their number."""
    kept = 0
    wanted, deepest = batch.depths[level], len(batch.depths) - 1
    for item in range(count):
        index = together.frequent[item]
        longest = together.seeds[index].longest
        total = np.int64(0)
        for number in range(len(table)):
            low, high = together.found[number, index].low, together.found[number, index].high
            if low < high:
                total += owned_count(page_of(table, number).unowned_rows, low, high)
        together.chosen[index].total, together.chosen[index].depth = total, wanted
        together.frequent[kept] = index
        kept += total > batch.maximum_hits and level < deepest and batch.depths[level + 1] <= longest
    return kept

"""Seeding with Numba over the FM-indexes of all pages, in one pass: a seed stops at the first depth within the cap."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.cpu import page_of, page_table
from quire.algorithms.seeding import (
    DIAGONAL_BIAS,
    FEW_HITS,
    MAXIMUM_SEEDS,
    RAREST_LIMIT,
    RAREST_LIMIT_BESIDE,
    SeedingParameters,
)
from quire.algorithms.seeding.steps_cpu import ReadArrays, append_owned, encode_hit, keep_smallest
from quire.algorithms.seeding.together_cpu import (
    choose_depths,
    lay_seeds,
    make_together,
    places_in_all,
    search_page,
)
from quire.reads import Reads
from quire.simd.borrowed import borrowed
from quire.simd.compiled import compiled, inlined

ROOM_OF_A_READ = 256  # initial memory for the hits of a read, usually more than enough
FEW_TO_SORT = 16  # most hits that are sorted by insertion only; more are first put into about twice as many boxes
FEWEST_BOXES, MOST_BOXES = 64, 4096


def find_hits(
    pages: Sequence[FmIndex], reads: Reads, text: np.ndarray, parameters: SeedingParameters
) -> tuple[np.ndarray, np.ndarray]:
    """Locate the seeds of every read in all pages, which are those of the whole axis, in order.

    `text` is the packed axis (uint64[]), with which the rest of a seed is compared once few places are left.

    Returns:
        offsets int64[n + 1] and hits uint64[], the hits of each read in ascending order.
    """
    batch = ReadArrays(
        reads.offsets, reads.codes.reshape(-1), reads.word_offsets, reads.packed.reshape(-1), reads.ambiguous,
        reads.name_hash, parameters.depths(), parameters.stride, parameters.maximum_hits,
    )  # fmt: skip
    table = page_table(pages)
    count = len(batch.offsets) - 1
    offsets = np.zeros(count + 1, np.int64)
    # Sized for the maximum, since the system allocates only memory that is written.
    hits = np.empty(ROOM_OF_A_READ * count + 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, 1) + RAREST_LIMIT, np.uint64)
    together = make_together(len(table))
    begin = hits_of_reads(table, batch, text, together, 0, offsets, hits)
    while begin < count:  # it stopped because `hits` was full
        hits = np.concatenate([hits, np.empty(len(hits), np.uint64)])
        begin = hits_of_reads(table, batch, text, together, begin, offsets, hits)
    return offsets, hits[: offsets[-1]]


@compiled
def hits_of_reads(table, batch, text, together, begin_read, offsets, hits):
    """Locate the hits of the reads from `begin_read` on in the pages of a table; return the first read left out."""
    batch, together = borrowed(batch), borrowed(together)
    used = offsets[begin_read]
    room = 2 * MAXIMUM_SEEDS * max(batch.maximum_hits, 1) + RAREST_LIMIT
    sorting = _make_sorting(table, room)
    read = begin_read
    while read < len(offsets) - 1:
        last, count = lay_seeds(batch, read, together.seeds)
        for number in range(len(table)):
            search_page(page_of(table, number), number, batch, count, text, together)
        choose_depths(table, batch, count, together)
        seed = 0
        while read < last:
            if used + room > len(hits):
                return read
            end = seed
            while end < count and together.seeds[end].read == read:
                end += 1
            used = _hits_of_read(table, batch, together, sorting, (seed, end), hits, used)
            read, seed = read + 1, end
            offsets[read] = used
    return read


@compiled
def _hits_of_read(table, batch, together, sorting, span, hits, used):
    """Append the sorted hits of the seeds [first, last) of one read; return the end of the hits."""
    first = used
    rarest, rarest_seed = np.int64(RAREST_LIMIT) + 1, 0
    for index in range(span[0], span[1]):
        total = together.chosen[index].total
        if total > batch.maximum_hits:
            if total < rarest:
                rarest, rarest_seed = total, index
        elif places_in_all(together.places, index) == total:
            used = _append_places(together.places, index, together.seeds[index], batch.depths[0], hits, used)
        else:
            used = _append_found(table, together, index, hits, used)
    if rarest <= RAREST_LIMIT and used - first < FEW_HITS and (used == first or rarest <= RAREST_LIMIT_BESIDE):
        seed, others = together.seeds[rarest_seed], used
        used = _append_found(table, together, rarest_seed, hits, used)
        begin = seed.end - together.chosen[rarest_seed].depth
        used = keep_smallest(hits, others, used, begin, batch.name_hash[seed.read], batch.maximum_hits)
    _sort(hits, first, used, sorting)
    return used


class _Sorting(NamedTuple):
    """Memory to sort the hits of a read.

    Attributes:
        hits: uint64[].
        ends: int64[MOST_BOXES + 1].
        shift: bits of a diagonal below those that select one of MOST_BOXES boxes (half of them for each strand).
    """

    hits: np.ndarray
    ends: np.ndarray
    shift: int


@inlined
def _make_sorting(table, room):
    """Return memory to sort the hits of a read on the pages of a table."""
    last = page_of(table, len(table) - 1)
    positions, shift = (last.start + last.owned_length) + DIAGONAL_BIAS, 8
    while positions >= MOST_BOXES // 2:
        positions >>= 1
        shift += 1
    return _Sorting(np.empty(room, np.uint64), np.zeros(MOST_BOXES + 1, np.int64), shift)


@compiled
def _sort(hits, first, last, sorting):
    """Sort hits[first:last], which lie anywhere on the axis: into boxes by strand and place, then by insertion."""
    # Unsigned: Numba checks signed indices for negative values.
    begin, end, one = np.uint64(first), np.uint64(last), np.uint64(1)
    if last - first > FEW_TO_SORT:
        ends, moved, shift = borrowed(sorting.ends), borrowed(sorting.hits), np.uint64(sorting.shift)
        boxes = np.uint64(MOST_BOXES)
        while boxes > np.uint64(FEWEST_BOXES) and boxes > (end - begin) << np.uint64(2):
            boxes >>= one
            shift += one
        ends[: np.int64(boxes) + 1] = 0
        for i in range(begin, end):
            hit = hits[i]
            ends[_box(hit, shift, boxes) + one] += 1
            moved[i - begin] = hit
        for box in range(one, boxes):
            ends[box + one] += ends[box]
        for i in range(np.uint64(0), end - begin):
            hit = moved[i]
            box = _box(hit, shift, boxes)
            hits[begin + np.uint64(ends[box])] = hit
            ends[box] += 1
    for i in range(begin + one, end):
        hit, place = hits[i], i
        while place > begin and hits[place - one] > hit:
            hits[place] = hits[place - one]
            place -= one
        hits[place] = hit


@inlined
def _box(hit, shift, boxes):
    """Return the index (uint64) of the box of a hit; boxes are in the order of hits."""
    return (hit << np.uint64(1)) >> (shift + np.uint64(1)) | (hit >> np.uint64(63)) * (boxes >> np.uint64(1))


@inlined
def _append_places(places, index, seed, seed_length, hits, used):
    """Append the hits of a seed whose rows were located on all pages."""
    for number in range(len(places)):
        for item in range(1, places[number, index, 0] + 1):
            diagonal = places[number, index, item] - (seed.end - seed_length)
            hits[used] = encode_hit(seed.strand, diagonal, seed.ordinal)
            used += 1
    return used


@compiled
def _append_found(table, together, index, hits, used):
    """Append the hits of a seed at its chosen depth, from its intervals."""
    seed = together.seeds[index]
    begin = seed.end - together.chosen[index].depth
    for number in range(len(table)):
        low, high = together.found[number, index].low, together.found[number, index].high
        used = append_owned(page_of(table, number), low, high, begin, seed, hits, used)
    return used

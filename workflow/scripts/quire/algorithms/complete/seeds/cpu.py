"""Seeds with Numba: the rows of exact pieces become candidates, page after page.

Every step of a search is a cache miss, so pieces are searched side by side, and the memory of each step is prefetched a
round ahead.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.complete import BatchArrays
from quire.algorithms.complete.pieces import Pieces
from quire.algorithms.complete.windows.cpu import candidate_at
from quire.algorithms.fm_index.cpu import announce_row, backward_step, page_of, prefetch_row, walk_to_sampled
from quire.algorithms.seeding.steps_cpu import prefix
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

PIECES_TOGETHER = 512
ROWS_TOGETHER = 512
FEW_ROWS = 2  # a piece is not searched further at so few rows: some candidates too many cost less
# Columns of `found`, which has a row for each piece: its interval, LOW to HIGH, the base FROM which on it was searched,
# and the number of rows of all pieces BEFORE it. One more row at the end has the number of rows of all pieces.
LOW, HIGH, FROM, BEFORE = _FIELDS = range(4)


def candidates_of(
    table: NDArray[np.int64], number: int, pieces: Pieces, batch: BatchArrays, most: int
) -> Iterator[NDArray[np.uint64]]:
    """Yield the candidates (uint64[]) that page `number` of a table owns, at most `most` at a time.

    `pieces` have limit 0.
    """
    found = np.empty((len(pieces.oriented) + 1, len(_FIELDS)), np.int64)
    search_pieces(table, number, pieces, batch, found)
    rows = int(found[-1, BEFORE])
    for first in range(0, rows, most):
        candidates = np.empty(min(most, rows - first), np.uint64)
        yield candidates[: locate_rows(table, number, pieces, batch, found, first, candidates)]


@compiled
def search_pieces(table, number, pieces, batch, found):
    """Fill `found` with the rows of pieces in a page."""
    page = page_of(table, number)
    oriented, begins, ends, _ = pieces
    offsets, codes, word_offsets, packed, ambiguous = (
        batch.offsets, batch.codes, batch.word_offsets, batch.packed, batch.ambiguous,
    )  # fmt: skip
    prefix_table, k = page.prefix_table, page.prefix_length
    listed = np.empty(PIECES_TOGETHER, np.int64)
    for first in range(0, len(oriented), PIECES_TOGETHER):
        left = 0
        for item in range(first, min(first + PIECES_TOGETHER, len(oriented))):
            read, side = oriented[item] >> 1, oriented[item] & 1
            begin, end = begins[item], ends[item]
            found[item, LOW], found[item, HIGH], found[item, FROM] = 0, 0, end
            if ambiguous[read] and _has_unknown(codes, side, offsets[read] + begin, offsets[read] + end):
                continue
            listed[left] = item
            left += 1
            if end - begin >= k:
                found[item, LOW] = prefix(packed[side], word_offsets[read], end, k)
                prefetch(prefix_table, 2 * found[item, LOW])
        kept = 0
        for place in range(left):
            item = listed[place]
            if ends[item] - begins[item] >= k:
                kmer = found[item, LOW]
                found[item, LOW], found[item, HIGH] = (
                    np.int64(prefix_table[2 * kmer]),
                    np.int64(prefix_table[2 * kmer + 1]),
                )
                found[item, FROM] -= k
            else:
                found[item, HIGH] = page.C[4]
            listed[kept] = item
            kept += _goes_on(page, found, item, begins[item])
        left = kept
        while left > 0:
            kept = 0
            for place in range(left):
                item = listed[place]
                found[item, FROM] -= 1
                read, side = oriented[item] >> 1, oriented[item] & 1
                symbol = np.int64(codes[side, offsets[read] + found[item, FROM]])
                found[item, LOW], found[item, HIGH] = backward_step(
                    page.blocks, page.words_per_block, page.C, page.primary, symbol, found[item, LOW], found[item, HIGH]
                )
                listed[kept] = item
                kept += _goes_on(page, found, item, begins[item])
            left = kept
    found[0, BEFORE] = 0
    for item in range(len(oriented)):
        found[item + 1, BEFORE] = found[item, BEFORE] + found[item, HIGH] - found[item, LOW]


@inlined
def _has_unknown(codes, side, begin, end):
    """Return True if the bases include an N."""
    unknown = False
    for i in range(begin, end):
        unknown |= codes[side, i] > 3
    return unknown


@inlined
def _goes_on(page, found, item, begin):
    """Return True, and prefetch the memory of the next step, if the search of a piece continues."""
    if found[item, FROM] == begin or found[item, HIGH] - found[item, LOW] <= FEW_ROWS:
        return False
    prefetch_row(page.blocks, page.words_per_block, found[item, LOW])
    prefetch_row(page.blocks, page.words_per_block, found[item, HIGH])
    return True


@compiled
def locate_rows(table, number, pieces, batch, found, first, candidates):
    """Write the candidates of the next rows, from row `first` of all pieces on, until `candidates` is full.

    Return the number of candidates: a row gives one if the page owns its place.
    """
    page = page_of(table, number)
    oriented, begins, ends, _ = pieces
    offsets, islands, differences, suffix_array = batch.offsets, batch.islands, batch.differences, page.suffix_array
    rows, steps = np.empty(ROWS_TOGETHER, np.int64), np.empty(ROWS_TOGETHER, np.int64)
    items, listed = np.empty(ROWS_TOGETHER, np.int64), np.empty(ROWS_TOGETHER, np.int64)
    item, used, last = 0, 0, first + len(candidates)
    while first < last:
        count = min(last - first, ROWS_TOGETHER)
        for i in range(count):
            while found[item + 1, BEFORE] <= first + i:
                item += 1
            items[i], rows[i], steps[i], listed[i] = item, found[item, LOW] + first + i - found[item, BEFORE], 0, i
            announce_row(page, rows[i])
        first += count
        if page.sa_sampling > 1:
            walk_to_sampled(page, rows, steps, listed, count)
        for i in range(count):
            piece = items[i]
            # The bases of a piece before FROM were not searched and need not match: the window decides.
            begin = np.int64(suffix_array[rows[i]]) + steps[i] - (found[piece, FROM] - begins[piece])
            if not 0 <= begin < page.owned_length:
                continue
            read = oriented[piece] >> 1
            piece_end = page.start + begin + ends[piece] - begins[piece]
            end = piece_end + offsets[read + 1] - offsets[read] - ends[piece]
            candidates[used], is_one = candidate_at(islands, oriented[piece], piece_end - 1, end, differences)
            used += is_one
    return used

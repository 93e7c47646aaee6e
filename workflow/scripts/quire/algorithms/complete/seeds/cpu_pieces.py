"""The intervals of the pieces of reads, looked up side by side: every step is a cache miss, announced a round ahead."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.fm_index.cpu import backward_step, prefetch_row
from quire.algorithms.seeding.cpu_steps import prefix
from quire.simd.bits import prefetch
from quire.simd.compiled import compiled, inlined

PIECES_TOGETHER = 512
FEW_ROWS = 2  # at which a piece is not searched further
LOW, HIGH, FROM = 0, 1, 2


class StrandArrays(NamedTuple):
    """What the kernels read of a batch: see `quire.reads.Reads`; `differences` is k."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    differences: int


class Pieces(NamedTuple):
    """The pieces of strands (2 * read + strand) from `first` on: k + 1 of each, in order.

    Attributes:
        bounds: int64[items, 2], begin and end in the oriented read; both 0 for a piece with an N.
        found: int64[items, pages, 3], LOW and HIGH of the interval of the bases from FROM to the piece's end.
        listed: int64[items], those in work.
    """

    bounds: np.ndarray
    found: np.ndarray
    listed: np.ndarray


@compiled
def room_for_pieces(page_count, differences):
    """Room for the pieces that are looked up together."""
    most = PIECES_TOGETHER + differences + 1
    return Pieces(np.empty((most, 2), np.int64), np.empty((most, page_count, 3), np.int64), np.empty(most, np.int64))


@compiled
def lay_pieces(batch, first, last, pieces):
    """Cut the strands [first, last); returns how many pieces they have."""
    count = batch.differences + 1
    item = 0
    for strand in range(first, last):
        read = strand >> 1
        origin = batch.offsets[read]
        length = batch.offsets[read + 1] - origin
        for piece in range(count):
            begin, end = piece * length // count, (piece + 1) * length // count
            if batch.ambiguous[read]:
                for i in range(begin, end):
                    if batch.codes[strand & 1, origin + i] > 3:
                        begin, end = 0, 0
                        break
            pieces.bounds[item, 0], pieces.bounds[item, 1] = begin, end
            item += 1
    return item


@compiled
def search_pieces(page, number, batch, first, count, pieces):
    """Fill found[:count, number] with what page `number` holds of the pieces."""
    bounds, listed = pieces.bounds, pieces.listed
    found = pieces.found[:, number]
    per_strand = batch.differences + 1
    k = page.prefix_length
    left = 0
    for item in range(count):
        begin, end = bounds[item, 0], bounds[item, 1]
        found[item, LOW], found[item, HIGH], found[item, FROM] = 0, 0, end
        listed[left] = item
        left += end > begin
        if end - begin >= k:
            strand = first + item // per_strand
            kmer = prefix(batch.packed[strand & 1], batch.word_offsets[strand >> 1], end, k)
            found[item, LOW] = kmer
            prefetch(page.prefix_table, 2 * kmer)
    kept = 0
    for place in range(left):
        item = listed[place]
        begin, end = bounds[item, 0], bounds[item, 1]
        if end - begin >= k:
            kmer = found[item, LOW]
            found[item, LOW], found[item, HIGH] = (
                np.int64(page.prefix_table[2 * kmer]),
                np.int64(page.prefix_table[2 * kmer + 1]),
            )
            found[item, FROM] = end - k
        else:
            found[item, HIGH] = page.C[4]
        listed[kept] = item
        kept += _goes_on(page, found[item], begin)
    left = kept
    while left > 0:
        kept = 0
        for place in range(left):
            item = listed[place]
            strand = first + item // per_strand
            at = found[item, FROM] - 1
            symbol = np.int64(batch.codes[strand & 1, batch.offsets[strand >> 1] + at])
            found[item, LOW], found[item, HIGH] = backward_step(
                page.blocks, page.words_per_block, page.C, page.primary, symbol, found[item, LOW], found[item, HIGH]
            )
            found[item, FROM] = at
            listed[kept] = item
            kept += _goes_on(page, found[item], bounds[item, 0])
        left = kept


@inlined
def _goes_on(page, interval, begin):
    """Whether an interval takes another step; its memory is asked for."""
    if interval[FROM] == begin or interval[HIGH] - interval[LOW] <= FEW_ROWS:
        return False
    prefetch_row(page.blocks, page.words_per_block, interval[LOW])
    prefetch_row(page.blocks, page.words_per_block, interval[HIGH])
    return True

"""Steps of a search of an FM-index on the CPU, which Numba kernels inline: a call would count references to its arrays.

Rows, positions and counts are int64; `blocks` and `sampled_rows` are flat uint64 arrays; codes are 0..3.

Numba would compile a kernel anew for each number of pages in a tuple. So a kernel gets any number of pages as one table
of addresses and sizes (`page_table`), and takes the arrays of the page that it works on from there.
"""

from collections.abc import Sequence

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from quire.algorithms.fm_index import FmIndex
from quire.simd.bits import count_ones, prefetch
from quire.simd.compiled import inlined


@inlined
def split_row(words_per_block, row):
    """Return (first word of the block, group of 64 rows within the block, row within the group) of a row."""
    group = np.uint64(row) >> np.uint64(6)
    within = np.uint64(row) & np.uint64(63)
    if words_per_block == 4:
        return group << np.uint64(2), np.uint64(0), within
    if words_per_block == 8:
        block = group // np.uint64(3)
        return block << np.uint64(3), group - block * np.uint64(3), within
    if words_per_block == 16:
        block = group // np.uint64(7)
        return block << np.uint64(4), group - block * np.uint64(7), within
    block = group // np.uint64(15)
    return block << np.uint64(5), group - block * np.uint64(15), within


@inlined
def prefetch_row(blocks, words_per_block, row):
    """Prefetch the words that `occurrence` and `symbol_at` will read for a row."""
    first, group, _ = split_row(words_per_block, row)
    prefetch(blocks, np.int64(first))
    if words_per_block >= 16:
        prefetch(blocks, np.int64(first + np.uint64(2) + (group << np.uint64(1))))


@inlined
def occurrence(blocks, words_per_block, primary, symbol, row):
    """Count code `symbol` (0..3) in rows [0, row) of the BWT, without the sentinel."""
    first, group, within = split_row(words_per_block, row)
    code = np.uint64(symbol)
    count = np.int64(
        (blocks[first + (code >> np.uint64(1))] >> ((code & np.uint64(1)) << np.uint64(5))) & np.uint64(0xFFFFFFFF)
    )
    # All ones where the symbol's bit is 0: the plane is inverted, and a row matches where both planes are 1.
    low_flip = (code & np.uint64(1)) - np.uint64(1)
    high_flip = (code >> np.uint64(1)) - np.uint64(1)
    plane = first + np.uint64(2)
    last = plane + (group << np.uint64(1))
    while plane < last:
        count += count_ones((blocks[plane] ^ low_flip) & (blocks[plane + np.uint64(1)] ^ high_flip))
        plane += np.uint64(2)
    mask = (np.uint64(1) << within) - np.uint64(1)
    count += count_ones((blocks[plane] ^ low_flip) & (blocks[plane + np.uint64(1)] ^ high_flip) & mask)
    if symbol == 0 and row > primary:
        count -= 1
    return count


@inlined
def backward_step(blocks, words_per_block, C, primary, symbol, low, high):
    """Return the interval of `symbol` (0..3) prepended to the pattern of the interval [low, high)."""
    first = C[symbol]
    return (
        first + occurrence(blocks, words_per_block, primary, symbol, low),
        first + occurrence(blocks, words_per_block, primary, symbol, high),
    )


@inlined
def symbol_at(blocks, words_per_block, row):
    """Return the code of the BWT in a row; 0 for the sentinel's row."""
    first, group, within = split_row(words_per_block, row)
    plane = first + np.uint64(2) + (group << np.uint64(1))
    low = (blocks[plane] >> within) & np.uint64(1)
    high = (blocks[plane + np.uint64(1)] >> within) & np.uint64(1)
    return np.int64(low | (high << np.uint64(1)))


@inlined
def previous_row(blocks, words_per_block, C, primary, row):
    """Return the row of the suffix that starts one base before that of `row` (LF mapping); not for row `primary`."""
    symbol = symbol_at(blocks, words_per_block, row)
    return C[symbol] + occurrence(blocks, words_per_block, primary, symbol, row)


@inlined
def sampled_rank(sampled_rows, row):
    """Return the place of a row in a sampled suffix array; -1 if the row is not sampled."""
    word = (np.uint64(row) >> np.uint64(6)) << np.uint64(1)
    within = np.uint64(row) & np.uint64(63)
    bits = sampled_rows[word]
    if (bits >> within) & np.uint64(1) == 0:
        return np.int64(-1)
    before = bits & ((np.uint64(1) << within) - np.uint64(1))
    return np.int64(sampled_rows[word + np.uint64(1)]) + count_ones(before)


@inlined
def owned_count(unowned_rows, low, high):
    """Count the rows of [low, high) that belong to this page."""
    first, last = 0, unowned_rows.size
    while first < last:
        middle = (first + last) >> 1
        if unowned_rows[middle] < low:
            first = middle + 1
        else:
            last = middle
    count = high - low
    while first < unowned_rows.size and unowned_rows[first] < high:
        count -= 1
        first += 1
    return count


def page_table(pages: Sequence[FmIndex]) -> np.ndarray:
    """Return int64[pages, fields, 2]: (value, 0) for a number, (address, size) for an array.

    The table keeps no array alive: the pages must outlive it.
    """
    table = np.zeros((len(pages), len(FmIndex._fields), 2), np.int64)
    for row, page in zip(table, pages, strict=True):
        for item, value in zip(row, page, strict=True):
            item[:] = (value.ctypes.data, value.size) if isinstance(value, np.ndarray) else (value, 0)
    return table


@intrinsic
def _pointer(_typing_context, address, dtype):
    """Turn an address (int64) into a pointer to items of `dtype`."""
    pointer = types.CPointer(dtype.dtype)

    def generate(context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64, dtype), generate


@inlined
def _words(item):
    return carray(_pointer(item[0], np.uint64), item[1])


@inlined
def _halves(item):
    return carray(_pointer(item[0], np.uint32), item[1])


@inlined
def page_of(table, number):
    """Return the `FmIndex` of a page of the table."""
    row = table[number]
    first_rows = carray(_pointer(row[2, 0], np.int64), row[2, 1])
    return FmIndex(_words(row[0]), row[1, 0], first_rows, row[3, 0], _halves(row[4]), row[5, 0], _halves(row[6]),
                      row[7, 0], _words(row[8]), _halves(row[9]), row[10, 0], row[11, 0], row[12, 0])  # fmt: skip


@inlined
def start_of_row(page, row):
    """Return the start of a row's suffix in the text of a page (`FmIndex`)."""
    if page.sa_sampling == 1:
        return np.int64(page.suffix_array[row])
    steps = 0
    while True:
        rank = sampled_rank(page.sampled_rows, row)
        if rank >= 0:
            return np.int64(page.suffix_array[rank]) + steps
        row = previous_row(page.blocks, page.words_per_block, page.C, page.primary, row)
        steps += 1


@inlined
def announce_row(page, row):
    """Prefetch the memory that locating a row of a page reads first."""
    if page.sa_sampling == 1:
        prefetch(page.suffix_array, row)
    else:
        prefetch(page.sampled_rows, (row >> 6) << 1)
        prefetch_row(page.blocks, page.words_per_block, row)


@inlined
def walk_to_sampled(page, rows, steps, listed, left):
    """Walk back from rows of a page (`FmIndex`) to rows that its sampled suffix array holds, all rows in turn.

    Each of `rows` (int64[]) becomes the place of its sampled row in the suffix array; `steps` (int64[]) grow by the
    number of steps. The first `left` items of `listed` (int64[], overwritten) are the indexes of the rows to walk.
    """
    while left > 0:
        kept = 0
        for place in range(left):
            i = listed[place]
            rank = sampled_rank(page.sampled_rows, rows[i])
            if rank >= 0:
                rows[i] = rank
                prefetch(page.suffix_array, rank)
                continue
            rows[i] = previous_row(page.blocks, page.words_per_block, page.C, page.primary, rows[i])
            steps[i] += 1
            announce_row(page, rows[i])
            listed[kept] = i
            kept += 1
        left = kept

"""Pages as the CPU's kernels see them: any number of pages in one table of numbers.

Numba would compile a kernel anew for each number of pages in a tuple. So a kernel gets a table of addresses and sizes,
and takes the arrays of the page that it works on from there.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.cpu import prefetch_row, previous_row, sampled_rank
from quire.simd.bits import prefetch
from quire.simd.compiled import inlined


class PageArrays(NamedTuple):
    """A page as kernels read it: the arrays of its `FmIndex`, and its place on the axis."""

    blocks: np.ndarray
    words_per_block: int
    C: np.ndarray
    primary: int
    prefix_table: np.ndarray
    prefix_length: int
    suffix_array: np.ndarray
    sa_sampling: int
    sampled_rows: np.ndarray
    unowned_rows: np.ndarray
    start: int
    owned_length: int


ARRAYS = {
    "blocks": np.uint64,
    "C": np.int64,
    "prefix_table": np.uint32,
    "suffix_array": np.uint32,
    "sampled_rows": np.uint64,
    "unowned_rows": np.uint32,
}


def page_arrays(index: FmIndex, start: int, owned_length: int) -> PageArrays:
    """Return the kernels' view of the index of a page that starts at an axis position and owns `owned_length` bases."""
    arrays = {name: np.ascontiguousarray(getattr(index, name), dtype).reshape(-1) for name, dtype in ARRAYS.items()}
    return PageArrays(
        words_per_block=int(index.words_per_block),
        primary=int(index.primary),
        prefix_length=int(index.prefix_length),
        sa_sampling=int(index.sa_sampling),
        start=int(start),
        owned_length=int(owned_length),
        **arrays,
    )


def page_table(pages: Sequence[PageArrays]) -> np.ndarray:
    """Return int64[pages, fields, 2]: (value, 0) for a number, (address, size) for an array.

    The table keeps no array alive: the pages must outlive it.
    """
    table = np.zeros((len(pages), len(PageArrays._fields), 2), np.int64)
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
    """Return the `PageArrays` of a page of the table."""
    row = table[number]
    first_rows = carray(_pointer(row[2, 0], np.int64), row[2, 1])
    return PageArrays(_words(row[0]), row[1, 0], first_rows, row[3, 0], _halves(row[4]), row[5, 0], _halves(row[6]),
                      row[7, 0], _words(row[8]), _halves(row[9]), row[10, 0], row[11, 0])  # fmt: skip


@inlined
def start_of_row(page, row):
    """Return the start of a row's suffix in the text of a page (`PageArrays`)."""
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
    """Walk back from rows of a page (`PageArrays`) to rows that its sampled suffix array holds, all rows in turn.

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

"""Rows of the trie with Numba: pieces as bit vectors, and the row of a child from that of its parent.

Cell c of level i, bit i * i + i + c, is alive if the last d + c bases of the piece can be aligned with the d bases of
the node with at most i differences.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.complete import BatchArrays
from quire.algorithms.complete.pieces import Pieces
from quire.simd.compiled import compiled, inlined

ONE, TWO = np.uint64(1), np.uint64(2)


class TriePieces(NamedTuple):
    """Pieces with one limit, as the walk takes them.

    Attributes:
        oriented: int64[n], 2 * read + strand.
        length: int64[n].
        behind: int64[n], bases of the read after the piece.
        letters: uint64[n, 4, words], bit x + limit of a code: the base x from the piece's end has that code.
        bases: uint64[n], the last 32 bases: base x from the end in bits 2 x and 2 x + 1.
        unknown: uint64[n], bit x: base x from the end is ambiguous or before the piece.
        limit: differences that each may have.
    """

    oriented: np.ndarray
    length: np.ndarray
    behind: np.ndarray
    letters: np.ndarray
    bases: np.ndarray
    unknown: np.ndarray
    limit: int


@inlined
def first_row(limit):
    """Return the row of the root: cell c is alive for c >= 0, and the last c bases of the piece are inserted."""
    row = np.uint64(0)
    for i in range(limit + 1):
        row |= ((ONE << np.uint64(i + 1)) - ONE) << np.uint64(i * i + i)
    return row


@inlined
def next_row(row, equal, limit, left):
    """Return the row of a child from the row of its parent.

    Bit c + limit of `equal` is set if the base that cell c aligns next is the child's. `left` bases of the piece lie
    before the child's cell 0; cells beyond the piece do not exist.
    """
    made = np.uint64(0)
    above = beside = np.uint64(0)  # of the level before: the parent's cells and the child's
    for i in range(limit + 1):
        every = (ONE << np.uint64(2 * i + 1)) - ONE
        cells = row >> np.uint64(i * i) & every
        new = cells & (equal >> np.uint64(limit - i))
        new |= above | above << ONE | beside << TWO
        if left < i:
            new &= (ONE << np.uint64(max(left + i + 1, 0))) - ONE
        made |= new << np.uint64(i * i)
        above, beside = cells, new
    return made


@inlined
def is_complete(row, limit, left):
    """Return True if the whole piece is aligned within its limit; `left` as for `next_row`."""
    if left > limit or left < -limit:
        return False
    return row >> np.uint64(limit * limit + limit + left) & ONE != 0


@inlined
def equal_cells(letters, piece, symbol, depth, limit):
    """Return `equal` of `next_row` at a depth, from the letters of `TriePieces`."""
    word, shift = depth >> 6, np.uint64(depth & 63)
    cells = letters[piece, symbol, word] >> shift
    cells |= (letters[piece, symbol, word + 1] << ONE) << (np.uint64(63) - shift)
    return cells & ((ONE << np.uint64(2 * limit + 1)) - ONE)


def prepare_pieces(pieces: Pieces, batch: BatchArrays) -> TriePieces:
    """Return pieces as the walk takes them."""
    oriented, begin, end, limit = pieces
    behind = np.diff(batch.offsets)[oriented >> 1] - end
    bases, unknown = last_bases_of(pieces, batch)
    return TriePieces(oriented, end - begin, behind, letters_of(pieces, batch), bases, unknown, limit)


@compiled
def letters_of(pieces, batch):
    """Return the letters of `TriePieces`."""
    oriented, begins, ends, limit = pieces
    offsets, codes = batch.offsets, batch.codes
    longest = 0
    for piece in range(len(begins)):
        longest = max(longest, ends[piece] - begins[piece])
    # Depths go up to the longest piece and `limit` more; a vector is read one word beyond.
    letters = np.zeros((len(begins), 4, (longest + 2 * limit) // 64 + 2), np.uint64)
    for piece in range(len(begins)):
        last = offsets[oriented[piece] >> 1] + ends[piece] - 1
        strand = oriented[piece] & 1
        for x in range(ends[piece] - begins[piece]):
            code = codes[strand, last - x]
            if code < 4:
                place = x + limit
                letters[piece, code, place >> 6] |= ONE << np.uint64(place & 63)
    return letters


@compiled
def last_bases_of(pieces, batch):
    """Return the bases of `TriePieces`, and which of them are unknown."""
    oriented, begins, ends, _ = pieces
    offsets, codes = batch.offsets, batch.codes
    bases, unknown = np.zeros(len(begins), np.uint64), np.zeros(len(begins), np.uint64)
    for piece in range(len(begins)):
        last = offsets[oriented[piece] >> 1] + ends[piece] - 1
        strand = oriented[piece] & 1
        for x in range(32):
            code = codes[strand, last - x] if x < ends[piece] - begins[piece] else np.uint8(4)
            bases[piece] |= np.uint64(code & 3) << np.uint64(2 * x)
            unknown[piece] |= np.uint64(code >> 2) << np.uint64(x)
    return bases, unknown

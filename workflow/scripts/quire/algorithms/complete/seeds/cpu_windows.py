"""Windows: the ends on 2k + 1 neighbouring diagonals of the axis, LANES windows at a time.

Row i of diagonal d is base i of the read at position d + i. The furthest row that paths with e differences reach on a
diagonal is, by Landau and Vishkin (1989), that of e - 1 differences there, one row on (a substitution), or on the
diagonal before (a deletion), or behind, one row on (an insertion), and then as far as bases are equal. Paths may begin
in row 0 of any diagonal. A diagonal on which row m is reached with e differences, and not with fewer, has an end of
distance e, at d + m.

Where bases are equal is a mask of 64 rows a word, a set bit where they differ. The reference is loaded once for each
window, spread into planes of its low and high bits, and shifted for each diagonal.
"""

from typing import NamedTuple

import numpy as np

from quire.sequence.words import packed_word
from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import (
    add,
    any_bit,
    bit_and,
    bit_or,
    bit_xor,
    choose_equal,
    choose_less,
    load,
    maximum,
    minimum,
    shift_left,
    shift_right,
    splat,
    store,
    trailing_zeros,
)

LANES = 8  # of int64, one AVX-512 register


class Windows(NamedTuple):
    """LANES windows; an array [x * LANES] holds x rows of one item for each lane.

    Attributes:
        text: int64[2 * (words + 1) * LANES], packed bases of the axis from the window's first diagonal on.
        text_unknown: int64[(words + 1) * LANES], a bit for each base of it that matches nothing.
        read: int64[3 * words * LANES], planes of the read: low bits, high bits, what matches nothing.
        planes: int64[2 * (words + 1) * LANES], low and high bits of `text`.
        masks: int64[(2k + 1) * words * LANES].
        lengths: int64[LANES], m.
        furthest: int64[(2k + 3) * LANES], rows; with a diagonal that nothing reaches on either side.
        distances: int64[(2k + 1) * LANES], of the end on each diagonal; k + 1 where there is none.
    """

    text: np.ndarray
    text_unknown: np.ndarray
    read: np.ndarray
    planes: np.ndarray
    masks: np.ndarray
    lengths: np.ndarray
    furthest: np.ndarray
    distances: np.ndarray


@compiled
def room_for_windows(longest, differences):
    """Windows for reads of at most `longest` bases."""
    words, diagonals = (longest + 63) // 64, 2 * differences + 1
    return Windows(
        np.zeros(2 * (words + 1) * LANES, np.int64), np.zeros((words + 1) * LANES, np.int64),
        np.zeros(3 * words * LANES, np.int64), np.zeros(2 * (words + 1) * LANES, np.int64),
        np.zeros(diagonals * words * LANES, np.int64), np.zeros(LANES, np.int64),
        np.zeros((diagonals + 2) * LANES, np.int64), np.zeros(diagonals * LANES, np.int64),
    )  # fmt: skip


@inlined
def _all(value):
    """An int64 in every lane."""
    return splat(np.int64(value), LANES)


@inlined
def _even_bits(word):
    """The 32 even bits of every lane, side by side in its low half."""
    word = bit_and(word, _all(0x5555555555555555))
    word = bit_and(bit_or(word, shift_right(word, _all(1))), _all(0x3333333333333333))
    word = bit_and(bit_or(word, shift_right(word, _all(2))), _all(0x0F0F0F0F0F0F0F0F))
    word = bit_and(bit_or(word, shift_right(word, _all(4))), _all(0x00FF00FF00FF00FF))
    word = bit_and(bit_or(word, shift_right(word, _all(8))), _all(0x0000FFFF0000FFFF))
    return bit_and(bit_or(word, shift_right(word, _all(16))), _all(0x00000000FFFFFFFF))


@compiled
def solve(windows, words, differences, unknown):
    """Fill `distances`; returns whether any lane has an end.

    Args:
        windows: with `text`, `read` and `lengths` filled, and `text_unknown` where `unknown`.
        words: of 64 bases that the longest of the reads takes.
        differences: k.
        unknown: whether a base of any lane matches nothing.
    """
    text, text_unknown, read, planes, masks, lengths, furthest, distances = windows
    _spread(text, planes, words)
    diagonals = 2 * differences + 1
    for diagonal in range(diagonals):
        _compare(diagonal, text_unknown, read, planes, masks, words, unknown)
    length = load(lengths, 0, LANES)
    zero, one = _all(0), _all(1)
    for diagonal in range(diagonals):
        row = minimum(_run(masks, diagonal * words, words, zero), length)
        store(furthest, (diagonal + 1) * LANES, row)
        store(distances, diagonal * LANES, choose_less(row, length, one, zero))
    never = _all(-1)
    store(furthest, 0, never)
    store(furthest, (diagonals + 1) * LANES, never)
    for _ in range(differences):
        before = never
        for diagonal in range(diagonals):
            here = load(furthest, (diagonal + 1) * LANES, LANES)
            behind = load(furthest, (diagonal + 2) * LANES, LANES)
            row = minimum(maximum(add(maximum(here, behind), one), before), length)
            row = minimum(_run(masks, diagonal * words, words, row), length)
            store(furthest, (diagonal + 1) * LANES, row)
            before = here
            count = add(load(distances, diagonal * LANES, LANES), choose_less(row, length, one, zero))
            store(distances, diagonal * LANES, count)
    none, found = _all(differences + 1), zero
    for diagonal in range(diagonals):
        found = bit_or(found, choose_less(load(distances, diagonal * LANES, LANES), none, one, zero))
    return any_bit(found)


@inlined
def _spread(text, planes, words):
    """Packed bases to planes of 64 bases a word, low bits and then high bits."""
    half = _all(32)
    for word in range(words + 1):
        first, second = load(text, 2 * word * LANES, LANES), load(text, (2 * word + 1) * LANES, LANES)
        low = bit_or(_even_bits(first), shift_left(_even_bits(second), half))
        first, second = shift_right(first, _all(1)), shift_right(second, _all(1))
        high = bit_or(_even_bits(first), shift_left(_even_bits(second), half))
        store(planes, 2 * word * LANES, low)
        store(planes, (2 * word + 1) * LANES, high)


@inlined
def _from(array, place, step, shift, rest):
    """The bits of two words of a plane from bit `shift` on; rest = 63 - shift."""
    later = shift_left(shift_left(load(array, (place + step) * LANES, LANES), _all(1)), rest)
    return bit_or(shift_right(load(array, place * LANES, LANES), shift), later)


@inlined
def _compare(diagonal, text_unknown, read, planes, masks, words, unknown):
    """The masks of a diagonal."""
    shift, rest = _all(diagonal), _all(63 - diagonal)
    for word in range(words):
        low = bit_xor(_from(planes, 2 * word, 2, shift, rest), load(read, 3 * word * LANES, LANES))
        high = bit_xor(_from(planes, 2 * word + 1, 2, shift, rest), load(read, (3 * word + 1) * LANES, LANES))
        mask = bit_or(low, high)
        if unknown:
            mask = bit_or(mask, load(read, (3 * word + 2) * LANES, LANES))
            mask = bit_or(mask, _from(text_unknown, word, 1, shift, rest))
        store(masks, (diagonal * words + word) * LANES, mask)


@inlined
def _run(masks, first, words, row):
    """The next row from `row` on at which a mask has a bit; may go beyond the read."""
    for word in range(words):
        within = bit_and(row, _all(63))
        mask = shift_right(load(masks, (first + word) * LANES, LANES), within)
        # Zeros come in from above: the run ends with the word.
        length = minimum(trailing_zeros(mask), add(bit_xor(within, _all(63)), _all(1)))
        row = choose_equal(shift_right(row, _all(6)), _all(word), add(row, length), row)
    return row


@inlined
def place_text(windows, lane, text, begin, words):
    """Write the axis from base `begin` on into a lane; bases beyond the axis become A."""
    packed = windows.text
    if begin >= 0 and (begin >> 5) + 2 * words + 2 < len(text):
        shift = np.uint64(2 * (begin & 31))
        index = begin >> 5
        here = text[index]
        for word in range(2 * words + 2):
            behind = text[index + word + 1]
            joined = here >> shift | (behind << np.uint64(1)) << (np.uint64(63) - shift)
            packed[word * LANES + lane] = np.int64(joined)
            here = behind
        return
    for word in range(2 * words + 2):
        joined = np.uint64(0)
        for i in range(32):
            base = begin + 32 * word + i
            if 0 <= base < 32 * (len(text) - 1):
                joined |= (packed_word(text, base) & np.uint64(3)) << np.uint64(2 * i)
        packed[word * LANES + lane] = np.int64(joined)

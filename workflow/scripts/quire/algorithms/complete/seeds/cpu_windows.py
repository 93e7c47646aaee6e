"""Windows: the ends on 2k + 1 neighbouring diagonals of the axis, for LANES windows of one strand at a time.

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
# Groups of lanes that are filled before they are solved: a vector that is loaded right behind the store of one of its
# lanes waits for it.
GROUPS = 16


class WindowLayout(NamedTuple):
    """Where things stand in the memory (int64[]) of windows.

    All is in one array, and the layout holds none, since a kernel counts the references of each array it is given.
    Item i of a section at `first` stands, for each lane, in memory[(first + i) * LANES + lane]. W is the words of 64
    bases that the longest read takes.

    Attributes:
        group: items of one group of lanes, of which there are GROUPS from the beginning on. They are: 2 * W + 2 words
            of packed bases of the axis from the window's first diagonal on; then the following.
        unknown: W + 1 items of a group, a bit for each of its bases that matches nothing.
        has_unknown: an item of a group, not 0 in lane 0 if any bit of `unknown` is set.
        diagonal, last: items of a group, the diagonal in the middle and the last end that is allowed.
        planes: 2 * (W + 1) items, low and high bits of the bases of a group.
        masks: (2k + 1) * W items.
        furthest: 2k + 3 items, rows; with a diagonal that nothing reaches on either side.
        distances: 2k + 1 items, of the end on each diagonal; k + 1 where there is none.
        read: index of 3 * W words, which are not of a lane: low bits, high bits, what matches nothing, of the strand.
        differing: index of 2 * W words: the bases of the strand that differ from the axis, in the even bits.
        pieces: index of (k + 1) * 2 * W words: the bases of each piece, in the even bits.
        words: W.
    """

    group: int
    unknown: int
    has_unknown: int
    diagonal: int
    last: int
    planes: int
    masks: int
    furthest: int
    distances: int
    read: int
    differing: int
    pieces: int
    words: int


@compiled
def room_for_windows(longest, differences):
    """Memory and layout of windows for reads of at most `longest` bases."""
    words, diagonals = (longest + 63) // 64, 2 * differences + 1
    unknown = 2 * words + 2
    has_unknown = unknown + words + 1
    group = has_unknown + 3
    planes = group * GROUPS
    masks = planes + 2 * (words + 1)
    furthest = masks + diagonals * words
    distances = furthest + diagonals + 2
    read = (distances + diagonals) * LANES
    pieces = read + 5 * words
    memory = np.zeros(pieces + (differences + 1) * 2 * words, np.int64)
    layout = WindowLayout(group, unknown, has_unknown, has_unknown + 1, has_unknown + 2, planes, masks, furthest,
                          distances, read, read + 3 * words, pieces, words)  # fmt: skip
    return memory, layout


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


@inlined
def _get(memory, item):
    """An item of all lanes."""
    return load(memory, item * LANES, LANES)


@inlined
def _put(memory, item, vector):
    store(memory, item * LANES, vector)


@compiled
def solve(memory, layout, group, length, differences, unknown):
    """Fill `distances` with those of a group of windows; returns whether any lane has an end.

    Args:
        memory, layout: with the group and `read` filled.
        group: its number.
        length: m.
        differences: k.
        unknown: whether a base of the read matches nothing.
    """
    words = (length + 63) >> 6
    text = layout.group * group
    unknown |= memory[(text + layout.has_unknown) * LANES] != 0
    _spread(memory, text, layout.planes, words)
    diagonals = 2 * differences + 1
    for diagonal in range(diagonals):
        _compare(memory, layout, diagonal, text + layout.unknown, words, unknown)
    masks, furthest, distances = layout.masks, layout.furthest, layout.distances
    bases, zero, one = _all(length), _all(0), _all(1)
    for diagonal in range(diagonals):
        row = minimum(_run(memory, masks + diagonal * words, words, zero), bases)
        _put(memory, furthest + diagonal + 1, row)
        _put(memory, distances + diagonal, choose_less(row, bases, one, zero))
    never = _all(-1)
    _put(memory, furthest, never)
    _put(memory, furthest + diagonals + 1, never)
    for _ in range(differences):
        before = never
        for diagonal in range(diagonals):
            here = _get(memory, furthest + diagonal + 1)
            behind = _get(memory, furthest + diagonal + 2)
            row = minimum(maximum(add(maximum(here, behind), one), before), bases)
            row = minimum(_run(memory, masks + diagonal * words, words, row), bases)
            _put(memory, furthest + diagonal + 1, row)
            before = here
            count = add(_get(memory, distances + diagonal), choose_less(row, bases, one, zero))
            _put(memory, distances + diagonal, count)
    none, found = _all(differences + 1), zero
    for diagonal in range(diagonals):
        found = bit_or(found, choose_less(_get(memory, distances + diagonal), none, one, zero))
    return any_bit(found)


@inlined
def _spread(memory, text, planes, words):
    """Packed bases to planes of 64 bases a word, low bits and then high bits."""
    half = _all(32)
    for word in range(words + 1):
        first, second = _get(memory, text + 2 * word), _get(memory, text + 2 * word + 1)
        _put(memory, planes + 2 * word, bit_or(_even_bits(first), shift_left(_even_bits(second), half)))
        first, second = shift_right(first, _all(1)), shift_right(second, _all(1))
        _put(memory, planes + 2 * word + 1, bit_or(_even_bits(first), shift_left(_even_bits(second), half)))


@inlined
def _from(memory, item, step, shift, rest):
    """The bits of two words of a plane from bit `shift` on; rest = 63 - shift."""
    later = shift_left(shift_left(_get(memory, item + step), _all(1)), rest)
    return bit_or(shift_right(_get(memory, item), shift), later)


@inlined
def _compare(memory, layout, diagonal, text_unknown, words, unknown):
    """The masks of a diagonal."""
    shift, rest = _all(diagonal), _all(63 - diagonal)
    planes, read, masks = layout.planes, layout.read, layout.masks
    for word in range(words):
        low = bit_xor(_from(memory, planes + 2 * word, 2, shift, rest), _all(memory[read + 3 * word]))
        high = bit_xor(_from(memory, planes + 2 * word + 1, 2, shift, rest), _all(memory[read + 3 * word + 1]))
        mask = bit_or(low, high)
        if unknown:
            mask = bit_or(mask, _all(memory[read + 3 * word + 2]))
            mask = bit_or(mask, _from(memory, text_unknown + word, 1, shift, rest))
        _put(memory, masks + diagonal * words + word, mask)


@inlined
def _run(memory, masks, words, row):
    """The next row from `row` on at which a mask has a bit; may go beyond the read."""
    for word in range(words):
        within = bit_and(row, _all(63))
        mask = shift_right(_get(memory, masks + word), within)
        # Zeros come in from above: the run ends with the word.
        length = minimum(trailing_zeros(mask), add(bit_xor(within, _all(63)), _all(1)))
        row = choose_equal(shift_right(row, _all(6)), _all(word), add(row, length), row)
    return row

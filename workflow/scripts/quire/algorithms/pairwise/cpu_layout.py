"""How a tile lies in memory: its lanes, the room in which it is computed, its borders, the words of its directions."""

from typing import NamedTuple

import numpy as np

from quire.simd.compiled import compiled, inlined
from quire.simd.vectors import CACHE_LINE, bits_greater, bits_greater_of_two, has_avx2, has_avx512, store_bits

LANES = 32 if has_avx512() else 16  # of int16, one register: no answer depends on it
BITS: np.typing.DTypeLike = np.uint32 if LANES == 32 else np.uint16
"""Type of a word of directions: a bit for each lane."""
PACKED = has_avx2() and not has_avx512()
"""Whether two words of directions lie in each other, as AVX2 finds them faster: `note` and `is_noted` know."""
WIDTH = 2  # columns of a step
WORDS = 4 * WIDTH  # of directions, for each row of a lane in a step
LARGEST_SCORE = 700  # of int16: a gap's price below FLOOR is still a number
FLOOR, CEILING = -32000, 32000  # of int16


class Space(NamedTuple):
    """Room for a tile in scores of one type (E: int16 or int32), of one thread.

    Attributes:
        query: E[height * LANES], the letters of each lane's rows, lanes innermost.
        even, odd: E[steps + LANES - 1], the letters of columns 0, 2, ... and 1, 3, ..., backwards: those of a step
            stand side by side.
        scores: E[height * LANES], H of the column before.
        deletions: likewise, D of the column at hand.
        upper, gaps: E[2 * steps], H of the row above the tile, I of its first row.
        lower, lower_gaps: E[2 * steps], H of its last row, I of the row below; column c stands at c + 2 * (last lane).
        constants: E[6 * LANES], scores and limits in every lane.
        carried: E[2 * LANES], vectors of which a lane is written or read by itself.
        export: E[4 * LANES], the last row's vectors of a step.
    """

    query: np.ndarray
    even: np.ndarray
    odd: np.ndarray
    scores: np.ndarray
    deletions: np.ndarray
    upper: np.ndarray
    gaps: np.ndarray
    lower: np.ndarray
    lower_gaps: np.ndarray
    constants: np.ndarray
    carried: np.ndarray
    export: np.ndarray


class Border(NamedTuple):
    """What a tile needs from outside, and leaves to its neighbours: parts of int32 arrays, in the matrix's own scores.

    Attributes:
        upper: int32[2, columns + 1], H of the row above from the corner on, and I of the tile's first row.
        left: int32[2, rows + 1], H of the column before from the corner on, and D of the tile's first column.
        lower: int32[2, columns + 1], H of the last row from its left neighbour on, and I of the row below.
        right: int32[2, rows + 1], H of the last column from its upper neighbour on, and D of the column behind.
    """

    upper: np.ndarray
    left: np.ndarray
    lower: np.ndarray
    right: np.ndarray


@compiled
def space_for(rows, columns, dtype):
    """Room for tiles up to this size; a tile of fewer rows may have more lanes, and so take more steps."""
    lanes, steps = height_of(rows) * LANES, (columns + WIDTH - 1) // WIDTH + LANES - 1
    letters, across = _whole_lines(steps + LANES - 1), _whole_lines(WIDTH * steps)
    # One array for all: for small tiles taking memory counts.
    room = _aligned(3 * lanes + 2 * letters + 4 * across + 12 * LANES, dtype)
    behind, behind_letters = room[3 * lanes :], room[3 * lanes + 2 * letters :]
    rest = behind_letters[4 * across :]
    return Space(
        room[:lanes], behind[:letters], behind[letters : 2 * letters], room[lanes : 2 * lanes],
        room[2 * lanes : 3 * lanes], behind_letters[:across], behind_letters[across : 2 * across],
        behind_letters[2 * across : 3 * across], behind_letters[3 * across : 4 * across], rest[: 6 * LANES],
        rest[6 * LANES : 8 * LANES], rest[8 * LANES :],
    )  # fmt: skip


@compiled
def _whole_lines(length):
    """At least so many numbers, that fill lines of the cache whatever their type is."""
    return (length + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE


@compiled
def _aligned(length, dtype):
    """Zeros that begin on a cache line, so that no vector of 64 bytes crosses one."""
    array = np.zeros(length + CACHE_LINE, dtype)
    begin = (CACHE_LINE - array.ctypes.data % CACHE_LINE) % CACHE_LINE // array.itemsize
    return array[begin : begin + length]


@compiled
def height_of(rows):
    """Rows of a lane."""
    return (rows + LANES - 1) // LANES


@compiled
def steps_of(rows, columns):
    """Steps until the last lane is through."""
    return (columns + WIDTH - 1) // WIDTH + (rows + height_of(rows) - 1) // height_of(rows) - 1


@compiled
def direction_words(rows, columns):
    """How many words (BITS) the directions of a tile take."""
    return steps_of(rows, columns) * height_of(rows) * WORDS


@inlined
def note(directions, word, gap, value, deletion, paired, longer_gap, opened, longer):
    """Write the directions of a row of lanes in one column: whether gap > value, and so on, by the order of arguments.

    The four words from `word` on; LANES lanes of int16, or of int32.
    """
    if PACKED:
        store_bits(directions, word, bits_greater_of_two(gap, value, deletion, paired))
        store_bits(directions, word + 2, bits_greater_of_two(longer_gap, opened, longer, opened))
    else:
        store_bits(directions, word, bits_greater(gap, value))
        store_bits(directions, word + 1, bits_greater(deletion, paired))
        store_bits(directions, word + 2, bits_greater(longer_gap, opened))
        store_bits(directions, word + 3, bits_greater(longer, opened))


@inlined
def is_noted(directions, word, lane, which):
    """One of the four directions, `which` from 0 on, that `note` wrote from `word` on."""
    if PACKED:
        return (np.int64(directions[word + (which & 2) + (lane >> 3)]) >> (8 * (which & 1) + (lane & 7))) & 1 == 1
    return (np.int64(directions[word + which]) >> lane) & 1 == 1

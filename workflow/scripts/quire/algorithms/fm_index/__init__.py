"""FM-index of a text over four letters (Ferragina and Manzini 2000), with occurrence blocks of whole memory sectors.

Rows are the sorted suffixes of the text, row 0 the empty one. An interval [low, high) of rows holds all suffixes that
start with a pattern; `low == high` means that the pattern does not occur. The arrays of an `FmIndex`:

- `blocks`: one block of `words_per_block` words for every `sampling_distance` = 32 * words_per_block - 64 rows of the
  Burrows-Wheeler transform (BWT). Words 0 and 1 hold four 32-bit counters, the number of occurrences of each code
  before the block (A low and C high in word 0, G low and T high in word 1). Two words follow for each 64 rows: the low
  bits and the high bits of their codes. The sentinel in row `primary` is stored and counted as an A; counting corrects
  for it.
- `C`: C[c] is the first row of the suffixes that start with code c; C[0] = 1, C[4] = rows.
- `prefix_table`: row x holds the interval of the k-mer x (first base most significant).
- `suffix_array`: the positions of all rows, or (`sa_sampling` > 1) of the rows whose suffix starts at a multiple of
  `sa_sampling`.
- `sampled_rows`: two words for each 64 rows: the bits of the sampled ones, and the number of sampled rows before them.
- `unowned_rows`: the sorted rows whose suffix starts in the part of the text that belongs to the next page.

`cpu` and fm_index.cuh have the steps of a search. The axis has several pages side by side; each search looks a query up
in all of them.
"""

from typing import NamedTuple

import numpy as np

SAMPLING_DISTANCES = (64, 192, 448, 960)
LONGEST_PREFIX = 12
SHORTEST_PREFIX = 4


class FmIndex(NamedTuple):
    """The FM-index of a page; see the module's docstring. Arrays are flat and contiguous, as kernels read them.

    Attributes:
        blocks: uint64[blocks * words_per_block].
        words_per_block: 4, 8, 16 or 32, for a sampling distance of 64, 192, 448 or 960.
        C: int64[5].
        primary: row whose suffix is the whole text.
        prefix_table: uint32[4^prefix_length * 2].
        prefix_length: k.
        suffix_array: uint32[n + 1] for a text of n bases, or uint32[n // sa_sampling + 1] if sampled.
        sa_sampling: 1 for a whole suffix array.
        sampled_rows: uint64[2 * (n // 64 + 1)], empty for a whole suffix array.
        unowned_rows: uint32[m].
        unowned_count: their number, m; kernels for cards know no lengths of arrays.
        start: first axis position of the page; axis position = start + position in the page.
        owned_length: position in the page from which on hits belong to the next page.
    """

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
    unowned_count: int
    start: int
    owned_length: int


def words_of_distance(sampling_distance: int) -> int:
    """Return the number of words of an occurrence block: two of counters, and two for each 64 rows."""
    if sampling_distance not in SAMPLING_DISTANCES:
        raise ValueError(f"the sampling distance is one of {SAMPLING_DISTANCES}, not {sampling_distance}")
    return 2 + sampling_distance // 32


def prefix_length_of(length: int) -> int:
    """Return k of the prefix table: the largest with 4^k at most the length of the text, but 4 to 12."""
    return min(max((length.bit_length() - 1) // 2, SHORTEST_PREFIX), LONGEST_PREFIX)

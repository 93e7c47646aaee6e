"""Windows of the axis in which an end may lie, and all ends within them by bit vectors.

A strategy knows places where a piece of a read occurs; what it hands over is a *candidate*: a read on a strand, and
the ends from `first` to `last` that an alignment through that place can have. Candidates are words (uint64): the
oriented read (2 * read + strand) from bit ORIENTED_SHIFT on, `first` from bit FIRST_SHIFT on, `last` - `first` in the
bits below. All ends of a candidate lie in one island. Sorted and without overlaps candidates are *windows*.

In a window of n ends an alignment with at most k differences keeps to the n + 2k diagonals around them (k on either
side). The rows of Wu and Manber's automaton (1992), one for each number of differences, hold a bit (every second bit,
as bases take two) for each diagonal: 32 in a word. One step takes the next base of the read; where no diagonal is left
alive the window is done.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FIRST_SHIFT = 4
ORIENTED_SHIFT = 44
MOST_ORIENTED = 1 << (64 - ORIENTED_SHIFT)  # reads on both strands that candidates can name
DIAGONALS = 32  # of a word


class EndWindows(NamedTuple):
    """Ends to be looked at, sorted by oriented read and place; no end stands in two windows of a read.

    Attributes:
        oriented: int64[n], 2 * read + strand.
        first: int64[n], the first end, on the axis.
        ends: int64[n], how many, at most DIAGONALS - 2k; all in one island.
    """

    oriented: NDArray[np.int64]
    first: NDArray[np.int64]
    ends: NDArray[np.int64]

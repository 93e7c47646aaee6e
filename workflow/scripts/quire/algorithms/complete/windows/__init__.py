"""Candidates, windows of the axis in which ends may lie, and all ends within them by bit vectors.

An occurrence of a piece of a read gives a *candidate*: the read on a strand, and the ends from `first` to `last` of the
alignments that may pass through that place. A candidate is a word (uint64): the oriented read (2 * read + strand) from
bit ORIENTED_SHIFT on, `first` from bit FIRST_SHIFT on, and `last` - `first` in the bits below. All its ends lie in one
island. Candidates that are sorted and do not overlap are *windows*.

In a window of n ends, an alignment with at most k differences stays within the n + 2k diagonals around the ends, k on
either side. The automaton of Wu and Manber (1992) has one row for each number of differences, which holds a bit for
each diagonal. One step takes the next base of the read. A window is done when no diagonal is alive.
"""

FIRST_SHIFT = 5
ORIENTED_SHIFT = 44
MOST_ORIENTED = 1 << (64 - ORIENTED_SHIFT)  # oriented reads that candidates can name
DIAGONALS = 32  # bits of a row

"""Complete search: every place of the axis where a read occurs with at most k differences.

Differences are substitutions, insertions and deletions of one base, each of cost 1. The whole read is aligned, on both
strands. T is the axis, islands laid end to end; P_s is the read on strand s, and m its length. A letter other than A,
C, G, T, in the read or in the reference, matches nothing, not even itself.

**Ends.** For an island and a position e in it, D_s(e) is the smallest edit distance between P_s and T[b:e) over all b
of that island. An *end* is (read, strand, e) with D_s(e) <= k. `cpu.find_ends` and `gpu.find_ends` find all ends,
sorted by read, strand and e: reads are cut into `pieces`, `seeds` and `trie` find places of these, and `windows` around
those places give the ends.

**Hits.** Ends are aligned in the matrix H[i][j] = smallest edit distance between P_s[:i] and T[b:j) over all b. From
(m, e) the path goes back to row 0: to (i-1, j-1) if H there plus the cost of the two bases is H[i][j], else to (i-1, j)
(an insertion) if H there plus 1 is H[i][j], else to (i, j-1) (a deletion). So gaps are placed as far left as possible.
Where the path reaches row 0, the alignment begins.
Among the ends of a read on one strand whose alignments begin at the same base, one is a *hit*: the one with the fewest
differences; of equal ones, the one whose alignment spans the number of bases nearest to m, then the one with the
smallest e. So a hit neither begins nor ends with a deletion. Totals count hits.

Positions are on the axis, 0-based and half-open. A read must have at least `shortest_read(k)` = 2k + 2 bases: a shorter
one would be found nearly everywhere. k is at most 5.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.reads import Reads


def shortest_read(max_differences: int) -> int:
    """Return the number of bases that a read needs for a search with this many differences."""
    return 2 * max_differences + 2


class Axis(NamedTuple):
    """The reference that is searched, as `quire.reference.Reference` holds it.

    Attributes:
        text: uint64[ceil(length / 32) + 2], the packed axis (`quire.sequence.packing`), in which another base
            replaces each ambiguous one.
        ambiguous: int64[m, 2], sorted spans [begin, end) of ambiguous bases, which match nothing.
        islands: int64[islands + 1], the begin of each island; the last item is the length of the axis.
    """

    text: NDArray[np.uint64]
    ambiguous: NDArray[np.int64]
    islands: NDArray[np.int64]


class Ends(NamedTuple):
    """Ends of reads, sorted by (read, strand, end), each once.

    Attributes:
        read: int64[n], index in the batch.
        strand: uint8[n], 0 for the read as read and 1 for its reverse complement.
        end: int64[n], e on the axis: the alignment ends before this base.
        distance: uint8[n], D_s(e), at most k.
    """

    read: NDArray[np.int64]
    strand: NDArray[np.uint8]
    end: NDArray[np.int64]
    distance: NDArray[np.uint8]


PartsOfEnds = Iterator[Ends]
"""The ends of a batch in parts of at most about `room` ends; all parts together are sorted as `Ends` is.

A part may end between two ends of one read, since a read of one letter can have millions of them. A part may be empty.
"""


class Hits(NamedTuple):
    """Hits, sorted by (read, strand, begin), each once.

    Attributes:
        read: int64[n], index in the batch.
        strand: uint8[n].
        begin, end: int64[n], aligned bases of the axis, [begin, end).
        distance: uint8[n], differences of the alignment.
    """

    read: NDArray[np.int64]
    strand: NDArray[np.uint8]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    distance: NDArray[np.uint8]


class BatchArrays(NamedTuple):
    """The reads of a batch (see `quire.reads.Reads`), the axis (`quire.algorithms.complete.Axis`), and k."""

    offsets: np.ndarray
    codes: np.ndarray
    word_offsets: np.ndarray
    packed: np.ndarray
    ambiguous: np.ndarray
    text: np.ndarray
    unknown: np.ndarray
    islands: np.ndarray
    differences: int


def batch_arrays(reads: Reads, axis: Axis, max_differences: int) -> BatchArrays:
    """Return a batch and the axis as the kernels take them."""
    return BatchArrays(
        reads.offsets, reads.codes, reads.word_offsets, reads.packed, reads.ambiguous, *axis, max_differences
    )

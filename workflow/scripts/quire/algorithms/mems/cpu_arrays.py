"""Arguments of the kernels of maximal exact matches: the search and its working space.

Matches of at least l bases that start in the range [a, b] of a query all contain the bases [b, a + l). A *range* is a
record of RANGE: its first and last start, the end of its k-mer [last, kmer_end), which lies within [b, a + l), the run
of known bases that it lies in, and where its search begins (FROM_TABLE, or the number of a range whose interval it
extends). A *leaf* is a range whose k-mer is rare enough for its rows to be located.
"""

from typing import NamedTuple

import numpy as np

from quire.algorithms.mems import Matches

RANGE = np.dtype([(name, np.int64) for name in ("first", "last", "kmer_end", "run", "parent")])
INTERVAL = np.dtype([("low", np.int64), ("high", np.int64)])
LONGEST = np.dtype([("longest", np.int64), ("second", np.int64), ("axis", np.int64)])
FROM_TABLE = -1
MOST_RANGES = 4096  # including their halves; the halves of one range of MOST_STARTS always fit
MOST_STARTS = 256  # in a range
HITS_TOGETHER = 1024


class Text(NamedTuple):
    """The axis as kernels read it.

    Attributes:
        words: as in `ReferenceText`.
        runs: as in `ReferenceText`, and a run of no bases after all others.
        first_runs: int32[], for each 2^BLOCK_SHIFT bases of the axis the first run that ends after its first base.
        heads: uint64[r], sorted, HEAD bases from the start of each run on, even beyond its end, the first base highest.
        head_starts: int64[r], the starts of these runs.
    """

    words: np.ndarray
    runs: np.ndarray
    first_runs: np.ndarray
    heads: np.ndarray
    head_starts: np.ndarray


class KernelSearch(NamedTuple):
    """The search of one call of `find`.

    Attributes:
        pages: the table of the axis' pages (`page_table`).
        text: the axis.
        words: uint64[], the packed queries.
        runs: int64[r, 2], their runs of known bases.
        min_length: fewest bases of a match.
        seed_length: bases of the k-mers that are looked up first.
        unique: whether only matches unique in the reference are wanted.
        begin_start, begin_axis: the cursor; matches before it are left out.
    """

    pages: np.ndarray
    text: Text
    words: np.ndarray
    runs: np.ndarray
    min_length: int
    seed_length: int
    unique: bool
    begin_start: int
    begin_axis: int


class Ranges(NamedTuple):
    """Ranges that are searched together.

    Attributes:
        rows: RANGE[MOST_RANGES].
        found: INTERVAL[MOST_RANGES, pages], the interval of each k-mer in each page.
        at: int64[MOST_RANGES], the base of the query down to which a k-mer was searched from its end.
        listed: int64[MOST_RANGES], ranges whose search continues.
        leaves: int64[MOST_RANGES], ranges that were not halved, finally sorted by their starts.
        firsts: int64[MOST_RANGES], scratch for sorting leaves.
    """

    rows: np.ndarray
    found: np.ndarray
    at: np.ndarray
    listed: np.ndarray
    leaves: np.ndarray
    firsts: np.ndarray


class KmerHits(NamedTuple):
    """Hits that are compared together, and the best hits of one range.

    Attributes:
        axis: int64[HITS_TOGETHER], places of k-mers on the axis.
        leaf: int64[HITS_TOGETHER], their ranges, as places in the list of leaves.
        longest: LONGEST[MOST_STARTS + 1], item i for the hits of a range that reach i bases to the left of its last
            start: how far the longest and the second longest reach to the right, and the place of the longest.
    """

    axis: np.ndarray
    leaf: np.ndarray
    longest: np.ndarray


class KernelRoom(NamedTuple):
    """Working space of a search; `found` receives its matches."""

    ranges: Ranges
    hits: KmerHits
    found: Matches


def room_for(page_count: int, limit: int) -> KernelRoom:
    """Allocate the working space to search some pages for `limit` matches."""
    each = [np.empty(MOST_RANGES, np.int64) for _ in range(4)]
    ranges = Ranges(np.empty(MOST_RANGES, RANGE), np.empty((MOST_RANGES, page_count), INTERVAL), *each)
    axis, leaf = (np.empty(HITS_TOGETHER, np.int64) for _ in range(2))
    found = Matches(*(np.empty(2 * limit + MOST_STARTS, np.int64) for _ in range(3)))
    return KernelRoom(ranges, KmerHits(axis, leaf, np.empty(MOST_STARTS + 1, LONGEST)), found)

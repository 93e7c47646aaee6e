"""Maximal exact matches (MEMs) between queries and the reference, as MUMmer 3.23 defines them with `-n`.

A *match* is (query start s, axis start r, length L): query[s:s + L] and axis[r:r + L] are the same letters, all of them
A, C, G or T. Other letters, the ends of a query and the ends of islands match nothing. It is *maximal* if it can be
extended neither to the left nor to the right: the bases there differ, or one of them is not A, C, G or T, or a sequence
ends. All maximal matches with L >= `min_length` are found, each once, including those that cross pages.

`mummer -maxmatch` finds all of these. `-mumreference` finds the matches that are *unique in the reference*: their
letters occur nowhere else on the axis, on its forward strand. `-mum` finds the matches that are also *unique in the
query*: their letters occur nowhere else in the same query, on the strand that is searched. (If the letters of a match
that is unique in the reference occur in the query a second time, that occurrence is part of a match with the same part
of the reference. So a match whose part of the reference lies within that of another match of the query is not unique,
and neither are two matches with the same part of the reference.)

Queries are looked up as given. Matches of the other strand are those of the reverse complement of the query, with
positions on the reverse complement, as MUMmer prints them without `-c`; the caller reverses the queries.

**Order.** Matches are sorted by query, start in the query, and start on the axis. MUMmer's order is the same, except
that it orders the matches of one start in the query by its suffix tree; with `-mumreference` there is at most one. Both
programs sort the matches of `-mum` by query and start on the axis.

**Streams.** `cpu.find` and `gpu.find` return matches in pieces: at most `limit` from a `Cursor` on, which is a place in
that order. So memory does not depend on the number of matches (in a reference of one letter, one base of a query has as
many matches as the reference has bases), and the answer does not depend on the pieces.

    find([card,] axis, queries, wanted, begin, end, limit) -> (Matches, Cursor)

- `axis`: pages and text of the axis; `queries`: `Queries` on one strand; both prepared for the CPU or the card.
- `wanted`: `WantedMatches`.
- `begin`: `Cursor`, matches before it are left out.
- `end`: matches that start at or after this base of the flat queries are left out.
- `limit`: 1 or more. The result holds the first matches in order, at most `limit`, and the cursor from which to
  continue. There are no more matches when its `start` is `end`; fewer matches than `limit`, or none, do not show that.

`unique_in_query(matches, offsets) -> Matches` of `cpu` is the step from `-mumreference` to `-mum`, for whole queries.

Sources: MUMmer 3 (Kurtz et al. 2004, Genome Biology 5:R12); MUMmerGPU (Trapnell and Schatz 2009, Parallel Computing 35)
for pages and streams; copMEM (Grabowski and Bieniecki 2018, Bioinformatics 35) for sampled seeds.
"""

from typing import NamedTuple

import numpy as np


class PackedText(NamedTuple):
    """The axis, or queries laid end to end, packed, and the runs of known letters.

    Attributes:
        words: uint64[ceil(length / 32) + 2], the packed letters (`quire.sequence.packing`); others than A, C, G, T have
            any code.
        runs: int64[r, 2], the (start, end) of all longest runs of A, C, G, T within one island or query, ascending.
            Neighbours may touch (islands do), and no match extends beyond its run.
    """

    words: np.ndarray
    runs: np.ndarray


class Queries(NamedTuple):
    """Queries laid end to end, on one strand.

    Attributes:
        codes: uint8[total], 0..3 for A, C, G, T and 4 for all other letters.
        offsets: int64[n + 1]; query i is codes[offsets[i]:offsets[i + 1]]. Queries may be empty.
    """

    codes: np.ndarray
    offsets: np.ndarray


class Matches(NamedTuple):
    """Maximal exact matches, sorted by (start, axis) unless said otherwise; coordinates are 0-based.

    Attributes:
        start: int64[m], start in the flat codes of the queries.
        axis: int64[m], start on the axis.
        length: int64[m], bases.
    """

    start: np.ndarray
    axis: np.ndarray
    length: np.ndarray


class Cursor(NamedTuple):
    """A place in the order of matches: before all matches with (start, axis) >= this one.

    Attributes:
        start: position in the flat codes of the queries.
        axis: position on the axis; 0 is before all matches of that start.
    """

    start: int
    axis: int


class WantedMatches(NamedTuple):
    """The kind of matches to find.

    Attributes:
        min_length: fewest bases of a match, 1 to 2^31 - 1.
        unique: whether matches must be unique in the reference.
    """

    min_length: int
    unique: bool

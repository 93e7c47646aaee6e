"""Pairwise: one optimal alignment of two long sequences, with affine gaps and its whole path.

The matrix has a row for each base of the query and a column for each base of the target, and row 0 and column 0 before
them. H(i, j) is the best score of an alignment that ends after i bases of the query and j bases of the target;
I(i, j) is the best score of those whose last column is an insertion (a query base without a target base), D(i, j) of
those whose last column is a deletion:

    I(i, j) = max(H(i-1, j) + gap_open, I(i-1, j) + gap_extend)
    D(i, j) = max(H(i, j-1) + gap_open, D(i, j-1) + gap_extend)
    H(i, j) = max(H(i-1, j-1) + s(i, j), I(i, j), D(i, j)), and in mode LOCAL also 0

(Smith and Waterman 1981, Gotoh 1982.) Scores are a `quire.algorithms.scoring.Scoring`: a gap of k bases scores
gap_open + (k - 1) * gap_extend. An insertion may follow a deletion and the other way round. s is `match` where both
bases are the same one of A, C, G and T, and `mismatch` everywhere else: an ambiguous base matches nothing, not even
another one.

| mode | borders | the alignment ends at |
|---|---|---|
| LOCAL: parts of both | H(i, 0) = H(0, j) = 0 | the largest H; nothing is aligned where that is 0 |
| GLOBAL: both whole | H(i, 0), H(0, j): one gap | (m, n) |
| GLOCAL: the query whole, the target's ends free | H(0, j) = 0, H(i, 0): one gap | the largest H(m, j), j = 0 too |

On the borders I(0, j) and D(i, 0) do not exist (their score is lower than any other), and I(i, 0) = H(i, 0) where that
is a gap.

Rules for ties make the answer unique. Of equally good ends the one with the smallest j is taken, then the smallest i.
The path is followed back from there. In mode LOCAL it stops at an H(i, j) of 0. Else it takes the diagonal if that is
as good as I and D, else I if that is as good as D, else D. In I(i, j) or D(i, j) the gap is opened if that is as good
as extending it. So gaps are placed as far left as possible. The path of mode GLOBAL continues along row 0 or column 0
to (0, 0); that of GLOCAL along column 0 to (0, 0), and it ends in row 0.

`cpu.align` and `gpu.align` solve it with the same answer. Both sweep the matrix for scores, keep those on the borders
of tiles, and compute the tiles of the path again: memory grows with (m + n) times the number of tiles, not with m * n.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.scoring import Scoring
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_SHIFT

AMBIGUOUS_QUERY, AMBIGUOUS_TARGET = 4, 5
"""Codes of ambiguous bases in a `Pair`. They differ, so two codes are equal exactly where the bases match."""
NEVER = -(1 << 30)
"""Score of a cell that does not exist; 32 bits also hold this minus LARGEST."""
LARGEST = 1 << 29
"""Limit of (m + n + 2) times the largest absolute score, so that 32 bits hold every H, and NEVER plus a gap's score."""


class Mode(IntEnum):
    """Which parts of the sequences an alignment must contain."""

    LOCAL = 0
    GLOBAL = 1
    GLOCAL = 2


class State(IntEnum):
    """The matrix that a path is in."""

    PAIRED = 0
    INSERTION = 1
    DELETION = 2


@dataclass(frozen=True)
class Pair:
    """Two sequences with the scores and the mode of their alignment.

    Attributes:
        query: uint8[m], 0..3 for A, C, G, T and AMBIGUOUS_QUERY for everything else.
        target: uint8[n], 0..3 and AMBIGUOUS_TARGET.
        scoring: match > 0, mismatch <= 0, gap_open <= gap_extend < 0.
        mode: which parts must be aligned.
    """

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]
    scoring: Scoring
    mode: Mode

    def __post_init__(self) -> None:
        """Raise ValueError for scores of the wrong sign, or too large for 32 bits with sequences of these lengths."""
        match, mismatch, gap_open, gap_extend = self.scoring
        if not (match > 0 >= mismatch and 0 > gap_extend >= gap_open):
            raise ValueError(f"pairwise: {self.scoring} needs match > 0 >= mismatch and 0 > gap_extend >= gap_open")
        if (len(self.query) + len(self.target) + 2) * max(map(abs, self.scoring)) >= LARGEST:
            raise ValueError(f"pairwise: scores of {self.scoring} over these lengths do not fit in 32 bits")


def pair_of(query: NDArray[np.uint8], target: NDArray[np.uint8], scoring: Scoring, mode: Mode) -> Pair:
    """Return a `Pair` of codes as in `quire.sequence`: 0..3, and 4 or more for ambiguous bases."""
    return Pair(
        np.minimum(query, np.uint8(AMBIGUOUS_QUERY)),
        np.where(target > 3, np.uint8(AMBIGUOUS_TARGET), target).astype(np.uint8),
        scoring,
        mode,
    )


class PairwiseAlignment(NamedTuple):
    """An alignment of a pair.

    Attributes:
        score: H at its end.
        query_begin, query_end, target_begin, target_end: half-open, 0-based. Where nothing is aligned (mode LOCAL) all
            are 0.
        cigar: uint32[k], elements as in BAM (length << 4 | operation), M, I and D only.
    """

    score: int
    query_begin: int
    query_end: int
    target_begin: int
    target_end: int
    cigar: NDArray[np.uint32]


def without_matrix(pair: Pair, at_corner: bool = False) -> PairwiseAlignment | None:
    """Return the alignment if the query or the target is empty, else None; `at_corner` as in `cpu.align`."""
    rows, columns = len(pair.query), len(pair.target)
    if rows > 0 and columns > 0:
        return None
    if pair.mode == Mode.LOCAL:
        return nothing()
    if pair.mode == Mode.GLOCAL and rows == 0:
        place = columns if at_corner else 0
        return PairwiseAlignment(0, 0, 0, place, place, np.empty(0, np.uint32))
    length, operation = (rows, CIGAR_INSERTION) if columns == 0 else (columns, CIGAR_DELETION)
    score = pair.scoring.gap_open + (length - 1) * pair.scoring.gap_extend if length > 0 else 0
    return PairwiseAlignment(score, 0, rows, 0, columns, gap_element(length, operation))


def nothing() -> PairwiseAlignment:
    """Return an empty alignment."""
    return PairwiseAlignment(0, 0, 0, 0, 0, np.empty(0, np.uint32))


def joined(parts: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Join CIGAR elements in order; neighbours with the same operation become one element."""
    elements = np.concatenate([np.empty(0, np.uint32), *parts])
    if len(elements) == 0:
        return elements
    operations, lengths = elements & CIGAR_MASK, (elements >> CIGAR_SHIFT).astype(np.int64)
    first = np.flatnonzero(np.append(True, operations[1:] != operations[:-1]))
    return (np.add.reduceat(lengths, first) << CIGAR_SHIFT | operations[first]).astype(np.uint32)


def gap_element(length: int, operation: int) -> NDArray[np.uint32]:
    """Return uint32[1], the CIGAR element of a gap; uint32[0] if its length is 0."""
    return np.array([length << CIGAR_SHIFT | operation] if length > 0 else [], np.uint32)

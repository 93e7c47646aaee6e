"""Matches, mismatches, gaps and the score of an alignment, recounted from its CIGAR."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.algorithms.pairwise import Pair, PairwiseAlignment
from quire.algorithms.scoring import Scoring
from quire.sam import CIGAR_DELETION, CIGAR_INSERTION, CIGAR_MASK, CIGAR_MATCH, CIGAR_SHIFT


class Columns(NamedTuple):
    """Counts of the columns of an alignment.

    Attributes:
        matches, mismatches: columns of two bases.
        insertions, inserted_bases: gaps in the target, and the query bases in them.
        deletions, deleted_bases: gaps in the query, and the target bases in them.
    """

    matches: int
    mismatches: int
    insertions: int
    inserted_bases: int
    deletions: int
    deleted_bases: int

    def score(self, scoring: Scoring) -> int:
        """Return the score of the columns."""
        gaps = self.insertions + self.deletions
        longer = self.inserted_bases + self.deleted_bases - gaps
        paired = self.matches * scoring.match + self.mismatches * scoring.mismatch
        return paired + gaps * scoring.gap_open + longer * scoring.gap_extend

    @property
    def total(self) -> int:
        """Number of columns."""
        return self.matches + self.mismatches + self.inserted_bases + self.deleted_bases

    @property
    def identity(self) -> float:
        """Share of matches among all columns; 0 without columns."""
        return self.matches / self.total if self.total else 0.0

    @property
    def divergence(self) -> float:
        """Share of mismatches and gaps, each gap counted once (minimap2's tag de); 0 without columns."""
        different = self.mismatches + self.insertions + self.deletions
        return different / (self.matches + different) if self.total else 0.0


class Stretches(NamedTuple):
    """Parts of both sequences without gaps: int64[k] each, 0-based starts and lengths."""

    query: NDArray[np.int64]
    target: NDArray[np.int64]
    length: NDArray[np.int64]


def stretches(alignment: PairwiseAlignment) -> Stretches:
    """Return the parts of an alignment between its gaps."""
    operations = alignment.cigar & CIGAR_MASK
    lengths = (alignment.cigar >> CIGAR_SHIFT).astype(np.int64)
    on_query = alignment.query_begin + _sums_before(np.where(operations == CIGAR_DELETION, 0, lengths))
    on_target = alignment.target_begin + _sums_before(np.where(operations == CIGAR_INSERTION, 0, lengths))
    paired = operations == CIGAR_MATCH
    return Stretches(on_query[paired], on_target[paired], lengths[paired])


def recount(pair: Pair, alignment: PairwiseAlignment) -> Columns:
    """Count the columns of an alignment of a pair."""
    operations = alignment.cigar & CIGAR_MASK
    lengths = (alignment.cigar >> CIGAR_SHIFT).astype(np.int64)
    parts = stretches(alignment)
    matches = 0
    # One stretch at a time: arrays over all bases of a chromosome would take gigabytes.
    for query, target, length in zip(*(part.tolist() for part in parts), strict=True):
        same = pair.query[query : query + length] == pair.target[target : target + length]
        matches += int(np.count_nonzero(same))
    gaps = [(int(np.count_nonzero(operations == kind)), int(lengths[operations == kind].sum()))
            for kind in (CIGAR_INSERTION, CIGAR_DELETION)]  # fmt: skip
    return Columns(matches, int(parts.length.sum()) - matches, *gaps[0], *gaps[1])


def _sums_before(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each element the sum of those before it."""
    return np.cumsum(lengths) - lengths

"""The diagonals that the alignment of two sequences can be on: what it has at least, and what each diagonal allows.

Diagonal k holds the cells with j - i = k. An alignment on diagonal k has at most so many matches, and pays for the gaps
that lead to it and back; so `most_on` bounds its score. `score_at_least` finds some alignment by looking along both
sequences, and where a diagonal allows less than its score, no optimal alignment comes there (as Ukkonen 1985 bounds a
distance).
"""

import numpy as np

from quire.algorithms.pairwise import Mode
from quire.simd.bits import load_bytes, trailing_zeros
from quire.simd.compiled import compiled, inlined

UNKNOWN = -(1 << 40)  # below every score
_WORD = 8  # bases that must be the same behind a difference
_LONGEST_GAP = 32  # that is looked for
_TRIES, _BASES_A_TRY = 3, 12  # differences behind which nothing is the same: so many, and one for so many bases
_LOCAL, _GLOBAL = int(Mode.LOCAL), int(Mode.GLOBAL)


@compiled
def diagonals(rows, columns, scoring, mode, least):
    """The lowest and the highest diagonal on which an alignment can have a score; away from the corners' ever fewer."""
    low, high = min(0, columns - rows), max(0, columns - rows)
    below, above = -rows - 1, columns + 1
    while low - below > 1:
        middle = (low + below) // 2
        if most_on(middle, rows, columns, scoring, mode) >= least:
            low = middle
        else:
            below = middle
    while above - high > 1:
        middle = (high + above) // 2
        if most_on(middle, rows, columns, scoring, mode) >= least:
            high = middle
        else:
            above = middle
    return low, high


@compiled
def most_on(diagonal, rows, columns, scoring, mode):
    """What the score of an alignment that has a cell on a diagonal is at most.

    On its way to the diagonal it has gaps of as many bases at least as the diagonal is away from where it must begin,
    and likewise behind it; one gap of them costs least, and each base in a gap is not matched.
    """
    before, behind = diagonal, columns - rows - diagonal  # deletions; insertions where negative
    if mode != _GLOBAL:
        before, behind = min(before, 0), min(behind, 0)
    if mode == _LOCAL:
        return (min(rows, columns - diagonal) if diagonal >= 0 else min(rows + diagonal, columns)) * scoring.match
    inserted, deleted = -min(before, 0) - min(behind, 0), max(before, 0) + max(behind, 0)
    score = min(rows - inserted, columns - deleted) * scoring.match
    if before * behind > 0:  # they may be one gap
        before, behind = before + behind, 0
    for gap in (abs(before), abs(behind)):
        if gap > 0:
            score += scoring.gap_open + (gap - 1) * scoring.gap_extend
    return score


@compiled
def score_at_least(query, target, scoring, mode):
    """The score of some alignment of a mode: along the diagonal, with the gaps behind which the same bases follow."""
    rows, columns = len(query), len(target)
    score, best, i, j, failed = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while i < rows and j < columns:
        same = _same(query, target, i, j)
        if same > 0:
            score += same * scoring.match
            i, j, best = i + same, j + same, max(best, score)
            continue
        gap = _gap_before_same(query, target, i, j)
        if gap == 0:
            score += scoring.mismatch
            i, j = i + 1, j + 1
            if i + _WORD <= rows and j + _WORD <= columns and _same(query, target, i, j) < _WORD:
                failed += 1
                if failed > _TRIES + i // _BASES_A_TRY:
                    break
        else:
            score += scoring.gap_open + (abs(gap) - 1) * scoring.gap_extend
            if gap > 0:
                j += gap
            else:
                i -= gap
        if mode == _LOCAL:
            score = max(score, 0)
    if mode == _LOCAL:
        return best
    if i < rows and j < columns:
        return np.int64(UNKNOWN)
    if i < rows:
        score += scoring.gap_open + (rows - i - 1) * scoring.gap_extend
    elif j < columns and mode == _GLOBAL:
        score += scoring.gap_open + (columns - j - 1) * scoring.gap_extend
    return score


@inlined
def _same(query, target, i, j):
    """How many bases from there on are the same, of the next _WORD."""
    if i + _WORD <= len(query) and j + _WORD <= len(target):
        return trailing_zeros(load_bytes(query, i) ^ load_bytes(target, j)) >> 3
    same = np.int64(0)
    while i + same < len(query) and j + same < len(target) and query[i + same] == target[j + same]:
        same += 1
    return same


@inlined
def _gap_before_same(query, target, i, j):
    """The shortest deletion (or insertion: negative) behind which bases are the same that differ at i and j; or 0."""
    rows, columns = len(query) - _WORD, len(target) - _WORD
    if i >= rows or j >= columns:
        return np.int64(0)
    if load_bytes(query, i + 1) == load_bytes(target, j + 1):
        return np.int64(0)
    word, other = load_bytes(query, i), load_bytes(target, j)
    for gap in range(1, _LONGEST_GAP + 1):
        if j + gap <= columns and load_bytes(target, j + gap) == word:
            return np.int64(gap)
        if i + gap <= rows and load_bytes(query, i + gap) == other:
            return np.int64(-gap)
    return np.int64(0)

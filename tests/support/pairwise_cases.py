"""Pairs to align, the oracle's answers, and a swept matrix that the oracle fills."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, State, oracle, pair_of
from quire.algorithms.pairwise.driver import Cell, PathStretch, Sweep
from quire.algorithms.pairwise.tiling import Tiling
from quire.algorithms.scoring import BWA_MEM, Scoring
from quire.sam import CIGAR_LETTERS, CIGAR_MASK, CIGAR_SHIFT

SCORINGS = [BWA_MEM, Scoring(2, -4, -6, -2), Scoring(1, -1, -1, -1), Scoring(5, -4, -12, -1), Scoring(1, 0, -3, -2)]


@st.composite
def pairs(draw: Callable, longest: int = 40) -> Pair:
    """Two sequences of 0 to `longest` bases of a drawn part of ACGTN; the query is an edited copy, or unrelated."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    letters = draw(st.sampled_from([(0,), (0, 1), (0, 1, 2, 3), (0, 1, 2, 3, 4)]))
    target = random.choice(letters, draw(st.integers(0, longest))).tolist()
    if draw(st.booleans()):
        query = list(target)
        for _ in range(draw(st.integers(0, 6))):
            at = random.integers(len(query) + 1)
            query[at : at + random.integers(6)] = random.choice(letters, random.integers(6)).tolist()
    else:
        query = random.choice(letters, draw(st.integers(0, longest))).tolist()
    scoring = draw(st.one_of(st.sampled_from(SCORINGS), scorings()))
    return pair(query, target, scoring, draw(st.sampled_from(Mode)))


@st.composite
def scorings(draw: Callable) -> Scoring:
    """Small scores, so that there are ties."""
    extend = draw(st.integers(-3, -1))
    return Scoring(draw(st.integers(1, 5)), draw(st.integers(-6, 0)), extend + draw(st.integers(-7, 0)), extend)


def pair(query: list[int], target: list[int], scoring: Scoring, mode: Mode) -> Pair:
    """A `Pair` from lists of codes."""
    return pair_of(np.array(query, np.uint8), np.array(target, np.uint8), scoring, mode)


def as_oracle(alignment: PairwiseAlignment) -> oracle.Answer:
    """An alignment as the oracle gives it."""
    cigar = [(CIGAR_LETTERS[int(x) & CIGAR_MASK], int(x) >> CIGAR_SHIFT) for x in alignment.cigar]
    begin, end = alignment.query_begin, alignment.query_end
    return alignment.score, begin, end, alignment.target_begin, alignment.target_end, cigar


def rescored(pair: Pair, answer: oracle.Answer) -> int:
    """The score of an alignment by its CIGAR; fails where that does not fit the ends."""
    _, i, query_end, j, target_end, cigar = answer
    score = 0
    for operation, length in cigar:
        if operation == "M":
            for k in range(length):
                score += oracle.substitution(int(pair.query[i + k]), int(pair.target[j + k]), pair.scoring)
        else:
            score += oracle.gap(length, pair.scoring)
        i += length if operation != "D" else 0
        j += length if operation != "I" else 0
    assert (i, j) == (query_end, target_end)
    return score


class OracleSweep(Sweep):
    """The oracle's matrices as a swept one: what the driver does with tiles, without a twin."""

    def __init__(self, pair: Pair, tiling: Tiling) -> None:
        self.pair, self.tiling = pair, tiling
        self.best, self.insertion, self.deletion = (np.array(matrix) for matrix in oracle.matrices(pair))
        self.bottom = self.best[-1].astype(np.int32)
        self.maxima = np.array(
            [[self._tile(down, across).max() for across in range(tiling.across)] for down in range(tiling.down)]
        ).astype(np.int32)

    def _tile(self, down: int, across: int) -> np.ndarray:
        tile = self.tiling.tile(down, across)
        return self.best[tile.top + 1 : tile.top + tile.rows + 1, tile.left + 1 : tile.left + tile.columns + 1]

    def best_cell(self, down: int, across: int) -> tuple[int, int]:
        """See `Sweep`."""
        scores, tile = self._tile(down, across), self.tiling.tile(down, across)
        column, row = min(zip(*np.nonzero(scores.max() == scores.T), strict=True))
        return tile.top + 1 + int(row), tile.left + 1 + int(column)

    def follow(self, cell: Cell) -> PathStretch:
        """See `Sweep`."""
        row, column, state = cell
        tile, scoring = self.tiling.tile_of(row, column), self.pair.scoring
        elements: list[int] = []
        while row > tile.top and column > tile.left:
            if state == State.PAIRED:
                if self.pair.mode == Mode.LOCAL and self.best[row, column] == 0:
                    return PathStretch(Cell(row, column, state), True, np.array(elements, np.uint32))
                letters = int(self.pair.query[row - 1]), int(self.pair.target[column - 1])
                paired = self.best[row - 1, column - 1] + oracle.substitution(*letters, scoring)
                if self.best[row, column] == paired:
                    elements.append(1 << CIGAR_SHIFT)
                    row, column = row - 1, column - 1
                    continue
                inserted = self.best[row, column] == self.insertion[row, column]
                state = State.INSERTION if inserted else State.DELETION
            elements.append(1 << CIGAR_SHIFT | int(state))
            gap = (self.insertion if state == State.INSERTION else self.deletion)[row, column]
            row, column = (row - 1, column) if state == State.INSERTION else (row, column - 1)
            state = State.PAIRED if self.best[row, column] + scoring.gap_open == gap else state
        return PathStretch(Cell(row, column, state), False, np.array(elements, np.uint32))

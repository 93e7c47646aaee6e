"""Pairs to align, and the oracle's answers."""

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, pair_of
from quire.algorithms.scoring import BWA_MEM, Scoring
from quire.sam import CIGAR_LETTERS, CIGAR_MASK, CIGAR_SHIFT

from tests.oracles import pairwise as oracle

SCORINGS = [BWA_MEM, Scoring(2, -4, -6, -2), Scoring(1, -1, -1, -1), Scoring(5, -4, -12, -1), Scoring(1, 0, -3, -2)]


@st.composite
def pairs(draw: Callable, longest: int = 40) -> Pair:
    """Draw two sequences of 0 to `longest` bases from a subset of ACGTN; the query is an edited copy, or unrelated."""
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
    """Draw small scores, which make ties likely."""
    extend = draw(st.integers(-3, -1))
    return Scoring(draw(st.integers(1, 5)), draw(st.integers(-6, 0)), extend + draw(st.integers(-7, 0)), extend)


def pair(query: list[int], target: list[int], scoring: Scoring, mode: Mode) -> Pair:
    """Return a `Pair` from lists of codes."""
    return pair_of(np.array(query, np.uint8), np.array(target, np.uint8), scoring, mode)


def as_oracle(alignment: PairwiseAlignment) -> oracle.Answer:
    """Return an alignment in the oracle's form."""
    cigar = [(CIGAR_LETTERS[int(x) & CIGAR_MASK], int(x) >> CIGAR_SHIFT) for x in alignment.cigar]
    begin, end = alignment.query_begin, alignment.query_end
    return alignment.score, begin, end, alignment.target_begin, alignment.target_end, cigar


def rescored(pair: Pair, answer: oracle.Answer) -> int:
    """Return the score of an alignment by its CIGAR; fail if the CIGAR does not fit the ends."""
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

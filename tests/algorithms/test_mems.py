"""Maximal exact matches on the CPU in any pages and pieces; other cases are in test_mems_gpu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.mems import Matches, Queries, cpu
from quire.algorithms.mems.ranges_cpu import LONGEST_KMER
from quire.reference.construction import PAGE_OVERLAP

from tests.algorithms.test_mems_gpu import check, expected, searcher, upload_all
from tests.oracles import mems as oracle
from tests.support.card_builders import Host
from tests.support.examples import examples
from tests.support.mems_references import KINDS, draw_queries, draw_sequence, find_all


def cut(rng: np.random.Generator, length: int, most: int) -> list[int]:
    """Draw 1 to `most` lengths with a given sum."""
    ends = np.unique(np.concatenate((rng.integers(1, length + 1, int(rng.integers(0, most))), [length])))
    return np.diff(np.concatenate(([0], ends))).tolist()


@settings(max_examples=examples(70), deadline=None)
@given(
    seed=st.integers(0, 1 << 30), kind=st.sampled_from(KINDS), min_length=st.sampled_from([1, 2, 3, 5, 8, 12, 20]),
    islands=st.integers(1, 4), limit=st.sampled_from([1, 2, 7, 100, 5000]), unique=st.booleans(),
)  # fmt: skip
def test_matches_of_the_oracle(seed, kind, min_length, islands, limit, unique):
    """Any pages, pieces of the queries and limits give the same matches in the same order."""
    rng = np.random.default_rng(seed)
    length = 25 if min_length < 3 else 100
    reference = [draw_sequence(rng, kind, int(rng.integers(1, length))) for _ in range(islands)]
    queries = draw_queries(rng, reference, 4, length, kind)
    axis = upload_all(
        Host(), reference, cut(rng, sum(map(len, reference)), 4), min_length,
        words_per_block=int(rng.choice([4, 8, 16])), prefix_length=int(rng.integers(1, 6)),
        sa_sampling=int(rng.choice([1, 1, 3])),
    )  # fmt: skip
    find = searcher(Host(), axis, queries, min_length, unique)
    end = int(queries.offsets[-1])
    pieces = rng.integers(0, end + 1, int(rng.integers(0, 4))).tolist()
    assert find_all(find, end, limit, pieces) == expected(reference, queries, min_length, unique)


@settings(max_examples=examples(80), deadline=None)
@given(seed=st.integers(0, 1 << 30), kind=st.sampled_from(KINDS), min_length=st.sampled_from([1, 2, 3, 6]))
def test_unique_in_the_query(seed, kind, min_length):
    rng = np.random.default_rng(seed)
    reference = [draw_sequence(rng, kind, int(rng.integers(1, 80))) for _ in range(2)]
    queries = draw_queries(rng, reference, 4, 80, kind)
    candidates = oracle.unique_in_reference(oracle.maximal_matches(reference, queries, min_length), reference, queries)
    columns = np.array(candidates, np.int64).reshape(-1, 3).T
    found = cpu.unique_in_query(Matches(*columns), queries.offsets)
    assert list(zip(*(array.tolist() for array in found), strict=True)) == oracle.unique_in_query(candidates, queries)


def test_pages_hold_k_mers_that_begin_in_them():
    """A hit belongs to the page of its first base, which must contain the whole hit."""
    assert LONGEST_KMER <= PAGE_OVERLAP


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("owned", [[156], [90, 66], [50, 106]])
def test_runs_that_begin_with_a_frequent_word(owned, unique):
    """The base before such a run, in another island or ambiguous, equals the query's, but the suffix is kept."""
    reference = [np.zeros(90, np.uint8), np.array([0] * 40 + [4] + [0] * 25, np.uint8)]
    queries = Queries(np.zeros(40, np.uint8), np.array([0, 40]))
    for min_length in (5, 8):
        check(Host(), reference, queries, min_length, unique, 5000, owned, prefix_length=3)

"""Maximal exact matches against comparing every base with every base, and against MUMmer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.mems import Cursor, Matches, Queries, WantedMatches, cpu
from quire.algorithms.mems.ranges_cpu import LONGEST_KMER
from quire.reference.construction import PAGE_OVERLAP

from tests.oracles import mems as oracle
from tests.support.examples import examples, some
from tests.support.mems_references import KINDS, cut_pages, draw_queries, draw_sequence, find_all, reference_text


def searcher(islands, queries, min_length, unique, owned_lengths, **parameters):
    """Return `cpu.find` with all but its last three arguments bound."""
    text, codes = reference_text(islands)
    axis = cpu.prepare_axis(cut_pages(codes, owned_lengths, min_length, **parameters), text)
    given = axis, cpu.prepare_queries(queries), WantedMatches(min_length, unique)
    return lambda begin, end, limit: cpu.find(*given, begin, end, limit)


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
    find = searcher(
        reference, queries, min_length, unique, cut(rng, sum(map(len, reference)), 4),
        words_per_block=int(rng.choice([4, 8, 16])), prefix_length=int(rng.integers(1, 6)),
        sa_sampling=int(rng.choice([1, 1, 3])),
    )  # fmt: skip
    wanted = oracle.maximal_matches(reference, queries, min_length)
    if unique:
        wanted = oracle.unique_in_reference(wanted, reference, queries)
    end = int(queries.offsets[-1])
    pieces = rng.integers(0, end + 1, int(rng.integers(0, 4))).tolist()
    assert find_all(find, end, limit, pieces) == wanted


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


@pytest.mark.parametrize("unique", some(1, [False, True]))
def test_long_matches_over_seams_and_frequent_words(unique):
    """Ranges have many starts, words have more rows than are examined together, and matches exceed pages."""
    rng = np.random.default_rng(5)
    unit = rng.integers(0, 4, 160).astype(np.uint8)
    long_island = np.concatenate([unit, rng.integers(0, 4, 50), unit[40:], np.zeros(700), unit]).astype(np.uint8)
    reference = [long_island, rng.integers(0, 4, 90).astype(np.uint8), unit[:100]]
    drawn = [np.zeros(90, np.uint8), np.concatenate([long_island[100:500], unit[::-1]]), long_island[120:300]]
    queries = Queries(np.concatenate(drawn), np.cumsum([0] + [len(query) for query in drawn]))
    length = sum(map(len, reference))
    for min_length in (25, 60, 280):
        wanted = oracle.maximal_matches(reference, queries, min_length)
        if unique:
            wanted = oracle.unique_in_reference(wanted, reference, queries)
        assert wanted
        for owned in ([length], [400, 100, length - 500]):
            find = searcher(reference, queries, min_length, unique, owned, prefix_length=5)
            assert find_all(find, int(queries.offsets[-1]), 700) == wanted


def test_nothing_to_look_for():
    """Queries are empty or too short, or the reference has one base."""
    reference = [np.array([2], np.uint8)]
    for codes in ([], [4, 4], [2, 4, 2]):
        queries = Queries(np.array(codes, np.uint8), np.array([0, 0, len(codes), len(codes)]))
        for min_length in (1, 2):
            find = searcher(reference, queries, min_length, False, [1])
            wanted = oracle.maximal_matches(reference, queries, min_length)
            assert find_all(find, len(codes), 10) == wanted
    assert find(Cursor(3, 0), 3, 10)[0].start.size == 0


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
        wanted = oracle.maximal_matches(reference, queries, min_length)
        if unique:
            wanted = oracle.unique_in_reference(wanted, reference, queries)
        find = searcher(reference, queries, min_length, unique, owned, prefix_length=3)
        assert find_all(find, 40, 5000) == wanted

"""The FM-index against scanning the text."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms import fm_index
from quire.algorithms.fm_index import FmIndex
from quire.algorithms.fm_index.construction import cpu as construction_cpu
from quire.algorithms.fm_index.construction import first_rows
from quire.algorithms.suffix_array.cpu import suffix_array

from tests.oracles import fm_index as oracle
from tests.oracles.suffix_array import suffix_array as naive_suffix_array
from tests.support.examples import examples
from tests.support.fm_index_search import intervals, owned_counts, positions_of_rows

random_texts = st.lists(st.integers(0, 3), min_size=1, max_size=700)
two_letter_texts = st.lists(st.sampled_from([0, 3]), min_size=1, max_size=400)
single_letter_texts = st.tuples(st.integers(0, 3), st.integers(1, 600)).map(lambda drawn: [drawn[0]] * drawn[1])
repetitive_texts = st.tuples(
    st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 25), st.lists(st.integers(0, 3), max_size=20)
).map(lambda drawn: drawn[0] * drawn[1] + drawn[2])
texts = st.one_of(random_texts, two_letter_texts, single_letter_texts, repetitive_texts).map(
    lambda codes: np.array(codes, dtype=np.uint8)
)


def build_index(
    text: np.ndarray, sampling_distance: int = 64, sa_sampling: int = 1, owned_length: int | None = None
) -> FmIndex:
    """Build an FM-index in memory, with read-only arrays like those of `open_page`."""
    words_per_block = fm_index.words_of_distance(sampling_distance)
    with ThreadPoolExecutor(2) as pool:
        rows = suffix_array(text, pool, 2)
        blocks, counts, primary = construction_cpu.occurrence_blocks(text, rows, words_per_block, pool, 3)
    prefix_length = fm_index.prefix_length_of(text.size)
    kept, sampled_rows = rows, np.empty(0, dtype=np.uint64)
    if sa_sampling > 1:
        kept, sampled_rows = construction_cpu.sample_suffix_array(rows, sa_sampling)
    owned_length = text.size if owned_length is None else owned_length
    unowned_rows = construction_cpu.rows_from(rows, owned_length)
    index = FmIndex(
        blocks=blocks,
        words_per_block=words_per_block,
        C=first_rows(counts),
        primary=primary,
        prefix_table=construction_cpu.prefix_intervals(text, prefix_length).reshape(-1),
        prefix_length=prefix_length,
        suffix_array=kept,
        sa_sampling=sa_sampling,
        sampled_rows=sampled_rows,
        unowned_rows=unowned_rows,
        unowned_count=len(unowned_rows),
        start=0,
        owned_length=owned_length,
    )
    for value in index:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return index


def flat(patterns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Join patterns; return them and their offsets."""
    offsets = np.cumsum([0] + [len(pattern) for pattern in patterns]).astype(np.int64)
    return np.concatenate([*patterns, np.empty(0)]).astype(np.uint8), offsets


def drawn_patterns(text: np.ndarray, seed: int) -> list[np.ndarray]:
    """Draw pieces of the text of various lengths, some with a changed or an ambiguous base, and its two ends."""
    random = np.random.default_rng(seed)
    patterns = [text[:5], text[-1:], text[-5:], text[-14:], text, np.append(text, 0), text[:0]]
    for _ in range(25):
        start = random.integers(0, text.size)
        pattern = text[start : start + random.integers(1, 30)].copy()
        patterns.append(pattern)
        changed = pattern.copy()
        changed[random.integers(0, changed.size)] = random.integers(0, 5)
        patterns.append(changed)
    return patterns


@pytest.mark.parametrize("sampling_distance", fm_index.SAMPLING_DISTANCES)
@given(text=texts, seed=st.integers(0, 1000), sa_sampling=st.sampled_from([1, 2, 7, 32]))
@settings(max_examples=examples(40), deadline=None)
def test_search_and_locate_against_scanning(
    sampling_distance: int, text: np.ndarray, seed: int, sa_sampling: int
) -> None:
    """Intervals have the right width, and their rows give the right positions."""
    page = build_index(text, sampling_distance, sa_sampling)
    patterns = drawn_patterns(text, seed)
    found = intervals(page, *flat(patterns))
    for pattern, (low, high) in zip(patterns, found, strict=True):
        located = positions_of_rows(page, np.arange(low, high, dtype=np.int64))
        assert sorted(located) == oracle.positions(text, pattern)
        assert low == high or (low, high) == oracle.interval(text, pattern)
        assert high - low == oracle.count(text, pattern)


@given(text=texts, owned_share=st.floats(0, 1), seed=st.integers(0, 1000))
@settings(max_examples=examples(40), deadline=None)
def test_owned_counts(text: np.ndarray, owned_share: float, seed: int) -> None:
    """Hits that start at or after the owned length are not counted."""
    owned_length = int(owned_share * text.size)
    page = build_index(text, owned_length=owned_length)
    patterns = drawn_patterns(text, seed)
    counts = owned_counts(page, intervals(page, *flat(patterns)))
    expected = [sum(hit < owned_length for hit in oracle.positions(text, pattern)) for pattern in patterns]
    assert counts.tolist() == expected


@given(text=texts)
@settings(max_examples=examples(30), deadline=None)
def test_prefix_table_holds_the_interval_of_every_kmer(text: np.ndarray) -> None:
    """The table holds all k-mers, also those that extend past the end of the text."""
    length = 4
    table = construction_cpu.prefix_intervals(text, length)
    suffixes = [text[start:].tobytes() for start in naive_suffix_array(text)]
    for kmer in range(4**length):
        pattern = bytes((kmer >> shift) & 3 for shift in (6, 4, 2, 0))
        rows = [row for row, suffix in enumerate(suffixes) if suffix.startswith(pattern)]
        low, high = (int(value) for value in table[kmer])
        assert low == sum(suffix < pattern for suffix in suffixes)
        assert list(range(low, high)) == rows


def test_prefix_length_follows_the_text() -> None:
    """The prefix length is 12 from 16 Mb on and never below 4."""
    lengths = [fm_index.prefix_length_of(size) for size in (1, 255, 256, 100_000, 1 << 24, (1 << 24) - 1, 1 << 30)]
    assert lengths == [4, 4, 4, 8, 12, 11, 12]


def test_unknown_sampling_distance() -> None:
    """Only blocks of 32, 64, 128 and 256 bytes exist."""
    with pytest.raises(ValueError, match="not 128"):
        fm_index.words_of_distance(128)

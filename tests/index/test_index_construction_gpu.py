"""Check the arrays of an FM-index made on a card against their definitions."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.algorithms.fm_index.construction import first_rows
from quire.algorithms.fm_index.construction import gpu as construction_gpu
from quire.algorithms.suffix_array import gpu
from quire.device.card import Card

from tests.emulator.emulated_card import SCHEDULES, EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles.suffix_array import suffix_array
from tests.support.card_builders import pack
from tests.support.examples import examples, some

WORDS = [4, 8, 16, 32]


def random_bases(length: int, seed: int = 1) -> list[int]:
    return np.random.default_rng(seed).integers(0, 4, length).tolist()


TEXTS = {
    "empty": [],
    "one base": [3],
    "one kind": [0] * 130,
    "63 rows": random_bases(62),
    "64 rows": random_bases(63),
    "960 rows": random_bases(959),
    "random": random_bases(8300),
    "ends in A": [*random_bases(200), *[0] * 9],
    "copies": random_bases(90) * 5,
}


def upload(card: Card, codes: list[int], start: int = 5):
    """Return a text (which begins within a word) and its suffix array on a card, and the suffix array on the host."""
    rows = suffix_array(np.array(codes, np.uint8))
    return gpu.upload_text(card, pack([3] * start + codes + [2] * 9), start, len(codes)), card.upload(rows), rows


def transform(codes: list[int], rows: np.ndarray) -> list[int]:
    """Return the Burrows-Wheeler transform, with A for the sentinel."""
    return [codes[position - 1] if position else 0 for position in rows.tolist()]


def check_blocks(card: Card, codes: list[int], words_per_block: int) -> None:
    text, on_card, rows = upload(card, codes)
    blocks, counts, primary = construction_gpu.occurrence_blocks(card, text, on_card, words_per_block)
    distance = 32 * words_per_block - 64
    blocks = card.download(blocks).reshape(-1, words_per_block).tolist()
    assert len(blocks) == len(rows) // distance + 1
    bwt = transform(codes, rows)
    for number, block in enumerate(blocks):
        before, inside = bwt[: number * distance], bwt[number * distance : (number + 1) * distance]
        halves = [word >> shift & 0xFFFFFFFF for word in block[:2] for shift in (0, 32)]
        assert halves == [before.count(code) for code in range(4)]
        inside += [0] * (distance - len(inside))
        planes = list(zip(block[2::2], block[3::2], strict=True))
        assert [low >> bit & 1 | (high >> bit & 1) << 1 for low, high in planes for bit in range(64)] == inside
    assert counts.tolist() == [codes.count(code) for code in range(4)]
    assert first_rows(counts).tolist() == [1, *(1 + np.cumsum(counts)).tolist()]
    assert primary == rows.tolist().index(0)


@pytest.mark.parametrize("words_per_block", some(2, WORDS))
@pytest.mark.parametrize("name", TEXTS)
def test_occurrence_blocks(card, name: str, words_per_block: int) -> None:
    check_blocks(card, TEXTS[name], words_per_block)


def test_counters_run_on_from_tile_to_tile(card) -> None:
    """256 blocks share a tile; this text has more."""
    check_blocks(card, random_bases(2 * 256 * 64 + 100), 4)


def check_prefixes(card: Card, codes: list[int], length: int) -> None:
    text, on_card, rows = upload(card, codes)
    table = card.download(construction_gpu.prefix_intervals(card, text, on_card, length)).tolist()
    suffixes = [codes[position:] for position in rows.tolist()]
    found = [sum(4 ** (length - 1 - i) * code for i, code in enumerate(suffix[:length])) for suffix in suffixes]
    whole = [len(suffix) >= length for suffix in suffixes]
    for kmer, (low, high) in enumerate(table):
        assert low == sum(
            prefix < kmer or (prefix == kmer and not full) for prefix, full in zip(found, whole, strict=True)
        )
        assert high - low == sum(prefix == kmer and full for prefix, full in zip(found, whole, strict=True))


@pytest.mark.parametrize("length", [1, 4])
@pytest.mark.parametrize("name", [name for name in TEXTS if name != "random"])
def test_prefix_table(card, name: str, length: int) -> None:
    check_prefixes(card, TEXTS[name], length)


@pytest.mark.parametrize("sampling", [1, 7, 1024])
@pytest.mark.parametrize("name", TEXTS)
def test_sampled_suffix_array(card, name: str, sampling: int) -> None:
    _, on_card, rows = upload(card, TEXTS[name])
    values, sampled_rows = map(card.download, construction_gpu.sample_suffix_array(card, on_card, sampling))
    sampled = [position % sampling == 0 for position in rows.tolist()]
    assert values.tolist() == [position for position in rows.tolist() if position % sampling == 0]
    pairs = sampled_rows.reshape(-1, 2).tolist()
    assert len(pairs) == (len(rows) - 1) // 64 + 1
    for group, (bits, before) in enumerate(pairs):
        assert before == sum(sampled[: 64 * group])
        assert bits == sum(1 << bit for bit, chosen in enumerate(sampled[64 * group : 64 * group + 64]) if chosen)


@pytest.mark.parametrize("name", TEXTS)
def test_rows_of_the_next_page(card, name: str) -> None:
    _, on_card, rows = upload(card, TEXTS[name])
    for position in sorted({0, len(TEXTS[name]) // 3, max(len(TEXTS[name]) - 1, 0), len(TEXTS[name])}):
        chosen = card.download(construction_gpu.rows_from(card, on_card, position)).tolist()
        assert chosen == [row for row, start in enumerate(rows.tolist()) if start >= position]


@needs_compiler
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    codes=st.lists(st.integers(0, 3), max_size=150), words=st.sampled_from(WORDS), schedule=st.sampled_from(SCHEDULES)
)
def test_any_text(codes: list[int], words: int, schedule: str) -> None:
    card = EmulatedCard(schedule)
    check_blocks(card, codes, words)
    check_prefixes(card, codes, 3)

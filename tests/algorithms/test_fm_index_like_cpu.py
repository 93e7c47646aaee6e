"""Searches on a card give what the CPU's give, bit for bit, on indexes as the CPU builds them."""

import numpy as np
import pytest

pytest.importorskip("numba", reason="compares with the CPU's functions, which need Numba")

from quire.algorithms import fm_index
from quire.algorithms.fm_index import cpu
from quire.algorithms.fm_index.construction import cpu as construction_cpu
from quire.algorithms.fm_index.gpu import intervals, upload_page
from quire.algorithms.suffix_array.cpu import suffix_array


def cpu_index(text: np.ndarray, sampling_distance: int) -> fm_index.FmIndex:
    rows, words = suffix_array(text), fm_index.words_of_distance(sampling_distance)
    blocks, counts, primary = construction_cpu.occurrence_blocks(text, rows, words)
    k, no_words = fm_index.prefix_length_of(len(text)), np.empty(0, np.uint64)
    table, unowned = construction_cpu.prefix_intervals(text, k), construction_cpu.rows_from(rows, len(text))
    C = construction_cpu.first_rows(counts)
    return fm_index.FmIndex(len(text), blocks, words, C, primary, table, k, rows, 1, no_words, unowned)


@pytest.mark.parametrize("sampling_distance", fm_index.SAMPLING_DISTANCES)
@pytest.mark.parametrize("length", [0, 5, 30_000])
def test_intervals(card, sampling_distance: int, length: int) -> None:
    generator = np.random.default_rng(length)
    text = generator.integers(0, 4, length).astype(np.uint8)
    text[length // 2 : length // 2 + length // 10] = 2  # a run, whose intervals are wide
    starts, lengths = generator.integers(0, length + 1, 300), generator.integers(0, 41, 300)
    patterns = [text[start : start + size].copy() for start, size in zip(starts, lengths, strict=True)]
    for pattern in patterns[::3]:
        pattern[: generator.integers(0, 3)] = generator.integers(0, 6)
    offsets = np.cumsum([0] + [len(pattern) for pattern in patterns]).astype(np.int64)
    flat = np.concatenate([*patterns, np.full(1, 3, np.uint8)])
    index = cpu_index(text, sampling_distance)
    page = upload_page(card, index, 0, length)
    found = card.download(intervals(card, page, card.upload(flat), card.upload(offsets)))
    np.testing.assert_array_equal(found, cpu.intervals(index, flat, offsets))

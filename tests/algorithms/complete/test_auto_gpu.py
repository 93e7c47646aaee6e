"""Seeds or trie, as the length of a read has it, on a card: the ends are those of the oracle whichever is chosen."""

import numpy as np
import pytest
from quire.algorithms.complete import shortest_read
from quire.algorithms.complete.auto import gpu

from tests.support.complete_cases import card_case, draw_islands, draw_reads, expected_ends, rows_of

CHOICES = {"all": lambda *_: True, "some": lambda length, *_: length % 2 == 1, "none": lambda *_: False}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("walked", CHOICES)
def test_reads_of_both_kinds_in_a_batch(card, seed, walked, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    differences = 1 + 2 * seed
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 9), differences)
    pages, batch, axis = card_case(card, islands, reads, 2, prefix_length=4)
    monkeypatch.setattr(gpu, "is_for_trie", CHOICES[walked])
    parts = gpu.find_ends(card, pages, batch, axis, differences, 100)
    found = rows_of([type(part)(*map(card.download, part)) for part in parts])
    assert found == rows_of([expected_ends(islands, reads, differences)])


def test_no_reads_and_no_differences(card) -> None:
    islands = [[0, 1, 2, 3, 3, 0, 2, 1]]
    pages, batch, axis = card_case(card, islands, [], prefix_length=4)
    assert rows_of(gpu.find_ends(card, pages, batch, axis, 2, 9)) == []
    pages, batch, axis = card_case(card, islands, [[1, 2, 3]], prefix_length=4)
    parts = gpu.find_ends(card, pages, batch, axis, 0, 9)
    assert rows_of([type(part)(*map(card.download, part)) for part in parts]) == [(0, 0, 4, 0), (0, 1, 3, 0)]

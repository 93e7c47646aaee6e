"""The trie on a card against the oracle."""

import numpy as np
import pytest
from quire.algorithms.complete import shortest_read
from quire.algorithms.complete.trie import gpu

from tests.support.complete_cases import card_case, draw_islands, draw_reads, expected_ends, rows_of


def check(card, islands, reads, differences, pieces=None, page_count=1, room=1000, **index) -> list:
    """Compare with the oracle; returns the ends."""
    pages, batch, axis = card_case(card, islands, reads, page_count, **index)
    parts = gpu.find_ends(card, pages, batch, axis, differences, room, pieces)
    found = rows_of([type(part)(*map(card.download, part)) for part in parts])
    assert found == rows_of([expected_ends(islands, reads, differences)])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_ends_are_those_of_the_oracle(card, seed) -> None:
    rng = np.random.default_rng(seed)
    differences = seed % 6
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 45, 5), differences)
    for pieces in {1, (differences + 2) // 2, differences + 1} if differences < 4 else {2, 3}:
        check(
            card, islands, reads, differences, pieces, int(rng.integers(1, 4)), int(rng.choice([1, 30, 1000])),
            prefix_length=int(rng.integers(4, 8)), sa_sampling=int(rng.choice([1, 4])),
            words_per_block=int(rng.choice([4, 8, 16, 32])),
        )  # fmt: skip


def test_a_path_that_ends_where_the_axis_begins(card) -> None:
    island = np.random.default_rng(7).integers(0, 4, 80).tolist()
    assert check(card, [island], [island[:30]], 0, 1, prefix_length=4) == [(0, 0, 30, 0)]

"""Complete search on the CPU and on a card against the oracle: exact pieces, walked ones, and both in a batch."""

import numpy as np
import pytest
from quire.algorithms.complete import pieces, shortest_read

from tests.support.card_builders import twin
from tests.support.complete_cases import card_case, cut_into, draw_islands, draw_reads, expected_ends, join, rows_of
from tests.support.examples import some


@pytest.fixture
def card(card_or_cpu):
    return card_or_cpu


def check(card, islands, reads, differences, count=None, page_count=1, room=1000, **index) -> list:
    """Compare with the oracle; return the ends."""
    pages, batch, axis = card_case(card, islands, reads, page_count, **index)
    with cut_into(count):
        parts = list(twin(card, "quire.algorithms.complete", "find_ends")(pages, batch, axis, differences, room))
        found = join(type(part)(*map(card.download, part)) for part in parts)
    wanted = expected_ends(islands, reads, differences)
    assert rows_of([found]) == rows_of([wanted])
    assert [values.dtype for values in found] == [values.dtype for values in wanted]
    return rows_of([found])


@pytest.mark.parametrize("seed", some(4, range(12)))
def test_exact_pieces(card, seed) -> None:
    rng = np.random.default_rng(seed)
    differences = seed % 6
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 45, 6), differences)
    check(
        card, islands, reads, differences, differences + 1, int(rng.integers(1, 4)), int(rng.choice([1, 30, 1000])),
        prefix_length=int(rng.integers(4, 8)), sa_sampling=int(rng.choice([1, 4])),
        words_per_block=int(rng.choice([4, 8, 16, 32])),
    )  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("seed", range(12))
def test_walked_pieces(card, seed) -> None:
    rng = np.random.default_rng(seed)
    differences = 1 + seed % 5
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 45, 5), differences)
    for count in {1, (differences + 1) // 2} if differences < 4 else {2, 3}:
        check(
            card, islands, reads, differences, count, int(rng.integers(1, 4)), int(rng.choice([1, 30, 1000])),
            prefix_length=int(rng.integers(4, 8)), sa_sampling=int(rng.choice([1, 4])),
            words_per_block=int(rng.choice([4, 8, 16, 32])),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_reads_of_both_kinds_in_a_batch(card, seed, monkeypatch) -> None:
    differences = 1 + 2 * seed
    counts = {1: 1, 0: differences + 1}
    monkeypatch.setattr(pieces, "pieces_of", lambda length, k, _: pieces.cut(length, k, counts[length % 2]))
    rng = np.random.default_rng(seed)
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 9), differences)
    check(card, islands, reads, differences, page_count=2, prefix_length=4)


def test_no_reads_and_no_differences(card) -> None:
    islands = [[0, 1, 2, 3, 3, 0, 2, 1]]
    assert check(card, islands, [], 2, prefix_length=4) == []
    assert check(card, islands, [[1, 2, 3]], 0, prefix_length=4) == [(0, 0, 4, 0), (0, 1, 3, 0)]

"""The trie on the CPU against the oracle: any cut of reads, of the axis, and any amount of memory."""

import numpy as np
import pytest
from quire.algorithms.complete import shortest_read
from quire.algorithms.complete.trie import cut, pieces_of

pytest.importorskip("numba", reason="the CPU's search runs in Numba")

from quire.algorithms.complete.trie import cpu
from quire.algorithms.complete.windows import DIAGONALS
from quire.reads.cpu import orient

from tests.support.card_builders import make_batch
from tests.support.complete_cases import draw_islands, draw_reads, expected_ends, make_axis, make_pages, rows_of


def check(islands, reads, differences, pages, pieces=None, room=1000) -> list[tuple[int, int, int, int]]:
    """Compare with the oracle; returns the ends."""
    parts = cpu.find_ends(pages, orient(make_batch(reads)), make_axis(islands), differences, room, pieces)
    found = rows_of(parts)
    assert found == rows_of([expected_ends(islands, reads, differences)])
    return found


@pytest.mark.parametrize("seed", range(24))
def test_ends_are_those_of_the_oracle(seed) -> None:
    rng = np.random.default_rng(seed)
    differences = seed % 6
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 5), differences)
    pages = make_pages(
        islands, int(rng.integers(1, 4)), overlap=int(rng.choice([30, 64, 200])),
        prefix_length=int(rng.integers(4, 8)), sa_sampling=int(rng.choice([1, 4])),
        words_per_block=int(rng.choice([4, 8])),
    )  # fmt: skip
    for pieces in (None, *range(1, differences + 2)):
        check(islands, reads, differences, pages, pieces, room=int(rng.choice([1, 7, 1000])))


@pytest.mark.parametrize("pieces", [1, 2])
def test_repeats_longer_than_a_read(pieces) -> None:
    """Intervals of many rows down to the last base, reads of one letter, and a border of pages within."""
    rng = np.random.default_rng(3)
    unit = rng.integers(0, 4, 50).tolist()
    islands = [[*unit * 4, *[0] * 90, *unit], [*unit[20:], *unit * 2]]
    reads = [unit[:36], [0] * 20, (unit[40:] + unit)[:30], [3] * 12]
    found = check(islands, reads, 3, make_pages(islands, 3, prefix_length=4), pieces)
    assert len(found) > 250


def test_a_path_that_is_longer_than_the_overlap_of_pages() -> None:
    rng = np.random.default_rng(4)
    island = rng.integers(0, 4, 300).tolist()
    reads = [island[start : start + 60] for start in range(80, 140, 7)]
    found = check([island], reads, 2, make_pages([island], 3, overlap=20, prefix_length=5), 1)
    assert {row[0] for row in found} == set(range(len(reads)))


def test_memory_for_candidates_that_does_not_suffice_halves_the_reads(monkeypatch) -> None:
    monkeypatch.setattr(cpu, "MOST_CANDIDATES", 3)
    rng = np.random.default_rng(5)
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, [20] * 9, 2)
    check(islands, reads, 2, make_pages(islands, prefix_length=4))


def test_more_reads_than_are_searched_together(monkeypatch) -> None:
    monkeypatch.setattr(cpu, "READS_AT_ONCE", 2)
    rng = np.random.default_rng(6)
    islands = draw_islands(rng)
    check(islands, draw_reads(rng, islands, [12, 30, 18, 12, 25], 3), 3, make_pages(islands))


def test_no_reads() -> None:
    assert check([[0, 1, 2, 3]], [], 2, make_pages([[0, 1, 2, 3]])) == []


@pytest.mark.parametrize("differences", range(6))
def test_pieces_leave_no_alignment_out(differences) -> None:
    """Whatever share of k differences each piece has, one has no more than it may; and pieces make up the read."""
    for length in (shortest_read(differences), 36, 101):
        for count in range(1, differences + 2):
            pieces = cut(length, differences, count)
            assert [0, *(piece.end for piece in pieces)] == [*(piece.begin for piece in pieces), length]
            assert sum(piece.limit + 1 for piece in pieces) == differences + 1
            assert all(piece.end - piece.begin > piece.limit for piece in pieces)
    assert 2 * differences + 1 <= DIAGONALS - 2 * differences


def test_short_pieces_are_given_up_for_differences_in_them() -> None:
    """Seeds of nine bases occur everywhere by chance on a chromosome; those of 25 do not."""
    assert len(pieces_of(100, 3, 60_000_000)) == 4
    assert len(pieces_of(36, 3, 60_000_000)) < 4


def test_a_path_that_ends_where_the_axis_begins() -> None:
    island = np.random.default_rng(7).integers(0, 4, 80).tolist()
    assert check([island], [island[:30]], 0, make_pages([island], prefix_length=4), 1) == [(0, 0, 30, 0)]

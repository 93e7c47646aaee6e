"""Seeds or trie, read by read: the ends are those of the oracle whichever is chosen."""

import numpy as np
import pytest
from quire.algorithms.complete import shortest_read
from quire.algorithms.complete.auto import ROW_COST_CARD, ROW_COST_CPU, most_rows

pytest.importorskip("numba", reason="the CPU's search runs in Numba")

from quire.algorithms.complete.auto import cpu
from quire.reads.cpu import orient

from tests.support.card_builders import make_batch
from tests.support.complete_cases import draw_islands, draw_reads, expected_ends, make_axis, make_pages, rows_of


@pytest.mark.parametrize("seed", range(6))
def test_reads_of_both_kinds_in_a_batch(seed, monkeypatch) -> None:
    monkeypatch.setattr(cpu, "READS_AT_ONCE", 7)
    monkeypatch.setattr(cpu, "most_rows", lambda *_: 12)
    rng = np.random.default_rng(seed)
    differences = 1 + seed % 5
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 20), differences)
    pages, axis = make_pages(islands, 2, prefix_length=4), make_axis(islands)
    batch = orient(make_batch(reads))
    chosen = cpu.is_for_trie(pages, batch, axis, differences)
    assert 0 < chosen.sum() < len(reads)
    room = int(rng.choice([1, 40, 10_000]))
    parts = list(cpu.find_ends(pages, batch, axis, differences, room))
    assert rows_of(parts) == rows_of([expected_ends(islands, reads, differences)])
    assert all(len(part.read) >= room for part in parts[:-1])


def test_no_reads() -> None:
    islands = [[0, 1, 2, 3]]
    assert list(cpu.find_ends(make_pages(islands), orient(make_batch([])), make_axis(islands), 2, 9)) == []


def test_rows_are_counted_on_both_strands() -> None:
    """A piece that occurs more than FEW_ROWS times is counted whole, and an N is nowhere."""
    unit = [0, 1, 2, 3, 3, 0]
    islands = [[*unit * 20]]
    pages = make_pages(islands, prefix_length=4)
    rows = np.zeros(3, np.int64)
    batch = orient(make_batch([unit * 2, [0, 4, 2, 3, 3, 0, 0, 4, 2, 3, 3, 0], [2] * 12]))
    cpu._add_rows(cpu.page_table(pages), 0, batch.offsets, batch.codes, 2, rows)
    # The unit 20 times for each half, its reverse complement across the borders of units 19 times.
    assert rows.tolist() == [2 * 20 + 2 * 19, 0, 0]


def test_seeds_are_left_where_they_occur_too_often() -> None:
    bases = 60_000_000
    assert most_rows(100, 3, bases, ROW_COST_CPU) < most_rows(100, 3, bases, ROW_COST_CARD)
    assert most_rows(100, 3, bases, ROW_COST_CPU) < most_rows(100, 5, bases, ROW_COST_CPU)
    assert most_rows(100, 0, bases, ROW_COST_CPU) > 1 << 40

"""Seeds or trie, as the length of a read has it: the ends are those of the oracle whichever is chosen."""

import numpy as np
import pytest
from quire.algorithms.complete import shortest_read
from quire.algorithms.complete.auto import is_for_trie

pytest.importorskip("numba", reason="the CPU's search runs in Numba")

from quire.algorithms.complete.auto import cpu

from tests.support.complete_cases import draw_islands, draw_reads, expected_ends, make_axis, make_pages, rows_of
from tests.support.read_builders import make_reads

CHOICES = {"all": lambda *_: True, "some": lambda length, *_: length % 2 == 1, "none": lambda *_: False}


@pytest.mark.parametrize("walked", CHOICES)
@pytest.mark.parametrize("seed", range(3))
def test_reads_of_both_kinds_in_a_batch(seed, walked, monkeypatch) -> None:
    monkeypatch.setattr(cpu, "is_for_trie", CHOICES[walked])
    rng = np.random.default_rng(seed)
    differences = 1 + 2 * seed
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 20), differences)
    room = int(rng.choice([1, 40, 10_000]))
    parts = list(cpu.find_ends(make_pages(islands, 2), make_reads(reads), make_axis(islands), differences, room))
    assert rows_of(parts) == rows_of([expected_ends(islands, reads, differences)])
    if walked == "some":
        assert all(len(part.read) >= room for part in parts[:-1])


def test_no_reads() -> None:
    islands = [[0, 1, 2, 3]]
    assert rows_of(cpu.find_ends(make_pages(islands), make_reads([]), make_axis(islands), 2, 9)) == []


def test_seeds_are_left_where_they_occur_too_often() -> None:
    """As measured on a chromosome: short reads, or many differences in them."""
    chromosome = 60_000_000
    walked = [(n, k) for n in (36, 47, 100, 150) for k in range(6) if is_for_trie(n, k, chromosome)]
    assert walked == [(36, 3), (36, 4), (36, 5), (47, 4), (47, 5)]


def test_reads_of_any_length_are_judged() -> None:
    """The number of words of a length is beyond what a float holds from 512 bases on."""
    walked = [is_for_trie(length, k, 60_000_000) for k in range(6) for length in range(shortest_read(k), 1025, 7)]
    assert not walked[-1]
    assert any(walked)


@pytest.mark.parametrize("differences", [1, 5])
def test_long_reads(differences, monkeypatch) -> None:
    """Both strategies find where a read was drawn."""
    rng = np.random.default_rng(differences)
    island = rng.integers(0, 4, 3000).tolist()
    begins, lengths = (10, 700, 1500, 1900), (511, 512, 1023, 1024)
    reads = [island[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]
    for read in reads:
        read[200] ^= 1
    found = []
    for walked in ("all", "none"):
        monkeypatch.setattr(cpu, "is_for_trie", CHOICES[walked])
        parts = cpu.find_ends(make_pages([island]), make_reads(reads), make_axis([island]), differences, 1000)
        found.append(rows_of(parts))
    assert found[0] == found[1]
    assert {(read, begin + length, 1) for read, (begin, length) in enumerate(zip(begins, lengths, strict=True))} <= {
        (row[0], row[2], row[3]) for row in found[0]
    }

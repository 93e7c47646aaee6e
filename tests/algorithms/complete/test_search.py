"""Complete search on the CPU: long reads, repeats and any amount of memory; the rest is in test_search_gpu."""

import numpy as np
import pytest
from quire.algorithms.complete import Axis

pytest.importorskip("numba", reason="the CPU's search runs in Numba")

from quire.algorithms.complete import cpu

from tests.algorithms.complete.test_search_gpu import check as check_on
from tests.support.card_builders import Host
from tests.support.complete_cases import (
    card_case,
    cut_into,
    draw_islands,
    draw_reads,
    edit,
    join,
    rows_of,
)
from tests.support.examples import some
from tests.support.index_builders import build_index
from tests.support.read_builders import make_reads


def check(islands, reads, differences, count=None, page_count=1, room=1000, **index):
    """Compare with the oracle; return the ends."""
    return check_on(Host(), islands, reads, differences, count, page_count, room, **index)


@pytest.mark.parametrize("differences", some(1, [3, 0]))
def test_long_reads_and_many_windows(differences):
    """Reads take several words of a vector, and there are more windows than a vector has lanes."""
    rng = np.random.default_rng(1)
    unit = rng.integers(0, 4, 30)
    islands = [np.concatenate([edit(rng, unit, 1) for _ in range(150)]).tolist(), rng.integers(0, 4, 400).tolist()]
    reads = draw_reads(rng, islands, [31, 32, 33, 64, 65, 129, 300], differences)
    found = check(islands, reads, differences, differences + 1, overlap=512, prefix_length=6)
    assert len(found) > 10 * differences


@pytest.mark.parametrize("count", [1, 2])
def test_repeats_longer_than_a_read(count) -> None:
    """Intervals have many rows up to the last base, reads have one letter, and a page border lies inside."""
    rng = np.random.default_rng(3)
    unit = rng.integers(0, 4, 50).tolist()
    islands = [[*unit * 4, *[0] * 90, *unit], [*unit[20:], *unit * 2]]
    reads = [unit[:36], [0] * 20, (unit[40:] + unit)[:30], [3] * 12]
    found = check(islands, reads, 3, count, 3, prefix_length=4)
    assert len(found) > 250


def test_a_path_that_is_longer_than_the_overlap_of_pages() -> None:
    rng = np.random.default_rng(4)
    island = rng.integers(0, 4, 300).tolist()
    reads = [island[start : start + 60] for start in range(80, 140, 7)]
    found = check([island], reads, 2, 1, 3, overlap=20, prefix_length=5)
    assert {row[0] for row in found} == set(range(len(reads)))


@pytest.mark.parametrize("count", [1, 3])
def test_more_candidates_than_there_is_room_for(count, monkeypatch) -> None:
    """Fewer reads are searched together, and the candidates of a single read are joined as they come."""
    monkeypatch.setattr(cpu, "CANDIDATES", 2)
    monkeypatch.setattr(cpu, "MOST_CANDIDATES", 3)
    rng = np.random.default_rng(5)
    islands = [[*draw_islands(rng)[0], *[0] * 60]]
    reads = [*draw_reads(rng, islands, [20] * 9, 2), [0] * 20]
    assert len(check(islands, reads, 2, count, 2, prefix_length=4)) > 30


def test_more_reads_than_are_searched_together(monkeypatch) -> None:
    monkeypatch.setattr(cpu, "FIRST_READS", 2)
    rng = np.random.default_rng(6)
    islands = draw_islands(rng)
    check(islands, draw_reads(rng, islands, [12, 30, 18, 12, 25], 3), 3)


def test_a_read_with_more_rows_than_are_located_together(monkeypatch):
    """A read of one letter on an axis of that letter ends at every position."""
    monkeypatch.setattr(cpu, "CANDIDATES", 1 << 12)
    monkeypatch.setattr(cpu, "MOST_CANDIDATES", 1 << 13)
    length = 1 << 15
    index = build_index([0] * length)
    reads = make_reads([[0] * 12, [0, 1, 2, 3] * 3])
    axis = Axis(np.zeros(length // 32 + 3, np.uint64), np.empty((0, 2), np.int64), np.array([0, length]))
    axis.text.flags.writeable = axis.ambiguous.flags.writeable = False
    with cut_into(3):
        found = join(cpu.find_ends([index], reads, axis, 2, 1000))
    assert found.end.tolist() == list(range(10, length + 1))
    assert found.distance.tolist() == [2, 1, *[0] * (length - 11)]
    assert not found.read.any()
    assert not found.strand.any()


@pytest.mark.parametrize("differences", [1, 5])
def test_the_longest_reads(differences) -> None:
    """Every division finds the origin of a read."""
    rng = np.random.default_rng(differences)
    island = rng.integers(0, 4, 3000).tolist()
    begins, lengths = (10, 700, 1500, 1900), (511, 512, 1023, 1024)
    reads = [island[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]
    for read in reads:
        read[200] ^= 1
    found = []
    for count in (1, differences + 1):
        with cut_into(count):
            found.append(rows_of(cpu.find_ends(*card_case(Host(), [island], reads), differences, 1000)))
    assert found[0] == found[1]
    assert {(read, begin + length, 1) for read, (begin, length) in enumerate(zip(begins, lengths, strict=True))} <= {
        (row[0], row[2], row[3]) for row in found[0]
    }

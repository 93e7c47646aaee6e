"""Complete search on the CPU against the oracle: any cut of reads and of the axis, and any amount of memory."""

import numpy as np
import pytest
from quire.algorithms.complete import Axis, shortest_read

pytest.importorskip("numba", reason="the CPU's search runs in Numba")

from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.complete import cpu, pieces

from tests.support.complete_cases import (
    cut_into,
    draw_islands,
    draw_reads,
    edit,
    expected_ends,
    join,
    make_axis,
    make_pages,
    rows_of,
)
from tests.support.examples import examples, some
from tests.support.index_builders import build_index
from tests.support.read_builders import make_reads


def check(islands, reads, differences, pages, count=None, room=1000) -> list[tuple[int, int, int, int]]:
    """Compare with the oracle; return the ends."""
    with cut_into(count):
        found = join(cpu.find_ends(pages, make_reads(reads), make_axis(islands), differences, room))
    for name, values, wanted in zip(found._fields, found, expected_ends(islands, reads, differences), strict=True):
        assert values.dtype == wanted.dtype
        assert values.tolist() == wanted.tolist(), name
    return rows_of([found])


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 5), st.sampled_from([1, 3]), st.sampled_from([1, 4]))
def test_ends_equal_the_oracle(seed, differences, page_count, sa_sampling):
    rng = np.random.default_rng(seed)
    islands = draw_islands(rng)
    lengths = rng.integers(shortest_read(differences), 40, int(rng.integers(0, 12)))
    reads = draw_reads(rng, islands, lengths, differences)
    check(islands, reads, differences, make_pages(islands, page_count, sa_sampling), differences + 1)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(24))
def test_any_number_of_pieces(seed) -> None:
    rng = np.random.default_rng(seed)
    differences = seed % 6
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 5), differences)
    pages = make_pages(
        islands, int(rng.integers(1, 4)), overlap=int(rng.choice([40, 64, 200])),
        prefix_length=int(rng.integers(4, 8)), sa_sampling=int(rng.choice([1, 4])),
        words_per_block=int(rng.choice([4, 8])),
    )  # fmt: skip
    for count in (None, *range(1, differences + 2)):
        check(islands, reads, differences, pages, count, room=int(rng.choice([1, 7, 1000])))


@pytest.mark.parametrize("seed", range(3))
def test_reads_of_both_kinds_in_a_batch(seed, monkeypatch) -> None:
    differences = 1 + 2 * seed
    counts = {1: 1, 0: differences + 1}
    monkeypatch.setattr(pieces, "pieces_of", lambda length, k, _: pieces.cut(length, k, counts[length % 2]))
    rng = np.random.default_rng(seed)
    islands = draw_islands(rng)
    reads = draw_reads(rng, islands, rng.integers(shortest_read(differences), 40, 20), differences)
    check(islands, reads, differences, make_pages(islands, 2), room=int(rng.choice([1, 40, 10_000])))


@pytest.mark.parametrize("differences", some(1, [3, 0]))
def test_long_reads_and_many_windows(differences):
    """Reads take several words of a vector, and there are more windows than a vector has lanes."""
    rng = np.random.default_rng(1)
    unit = rng.integers(0, 4, 30)
    islands = [np.concatenate([edit(rng, unit, 1) for _ in range(150)]).tolist(), rng.integers(0, 4, 400).tolist()]
    reads = draw_reads(rng, islands, [31, 32, 33, 64, 65, 129, 300], differences)
    pages = make_pages(islands, overlap=512, prefix_length=6)
    assert len(check(islands, reads, differences, pages, differences + 1)) > 10 * differences


@pytest.mark.parametrize("count", [1, 2])
def test_repeats_longer_than_a_read(count) -> None:
    """Intervals have many rows up to the last base, reads have one letter, and a page border lies inside."""
    rng = np.random.default_rng(3)
    unit = rng.integers(0, 4, 50).tolist()
    islands = [[*unit * 4, *[0] * 90, *unit], [*unit[20:], *unit * 2]]
    reads = [unit[:36], [0] * 20, (unit[40:] + unit)[:30], [3] * 12]
    found = check(islands, reads, 3, make_pages(islands, 3, prefix_length=4), count)
    assert len(found) > 250


def test_a_path_that_is_longer_than_the_overlap_of_pages() -> None:
    rng = np.random.default_rng(4)
    island = rng.integers(0, 4, 300).tolist()
    reads = [island[start : start + 60] for start in range(80, 140, 7)]
    found = check([island], reads, 2, make_pages([island], 3, overlap=20, prefix_length=5), 1)
    assert {row[0] for row in found} == set(range(len(reads)))


@pytest.mark.parametrize("count", [1, 3])
def test_more_candidates_than_there_is_room_for(count, monkeypatch) -> None:
    """Fewer reads are searched together, and the candidates of a single read are joined as they come."""
    monkeypatch.setattr(cpu, "CANDIDATES", 2)
    monkeypatch.setattr(cpu, "MOST_CANDIDATES", 3)
    rng = np.random.default_rng(5)
    islands = [[*draw_islands(rng)[0], *[0] * 60]]
    reads = [*draw_reads(rng, islands, [20] * 9, 2), [0] * 20]
    assert len(check(islands, reads, 2, make_pages(islands, 2, prefix_length=4), count)) > 30


def test_more_reads_than_are_searched_together(monkeypatch) -> None:
    monkeypatch.setattr(cpu, "FIRST_READS", 2)
    rng = np.random.default_rng(6)
    islands = draw_islands(rng)
    check(islands, draw_reads(rng, islands, [12, 30, 18, 12, 25], 3), 3, make_pages(islands))


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


def test_no_reads() -> None:
    assert check([[0, 1, 2, 3]], [], 2, make_pages([[0, 1, 2, 3]])) == []


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
            ends = cpu.find_ends(make_pages([island]), make_reads(reads), make_axis([island]), differences, 1000)
            found.append(rows_of(ends))
    assert found[0] == found[1]
    assert {(read, begin + length, 1) for read, (begin, length) in enumerate(zip(begins, lengths, strict=True))} <= {
        (row[0], row[2], row[3]) for row in found[0]
    }

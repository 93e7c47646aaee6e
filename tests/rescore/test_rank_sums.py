"""Rank sum tests against an enumeration of all assignments of ranks, and against the textbook's formula."""

from itertools import combinations
from math import comb, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.genotyping.rank_sums_cpu import (
    PlacedReads,
    allele_groups,
    index_at,
    mann_whitney,
    rank_sums,
    site_values,
)
from quire.rescore.reads.clipping_cpu import INSERTED, RegionReads

from tests.support.examples import examples


def as_aligned(reads: RegionReads, chosen: np.ndarray) -> PlacedReads:
    """Return some reads as aligned by the mapper; `chosen` are their indices."""
    first = reads.base_offsets[chosen]
    return PlacedReads(chosen, first, reads.base_offsets[chosen + 1] - first, first, reads.positions.astype(np.int64))


def mean_ranks(values: list[int]) -> list[float]:
    """Return ranks from 1 on, tied values at their mean."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]


def slow_share(values: list[int], alternate: list[bool]) -> float:
    """Return the share of choices of alternates with a smaller sum of ranks, plus half of those with an equal one."""
    ranks = mean_ranks(values)
    observed = sum(rank for rank, is_alternate in zip(ranks, alternate, strict=True) if is_alternate)
    sums = [sum(chosen) for chosen in combinations(ranks, sum(alternate))]
    assert len(sums) == comb(len(values), sum(alternate))
    return (sum(s < observed for s in sums) + sum(s == observed for s in sums) / 2) / len(sums)


def slow_z(values: list[int], alternate: list[bool]) -> float:
    """Return the normal approximation with ties, as in MannWhitneyU."""
    n1, n2 = sum(alternate), len(values) - sum(alternate)
    u = sum(r for r, a in zip(mean_ranks(values), alternate, strict=True) if a) - n1 * (n1 + 1) / 2
    counts = [values.count(value) for value in set(values)]
    ties = sum(count**3 - count for count in counts if count < len(values))
    n = n1 + n2
    sigma = sqrt(n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1))))
    return (u - n1 * n2 / 2 + (0.5 if ties else 0.0)) / sigma


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=14))
@settings(max_examples=examples(150), deadline=None)
def test_rank_sums(reads: list[tuple[int, bool]]) -> None:
    values, alternate = [value for value, _ in reads], [is_alternate for _, is_alternate in reads]
    result, exact = mann_whitney(np.array(values, np.int64), np.array(alternate))
    if len(set(alternate)) == 1:
        assert np.isnan(result)
    elif max(sum(alternate), len(values) - sum(alternate)) < 10:
        assert exact
        assert result == pytest.approx(slow_share(values, alternate), abs=1e-12)
    else:
        assert not exact
        assert result == pytest.approx(slow_z(values, alternate), abs=1e-12)


@given(st.data())
@settings(max_examples=examples(50), deadline=None)
def test_rank_sums_of_many_reads(data: st.DataObject) -> None:
    n = data.draw(st.integers(20, 300))
    values = data.draw(st.lists(st.integers(0, data.draw(st.integers(0, 400))), min_size=n, max_size=n))
    alternate = [True, False, *data.draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))]
    result, exact = mann_whitney(np.array(values, np.int64), np.array(alternate))
    assert not exact
    assert result == pytest.approx(slow_z(values, alternate), abs=1e-9)


def region_reads(placed: list[list[int]], before: list[int], behind: list[int]) -> RegionReads:
    """Return one region with reads of these positions; qualities count from 10 up, mapping qualities from 60 down."""
    sizes = [len(positions) for positions in placed]
    n = len(placed)
    return RegionReads(
        region_offsets=np.array([0, n]),
        sample=np.zeros(n, np.int32),
        start=np.array([positions[0] for positions in placed]),
        end=np.array([positions[-1] + 1 for positions in placed]),
        usable=np.ones(n, np.uint8),
        reverse=np.zeros(n, np.uint8),
        mapping_quality=np.arange(60, 60 - n, -1).astype(np.uint8),
        before=np.array(before, np.int32),
        behind=np.array(behind, np.int32),
        base_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        bases=np.zeros(sum(sizes), np.uint8),
        qualities=np.concatenate([np.arange(10, 10 + size) for size in sizes]).astype(np.uint8),
        positions=np.array([p for positions in placed for p in positions], np.int32),
    )


def test_values_of_reads_at_a_site() -> None:
    plain = list(range(100, 120))
    deleted = [*range(100, 108), *range(112, 124)]
    after_the_site = list(range(111, 131))
    reads = region_reads([plain, deleted, after_the_site, plain], [3, 0, 0, 50], [0, 7, 0, 50])
    reads.mapping_quality[3] = 0  # does not count
    values = site_values(reads, as_aligned(reads, np.arange(4)), np.int64(110), np.int64(111))
    # A deletion has no base; the next one is the 9th of the read.
    assert values.tolist() == [[20, -1, -1, -1], [60, 59, 58, -1], [9, 8, -1, -1]]


def test_a_read_that_starts_with_inserted_bases_after_the_site() -> None:
    reads = region_reads([list(range(100, 110))], [5], [5])
    inserted = np.array([INSERTED, INSERTED, *range(103, 109)], np.int64)
    placed = PlacedReads(np.array([0]), np.array([2]), np.array([8]), np.array([0]), inserted)
    assert site_values(reads, placed, np.int64(101), np.int64(103))[:, 0].tolist() == [-1, 60, 0]
    assert site_values(reads, placed, np.int64(101), np.int64(102))[:, 0].tolist() == [-1, 60, -1]
    # The run starts two bases after the five clipped bases; the base is the third of the run.
    assert site_values(reads, placed, np.int64(103), np.int64(104))[:, 0].tolist() == [14, 60, 5 + 4]


def test_index_at() -> None:
    positions = np.array([100, 101, INSERTED, 102, 105], np.int64)
    assert [index_at(positions, p) for p in (99, 100, 102, 103, 105, 106)] == [
        (-1, False), (0, True), (3, True), (4, False), (4, True), (-1, False),
    ]  # fmt: skip


def test_groups_and_keys() -> None:
    groups = allele_groups(np.array([0, 1, 2, -1, 3]), np.array([0, 2]))
    assert groups.tolist() == [0, -1, 1, -1, -1]
    reads = region_reads([list(range(100, 120))] * 4, [0] * 4, [0] * 4)
    placed = as_aligned(reads, np.arange(4))
    found = rank_sums(reads, placed, np.array([0, 0, 1, 1], np.int8), 105, 106)
    # The alternates' mapping qualities are the two smallest of four: one of six choices, half of which counts.
    assert found == {"BaseQRankSum": 0.0, "MQRankSum": pytest.approx(-1.3829941), "ReadPosRankSum": 0.0}
    assert rank_sums(reads, placed, np.array([0, 0, -1, 0], np.int8), 105, 106) == {}
    outside = rank_sums(reads, placed, np.array([0, 0, 1, 1], np.int8), 500, 501)
    assert outside.keys() == {"MQRankSum"}
    assert nan not in outside.values()

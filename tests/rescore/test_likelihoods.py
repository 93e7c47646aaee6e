"""The error model around PairHMM: repeats, qualities, caps, and independence of regions."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.engines import cpu_engine
from quire.rescore.haplotypes import Haplotype
from quire.rescore.haplotypes.likelihoods_cpu import (
    cap_and_drop,
    least_likelihoods,
    pcr_gap_qualities,
    region_likelihoods,
    trim_reads,
)
from quire.rescore.haplotypes.repeats_cpu import count_repeats
from quire.rescore.reads.clipping_cpu import RegionReads

from tests.support.builders import random_bases
from tests.support.examples import examples
from tests.support.simulation import codes


def slow_repeats(text: str, offset: int) -> int:
    """Run ReadLikelihoodCalculationEngine.findTandemRepeatUnits with strings."""

    def before(unit: str) -> int:
        count, head = 0, text[: offset + 1]
        while head.endswith(unit):
            head, count = head[: len(head) - len(unit)], count + 1
        return count

    def after(unit: str) -> int:
        count, tail = 0, text[offset + 1 :]
        while tail.startswith(unit):
            tail, count = tail[len(unit) :], count + 1
        return count

    backward, backward_unit = 0, text[offset]
    for length in range(1, 9):
        if offset + 1 - length < 0:
            break
        backward = before(text[offset + 1 - length : offset + 1])
        if backward > 1:
            backward_unit = text[offset + 1 - length : offset + 1]
            break
    if offset == len(text) - 1:
        return min(backward, 20)
    forward, forward_unit = 0, text[offset + 1]
    for length in range(1, 9):
        if offset + length + 1 > len(text):
            break
        forward = after(text[offset + 1 : offset + 1 + length])
        if forward > 1:
            forward_unit = text[offset + 1 : offset + 1 + length]
            break
    if forward_unit != backward_unit:
        backward = before(forward_unit)
    return min(backward + forward, 20)


def repeats_of(text: str) -> list[int]:
    bases = np.frombuffer(codes(text), np.uint8).copy()
    answers = np.empty(len(text), np.uint8)
    count_repeats(bases, 0, len(text), np.empty(len(text), np.uint64), np.empty(len(text), np.uint64), answers)
    return answers.tolist()


TEXTS = st.one_of(
    st.text("AC", min_size=1, max_size=40),
    st.text("ACGTN", min_size=1, max_size=25),
    st.builds(
        lambda unit, copies, end: unit * copies + end, st.text("ACGT", max_size=9), st.integers(1, 40), st.text("AC")
    ),
)


@given(TEXTS)
@settings(max_examples=examples(200), deadline=None)
def test_repeats(text: str) -> None:
    assert repeats_of(text) == [slow_repeats(text, offset) for offset in range(len(text))]


@pytest.mark.parametrize("unit", ["A", "AC", "AACGTACG", "AACGTACGC"])
def test_repeats_longer_than_a_counter(unit: str) -> None:
    text = unit * (1000 // len(unit))
    assert repeats_of(text) == [slow_repeats(text, offset) for offset in range(len(text))]


def test_gap_qualities_are_those_of_the_conservative_model() -> None:
    qualities = pcr_gap_qualities().tolist()
    # max(10, round(41 - e^(n / 3 pi))): e^(10 / 9.42) = 2.89, e^(20 / 9.42) = 8.35
    assert (qualities[0], qualities[10], qualities[20]) == (40, 38, 33)
    assert qualities == sorted(qualities, reverse=True)


def test_likelihoods_are_capped_and_poor_reads_dropped() -> None:
    matrix = np.array([[-1.0, -9.0], [-8.5, -9.0], [-3.0, -2.0]])
    cap_and_drop(matrix, least_likelihoods(np.array([100, 100, 100])))
    assert matrix[0].tolist() == [-1.0, -5.5]
    assert np.isnan(matrix[1]).all()
    assert matrix[2].tolist() == [-3.0, -2.0]
    short = np.array([[-4.5, -4.6]])
    cap_and_drop(short, least_likelihoods(np.array([50])))  # a read of 50 bases may have one error
    assert np.isnan(short).all()


def reads_of(groups: list[list[tuple[int, str]]]) -> RegionReads:
    """Return reads (start, bases) of several regions, of quality 30."""
    flat = [read for group in groups for read in group]
    lengths = [len(bases) for _, bases in flat]
    n = len(flat)
    return RegionReads(
        region_offsets=np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64),
        sample=np.zeros(n, np.int32),
        start=np.array([start for start, _ in flat], np.int64),
        end=np.array([start + len(bases) for start, bases in flat], np.int64),
        usable=np.array([0 if i % 5 == 4 else 1 for i in range(n)], np.uint8),
        reverse=np.zeros(n, np.uint8),
        mapping_quality=np.full(n, 25, np.uint8),
        before=np.zeros(n, np.int32),
        behind=np.zeros(n, np.int32),
        base_offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        bases=np.frombuffer(codes("".join(bases for _, bases in flat)), np.uint8).copy(),
        qualities=np.full(sum(lengths), 30, np.uint8),
        positions=np.concatenate([np.arange(start, start + len(bases), dtype=np.int32) for start, bases in flat]),
    )


def test_every_region_gets_its_own_reads_and_haplotypes() -> None:
    generator = random.Random(1)
    groups, haplotypes, spans = [], [], []
    for r in range(3):
        reference = random_bases(generator, 120)
        start = 1000 * r
        groups.append([(start + at, reference[at : at + 60]) for at in range(0, 60, 7)])
        versions = [reference, *(reference[:50] + base + reference[51:] for base in "ACGT"[: r + 1])]
        spans.append((start + 10, start + 90))
        haplotypes.append([Haplotype(codes(v)[10:90], start + 10, ()) for v in versions])
    reads = reads_of(groups)
    together = region_likelihoods(reads, np.arange(3), np.array(spans), haplotypes, cpu_engine())
    assert min(scored.start.min() for scored in together) >= 10
    assert (trim_reads(reads, np.arange(3), np.array(spans), pcr_gap_qualities(), 18).base_qualities <= 25).all()
    for r in range(3):
        [alone] = region_likelihoods(reads, np.array([r]), np.array([spans[r]]), [haplotypes[r]], cpu_engine())
        matrix = together[r].matrix
        np.testing.assert_array_equal(alone.matrix, matrix)
        assert np.isnan(matrix[together[r].usable == 0]).all()
        scores = matrix[~np.isnan(matrix[:, 0])]
        assert len(scores)
        # Every read is a piece of the first haplotype; others fit equally only if the read does not cover the
        # difference.
        assert (scores.max(axis=1) - scores[:, 0] < 1e-3).all()


@pytest.mark.parametrize(("low", "high", "expected"), [(0, 100, 60), (55, 100, 5), (20, 35, 15), (30, 38, 0)])
def test_reads_are_cut_to_the_span_and_short_ones_dropped(low: int, high: int, expected: int) -> None:
    reads = reads_of([[(0, random_bases(random.Random(2), 60))]])
    trimmed = trim_reads(reads, np.array([0]), np.array([[low, high]]), pcr_gap_qualities(), 18)
    assert trimmed.base_offsets.tolist() == ([0, expected] if expected >= 10 else [0])

"""PairHMM against GATK's and GKL's values, the float64 oracle, and its own recurrence bit for bit."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairhmm import PairHmmBatch, join_batches, log10_likelihoods, oracle, region_batch
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, log10_of_sums, tables

VECTORS = Path(__file__).parents[2] / "data" / "kernel_vectors"
QUALITY_FLOOR = 6  # GATK's, for the vectors
CODES = np.full(256, 4, np.uint8)
CODES[list(b"ACGT")] = range(4)


def codes(bases: str) -> np.ndarray:
    return CODES[np.frombuffer(bases.encode(), np.uint8)]


def phred(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8) - 33


def ends(sequences: Sequence) -> np.ndarray:
    return np.cumsum([0, *map(len, sequences)])


def region(reads: Sequence[Sequence[str]], haplotypes: Sequence[str], continuation: int = 10) -> PairHmmBatch:
    """A region of reads (bases, base, insertion and deletion qualities as text)."""
    bases, base_quality, insertion, deletion = ("".join(column) for column in zip(*reads, strict=True))
    return region_batch(
        codes(bases),
        np.maximum(phred(base_quality), QUALITY_FLOOR),
        ends([read[0] for read in reads]),
        codes("".join(haplotypes)),
        ends(haplotypes),
        phred(insertion),
        phred(deletion),
        continuation,
    )


def read_regions(name: str) -> PairHmmBatch:
    lines = iter((VECTORS / name).read_text().splitlines())
    regions = []
    for header in lines:
        reads, haplotypes = map(int, header.split())
        rows = [next(lines).split()[:4] for _ in range(reads)]
        regions.append(region(rows, [next(lines).strip() for _ in range(haplotypes)]))
    return join_batches(regions)


@pytest.fixture(scope="module")
def gkl() -> tuple[PairHmmBatch, np.ndarray, np.ndarray]:
    """GKL's 104 cases: batch, expected values, half a unit of their last printed digit (of seven)."""
    lines = [line.split() for line in (VECTORS / "gkl_pairhmm_104.txt").read_text().splitlines() if line[0] != "#"]
    expected = np.array([float(line[6]) for line in lines])
    rounding = 0.5 * 10.0 ** (np.floor(np.log10(np.abs(expected))) - 6)
    return join_batches([region([line[1:5]], [line[0]]) for line in lines]), expected, rounding


# GKL takes log10 of a float32 sum in float32: sums near 1e35 give logarithms rounded to 2e-6 in themselves, after
# float32 sums that are as inexact as ours (measured: at most 2.5e-6 from the oracle).
GKL_FLOAT32 = 4e-6


@pytest.mark.parametrize("implementation", [log10_likelihoods, oracle.log10_likelihoods])
def test_gkl_cases(implementation, gkl) -> None:
    batch, expected, rounding = gkl
    assert np.all(np.abs(implementation(batch) - expected) <= rounding + GKL_FLOAT32)


@pytest.mark.parametrize("name", ["tiny", "10s"])
def test_real_regions(name: str) -> None:
    expected = np.loadtxt(VECTORS / f"{name}.expected_gatk_model_log10.txt")
    assert np.abs(log10_likelihoods(read_regions(f"{name}.in")) - expected).max() < 6e-6


def tolerance(batch: PairHmmBatch) -> np.ndarray:
    """Worst case of float32 with positive terms only.

    A path takes a step per read base and per haplotype base; a step rounds four results and three table entries.
    """
    rows = np.diff(batch.read_offsets)[batch.tasks[:, 0]]
    columns = np.diff(batch.haplotype_offsets)[batch.tasks[:, 1]]
    return 7 * (rows + columns) * 2.0**-24 / math.log(10)


def assert_close(answers: np.ndarray, batch: PairHmmBatch) -> None:
    expected = oracle.log10_likelihoods(batch)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(answers[~finite], expected[~finite])
    assert np.all(np.abs(answers[finite] - expected[finite]) <= tolerance(batch)[finite])


@st.composite
def regions(draw, quality_limits: tuple[int, ...] = (3, 42, 94, 256)) -> PairHmmBatch:
    """A few reads and haplotypes of any lengths from 1, with Ns; half of the reads are pieces of a haplotype."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    lengths = st.lists(st.integers(1, 40), min_size=1, max_size=5)
    letters = draw(st.sampled_from([1, 2, 4, 5]))
    haplotypes = [random.integers(0, letters, length).astype(np.uint8) for length in draw(lengths)]
    reads = []
    for length in draw(lengths):
        source = haplotypes[random.integers(len(haplotypes))]
        piece = source[random.integers(len(source)) :][:length]
        reads.append(piece if random.random() < 0.5 else random.integers(0, letters, length).astype(np.uint8))
    bases = sum(map(len, reads))
    qualities = random.integers(0, draw(st.sampled_from(quality_limits)), (3, bases)).astype(np.uint8)
    continuation = draw(st.sampled_from([1, 10, 10, 40]))
    return region_batch(
        np.concatenate(reads),
        qualities[0],
        ends(reads),
        np.concatenate(haplotypes),
        ends(haplotypes),
        qualities[1],
        qualities[2],
        continuation,
    )


@settings(max_examples=80, deadline=None)
@given(regions())
def test_matches_oracle(batch: PairHmmBatch) -> None:
    assert_close(log10_likelihoods(batch), batch)


def test_unlikely_reads_are_computed_in_float64() -> None:
    """A read that nothing explains falls below float32; among others that do not."""
    read, haplotype = np.zeros(200, np.uint8), np.full(300, 1, np.uint8)
    half = haplotype.copy()
    half[:100] = 0
    batch = region_batch(
        np.concatenate([read, half[:150]]),
        np.full(350, 40, np.uint8),
        np.array([0, 200, 350]),
        np.concatenate([haplotype, half]),
        np.array([0, 300, 600]),
    )
    answers = log10_likelihoods(batch)
    assert answers[0] < -150
    assert answers[3] > -5
    assert_close(answers, batch)


@settings(max_examples=20, deadline=None)
@given(st.lists(regions(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_answers_do_not_depend_on_the_batch(parts: list[PairHmmBatch], random) -> None:
    parts = [replace(part, gap_continuation_quality=10) for part in parts]
    together = join_batches(parts)
    answers = log10_likelihoods(together)
    np.testing.assert_array_equal(answers, np.concatenate([log10_likelihoods(part) for part in parts]))
    order = list(range(len(together.tasks)))
    random.shuffle(order)
    chosen = order[: len(order) // 2 + 1]
    np.testing.assert_array_equal(log10_likelihoods(replace(together, tasks=together.tasks[chosen])), answers[chosen])


def fma(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    """Products of float32 are exact in extended precision; its extra bits make a second rounding harmless here."""
    return np.float32(np.longdouble(a) * np.longdouble(b) + np.longdouble(c))


def model_sum(batch: PairHmmBatch, read: int, haplotype: int) -> np.float32:
    """The recurrence of model.py in scalar float32, operation by operation."""
    table = tables(batch.gap_continuation_quality, np.dtype(np.float32))
    bases = slice(batch.read_offsets[read], batch.read_offsets[read + 1])
    letters = batch.haplotype_bases[batch.haplotype_offsets[haplotype] : batch.haplotype_offsets[haplotype + 1]]
    insertion_quality = batch.insertion_qualities[bases].astype(int)
    deletion_quality = batch.deletion_qualities[bases].astype(int)
    columns = len(letters) + 1
    match, inserted = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
    deleted = np.full(columns, table.start)
    deletion = np.float32(1)
    for i, (base, quality) in enumerate(zip(batch.read_bases[bases], batch.base_qualities[bases], strict=True)):
        above = match, inserted, deleted
        match, inserted, deleted = (np.zeros(columns, np.float32) for _ in range(3))
        stay = table.stay[insertion_quality[i] * 256 + deletion_quality[i]]
        for j in range(1, columns):
            agree = base == letters[j - 1] or 4 in (base, letters[j - 1])
            emission = (table.agree if agree else table.differ)[quality]
            gaps = fma(deletion, above[2][j - 1], above[1][j - 1])
            match[j] = emission * fma(stay, above[0][j - 1], gaps)
            inserted[j] = fma(table.opening[insertion_quality[i]], above[0][j], table.continuation * above[1][j])
            deleted[j] = fma(table.continuation, deleted[j - 1], match[j - 1])
        deletion = table.opening[deletion_quality[i]]
    total = np.float32(0)
    for j in range(1, columns):
        total += match[j] + inserted[j]
    return total


@settings(max_examples=8, deadline=None)
@given(regions(quality_limits=(42,)))
def test_same_bits_as_the_recurrence(batch: PairHmmBatch) -> None:
    answers = log10_likelihoods(batch)
    for answer, (read, haplotype) in zip(answers, batch.tasks, strict=True):
        total = model_sum(batch, read, haplotype)
        if total >= 1e-28:
            length = batch.haplotype_offsets[haplotype + 1] - batch.haplotype_offsets[haplotype]
            assert answer == log10_of_sums(np.array([total]), SCALE_EXPONENT[total.dtype], np.array([length]))[0]


def test_refuses_what_has_no_answer() -> None:
    read = np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="empty haplotype"):
        region_batch(read, read, ends([read]), read, np.array([0, 3, 3]))
    with pytest.raises(ValueError, match="base_qualities has 2"):
        region_batch(read, read[:2], ends([read]), read, ends([read]))
    with pytest.raises(ValueError, match="continuation"):
        region_batch(read, read, ends([read]), read, ends([read]), gap_continuation_quality=0)
    with pytest.raises(ValueError, match="no backend"):
        log10_likelihoods(region_batch(read, read, ends([read]), read, ends([read])), device="abacus")


def test_no_tasks() -> None:
    read = np.zeros(3, np.uint8)
    batch = region_batch(read, read, ends([read]), read, ends([read]))
    assert len(log10_likelihoods(replace(batch, tasks=batch.tasks[:0]))) == 0

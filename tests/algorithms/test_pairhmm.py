"""PairHMM against GATK's and GKL's values, the oracle, and its own recurrence bit for bit."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairhmm import PairHmmBatch, cpu
from quire.algorithms.pairhmm.cpu import log10_likelihoods
from quire.algorithms.pairhmm.model import SCALE_EXPONENT, log10_of_sums, needs_float64, tables
from quire.algorithms.pairhmm.order_cpu import ScoringOrder, scoring_order
from quire.algorithms.pairhmm.shared_cpu import LANES, NOWHERE

from bench.pairhmm_regions import LOWEST_QUALITY, join_batches, read_regions, region_batch
from tests.oracles import pairhmm as oracle
from tests.support.examples import examples
from tests.support.pairhmm_cases import LEAST_OF_FLOAT64

VECTORS = Path(__file__).parents[1] / "data" / "kernel_vectors"
CODES = np.full(256, 4, np.uint8)
CODES[list(b"ACGT")] = range(4)


def codes(bases: str) -> np.ndarray:
    return CODES[np.frombuffer(bases.encode(), np.uint8)]


def phred(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8) - 33


def ends(sequences: Sequence) -> np.ndarray:
    return np.cumsum([0, *map(len, sequences)])


def region(reads: Sequence[Sequence[str]], haplotypes: Sequence[str], continuation: int = 10) -> PairHmmBatch:
    """Return a region of reads (bases, base, insertion and deletion qualities as text)."""
    bases, base_quality, insertion, deletion = ("".join(column) for column in zip(*reads, strict=True))
    return region_batch(
        codes(bases),
        np.maximum(phred(base_quality), LOWEST_QUALITY),
        ends([read[0] for read in reads]),
        codes("".join(haplotypes)),
        ends(haplotypes),
        phred(insertion),
        phred(deletion),
        continuation,
    )


@pytest.fixture(scope="module")
def gkl() -> tuple[PairHmmBatch, np.ndarray, np.ndarray]:
    """Return GKL's 104 cases: batch, expected values, half a unit of their last printed digit (of seven)."""
    lines = [line.split() for line in (VECTORS / "gkl_pairhmm_104.txt").read_text().splitlines() if line[0] != "#"]
    expected = np.array([float(line[6]) for line in lines])
    rounding = 0.5 * 10.0 ** (np.floor(np.log10(np.abs(expected))) - 6)
    return join_batches([region([line[1:5]], [line[0]]) for line in lines]), expected, rounding


# GKL computes log10 in float32: logarithms of sums near 1e35 are rounded to 2e-6. Its float32 sums are as inexact as
# ours (measured: at most 2.5e-6 from the oracle).
GKL_FLOAT32 = 4e-6


@pytest.mark.parametrize("implementation", [log10_likelihoods, oracle.log10_likelihoods])
def test_gkl_cases(implementation, gkl) -> None:
    batch, expected, rounding = gkl
    assert np.all(np.abs(implementation(batch) - expected) <= rounding + GKL_FLOAT32)


@pytest.mark.parametrize("name", ["tiny", "10s"])
def test_real_regions(name: str) -> None:
    expected = np.loadtxt(VECTORS / f"{name}.expected_gatk_model_log10.txt")
    assert np.abs(log10_likelihoods(join_batches(read_regions(VECTORS / f"{name}.in"))) - expected).max() < 6e-6


def tolerance(batch: PairHmmBatch) -> np.ndarray:
    """Return the worst case of float32 with positive terms only.

    A path takes a step per read base and per haplotype base; a step rounds four results and three table entries.
    """
    rows = np.diff(batch.read_offsets)[batch.tasks[:, 0]]
    columns = np.diff(batch.haplotype_offsets)[batch.tasks[:, 1]]
    return 7 * (rows + columns) * 2.0**-24 / math.log(10)


def assert_close(answers: np.ndarray, batch: PairHmmBatch) -> None:
    expected = oracle.log10_likelihoods(batch)
    held = expected > LEAST_OF_FLOAT64
    assert np.all(answers[~held] < LEAST_OF_FLOAT64 + 1)
    assert np.all(np.abs(answers[held] - expected[held]) <= tolerance(batch)[held])


@st.composite
def regions(draw, quality_limits: tuple[int, ...] = (3, 42, 94, 256)) -> PairHmmBatch:
    """Draw a few reads and haplotypes of any lengths from 1, with Ns; half of the reads are pieces of a haplotype."""
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


@st.composite
def regions_of_any_gaps(draw, quality_limits: tuple[int, ...] = (3, 42, 94, 256)) -> PairHmmBatch:
    """Draw `regions` with a gap continuation quality for each base."""
    batch = draw(regions(quality_limits))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    choices = np.array(draw(st.sampled_from([[10], [1, 3, 5, 10], list(range(1, 256))])), np.uint8)
    return replace(batch, gap_continuation_qualities=random.choice(choices, len(batch.read_bases)))


@settings(max_examples=examples(40), deadline=None)
@given(regions_of_any_gaps())
def test_gap_continuation_of_each_base_matches_oracle(batch: PairHmmBatch) -> None:
    assert_close(log10_likelihoods(batch), batch)


@settings(max_examples=examples(20), deadline=None)
@given(regions())
def test_one_gap_continuation_at_all_bases_is_that_of_the_batch(batch: PairHmmBatch) -> None:
    everywhere = np.full(len(batch.read_bases), batch.gap_continuation_quality, np.uint8)
    given_by_base = replace(batch, gap_continuation_quality=7, gap_continuation_qualities=everywhere)
    np.testing.assert_array_equal(log10_likelihoods(given_by_base), log10_likelihoods(batch))


@settings(max_examples=examples(80), deadline=None)
@given(regions())
def test_matches_oracle(batch: PairHmmBatch) -> None:
    assert_close(log10_likelihoods(batch), batch)


def test_unlikely_reads_are_computed_in_float64() -> None:
    """A read that no haplotype explains underflows in float32, among others that do not."""
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


@settings(max_examples=examples(20), deadline=None)
@given(
    st.one_of(st.lists(regions(), min_size=1, max_size=6), st.lists(regions_of_any_gaps(), min_size=1, max_size=6)),
    st.randoms(use_true_random=False),
)
def test_answers_do_not_depend_on_the_batch(parts: list[PairHmmBatch], random) -> None:
    parts = [replace(part, gap_continuation_quality=10) for part in parts]
    together = join_batches(parts)
    answers = log10_likelihoods(together)
    np.testing.assert_array_equal(answers, np.concatenate([log10_likelihoods(part) for part in parts]))
    order = list(range(len(together.tasks)))
    random.shuffle(order)
    chosen = order[: len(order) // 2 + 1]
    np.testing.assert_array_equal(log10_likelihoods(replace(together, tasks=together.tasks[chosen])), answers[chosen])


# Operations in float32, with subnormal numbers kept or flushed to zero as model.py defines. Products of float32 are
# exact in extended precision; its extra bits make a second rounding harmless, and its exponents never overflow here.
SMALLEST_NORMAL = 2.0**-126
SHIFT = np.longdouble(2.0**64)


def gradual(exact: np.longdouble) -> np.float32:
    """Round as IEEE 754 does."""
    return np.float32(exact)


def flushed(exact: np.longdouble) -> np.float32:
    """Round to 24 bits with an unlimited exponent; results below the smallest normal number become signed zeros."""
    if abs(exact) >= 2 * SMALLEST_NORMAL:
        return np.float32(exact)
    rounded = np.float32(exact * SHIFT)
    if abs(rounded) < np.float32(SMALLEST_NORMAL * 2.0**64):
        return np.float32(np.copysign(np.float32(0), rounded))
    return np.float32(rounded / np.float32(SHIFT))


def fma(a: np.float32, b: np.float32, c: np.float32) -> np.longdouble:
    return np.longdouble(a) * np.longdouble(b) + np.longdouble(c)


def model_sum(batch: PairHmmBatch, read: int, haplotype: int, rounded=flushed) -> np.float32:
    """Compute the recurrence of model.py in scalar float32, operation by operation."""
    bases = slice(batch.read_offsets[read], batch.read_offsets[read + 1])
    letters = batch.haplotype_bases[batch.haplotype_offsets[haplotype] : batch.haplotype_offsets[haplotype + 1]]
    insertion_quality = batch.insertion_qualities[bases].astype(int)
    deletion_quality = batch.deletion_qualities[bases].astype(int)
    columns = len(letters) + 1
    continuations = [batch.gap_continuation_quality] * len(insertion_quality)
    if batch.gap_continuation_qualities is not None:
        continuations = batch.gap_continuation_qualities[bases].tolist()
    zero = np.float32(0)
    match, inserted = np.zeros(columns, np.float32), np.zeros(columns, np.float32)
    deleted = np.full(columns, tables(10, np.dtype(np.float32)).start)
    deletion = np.float32(1)
    for i, (base, quality) in enumerate(zip(batch.read_bases[bases], batch.base_qualities[bases], strict=True)):
        table = tables(continuations[i], np.dtype(np.float32))
        above = match, inserted, deleted
        match, inserted, deleted = (np.zeros(columns, np.float32) for _ in range(3))
        stay = table.stay[insertion_quality[i] * 256 + deletion_quality[i]]
        opening = table.opening[insertion_quality[i]]
        for j in range(1, columns):
            agree = base == letters[j - 1] or 4 in (base, letters[j - 1])
            emission = (table.agree if agree else table.differ)[quality]
            gaps = rounded(fma(deletion, above[2][j - 1], above[1][j - 1]))
            match[j] = rounded(fma(emission, rounded(fma(stay, above[0][j - 1], gaps)), zero))
            longer = rounded(fma(table.continuation, above[1][j], zero))
            inserted[j] = rounded(fma(opening, above[0][j], longer))
            deleted[j] = rounded(fma(table.continuation, deleted[j - 1], match[j - 1]))
        deletion = table.opening[deletion_quality[i]]
    total = np.float32(0)
    for j in range(1, columns):
        total = rounded(np.longdouble(total) + rounded(np.longdouble(match[j]) + np.longdouble(inserted[j])))
    return total


def kernel_sums(batch: PairHmmBatch, dtype: type = np.float32) -> np.ndarray:
    return cpu.last_row_sums(batch, batch.tasks, np.dtype(dtype))


@settings(max_examples=examples(8), deadline=None)
@given(st.one_of(regions(quality_limits=(42,)), regions_of_any_gaps(quality_limits=(42,))))
def test_same_bits_as_the_recurrence(batch: PairHmmBatch) -> None:
    sums = kernel_sums(batch)
    assert sums.tolist() == [model_sum(batch, read, haplotype) for read, haplotype in batch.tasks]
    exponent = SCALE_EXPONENT[np.dtype(np.float32)]
    expected = log10_of_sums(sums, exponent, np.diff(batch.haplotype_offsets)[batch.tasks[:, 1]])
    kept = ~needs_float64(sums)
    np.testing.assert_array_equal(log10_likelihoods(batch)[kept], expected[kept])


def fading(bases: int) -> PairHmmBatch:
    """Return a read that the haplotype does not explain: some bits less likely with every base."""
    read, haplotype = np.zeros(bases, np.uint8), np.ones(12, np.uint8)
    qualities = np.full(bases, 30, np.uint8)
    return region_batch(read, qualities, ends([read]), haplotype, ends([haplotype]), 60, 60, 40)


def test_subnormal_numbers_are_zero_in_float32() -> None:
    """Sums that pass through the subnormal range are those of flushing, not of gradual underflow."""
    sums = {bases: float(kernel_sums(fading(bases))[0]) for bases in range(15, 30)}
    for bases, total in sums.items():
        assert total == model_sum(fading(bases), 0, 0)
    kept = {bases: float(model_sum(fading(bases), 0, 0, gradual)) for bases in sums}
    subnormal = [bases for bases in sums if 0 < kept[bases] < SMALLEST_NORMAL]
    assert subnormal
    assert all(sums[bases] == 0 for bases in subnormal)
    assert any(0 < sums[bases] < 2**40 * SMALLEST_NORMAL for bases in sums)
    # Sums that are still normal have lost the parts that passed through the subnormal range.
    assert any(0 < sums[bases] < kept[bases] for bases in sums)


def test_float64_keeps_subnormal_numbers() -> None:
    sums = [float(kernel_sums(fading(bases), np.float64)[0]) for bases in range(150, 200)]
    assert any(0 < total < 2.0**-1022 for total in sums)


def test_refuses_what_has_no_answer() -> None:
    read = np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="empty haplotype"):
        region_batch(read, read, ends([read]), read, np.array([0, 3, 3]))
    with pytest.raises(ValueError, match="base_qualities has 2"):
        region_batch(read, read[:2], ends([read]), read, ends([read]))
    with pytest.raises(ValueError, match="continuation"):
        region_batch(read, read, ends([read]), read, ends([read]), gap_continuation_quality=0)


def test_no_tasks() -> None:
    read = np.zeros(3, np.uint8)
    batch = region_batch(read, read, ends([read]), read, ends([read]))
    assert len(log10_likelihoods(replace(batch, tasks=batch.tasks[:0]))) == 0
    batch = region_batch(read, read, ends([read]), read, ends([read]))
    with pytest.raises(ValueError, match="gap_continuation_qualities has 2"):
        replace(batch, gap_continuation_qualities=np.full(2, 10, np.uint8))
    with pytest.raises(ValueError, match="every gap continuation quality must be at least 1"):
        replace(batch, gap_continuation_qualities=read)
    with pytest.raises(ValueError, match="share one gap continuation quality"):
        join_batches([batch, replace(batch, gap_continuation_qualities=np.full(3, 10, np.uint8))])


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(0, 1 << 30), st.sampled_from([1, 3, 4, 8, 16, 19, 40]), st.sampled_from(["AC", "ACGTN"]), st.booleans()
)
def test_reads_of_the_same_haplotypes_are_scored_as_if_alone(
    seed: int, reads: int, alphabet: str, own_continuations: bool
) -> None:
    """Haplotypes share prefixes, are equal or shorter; there are fewer reads than lanes, as many, or more."""
    generator = np.random.default_rng(seed)

    def drawn(length: int, low: int, high: int) -> np.ndarray:
        return generator.integers(low, high, length).astype(np.uint8)

    letters = codes(alphabet)
    first = letters[generator.integers(0, len(letters), generator.integers(1, 60))]
    haplotypes = [first]
    for _ in range(generator.integers(0, 7)):
        other = haplotypes[generator.integers(len(haplotypes))].copy()
        other[generator.integers(len(other)) :: generator.integers(1, 40)] = generator.choice(letters)
        haplotypes.append(other if generator.random() < 0.8 else other[: max(1, len(other) - 2)])
    lengths = generator.integers(1, 70, reads)
    size = int(lengths.sum())
    batch = region_batch(
        letters[generator.integers(0, len(letters), size)],
        drawn(size, 6, 42),
        ends([range(length) for length in lengths]),
        np.concatenate(haplotypes),
        ends(haplotypes),
        drawn(size, 10, 46),
        drawn(size, 10, 46),
    )
    if own_continuations:
        batch = replace(batch, gap_continuation_qualities=drawn(size, 1, 20))
    # Some tasks are left out and some occur twice, so that a read's haplotypes may have gaps.
    batches = [batch, replace(batch, tasks=batch.tasks[np.sort(generator.integers(0, len(batch.tasks), 200))])]
    for own in (*batches, join_batches([batch, *batches])):
        alone = np.concatenate(
            [log10_likelihoods(replace(own, tasks=own.tasks[t : t + 1])) for t in range(0, len(own.tasks), 5)]
        )
        assert np.array_equal(log10_likelihoods(own)[::5], alone)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.text("ACN", min_size=1, max_size=9), min_size=1, max_size=12), st.integers(1, 40))
def test_columns_that_haplotypes_share_are_computed_once(haplotypes: list[str], reads: int) -> None:
    """A tree's edges are the distinct prefixes of its haplotypes, each after the one it continues from."""
    texts, offsets = codes("".join(haplotypes)), ends(haplotypes)
    tasks = np.array([(read, h) for read in range(reads) for h in range(len(haplotypes))], np.int32)
    order: ScoringOrder = scoring_order(tasks, np.full(len(tasks), 30), texts, offsets)
    scored = [order.first_tasks + h for h in range(len(haplotypes))]
    assert sorted(np.concatenate(scored).tolist()) == list(range(len(tasks)))
    assert order.group_offsets[-1] == reads
    assert 1 <= np.diff(order.group_offsets).min() <= np.diff(order.group_offsets).max() <= LANES
    assert set(order.trees.tolist()) == {0}
    kept, computed, answered = {0: ""}, [], []
    for edge in order.edges.view(np.recarray):
        text = haplotypes[edge.haplotype]
        assert kept[edge.source] == text[: edge.begin]
        computed += [text[:j] for j in range(edge.begin + 1, edge.end + 1)]
        if edge.target != NOWHERE:
            assert edge.target < order.levels
            kept[edge.target] = text[: edge.end]
        if edge.answer != NOWHERE:
            assert haplotypes[edge.answer] == text[: edge.end]
            answered.append(edge.answer)
    assert sorted(computed) == sorted({text[:j] for text in haplotypes for j in range(1, len(text) + 1)})
    assert sorted(answered) == list(range(len(haplotypes)))

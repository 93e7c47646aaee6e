"""PairHMM on a card against the float64 oracle, and against the recurrence bit for bit."""

import math
from dataclasses import replace

import numpy as np
import pytest
from quire.algorithms.pairhmm import PairHmmBatch, items_gpu
from quire.algorithms.pairhmm import gpu as pairhmm_gpu
from quire.algorithms.pairhmm.gpu import SOURCE as LOGARITHMS
from quire.algorithms.pairhmm.gpu import log10_likelihoods
from quire.algorithms.pairhmm.items_gpu import (
    FLOAT32,
    FLOAT64,
    SHAPES,
    SOURCE,
    STREAMS,
    ReadShape,
    score_items,
    sums_of,
)
from quire.algorithms.pairhmm.model import FLOAT32_FLOOR, SCALE_EXPONENT, log10_of_sums, needs_float64
from quire.device.card import OutOfDeviceMemory
from quire.device.compiler import read_source

from bench.pairhmm_regions import join_batches, read_regions, upload
from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles import pairhmm as oracle
from tests.support.examples import some
from tests.support.pairhmm_cases import LEAST_OF_FLOAT64, VECTORS, model_sums, region_of


def assert_close(answers: np.ndarray, batch: PairHmmBatch) -> None:
    """Check the worst case of float32: a path takes a step per base of both sequences; a step rounds seven times."""
    expected = oracle.log10_likelihoods(batch)
    rows = np.diff(batch.read_offsets)[batch.tasks[:, 0]]
    columns = np.diff(batch.haplotype_offsets)[batch.tasks[:, 1]]
    held = expected > LEAST_OF_FLOAT64
    assert np.all(answers[~held] < LEAST_OF_FLOAT64 + 1)
    bound = 7 * (rows + columns) * 2.0**-24 / math.log(10)
    assert np.all(np.abs(answers[held] - expected[held]) <= bound[held])


def check(card, batch: PairHmmBatch) -> np.ndarray:
    """Compare likelihoods, in items of many tasks, with the oracle, and with the recurrence where float32 holds them.

    Returns:
        int64[n]: the tasks that float32 does not hold.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items_gpu, "_item_words", lambda _card, _shapes, _dtype, words, most: 0 * words[1:] + most)
        answers = log10_likelihoods(card, batch)
    sums = model_sums(batch)
    expected = log10_of_sums(sums, SCALE_EXPONENT[FLOAT32], np.diff(batch.haplotype_offsets)[batch.tasks[:, 1]])
    again = needs_float64(sums)
    np.testing.assert_array_equal(answers[~again], expected[~again])
    assert_close(answers, batch)
    np.testing.assert_array_equal(log10_likelihoods(card, batch), answers)
    return np.flatnonzero(again)


@pytest.mark.parametrize("seed", some(2, range(4)))
def test_random_regions(card, seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters, continuation = int(rng.choice([1, 2, 4, 5])), int(rng.choice([1, 10, 10, 40]))
    check(card, region_of(rng, rng.integers(1, 40, 5), rng.integers(1, 40, 6), letters, continuation=continuation))


@pytest.mark.parametrize("limits", [(0, 3), (0, 94), (90, 256)])
def test_extreme_qualities(card, limits: tuple[int, int]) -> None:
    rng = np.random.default_rng(limits)
    check(card, region_of(rng, [1, 2, 9, 17], [1, 3, 11, 20], qualities=limits))


def test_lengths_of_one(card) -> None:
    rng = np.random.default_rng(0)
    check(card, region_of(rng, [1] * 9, [1, 1, 1], letters=2))
    check(card, region_of(rng, [1], [1]))
    check(card, region_of(rng, [1, 50], [1, 2, 3, 4, 5, 6, 7, 8, 9]))


@pytest.mark.parametrize("around", some(2, [shape.capacity for shape in SHAPES[FLOAT32][:9:2]]))
def test_reads_at_the_border_of_a_shape(card, around: int) -> None:
    rng = np.random.default_rng(around)
    check(card, region_of(rng, [around - 1, around, around + 1], [5, 12]))


@pytest.mark.full
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_shapes_and_strips_of_any_read(card, lanes: int, dtype: np.dtype) -> None:
    """Every number of lanes, and reads with several strips, give the same sums."""
    rng = np.random.default_rng(lanes)
    batch = region_of(rng, [1, lanes, 2 * lanes, 5 * lanes + 1], [1, 7, 8, 9, 30])
    uploaded, tasks = upload(card, batch), card.upload(batch.tasks)
    expected = card.download(sums_of(card, uploaded, tasks, dtype))
    for shape in (ReadShape(lanes, 2, strips=lanes == 32), ReadShape(lanes, 7, strips=lanes == 32)):
        shapes = (shape, ReadShape(32, 7, strips=True))
        found = card.download(score_items(card, uploaded, tasks, dtype, 1 << 12, shapes))
        np.testing.assert_array_equal(found, expected)


def unlikely(letters: np.ndarray | None = None) -> PairHmmBatch:
    """Return a read of which half fits one haplotype and nothing fits the other, forty times."""
    rng = np.random.default_rng(3)
    batch = region_of(rng, [76], [90, 90], letters=1, qualities=(40, 41))
    haplotypes = batch.haplotype_bases.copy()
    haplotypes[:90] = 1
    haplotypes[90 + 40 :] = 1
    return replace(batch, haplotype_bases=haplotypes, tasks=np.tile(batch.tasks, (40, 1)))


@pytest.mark.full
def test_a_second_look_in_float64(card) -> None:
    batch = unlikely()
    again = check(card, batch)
    np.testing.assert_array_equal(again, np.arange(0, 80, 2))


def overflowing() -> PairHmmBatch:
    """Return a batch in which free gaps let float32 overflow, with other haplotypes in the same stream."""
    batch = region_of(np.random.default_rng(5), [44, 30], [40, 1, 1, 40, 2, 1], letters=1, qualities=(0, 1))
    return replace(batch, base_qualities=np.full(len(batch.base_qualities), 40, np.uint8))


def test_an_overflow_harms_none_of_its_neighbours(card) -> None:
    batch = overflowing()
    again = check(card, batch)
    assert not np.isfinite(model_sums(batch)).all()
    assert 0 < len(again) < len(batch.tasks)


def test_subnormal_numbers_are_zeros(card) -> None:
    """Sums of these reads are valid in float32 only without subnormal numbers, or not at all."""
    rng = np.random.default_rng(11)
    batch = region_of(rng, [60, 62, 64, 66, 68], [12, 13], letters=1, qualities=(40, 41))
    batch = replace(batch, read_bases=np.where(rng.random(len(batch.read_bases)) < 0.5, 0, 1).astype(np.uint8))
    check(card, batch)
    kept = model_sums(batch, flush=False)
    assert (kept != model_sums(batch)).any()


def test_order_and_company_do_not_matter(card) -> None:
    rng = np.random.default_rng(9)
    parts = [region_of(rng, rng.integers(1, 60, 4), rng.integers(1, 30, 4)) for _ in range(3)]
    together = join_batches(parts)
    answers = log10_likelihoods(card, together)
    np.testing.assert_array_equal(answers, np.concatenate([log10_likelihoods(card, part) for part in parts]))
    chosen = rng.permutation(len(together.tasks))[:31]
    np.testing.assert_array_equal(
        log10_likelihoods(card, replace(together, tasks=together.tasks[chosen])), answers[chosen]
    )


def test_no_tasks(card) -> None:
    batch = region_of(np.random.default_rng(0), [3], [3])
    assert log10_likelihoods(card, replace(batch, tasks=batch.tasks[:0])).shape == (0,)


def test_published_values(card) -> None:
    batch = join_batches(read_regions(VECTORS / "tiny.in"))
    expected = np.loadtxt(VECTORS / "tiny.expected_gatk_model_log10.txt")
    chosen = np.arange(0, len(batch.tasks), 5)
    answers = log10_likelihoods(card, replace(batch, tasks=batch.tasks[chosen]))
    assert np.abs(answers - expected[chosen]).max() < 6e-6


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64])
def test_logarithms_at_every_border(card, dtype: np.dtype) -> None:
    """Zero, subnormal and normal numbers, powers of two, mantissas around sqrt(1/2), overflow: the host's bits."""
    rng = np.random.default_rng(1)
    limits = np.finfo(dtype)
    powers = np.exp2(rng.integers(limits.minexp, limits.maxexp, 200).astype(np.float64))
    borders = np.array([0.5**0.5, 2**0.5, 1.0, float(FLOAT32_FLOOR), float(limits.smallest_normal)])
    values = np.concatenate([powers, powers * rng.random(200), borders]).astype(dtype)
    special = np.array([0, np.inf, np.nan, limits.smallest_subnormal, limits.smallest_normal, limits.max], dtype)
    sums = np.concatenate([special, np.nextafter(values, dtype.type(0)), values, np.nextafter(values, dtype.type(9))])
    lengths = rng.integers(1, 40, len(sums))
    batch = region_of(rng, [1], lengths)
    uploaded, tasks = upload(card, batch), card.upload(batch.tasks)
    tables = pairhmm_gpu.upload_logarithms(card, batch)
    answers, unsure = card.empty(len(sums), np.float64), card.full(len(sums), 7, np.uint8)
    places = card.upload(np.arange(len(sums), dtype=np.int64))
    pairhmm_gpu.take_logarithms(card, uploaded, tasks, card.upload(sums), places, tables,
                                pairhmm_gpu.Answers(answers, unsure))  # fmt: skip
    expected = log10_of_sums(sums, SCALE_EXPONENT[dtype], lengths)
    np.testing.assert_array_equal(card.download(answers).view(np.int64), expected.view(np.int64))
    if dtype == FLOAT32:
        overflown = ~(sums < np.inf)
        np.testing.assert_array_equal(card.download(unsure), np.where(overflown, 2, needs_float64(sums)))


@pytest.mark.full
@needs_compiler
def test_a_full_card_takes_smaller_chunks() -> None:
    batch = unlikely()
    expected = log10_likelihoods(EmulatedCard(), batch)
    for number in range(15, 62, 7):
        card = EmulatedCard()
        card.fail_allocation(number)
        np.testing.assert_array_equal(log10_likelihoods(card, batch), expected)
    np.testing.assert_array_equal(log10_likelihoods(EmulatedCard(memory=830_000), batch), expected)
    with pytest.raises(OutOfDeviceMemory):
        log10_likelihoods(EmulatedCard(memory=790_000), batch)


@pytest.mark.parametrize("together", some(1, [True, False]))
def test_slices_with_several_threads(card, together: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice uploads the reads of its tasks, or all reads if the tasks are in any order."""
    rng = np.random.default_rng(4)
    batch = region_of(rng, rng.integers(1, 50, 12), rng.integers(1, 30, 4))
    if not together:
        batch = replace(batch, tasks=rng.permutation(batch.tasks))
    expected = log10_likelihoods(card, batch)
    monkeypatch.setattr(pairhmm_gpu, "TASKS_PER_SLICE", 9)
    np.testing.assert_array_equal(log10_likelihoods(card, batch, threads=3), expected)
    check(card, batch)


def slices_of_all_kinds() -> PairHmmBatch:
    """Return many reads with few tasks each; some need the second pass and some overflow."""
    few = unlikely()
    parts = [replace(few, tasks=few.tasks[:3]), overflowing(), mixed_region()]
    return join_batches([replace(part, tasks=part.tasks[:12]) for part in parts] * 3)


@pytest.mark.full
def test_slices_have_the_answers_of_the_whole(card, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = slices_of_all_kinds()
    expected = log10_likelihoods(card, batch)
    monkeypatch.setattr(pairhmm_gpu, "TASKS_PER_SLICE", 13)
    assert len(check(card, batch)) > 3
    np.testing.assert_array_equal(log10_likelihoods(card, batch, threads=2), expected)


@pytest.mark.full
@needs_compiler
def test_a_card_that_is_full_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = slices_of_all_kinds()
    expected = log10_likelihoods(EmulatedCard(), batch)
    monkeypatch.setattr(pairhmm_gpu, "TASKS_PER_SLICE", 13)
    for number in range(15, 215, 20):
        card = EmulatedCard()
        card.fail_allocation(number)
        np.testing.assert_array_equal(log10_likelihoods(card, batch, threads=2), expected)


def test_a_shape_says_what_it_holds() -> None:
    shape = ReadShape(8, 19)
    assert shape.capacity == 152
    assert shape.shared_bytes(FLOAT32) == 5 * 6 * 512
    assert shape.shared_bytes(FLOAT64) == 10 * 6 * 512
    for dtype, shapes in SHAPES.items():
        capacities = [shape.capacity for shape in shapes[:-1]]
        assert capacities == sorted(capacities)
        assert [shape.strips for shape in shapes] == [False] * (len(shapes) - 1) + [True]
        assert SCALE_EXPONENT[dtype] > 0


MISTAKES = [
    (SOURCE, "                rows.end_haplotype();\n", ""),
    (SOURCE, "                    total = 0;\n", ""),
    (SOURCE, "if (own == 0) match = inserted = start;", ""),
    (SOURCE, "shift = 8 * (delay % 4)", "shift = 0"),
    (SOURCE, "Row result = {0, -c,", "Row result = {0, c,"),
    (SOURCE, "reads.deletion_qualities[base - 1]", "reads.deletion_qualities[base]"),
    (SOURCE, "inserted = __shfl_up_sync(EVERY_LANE, inserted, 1, LANES)",
     "inserted = __shfl_up_sync(EVERY_LANE, inserted, 2, LANES)"),
    (LOGARITHMS, "unsure[task] = !(sum < infinity) ? 2 : !(sum >= least)", "unsure[task] = !(sum >= 0)"),
    (LOGARITHMS, "logarithms.of_lengths[length - 1]", "logarithms.of_lengths[0]"),
    (LOGARITHMS, "i64 task = places[i];", "i64 task = i;"),
    (STREAMS, "columns + BLANKS +", "columns + 1 +"),
    (STREAMS, "task == 0 || tasks.read(task) != tasks.read(task - 1)", "task == 0"),
    (STREAMS, "min((u32)bases[column], LETTER_N)", "bases[column] % LETTER_N"),
]  # fmt: skip


@pytest.mark.full
@needs_compiler
@pytest.mark.parametrize(("source", "sound", "broken"), MISTAKES)
def test_a_mistake_shows(source: str, sound: str, broken: str) -> None:
    text = read_source(source)[0]
    assert text.count(sound) == 1
    batch = unlikely() if source == LOGARITHMS else mixed_region()
    with pytest.raises(AssertionError):
        check(EmulatedCard(texts={source: text.replace(sound, broken)}), batch)


def test_a_mixed_region(card) -> None:
    check(card, mixed_region())


def mixed_region() -> PairHmmBatch:
    """Return a batch that shows all the mistakes: streams of several haplotypes, reads of several lanes, N."""
    return region_of(np.random.default_rng(6), [30, 31, 61, 100], [21, 22, 23, 24], qualities=(20, 42))

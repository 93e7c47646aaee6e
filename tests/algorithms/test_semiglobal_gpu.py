"""Tests of GATK's aligner on a card, some on the CPU too, against the oracle and GKL's alignments of real pairs."""

import numpy as np
import pytest
from quire.algorithms.scoring import DANGLING_END, HAPLOTYPE_TO_REFERENCE, Scoring
from quire.algorithms.semiglobal import SemiglobalBatch, gpu
from quire.algorithms.semiglobal.gpu import EXACT, SOURCE, TRACE, fits_in_pairs
from quire.algorithms.semiglobal.shapes import SHAPES, FillShape
from quire.device.card import OutOfDeviceMemory
from quire.device.compiler import read_source

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles.semiglobal import Overhang
from tests.support.card_builders import twin
from tests.support.examples import some
from tests.support.semiglobal_cases import SCORINGS, Pair, as_text, batch_of, edited_pairs, expected_of, real_pairs

LINEAR = Scoring(3, -1, -4, -4)
WIDEST_PAIRS = Scoring(200, -312, -312, -1)
# Shapes so small that short sequences, which the oracle can align, fill several and need strips.
SMALL = (FillShape(4, 2, 8), FillShape(8, 3, 8), FillShape(16, 2, 8), FillShape(4, 5, 8, strips=True))


def run(card, batch: SemiglobalBatch, scoring: Scoring) -> list[tuple[int, str]]:
    """Return the answers of a card or of the CPU."""
    return as_text(twin(card, "quire.algorithms.semiglobal", "align")(batch, scoring))


def check(card, pairs: list[Pair], scoring: Scoring) -> None:
    assert run(card, batch_of(pairs), scoring) == expected_of(pairs, scoring)


@pytest.fixture
def small_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SHAPES", SMALL)


@pytest.mark.full
@pytest.mark.parametrize("scoring", [*SCORINGS, LINEAR, WIDEST_PAIRS])
def test_edited_pairs(card, scoring: Scoring) -> None:
    random = np.random.default_rng(abs(sum(scoring)))
    check(card, edited_pairs(random, 21, (1, 40)), scoring)


@pytest.mark.full
@pytest.mark.usefixtures("small_shapes")
@pytest.mark.parametrize("scoring", [HAPLOTYPE_TO_REFERENCE, LINEAR, WIDEST_PAIRS])
def test_small_shapes_and_strips(card, scoring: Scoring) -> None:
    random = np.random.default_rng(abs(sum(scoring)))
    check(card, edited_pairs(random, 13, (20, 70), gap=9), scoring)
    check(card, edited_pairs(random, 13, (1, 70), b"AC", gap=9), scoring)


@pytest.mark.parametrize("letters", some(2, [b"AC", bytes(range(249, 256)), b"A", bytes(range(7))]))
def test_ties_and_alphabets(card_or_cpu, letters: bytes) -> None:
    random = np.random.default_rng(len(letters))
    pairs = edited_pairs(random, 12, (1, 30), letters)
    check(card_or_cpu, pairs + [(b, a) for a, b in pairs], Scoring(3, -1, -4, -3))


def test_lengths_of_one(card_or_cpu) -> None:
    pairs = [
        (b"A", b"A"),
        (b"A", b"C"),
        (b"A", b"AC"),
        (b"A", b"CCCCA"),
        (b"AC", b"C"),
        (b"GGGGC", b"A"),
        (b"NNN", b"N"),
    ]
    check(card_or_cpu, pairs, DANGLING_END)
    for pair in pairs:
        check(card_or_cpu, [pair], DANGLING_END)


def test_unrelated_lengths(card_or_cpu) -> None:
    """A short reference with a long alternate, and the reverse, share one warp."""
    random = np.random.default_rng(5)
    sequences = [bytes(random.choice(list(b"ACGT"), length).tolist()) for length in (1, 3, 17, 31, 32, 33, 60)]
    check(card_or_cpu, [(a, b) for a in sequences for b in sequences[::2]], HAPLOTYPE_TO_REFERENCE)


def test_exact_occurrences(card_or_cpu) -> None:
    """The last exact occurrence is chosen, wherever it is; other tasks of the batch are aligned."""
    random = np.random.default_rng(1)
    long = bytes(random.choice(list(b"ACGT"), 100).tolist())
    pairs = [
        (b"ACGTTACGT", b"ACGT"),
        (long, long),
        (b"A" * 90, b"A" * 7),
        (b"AAC" * 30, b"AAC"),
        (b"ACC" + b"G" * 70, b"ACC"),
    ]
    pairs += [(long, long[start : start + 9]) for start in (0, 1, 58, 59, 60, 90)] + [(long[:20], b"ACGTACGTA")]
    check(card_or_cpu, pairs, HAPLOTYPE_TO_REFERENCE)
    check(card_or_cpu, pairs[:3], HAPLOTYPE_TO_REFERENCE)


@pytest.mark.full
def test_real_pairs(card) -> None:
    """Alignments equal GKL's for every parameter set, with several of the real shapes."""
    for (scoring, overhang), cases in real_pairs().items():
        if overhang != Overhang.SOFTCLIP:
            continue
        cases = cases[::12] if isinstance(card, EmulatedCard) else cases
        answers = run(card, batch_of([pair for pair, _ in cases]), scoring)
        assert answers == [answer for _, answer in cases]


@pytest.mark.full
def test_long_identical_ends(card) -> None:
    """A known edit is found in alternates at the limits of the real shapes, and beyond a strip."""
    random = np.random.default_rng(2)
    capacities = [SHAPES[0].capacity, SHAPES[-2].capacity, SHAPES[-1].capacity * 2]
    pairs, expected = [], []
    for length in [capacity + more for capacity in capacities for more in (0, 1)]:
        alternate = random.choice(list(b"CGT"), length).tolist()
        reference = alternate[:15] + [ord("A")] * 6 + alternate[15:]
        pairs.append((bytes(reference), bytes(alternate)))
        expected.append((0, f"15M6D{length - 15}M"))
    assert run(card, batch_of(pairs), HAPLOTYPE_TO_REFERENCE) == expected


def test_order_and_company_do_not_matter(card_or_cpu) -> None:
    random = np.random.default_rng(9)
    batch = batch_of(edited_pairs(random, 30, (1, 40)))
    tasks = random.integers(0, 30, (70, 2)).astype(np.int32)
    together = run(card_or_cpu, batch._replace(tasks=tasks), DANGLING_END)
    order = random.permutation(70)
    answers = run(card_or_cpu, batch._replace(tasks=tasks[order]), DANGLING_END)
    assert answers == [together[task] for task in order]
    for task in (0, 31):
        assert run(card_or_cpu, batch._replace(tasks=tasks[task : task + 1]), DANGLING_END) == [together[task]]


def test_no_tasks(card_or_cpu) -> None:
    batch = batch_of([(b"A", b"A")])._replace(tasks=np.empty((0, 2), np.int32))
    answers = twin(card_or_cpu, "quire.algorithms.semiglobal", "align")(batch, DANGLING_END)
    assert (len(answers.offsets), len(answers.cigars), answers.cigar_offsets.tolist()) == (0, 0, [0])


@pytest.mark.parametrize("scoring", [Scoring(0, -1, -2, -1), Scoring(1, -1, 0, -1), Scoring(1, -1, -2, 0),
                                     Scoring(2000, -1500, -2600, -110)])  # fmt: skip
def test_scores_that_it_does_not_take(scoring: Scoring) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        gpu.align(EmulatedCard(), batch_of([(b"A", b"A")]), scoring)


def test_letters_that_it_does_not_take(card) -> None:
    with pytest.raises(ValueError, match="7 different letters"):
        gpu.align(card, batch_of([(bytes(range(8)), b"A")]), DANGLING_END)


@pytest.mark.full
@needs_compiler
def test_a_full_card_takes_smaller_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_of(edited_pairs(np.random.default_rng(3), 40, (1, 60)))
    expected = as_text(gpu.align(EmulatedCard(), batch, DANGLING_END))
    for number in range(9, 60, 5):
        card = EmulatedCard()
        card.fail_allocation(number)
        assert as_text(gpu.align(card, batch, DANGLING_END)) == expected
    assert as_text(gpu.align(EmulatedCard(memory=100_000), batch, DANGLING_END)) == expected
    with pytest.raises(OutOfDeviceMemory):
        gpu.align(EmulatedCard(memory=30_000), batch, DANGLING_END)
    monkeypatch.setattr(gpu, "MOST_BYTES", 20_000)
    assert as_text(gpu.align(EmulatedCard(), batch, DANGLING_END)) == expected


def test_scores_that_fit_in_16_bits() -> None:
    assert all(fits_in_pairs(scoring) for scoring in [*SCORINGS, LINEAR, WIDEST_PAIRS])
    wrong = [Scoring(3, 0, -1, -4), Scoring(200, -313, -10, -1), Scoring(200, -1, -313, -1)]
    assert not any(fits_in_pairs(scoring) for scoring in wrong)


def test_shapes_are_in_order() -> None:
    capacities = [shape.capacity for shape in SHAPES[:-1]]
    assert capacities == sorted(capacities)
    assert [shape.strips for shape in SHAPES] == [False] * (len(SHAPES) - 1) + [True]


CELLS = "quire/algorithms/semiglobal/cells.cuh"
MISTAKES = [
    (SOURCE, "if (STRIPS && strip > 0) down = side[row], insertion = side_insertion[row];", ""),
    (SOURCE, "padding ? terms.free : terms.mismatch", "terms.mismatch"),
    (SOURCE, "insertion | LONGER_INSERTION * EVERY_TASK", "insertion"),
    (SOURCE, "deletion[k] | LONGER_DELETION * EVERY_TASK", "deletion[k]"),
    (SOURCE, "across[k] = score - left;", "across[k] = score - down;"),
    (SOURCE, "row == references[half].length - 1", "row == rows - 1"),
    (SOURCE, "letters[min(max(row, 0)", "letters[min(max(row - 1, 0)"),
    (CELLS, "16 * (open - extend) + (i32)BY_INSERTION)", "16 * (open - extend))"),
    (CELLS, "+ 16 * (i32)scores.mismatch + 15", "+ 16 * (i32)scores.mismatch"),
    (TRACE, "score >= best", "score > best"),
    (TRACE, "abs(rows - column) < abs(end_row - end_column)", "abs(rows - column) <= abs(end_row - end_column)"),
    (TRACE, "bits & LONGER_DELETION; run++", "false; run++"),
    (TRACE, "if (end - begin <= KEPT)", "if (end - begin <= KEPT + 1)"),
    (EXACT, "__ffs((int)fits) - 1", "__ffs((int)fits)"),
]  # fmt: skip


@pytest.mark.full
@needs_compiler
@pytest.mark.usefixtures("small_shapes")
@pytest.mark.parametrize(("source", "sound", "broken"), MISTAKES)
def test_a_mistake_shows(source: str, sound: str, broken: str) -> None:
    text, headers = read_source(SOURCE if source == CELLS else source)
    if source == CELLS:
        source, text = SOURCE, text.replace(f'#include "{CELLS}"', headers[CELLS].replace("#pragma once", ""))
    assert text.count(sound) == 1
    with pytest.raises(AssertionError):
        check_all(EmulatedCard(texts={source: text.replace(sound, broken)}))


@pytest.mark.full
@pytest.mark.usefixtures("small_shapes")
def test_a_mixture(card) -> None:
    check_all(card)


def check_all(card) -> None:
    """Run the tests that the mistakes must fail."""
    random = np.random.default_rng(8)
    pairs = edited_pairs(random, 24, (1, 60), b"AC", gap=7) + edited_pairs(random, 8, (20, 60), gap=7)
    many_edits = (b"ACGTTGCA" * 8, b"".join(b"ACGTTGCA"[k % 3 :] for k in range(8)))
    bases = b"ACGTTGCAACCATGGTCATTCGACTAGGCATACGTCCTGAAGTACCGATTGCAG"
    nine_elements = (bases, bases[:10] + bases[11:21] + bases[22:32] + bases[33:43] + bases[44:])  # one more than KEPT
    for scoring in (Scoring(10, -15, -30, -5), Scoring(3, -1, -4, -3)):
        check(card, [*pairs, many_edits, nine_elements], scoring)
    # Of two equal ends in the last row that are equally far from the main diagonal, the first is chosen.
    check(card, [(b"GA", b"ATAT")], Scoring(3, 0, -4, -3))

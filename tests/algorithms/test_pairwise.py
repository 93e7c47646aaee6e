"""Tests of pairwise alignment on the CPU against the oracle, parasail, and the score of its own CIGAR."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import parasail
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairwise import Mode, Pair, PairwiseAlignment, cpu, joined, pair_of
from quire.algorithms.pairwise.cpu import align, tiling_for
from quire.algorithms.pairwise.layout_cpu import Tiling, matrix_of
from quire.algorithms.pairwise.tiles_cpu import sweep_tiles
from quire.algorithms.scoring import BWA_MEM, HAPLOTYPE_TO_REFERENCE, Scoring
from quire.sequence.codes import code_table

from tests.oracles import pairwise as oracle
from tests.support.examples import examples
from tests.support.pairwise_cases import SCORINGS, as_oracle, pair, pairs, rescored

GENOME = Path(__file__).resolve().parents[1] / "data" / "chr22_40kb" / "genome.fa.gz"


@settings(max_examples=examples(150), deadline=None)
@given(
    pairs(longest=90), st.sampled_from([(1, 2), (7, 4), (32, 32), (33, 10), (64, 200)]),
    st.integers(1, 2), st.booleans(),
)  # fmt: skip
def test_matches_oracle(pair: Pair, shape: tuple[int, int], threads: int, at_corner: bool) -> None:
    tiling = Tiling(max(1, len(pair.query)), max(1, len(pair.target)), *shape)
    alignment = align(pair, threads, tiling, at_corner=at_corner)
    assert as_oracle(alignment) == oracle.align(pair, at_corner)
    assert rescored(pair, as_oracle(alignment)) == alignment.score


@settings(max_examples=examples(150), deadline=None)
@given(pairs(longest=150), st.booleans())
def test_usual_tiles_match_oracle(pair: Pair, at_corner: bool) -> None:
    assert as_oracle(align(pair, at_corner=at_corner)) == oracle.align(pair, at_corner)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("swapped", [False, True])
def test_a_gap_along_a_border_and_over_another(mode: Mode, swapped: bool) -> None:
    """A deletion in a tile's last row begins in the tile on the left, and an insertion is in its last column."""
    letters = np.random.default_rng(5)
    same, behind, before, gap = (letters.integers(0, 4, size).astype(np.uint8) for size in (64, 40, 50, 30))
    sequences = [np.concatenate([same, behind]), np.concatenate([before, same, gap, behind])]
    given_pair = Pair(*(sequences[::-1] if swapped else sequences), BWA_MEM, mode)
    expected = oracle.align(given_pair)
    for columns in range(116, 144, 2):
        sizes = (columns, 64) if swapped else (64, columns)
        tiling = Tiling(len(given_pair.query), len(given_pair.target), *sizes)
        assert as_oracle(align(given_pair, tiling=tiling)) == expected


@settings(max_examples=examples(80), deadline=None)
@given(pairs(longest=120), st.integers(10, 120), st.sampled_from([(200, 200), (40, 60)]))
def test_scores_around_what_16_bits_hold(given_pair: Pair, scale: int, shape: tuple[int, int]) -> None:
    """Some tiles fit 16 bits, others do not, and some scores come close to the limits."""
    scoring = Scoring(*(scale * score for score in given_pair.scoring))
    scaled = Pair(given_pair.query, given_pair.target, scoring, given_pair.mode)
    tiling = Tiling(max(1, len(scaled.query)), max(1, len(scaled.target)), *shape)
    assert as_oracle(align(scaled, tiling=tiling)) == oracle.align(scaled)


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(1, -1, -2, -1), Scoring(3, -9, -15, -2)])
@pytest.mark.parametrize("letters", [2, 4, 5])
def test_tiles_in_bytes_are_as_others(letters: int, scoring: Scoring) -> None:
    """Paths cross tiles, scores fit in bytes or not, and several ends have the same score."""
    random = np.random.default_rng(letters)
    for piece in (0, 12, 30, 200, 230):
        query, target = (random.integers(0, letters, size) for size in (1300, 900 + piece))
        for first, place in ((400, 500), (1000, 300), (600, 301)):
            same = random.integers(0, 4, piece)
            query[first : first + piece], target[place : place + piece] = same, same
        target = np.delete(target, slice(550, 553))
        check_sizes_of_tiles(pair(query.tolist(), target.tolist(), scoring, Mode.LOCAL))


def check_sizes_of_tiles(given_pair: Pair, *more: Tiling) -> PairwiseAlignment:
    """Align with tiles of several sizes, in which bytes or 16 bits hold the scores in different places.

    Twelve times the scores give the same path.
    """
    found = align(given_pair)
    assert rescored(given_pair, as_oracle(found)) == found.score
    rows, columns = len(given_pair.query), len(given_pair.target)
    for tiling in (Tiling(rows, columns, 300, 200), Tiling(rows, columns, 64, 128), *more):
        assert as_oracle(align(given_pair, tiling=tiling)) == as_oracle(found)
    twelve = Scoring(*(12 * int(score) for score in given_pair.scoring))  # bytes do not hold such a match
    larger = align(Pair(given_pair.query, given_pair.target, twelve, given_pair.mode))
    assert as_oracle(larger)[1:] == as_oracle(found)[1:]
    return found


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(10, -100, -60, -40), Scoring(3, -1, -1, -1)])
@pytest.mark.parametrize("above", range(-1, 4))
def test_scores_that_bytes_hold(above: int, scoring: Scoring) -> None:
    """Scores are one match above or below the largest byte, in one tile or over two."""
    most = 255 + min(scoring.mismatch, scoring.gap_open + scoring.gap_extend) - scoring.match
    length = most // scoring.match + above
    letters = np.random.default_rng(length).integers(0, 4, length).astype(np.uint8)
    given_pair = Pair(letters, np.append(letters, np.full(1000, 5, np.uint8)), scoring, Mode.LOCAL)
    expected = (length * scoring.match, 0, length, 0, length, [("M", length)])
    half = max(2, length // 2)
    found = check_sizes_of_tiles(given_pair, Tiling(length, len(given_pair.target), half, half + half % 2))
    assert as_oracle(found) == expected


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(1, -1, -2, -1), Scoring(3, -9, -15, -2), Scoring(5, -9, -12, -2)])
def test_scores_around_what_bytes_hold(scoring: Scoring) -> None:
    """The same with gaps, and with unrelated letters before and after."""
    random = np.random.default_rng(1)
    for score in range(225, 265, 2):
        bases = (score - 2 * scoring.gap_open - 6 * scoring.gap_extend) // scoring.match
        same = random.integers(0, 4, max(bases, 12)).astype(np.uint8)
        query, target = random.integers(0, 4, (2, 700)).astype(np.uint8)
        query[100 : 100 + len(same)] = same
        target[200 : 200 + len(same)] = same
        query, target = np.delete(query, slice(140, 144)), np.delete(target, slice(280, 282))
        check_sizes_of_tiles(Pair(query, target, scoring, Mode.LOCAL))


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("scoring", SCORINGS[:4])
@pytest.mark.parametrize("length", [300, 1100])
def test_half_alike_sequences(length: int, scoring: Scoring, rate: float) -> None:
    random = np.random.default_rng(length)
    target = random.integers(0, 4, length)
    change = random.random(length) < rate
    query = np.repeat(np.where(change, random.integers(0, 4, length), target), np.where(change, length % 3 + 1, 1))
    query = np.delete(query, np.flatnonzero(random.random(len(query)) < rate / 3))
    check_sizes_of_tiles(pair(query.tolist(), target.tolist(), scoring, Mode.LOCAL))


@pytest.mark.parametrize("runs", [[(0, 5)], [(0, 2), (2, 5)], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]])
def test_tiles_of_a_row_at_once(runs: list[tuple[int, int]]) -> None:
    """Borders and ends do not depend on how many tiles of a row are computed together."""
    random = np.random.default_rng(6)
    letters = random.integers(0, 4, 1000).astype(np.uint8)
    for mode in Mode:
        matrices = []
        for parts in (runs, [(0, 5)]):
            matrix = matrix_of(letters[100:700], letters, BWA_MEM, int(mode), 250, 200)
            for down in range(3):
                for first, last in parts:
                    sweep_tiles(matrix, down, first, last)
            matrices.append(matrix)
        np.testing.assert_array_equal(matrices[0].rows[1:, 0], matrices[1].rows[1:, 0])
        np.testing.assert_array_equal(matrices[0].columns[1:-1, 0], matrices[1].columns[1:-1, 0])
        assert matrices[0].ends[-1, -1].tolist() == matrices[1].ends[-1, -1].tolist()


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(("query", "target"), [("", ""), ("", "A"), ("A", ""), ("A", "A"), ("A", "C"), ("N", "N")])
def test_shortest(query: str, target: str, mode: Mode) -> None:
    pair = pair_of(codes(query), codes(target), BWA_MEM, mode)
    assert as_oracle(align(pair)) == oracle.align(pair)


def codes(text: str) -> np.ndarray:
    return code_table({}, 4)[np.frombuffer(text.encode(), np.uint8)]


@pytest.mark.parametrize("number", [np.int16, np.int32, np.int64, float])
def test_scores_of_any_type_of_number(number: Callable) -> None:
    bases = np.arange(60, dtype=np.uint8) % 4
    scoring = Scoring(*map(number, BWA_MEM))
    ours, usual = (align(Pair(bases, bases[5:], each, Mode.LOCAL)) for each in (scoring, BWA_MEM))
    assert (ours.score, ours.cigar.tolist()) == (usual.score, usual.cigar.tolist())
    assert ours.score == 55


def test_mismatches_that_cost_nothing() -> None:
    """A score that continues into the padding of a tile is not the tile's."""
    scored = pair([1, 0, 0, 0], [1], Scoring(1, 0, -3, -2), Mode.LOCAL)
    assert as_oracle(align(scored, tiling=Tiling(4, 1, 1, 2))) == oracle.align(scored)


def scores_that_need_32_bits() -> Pair:
    """Make a pair whose tiles need more than 16 bits, with a price larger than int16 tiles take."""
    random = np.random.default_rng(5)
    target = random.integers(0, 5, 300)
    query = np.delete(target, slice(100, 160))
    return pair(query.tolist(), target.tolist(), Scoring(900, -800, -2000, -60), Mode.GLOBAL)


def test_scores_that_need_32_bits() -> None:
    pair = scores_that_need_32_bits()
    assert as_oracle(align(pair, tiling=Tiling(240, 300, 100, 80))) == oracle.align(pair)


def random_pair(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return random.integers(0, 4, 1500), random.integers(0, 4, 1200)


def similar_pair(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    target = random.integers(0, 4, 6000)
    return edited(target, random), target


def repetitive_pair(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    target = np.tile(random.integers(0, 4, 7), 300)
    return edited(target, random)[: len(target) // 2], target


def pair_with_ambiguous_bases(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    target = random.integers(0, 4, 3000)
    target[1000:1300] = 4
    return np.where(random.random(3000) < 0.05, 4, target), target


def edited(codes: np.ndarray, random: np.random.Generator, rate: float = 0.01) -> np.ndarray:
    """Return a copy with edits at a rate: half substitutions, the others insertions and deletions of 1 to 20 bases."""
    pieces, at = [], 0
    for place in np.flatnonzero(random.random(len(codes)) < rate):
        if place < at:
            continue
        pieces.append(codes[at:place])
        kind, length = random.integers(4), int(random.integers(1, 21))
        pieces.append(random.integers(0, 4, 1 if kind < 2 else length if kind == 2 else 0).astype(codes.dtype))
        at = place + (1 if kind < 2 else 0 if kind == 2 else length)
    return np.concatenate([*pieces, codes[at:]])


FUNCTIONS = {Mode.LOCAL: parasail.sw_striped_32, Mode.GLOBAL: parasail.nw_scan_32, Mode.GLOCAL: parasail.sg_dx_scan_32}


def witness(pair: Pair) -> int:
    """Return parasail's score, with a matrix in which N (X in the target) matches nothing."""
    scoring = pair.scoring
    matrix = parasail.matrix_create("ACGTNX", scoring.match, scoring.mismatch)
    for letter in (4, 5):
        matrix[letter, letter] = scoring.mismatch
    query, target = ("".join("ACGTNX"[code] for code in sequence) for sequence in (pair.query, pair.target))
    return FUNCTIONS[pair.mode](query, target, -scoring.gap_open, -scoring.gap_extend, matrix).score


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scoring", [*SCORINGS[:4], HAPLOTYPE_TO_REFERENCE])
@pytest.mark.parametrize("make", [random_pair, similar_pair, repetitive_pair, pair_with_ambiguous_bases])
def test_scores_are_parasails(make: Callable, scoring: Scoring, mode: Mode) -> None:
    pair = pair_of(*(codes.astype(np.uint8) for codes in make(np.random.default_rng(7))), scoring, mode)
    answer = check(pair, align(pair))
    assert answer == witness(pair)


def check(pair: Pair, alignment: PairwiseAlignment) -> int:
    """Return the score of an alignment after checking it against its CIGAR."""
    score = rescored(pair, as_oracle(alignment))
    assert score == alignment.score
    return score


@pytest.fixture(scope="module")
def real() -> tuple[np.ndarray, np.ndarray]:
    """Return 20 kb of chr22 with 1 % edits, and unchanged."""
    with gzip.open(GENOME, "rt") as lines:
        target = codes("".join(line.strip() for line in lines if not line.startswith(">")))[:20000]
    return edited(target, np.random.default_rng(3)), target


@pytest.mark.parametrize("mode", Mode)
def test_real_sequence_in_any_tiles(real: tuple[np.ndarray, np.ndarray], mode: Mode) -> None:
    pair = pair_of(*real, BWA_MEM, mode)
    alone = align(pair)
    assert check(pair, alone) == witness(pair)
    for other in (align(pair, 2), align(pair, 3, Tiling(len(pair.query), len(pair.target), 4000, 3000))):
        assert as_oracle(other) == as_oracle(alone)


def test_less_memory_makes_larger_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    for budget in (1 << 30, 100 << 20, 20 << 20):
        monkeypatch.setattr(cpu, "MEMORY", budget)
        sizes.append(tiling_for(100_000, 100_000).tile_rows)
    assert sizes == [4096, 8192, 32768]
    assert tiling_for(10, 20) == Tiling(10, 20, 10, 20)


def test_an_error_in_one_thread_ends_all() -> None:
    pair = pair_of(codes("ACGT" * 50), codes("ACGT" * 50), BWA_MEM, Mode.LOCAL)

    def interrupt(cells: int) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        align(pair, 2, Tiling(200, 200, 20, 20), interrupt)


def test_progress_counts_every_cell() -> None:
    pair = pair_of(codes("ACGT" * 50), codes("ACGT" * 40), BWA_MEM, Mode.LOCAL)
    cells: list[int] = []
    align(pair, 2, Tiling(200, 160, 30, 10), cells.append)
    assert sum(cells) == 200 * 160


def test_refuses_tiles_of_odd_width() -> None:
    pair = pair_of(codes("ACGT"), codes("ACGT"), BWA_MEM, Mode.LOCAL)
    with pytest.raises(ValueError, match="multiple of 2"):
        align(pair, tiling=Tiling(4, 4, 4, 3))


def test_gaps_are_placed_as_far_left_as_they_can() -> None:
    answer = oracle.align(pair([0, 1, 1, 2], [0, 1, 1, 1, 1, 2], Scoring(2, -3, -3, -1), Mode.GLOBAL))
    assert answer[5] == [("M", 1), ("D", 2), ("M", 3)]


def test_of_equal_ends_the_first_on_the_target_counts() -> None:
    assert oracle.align(pair([0, 1, 2], [3, 0, 1, 2, 3, 0, 1, 2], BWA_MEM, Mode.LOCAL))[:5] == (3, 0, 3, 1, 4)
    assert oracle.align(pair([0, 1, 2], [3, 0, 1, 2, 3, 0, 1, 2], BWA_MEM, Mode.GLOCAL))[:5] == (3, 0, 3, 1, 4)


def test_ambiguous_bases_match_nothing() -> None:
    assert oracle.align(pair([4, 4], [4, 4], BWA_MEM, Mode.GLOBAL))[0] == 2 * BWA_MEM.mismatch


def test_joined_elements() -> None:
    parts = [np.array([16, 33], np.uint32), np.array([], np.uint32), np.array([17, 16], np.uint32)]
    assert joined(parts).tolist() == [16, 49, 16]


@pytest.mark.parametrize(
    "scoring", [Scoring(0, -1, -2, -1), Scoring(1, 1, -2, -1), Scoring(1, -1, -1, -2), Scoring(1, -1, -2, 0)]
)
def test_refuses_scores_of_the_wrong_sign(scoring: Scoring) -> None:
    with pytest.raises(ValueError, match="needs match > 0"):
        pair([0], [0], scoring, Mode.LOCAL)


def test_refuses_scores_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="32 bits"):
        pair([0], [0], Scoring(1 << 28, -1, -2, -1), Mode.LOCAL)

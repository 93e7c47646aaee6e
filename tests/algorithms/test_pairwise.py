"""One large optimal alignment on the CPU: against the oracle, against parasail, and by its own CIGAR."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import parasail
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairwise import (
    Memory,
    Mode,
    Pair,
    PairwiseAlignment,
    cpu_bytes,
    cpu_small,
    cpu_strips,
    oracle,
    pair_of,
)
from quire.algorithms.pairwise.cpu import align, tiling_for
from quire.algorithms.pairwise.tiling import Tiling
from quire.algorithms.scoring import BWA_MEM, HAPLOTYPE_TO_REFERENCE, Scoring
from quire.sequence.codes import code_table

from tests.support.pairwise_cases import SCORINGS, as_oracle, pair, pairs, rescored

GENOME = Path(__file__).resolve().parents[1] / "data" / "chr22_40kb" / "genome.fa.gz"


@settings(max_examples=150, deadline=None)
@given(
    pairs(longest=90), st.sampled_from([(1, 2), (7, 4), (32, 32), (33, 10), (64, 200)]),
    st.sampled_from([Memory.WHOLE, Memory.LINEAR]), st.booleans(),
)  # fmt: skip
def test_matches_oracle(pair: Pair, shape: tuple[int, int], memory: Memory, at_corner: bool) -> None:
    tiling = Tiling(max(1, len(pair.query)), max(1, len(pair.target)), *shape)
    alignment = align(pair, memory=memory, tiling=tiling, at_corner=at_corner)
    assert as_oracle(alignment) == oracle.align(pair, at_corner)


@pytest.mark.parametrize("memory", [Memory.WHOLE, Memory.LINEAR])
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("swapped", [False, True])
def test_a_gap_along_a_border_and_over_another(memory: Memory, mode: Mode, swapped: bool) -> None:
    """A deletion in a tile's last row that begins in the tile on the left, and an insertion in its last column."""
    letters = np.random.default_rng(5)
    same, behind, before, gap = (letters.integers(0, 4, size).astype(np.uint8) for size in (64, 40, 50, 30))
    sequences = [np.concatenate([same, behind]), np.concatenate([before, same, gap, behind])]
    given_pair = Pair(*(sequences[::-1] if swapped else sequences), BWA_MEM, mode)
    expected = oracle.align(given_pair)
    for columns in range(116, 144, 2):
        sizes = (columns, 64) if swapped else (64, columns)
        tiling = Tiling(len(given_pair.query), len(given_pair.target), *sizes)
        assert as_oracle(align(given_pair, memory=memory, tiling=tiling)) == expected


@settings(max_examples=80, deadline=None)
@given(pairs(longest=120), st.integers(10, 120), st.sampled_from([(200, 200), (40, 60)]))
def test_scores_around_what_16_bits_hold(given_pair: Pair, scale: int, shape: tuple[int, int]) -> None:
    """Some tiles fit, others do not, and some scores come close to the limits."""
    scoring = Scoring(*(scale * score for score in given_pair.scoring))
    scaled = Pair(given_pair.query, given_pair.target, scoring, given_pair.mode)
    tiling = Tiling(max(1, len(scaled.query)), max(1, len(scaled.target)), *shape)
    assert as_oracle(align(scaled, memory=Memory.LINEAR, tiling=tiling)) == oracle.align(scaled)


@settings(max_examples=150, deadline=None)
@given(pairs(longest=90), st.sampled_from(Memory), st.booleans())
def test_small_pairs_at_once(pair: Pair, memory: Memory, at_corner: bool) -> None:
    """In bytes, or as one tile."""
    assert as_oracle(align(pair, memory=memory, at_corner=at_corner)) == oracle.align(pair, at_corner)


@settings(max_examples=150, deadline=None)
@given(pairs(longest=90), st.sampled_from([1, 1, 40, 2000]))
def test_a_tile_finds_its_end_in_one_sweep(given_pair: Pair, scale: int) -> None:
    """Of many cells with the largest score the first, in 16 bits and in 32."""
    scaled = Scoring(*(scale * score for score in given_pair.scoring))
    local = Pair(given_pair.query, given_pair.target, scaled, Mode.LOCAL)
    if len(local.query) > 0 and len(local.target) > 0:
        found = cpu_small.align_tile(local.query, local.target, scaled, int(Mode.LOCAL), False)
        score, begin_row, end_row, begin_column, end_column, _ = oracle.align(local)
        assert found[:5] == (score, end_row, end_column, begin_row, begin_column)


@settings(max_examples=150, deadline=None)
@given(pairs(longest=150), st.sampled_from([0, 1 << 20]))
def test_strips_are_as_the_oracle(given_pair: Pair, least: int) -> None:
    """From bytes on, and in 16 bits from the beginning (`least` is more than bytes hold)."""
    local = Pair(given_pair.query, given_pair.target, given_pair.scoring, Mode.LOCAL)
    fits = cpu_bytes.fits_in_strips(len(local.query), len(local.target), local.scoring, least, 1 << 30)
    if len(local.query) > 0 and len(local.target) > 0 and fits:
        score, row, column, begin_row, begin_column, cigar = strips(local, 1 << 30, least)
        if score >= 0:
            runs = oracle.run_lengths([letter for x in cigar[::-1] for letter in "MID"[int(x) & 15] * (int(x) >> 4)])
            assert (score, begin_row, row, begin_column, column, runs) == oracle.align(local)


def strips(given_pair: Pair, room: int, least: int = 0) -> tuple[int, int, int, int, int, np.ndarray]:
    """What `cpu_bytes.align_strips` finds."""
    scoring = Scoring(*map(int, given_pair.scoring))
    return cpu_bytes.align_strips(given_pair.query, given_pair.target, scoring, least, room)


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(2, -3, -5, -2), Scoring(3, -7, -10, -2)])
@pytest.mark.parametrize("strips_kept", [1, 2, 64])
def test_rows_that_are_not_kept_are_computed_again(strips_kept: int, scoring: Scoring) -> None:
    """A path over several strips, of which only so many are kept; deletions longer than a block's margin."""
    random = np.random.default_rng(strips_kept)
    target = random.integers(0, 4, 9000).astype(np.uint8)
    query = np.delete(target, [*range(700, 760), *range(1500, 1512), *random.integers(0, 9000, 300)])
    query = np.insert(query, [300, 2000, *[2100] * 40], 1).astype(np.uint8)
    query[random.integers(0, len(query), 500)] ^= 1
    given_pair = Pair(query, target, scoring, Mode.LOCAL)
    columns = len(target) + 2 * cpu_strips.LANES
    room = columns * (6 * (10 + cpu_strips.LANES) + 4 * cpu_strips.LANES * (strips_kept - 1))
    kept = cpu_strips.strips_of(query, target, scoring, np.int16, room)
    assert len(kept.held) == min(strips_kept, len(kept.upper))
    assert len(kept.upper) > 2
    expected = align(given_pair, memory=Memory.WHOLE)
    score, row, column, begin_row, begin_column, cigar = strips(given_pair, room)
    assert (score, row, column) == (expected.score, expected.query_end, expected.target_end)
    assert (begin_row, begin_column) == (expected.query_begin, expected.target_begin)
    letters = [letter for x in cigar[::-1] for letter in "MID"[int(x) & 15] * (int(x) >> 4)]
    assert oracle.run_lengths(letters) == as_oracle(expected)[5]


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(1, -1, -2, -1), Scoring(3, -9, -15, -2)])
@pytest.mark.parametrize("letters", [2, 4, 5])
def test_bytes_are_as_tiles(letters: int, scoring: Scoring) -> None:
    """Paths across strips, scores that bytes hold or not, and ends of equal score."""
    random = np.random.default_rng(letters)
    swept = 0
    for piece in (0, 12, 30, 200, 230):
        query, target = (random.integers(0, letters, size) for size in (1300, 900 + piece))
        for first, place in ((400, 500), (1000, 300), (600, 301)):  # 400 to 600: over the end of a strip
            same = random.integers(0, 4, piece)
            query[first : first + piece], target[place : place + piece] = same, same
        target = np.delete(target, slice(550, 553))
        given_pair = pair(query.tolist(), target.tolist(), scoring, Mode.LOCAL)
        tiling = Tiling(len(query), len(target), 300, 200)
        found = align(given_pair, memory=Memory.LINEAR)
        assert as_oracle(found) == as_oracle(align(given_pair, memory=Memory.LINEAR, tiling=tiling))
        swept += strips(given_pair, 1 << 30)[0] == found.score
    assert swept == 5


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(10, -100, -60, -40), Scoring(3, -1, -1, -1)])
@pytest.mark.parametrize("above", [0, 1])
def test_scores_that_bytes_hold(above: int, scoring: Scoring) -> None:
    length = cpu_strips.largest_in_bytes(scoring) // scoring.match + above
    letters = np.random.default_rng(length).integers(0, 4, length).astype(np.uint8)
    given_pair = Pair(letters, np.append(letters, np.full(1000, 5, np.uint8)), scoring, Mode.LOCAL)
    kept = cpu_strips.strips_of(letters, given_pair.target, scoring, np.int8, 1 << 30)
    _, _, strip, _ = cpu_strips.sweep_bytes(kept, scoring, cpu_strips.work_of(kept))
    assert (strip == len(kept.upper)) == (above == 0)
    expected = (length * scoring.match, 0, length, 0, length, [("M", length)])
    assert as_oracle(align(given_pair)) == as_oracle(align(given_pair, memory=Memory.LINEAR)) == expected


@pytest.mark.parametrize("scoring", [BWA_MEM, Scoring(1, -1, -2, -1), Scoring(3, -9, -15, -2), Scoring(5, -9, -12, -2)])
@pytest.mark.parametrize("strip", [64, 2048])
def test_scores_around_what_bytes_hold(strip: int, scoring: Scoring) -> None:
    """The zero of bytes is lowered in the middle of a sweep, or it goes on in 16 bits; with gaps before and behind."""
    random = np.random.default_rng(strip)
    lowered, wider = 0, 0
    first = cpu_strips.HIGHEST - scoring.match - cpu_strips.first_zero(scoring)
    for more in range(-2, cpu_strips.largest_in_bytes(scoring) - first + 12):
        bases = (first + more * scoring.match - 2 * scoring.gap_open - 6 * scoring.gap_extend) // scoring.match
        same = random.integers(0, 4, max(bases, 12)).astype(np.uint8)
        query, target = random.integers(0, 4, (2, strip + 600)).astype(np.uint8)
        query[100 : 100 + len(same)] = same
        target[200 : 200 + len(same)] = same
        query, target = np.delete(query, slice(140, 144)), np.delete(target, slice(280, 282))
        tiling = Tiling(len(query), len(target), 200, 200)
        given_pair = Pair(query, target, scoring, Mode.LOCAL)
        expected = align(given_pair, memory=Memory.LINEAR, tiling=tiling)
        assert as_oracle(align(given_pair, memory=Memory.LINEAR)) == as_oracle(expected)
        assert strips(given_pair, 1 << 30)[0] == expected.score
        lowered += first < expected.score <= cpu_strips.largest_in_bytes(scoring)
        wider += expected.score > cpu_strips.largest_in_bytes(scoring)
    assert lowered > 0
    assert wider > 0


def test_bytes_after_a_largest_score_at_the_end_of_a_strip() -> None:
    """The last step of a strip finds more than sums may have; the next strip has scores between, not noted."""
    random, scoring = np.random.default_rng(7), Scoring(10, -3, -60, -40)
    matches = (cpu_strips.HIGHEST - cpu_strips.first_zero(scoring)) // scoring.match
    query, target = np.full(1100, 4, np.uint8), np.full(500, 5, np.uint8)
    tall = cpu_strips.strips_of(query, target, scoring, np.int8, 1 << 30).height * cpu_strips.LANES
    assert tall < len(query)
    query[tall - 1 - matches : tall - 1] = target[-matches:] = random.integers(0, 2, matches)
    query[tall + 50 : tall + 55 + matches] = target[100 : 105 + matches] = random.integers(2, 4, matches + 5)
    target[99 + matches] = 5
    given_pair = Pair(query, target, scoring, Mode.LOCAL)
    expected = align(given_pair, memory=Memory.LINEAR, tiling=Tiling(len(query), len(target), 200, 200))
    assert expected.score == (matches + 4) * scoring.match + scoring.mismatch
    assert strips(given_pair, 1 << 30)[0] == expected.score
    assert as_oracle(align(given_pair, memory=Memory.LINEAR)) == as_oracle(expected)


def test_bytes_that_hold_less_than_the_last_cell_has() -> None:
    """A lowered zero does not help where a score is above what sums may have then, too."""
    random, scoring = np.random.default_rng(8), Scoring(10, -1, -1, -1)
    query, target = np.full(640, 4, np.uint8), np.full(500, 5, np.uint8)
    query[:35] = target[:35] = random.integers(0, 4, 35)
    target[2:26:3] = target[1] = 5  # 26 matches, the last of which leads to 251
    query[-28:] = target[-28:] = random.integers(0, 4, 28)
    target[[-20, -10]] = 5  # 26 matches: 258, of 248 before
    given_pair = Pair(query, target, scoring, Mode.LOCAL)
    expected = align(given_pair, memory=Memory.LINEAR, tiling=Tiling(len(query), len(target), 200, 200))
    assert expected.score == 258
    kept = cpu_strips.strips_of(query, target, scoring, np.int8, 1 << 30)
    assert cpu_strips.sweep_bytes(kept, scoring, cpu_strips.work_of(kept))[2] < len(kept.upper)
    assert strips(given_pair, 1 << 30)[0] == expected.score
    assert as_oracle(align(given_pair, memory=Memory.LINEAR)) == as_oracle(expected)


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
    """A score that reaches what fills a tile up is none of the tile's."""
    scored = pair([1, 0, 0, 0], [1], Scoring(1, 0, -3, -2), Mode.LOCAL)
    for memory in (Memory.WHOLE, Memory.LINEAR):
        assert as_oracle(align(scored, memory=memory, tiling=Tiling(4, 1, 1, 2))) == oracle.align(scored)


def scores_that_need_32_bits() -> Pair:
    """Scores of which 16 bits do not hold those of a tile, and one that is larger than 16 bits of them may be."""
    random = np.random.default_rng(5)
    target = random.integers(0, 5, 300)
    query = np.delete(target, slice(100, 160))
    return pair(query.tolist(), target.tolist(), Scoring(900, -800, -2000, -60), Mode.GLOBAL)


def test_scores_that_need_32_bits() -> None:
    pair = scores_that_need_32_bits()
    for memory in (Memory.WHOLE, Memory.LINEAR):
        assert as_oracle(align(pair, memory=memory, tiling=Tiling(240, 300, 100, 80))) == oracle.align(pair)


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
    """A copy with substitutions at half of the rate, insertions and deletions of 1 to 20 bases at a quarter each."""
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
    """The score by parasail, with a matrix in which N (X in the target) matches nothing."""
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
    """The score of an alignment, whose CIGAR gives it again."""
    score = rescored(pair, as_oracle(alignment))
    assert score == alignment.score
    return score


@pytest.fixture(scope="module")
def real() -> tuple[np.ndarray, np.ndarray]:
    """20 kb of chr22 with 1 % edits, and the same as it is."""
    with gzip.open(GENOME, "rt") as lines:
        target = codes("".join(line.strip() for line in lines if not line.startswith(">")))[:20000]
    return edited(target, np.random.default_rng(3)), target


@pytest.mark.parametrize("mode", Mode)
def test_real_sequence_in_both_memories(real: tuple[np.ndarray, np.ndarray], mode: Mode) -> None:
    pair = pair_of(*real, BWA_MEM, mode)
    linear = align(pair, memory=Memory.LINEAR)
    assert check(pair, linear) == witness(pair)
    shape = Tiling(len(pair.query), len(pair.target), 4000, 3000)
    for other in (align(pair, memory=Memory.WHOLE), align(pair, 2), align(pair, 3, Memory.WHOLE, tiling=shape)):
        assert as_oracle(other) == as_oracle(linear)


def test_less_memory_makes_larger_tiles() -> None:
    sizes = [tiling_for(100_000, 100_000, budget).tile_rows for budget in (1 << 30, 100 << 20, 20 << 20)]
    assert sizes == [2048, 4096, 16384]
    assert tiling_for(10, 20, 1 << 30) == Tiling(10, 20, 10, 20)


def test_an_error_in_one_thread_ends_all() -> None:
    pair = pair_of(codes("ACGT" * 50), codes("ACGT" * 50), BWA_MEM, Mode.LOCAL)

    def interrupt(cells: int) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        align(pair, 2, tiling=Tiling(200, 200, 20, 20), progress=interrupt)


def test_progress_counts_every_cell() -> None:
    pair = pair_of(codes("ACGT" * 50), codes("ACGT" * 40), BWA_MEM, Mode.LOCAL)
    cells: list[int] = []
    align(pair, 2, tiling=Tiling(200, 160, 30, 10), progress=cells.append)
    assert sum(cells) == 200 * 160


def test_refuses_tiles_of_odd_width() -> None:
    pair = pair_of(codes("ACGT"), codes("ACGT"), BWA_MEM, Mode.LOCAL)
    with pytest.raises(ValueError, match="multiple of 2"):
        align(pair, tiling=Tiling(4, 4, 4, 3))

"""Tests of pairwise alignment on a card against the oracle: modes, scores, borders of strips and tiles."""

from collections.abc import Iterator
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from quire.algorithms.pairwise import Mode, Pair, gpu, shapes
from quire.algorithms.pairwise.gpu import CardMatrix, Walk, align, placed_grid
from quire.algorithms.pairwise.shapes import StripShape
from quire.algorithms.pairwise.structs import QUERY_ROOM, WORDS_AROUND, StripJob, TilePlan, Walked
from quire.algorithms.scoring import BWA_MEM, Scoring
from quire.device.card import OutOfDeviceMemory

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.oracles import pairwise as oracle
from tests.support.examples import examples, some
from tests.support.pairwise_cases import as_oracle, pair, pairs, rescored

TIES, LARGE = Scoring(1, -1, -1, -1), Scoring(127, -127, -1100, -100)
# So narrow that sequences which the oracle can align fill several strips, warps and tiles.
NARROW_SCORES = (StripShape(2, 2, 16, 1, False),)
NARROW_VALUES = StripShape(1, 2, 16, 1, True)
SHORTEST = 48


NARROW = {
    "SCORE_SHAPES": NARROW_SCORES, "VALUE_SHAPE": NARROW_VALUES, "SHORTEST_TILE": SHORTEST,
}  # fmt: skip


@pytest.fixture
def narrow() -> Iterator[None]:
    with mock.patch.multiple(gpu, **NARROW):
        yield


def edited(random: np.random.Generator, rows: int, columns: int, letters: int = 4) -> list[list[int]]:
    """Return codes of a query, and of a target that repeats it with substitutions, a deletion and an insertion."""
    query = random.integers(0, letters, rows)
    target = np.resize(query, columns)
    hit = random.random(columns) < 0.1
    target[hit] = random.integers(0, 5, hit.sum())
    at = columns // 3
    target = np.concatenate([target[: at - at // 4], target[at:], random.integers(0, letters, at // 4)])
    return [query.tolist(), target.tolist()]


def check(card, given: Pair) -> None:
    expected = oracle.align(given)
    assert as_oracle(align(card, given)) == expected
    assert rescored(given, expected) == expected[0]


@pytest.mark.full
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scoring", [BWA_MEM, TIES, LARGE])
def test_real_shapes(card, scoring: Scoring, mode: Mode) -> None:
    random = np.random.default_rng(mode)
    check(card, pair(*edited(random, 60, 90), scoring, mode))
    check(card, pair(*edited(random, 40, 300, 2), scoring, mode))


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("scoring", some(2, [BWA_MEM, TIES, LARGE]))
def test_strips_and_tiles(card, scoring: Scoring, mode: Mode) -> None:
    random = np.random.default_rng(10 + mode)
    check(card, pair(*edited(random, 110, 300), scoring, mode))
    check(card, pair(*edited(random, 150, 140, 2), scoring, mode))


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("mode", Mode)
def test_seams(card, mode: Mode) -> None:
    """Sequences end with a chunk, a warp, a strip or a tile, one base before or one after."""
    random = np.random.default_rng(20 + mode)
    sizes = [(SHORTEST + more, 128 + less) for more in (-1, 0, 1) for less in (-1, 0, 1)]
    for rows, columns in [*sizes, (1, 129), (97, 1)]:
        check(
            card,
            pair(*edited(random, rows, columns, 3), TIES, mode),
        )


def test_the_last_row_is_kept(card) -> None:
    """The query ends with a chunk, far below the previous kept row, in any lane."""
    random = np.random.default_rng(8)
    target = random.integers(0, 4, 200).tolist()
    with mock.patch.multiple(gpu, **(NARROW | {"SHORTEST_TILE": 80})):
        for end in (191, 192, 193, 194):
            check(card, pair(target[end - 144 : end], target, BWA_MEM, Mode.GLOCAL))


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("mode", Mode)
def test_long_gaps(card, mode: Mode) -> None:
    """Gaps longer than a window lead through tiles that were not predicted."""
    random = np.random.default_rng(30)
    ends = [random.integers(0, 4, 50).tolist() for _ in range(2)]
    more = random.integers(0, 4, 260).tolist()
    short, long = ends[0] + ends[1], ends[0] + more + ends[1]
    for query, target in ((short, long), (long, short)):
        check(card, pair(query, target, Scoring(10, -9, -12, -1), mode))


@pytest.mark.usefixtures("narrow")
def test_parts_of_paths(card) -> None:
    """Parts of paths between kept rows follow each other, as in similar sequences."""
    random = np.random.default_rng(40)
    follow = []
    real = Walk.advance

    def advance(walk: Walk, walked: Walked, part: np.ndarray) -> None:
        real(walk, walked, part)
        follow.append(walked)

    for rows in (420, 300, 90):
        query = random.integers(0, 4, rows)
        target = np.delete(query, random.integers(0, rows, 4))
        target[random.integers(0, len(target), 6)] = 3
        with mock.patch.object(Walk, "advance", advance):
            check(card, pair(query.tolist(), target.tolist(), BWA_MEM, Mode.GLOBAL))
    assert len(follow) == 3, "not joined at once"
    assert all(walked.ended for walked in follow)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("shape", some(1, [NARROW_SCORES[0], shapes.SCORE_SHAPES[0]]))
def test_ends_of_equal_score(card, shape: StripShape, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leftmost end, then the uppermost, is chosen from all lanes, warps, strips and chunks."""
    monkeypatch.setattr(gpu, "SCORE_SHAPES", (shape,))
    target = [4] * 60
    target[20:23] = [0, 1, 2]
    check(card, pair([4] * 9 + [0, 1, 2, 4, 0, 1, 2, 4], target, BWA_MEM, Mode.LOCAL))
    word = [0, 1, 2, 3, 3, 1]
    for places in ((3, 4), (90, 20), (200, 20, 60), (140, 139), (60, 7), (33, 31, 64)):
        target = [4] * 230
        for place in places:
            target[place : place + 6] = word
        for query in ([4] * 9 + word + [4] * 50 + word, word):
            check(card, pair(query, target, BWA_MEM, Mode.LOCAL))
            check(card, pair(query, target, BWA_MEM, Mode.GLOCAL))


def test_a_zero_ends_a_path(card) -> None:
    """Four matches that one mismatch cancels are not part of the path to the best end."""
    parts = [0, 1, 2, 3], [0, 3, 1, 1, 2, 0]
    given = [
        pair(parts[0] + [between] + parts[1], parts[0] + [0] + parts[1], BWA_MEM, Mode.LOCAL) for between in (1, 2)
    ]
    for one in given:
        check(card, one)
        assert align(card, one).query_begin == 5


def test_nothing_to_align(card) -> None:
    for query, target in (([0] * 9, [1] * 30), ([4] * 3, [4] * 3)):
        assert as_oracle(align(card, pair(query, target, BWA_MEM, Mode.LOCAL))) == (0, 0, 0, 0, 0, [])
        check(card, pair(query, target, BWA_MEM, Mode.LOCAL))
    for mode in Mode:
        for query, target in (([], []), ([0], []), ([], [0, 1])):
            check(card, pair(query, target, BWA_MEM, mode))


@needs_compiler
@pytest.mark.usefixtures("narrow")
def test_a_card_with_little_memory() -> None:
    given = pair(*edited(np.random.default_rng(3), 300, 290), BWA_MEM, Mode.GLOBAL)
    card = EmulatedCard(memory=250_000)
    check(card, given)
    with pytest.raises(OutOfDeviceMemory):
        align(EmulatedCard(memory=5_000), given)


@pytest.mark.parametrize("wrong", [Scoring(1, -1, -65536, -1), Scoring(1 << 26, -1, -2, -1)])
def test_refuses_scores_that_the_kernels_do_not_hold(card, wrong: Scoring) -> None:
    with pytest.raises(ValueError, match="too large"):
        align(card, pair([0], [0, 1], wrong, Mode.GLOBAL))


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(longest=70))
def test_any_pairs(card, given: Pair) -> None:
    """Pairs of any modes and scorings."""
    check(card, given)


def planned(card, mode: Mode, peaks: list[list[int]], row: int, column: int, most: int = 99) -> list[tuple[int, int]]:
    """Return the planned tiles (down, across) of 40 x 64 cells, of a matrix of 100 x 200, in order."""
    shape = StripShape(2, 1, 16, 1, False)
    batch = CardMatrix(card, pair([0] * 100, [0] * 200, BWA_MEM, mode), 40, 64, shape)
    grid = placed_grid(batch, shape, shape)
    places = card.empty(3 * 4, np.int64)
    known = card.upload(np.array([[*peak, 0, 0] for peak in peaks], np.int32))
    plan = TilePlan(row, column, most, 64, 32, 32, 104, 1000)
    before, jobs = (card.download(array) for array in batch.plan_tiles(plan, grid, known, known, places))
    strips = np.diff(before)
    number = int(np.count_nonzero(strips))
    assert before[0] == 0
    assert not strips[number:].any()
    tiles = []
    for place, job in enumerate(StripJob(*line) for line in jobs[:number].tolist()):
        down, across = (job.query - QUERY_ROOM) // 40, job.target // 64
        assert (job.rows, job.columns) == (min(40, 100 - 40 * down), min(64, 200 - 64 * across))
        assert strips[place] == -(-job.columns // 32)
        assert (job.left_tag, job.border, job.values) == (across, 32 + 104 * place, 1000 * place)
        assert job.top - batch.placed.top == down * 258 + across * 64
        assert job.left - WORDS_AROUND == across * batch.placed.stride + down * 40
        tiles.append((down, across))
    expected = np.full(12, -1)
    expected[[4 * down + across for down, across in tiles]] = 1000 * np.arange(number)
    np.testing.assert_array_equal(card.download(places), expected)
    return tiles


def test_guesses(card) -> None:
    """Predicted tiles follow the diagonal, or the maxima of kept rows if these are clear."""
    peaks = [[0, 0], [30, 70], [70, 120], [90, 190]]
    assert planned(card, Mode.GLOBAL, peaks, 100, 150) == [(2, 2), (2, 1), (1, 1), (0, 1), (0, 0)]
    assert planned(card, Mode.GLOBAL, peaks, 100, 150, 2) == [(2, 2), (2, 1)]
    assert planned(card, Mode.GLOCAL, peaks, -1, -1) == [(2, 2), (2, 1), (1, 1), (0, 1), (0, 0)]
    peaks[1] = [5, 130]  # near the diagonal, but on no path to its cell
    assert planned(card, Mode.GLOBAL, peaks, 100, 150) == [(2, 2), (2, 1), (1, 1), (0, 1), (0, 0)]
    peaks[1] = [5, 199]
    assert planned(card, Mode.GLOBAL, peaks, 100, 150) == [(2, 2), (2, 1), (1, 1), (0, 1), (0, 0)]
    assert planned(card, Mode.LOCAL, peaks, 100, 150) == [(2, 2), (2, 1), (1, 1)]
    assert planned(card, Mode.LOCAL, peaks, 1, 1) == [(0, 0)]


def test_shapes_fit_their_kernels() -> None:
    for shape in (*shapes.SCORE_SHAPES, shapes.VALUE_SHAPE, *NARROW_SCORES, NARROW_VALUES):
        assert shapes.WARP % shape.steps == 0
        rows_at_once = shapes.WARP - 1 + shape.steps  # rows in which a warp's lanes are at once
        assert rows_at_once <= min(gpu.SHORTEST_TILE, SHORTEST)


def test_shapes_that_are_taken() -> None:
    """On an H200 these shapes were the fastest from 8 kb on."""
    sizes = (1_000, 8_192, 32_768, 100_000, 130_000, 200_000, 300_000, 500_000, 1_000_000)
    taken = [shapes.fastest_shape(shapes.SCORE_SHAPES, 132, size).columns for size in sizes]
    assert taken == [4, 4, 4, 6, 4, 6, 6, 4, 6]

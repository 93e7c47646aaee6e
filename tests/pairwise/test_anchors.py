"""Tests of alignment between anchors: the best chain, validity of the alignment, and the outputs."""

import gzip
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.algorithms.pairwise import Mode, Pair, pair_of
from quire.algorithms.pairwise.cpu import align
from quire.algorithms.pairwise.recount import Stretches
from quire.algorithms.scoring import BWA_MEM
from quire.pairwise.aligners import PairAligner
from quire.pairwise.alignment import PairwiseOutputs, PairwiseSettings, align_pair
from quire.pairwise.anchors import align_between_anchors, best_chain, find_anchors, shortened

from tests.algorithms.test_pairwise import GENOME, check, codes, edited
from tests.support.examples import examples

ALIGNER = PairAligner("test", 1)


def anchors_of(matches: list[tuple[int, int, int]]) -> Stretches:
    return Stretches(*np.array(matches, np.int64).reshape(-1, 3).T)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 6)), max_size=8, unique=True))
def test_chain_has_the_most_bases(matches: list[tuple[int, int, int]]) -> None:
    chain = list(zip(*(array.tolist() for array in best_chain(anchors_of(matches))), strict=True))
    assert set(chain) <= set(matches)
    assert is_chain(chain)
    best = max(
        sum(length for *_, length in some)
        for size in range(len(matches) + 1)
        for some in itertools.combinations(sorted(matches), size)
        if is_chain(some)
    )
    assert sum(length for *_, length in chain) == best


def is_chain(matches) -> bool:
    """Return True if each match begins where the one before ends or later, on both sequences."""
    return all(a[0] + a[2] <= b[0] and a[1] + a[2] <= b[1] for a, b in itertools.pairwise(matches))


def test_ends_of_matches_are_left_out() -> None:
    short = shortened(anchors_of([(5, 7, 3), (50, 60, 20), (100, 200, 1000)]))
    assert [array.tolist() for array in short] == [[5, 55, 110], [7, 65, 210], [3, 10, 980]]


@pytest.fixture(scope="module")
def real() -> np.ndarray:
    """Return 12 kb of chr22."""
    with gzip.open(GENOME, "rt") as lines:
        return codes("".join(line.strip() for line in lines if not line.startswith(">")))[:12_000]


@pytest.mark.parametrize("mode", Mode)
def test_similar_sequences_have_the_optimal_score(real: np.ndarray, mode: Mode) -> None:
    """The query is a part of the target; in mode LOCAL it also has foreign ends."""
    random = np.random.default_rng(2)
    query = edited(real if mode == Mode.GLOBAL else real[3000:9000], random)
    if mode == Mode.LOCAL:
        query = np.concatenate([random.integers(0, 4, 700).astype(np.uint8), query, random.integers(0, 4, 50)])
    pair = pair_of(query, real, BWA_MEM, mode)
    alignment, anchors = align_between_anchors(pair, ALIGNER)
    assert anchors > 30
    assert check(pair, alignment) == align(pair).score
    if mode != Mode.LOCAL:
        assert (alignment.query_begin, alignment.query_end) == (0, len(query))
    if mode == Mode.GLOBAL:
        assert (alignment.target_begin, alignment.target_end) == (0, len(real))


def test_a_local_alignment_stops_where_going_on_does_not_pay(real: np.ndarray) -> None:
    """The better of two parts far apart on the target is aligned, without the part between."""
    query = np.concatenate([real[1000:1300], real[7000:7500]])
    pair = pair_of(query, real, BWA_MEM, Mode.LOCAL)
    alignment, _ = align_between_anchors(pair, ALIGNER)
    assert check(pair, alignment) == align(pair).score
    assert (alignment.target_begin, alignment.target_end) == (7000, 7500)


@pytest.mark.parametrize("mode", Mode)
def test_moved_parts_cost_no_more_than_the_optimum(real: np.ndarray, mode: Mode) -> None:
    """Anchors may mislead: the result is a valid alignment of the mode, at most as good as the best one."""
    query = np.concatenate([real[2000:3000], real[500:900], real[3500:4000]])
    pair = pair_of(query, real[:4500], BWA_MEM, mode)
    alignment, _ = align_between_anchors(pair, ALIGNER)
    assert check(pair, alignment) <= align(pair).score


@pytest.mark.parametrize("mode", Mode)
def test_without_anchors_the_whole_matrix_is_computed(mode: Mode) -> None:
    random = np.random.default_rng(1)
    for query, target in (
        (random.integers(0, 4, 300), random.integers(0, 4, 300)),
        (np.full(100, 4), random.integers(0, 4, 100)),
        (random.integers(0, 4, 100), np.full(100, 4)),
        (np.zeros(200), np.zeros(210)),
    ):
        pair = pair_of(query.astype(np.uint8), target.astype(np.uint8), BWA_MEM, mode)
        assert len(find_anchors(pair.query, pair.target).length) == 0
        alignment, anchors = align_between_anchors(pair, ALIGNER)
        assert (anchors, alignment.score, alignment.cigar.tolist()) == (
            0,
            align(pair).score,
            align(pair).cigar.tolist(),
        )


def test_anchors_are_matches_in_places_of_the_target() -> None:
    """Ambiguous bases, which the index leaves out, do not shift anchors."""
    random = np.random.default_rng(4)
    target = random.integers(0, 4, 6000).astype(np.uint8)
    target[1000:4000] = 4
    pair = pair_of(np.concatenate([target[:900], target[4100:]]), target, BWA_MEM, Mode.GLOBAL)
    anchors = find_anchors(pair.query, pair.target)
    assert len(anchors.length) == 2
    for start, on_target, length in zip(*anchors, strict=True):
        assert np.array_equal(pair.query[start : start + length], pair.target[on_target : on_target + length])
    alignment, _ = align_between_anchors(pair, ALIGNER)
    assert check(pair, alignment) == align(pair).score


@pytest.mark.parametrize(
    ("query", "anchored"), [("ACGTTGCATCGATTACGGATCCATGCAATTGACCATTGCAAGC", True), ("ACGTTG", False)]
)
def test_files_say_whether_the_alignment_is_optimal(tmp_path: Path, query: str, anchored: bool) -> None:
    (tmp_path / "query.fa").write_text(f">q\n{query}\n")
    (tmp_path / "target.fa").write_text(f">t\nTTT{query}TTGC\n")
    outputs = PairwiseOutputs(*(tmp_path / f"out.{kind}" for kind in ("paf", "bam", "json", "dots.json")))
    files = str(tmp_path / "query.fa"), str(tmp_path / "target.fa")
    align_pair(*files, outputs, PairwiseSettings("pair", anchors="mems", backend="cpu"))
    summary = json.loads(outputs.summary.read_text())
    assert summary["optimal"] is not anchored
    assert ("anchors" in summary["counts"]) is anchored
    assert any("not guaranteed" in warning for warning in summary["warnings"]) is anchored
    assert f"\tgo:A:{'N' if anchored else 'Y'}\t" in outputs.paf.read_text()
    assert f"\tcg:Z:{len(query)}M" in outputs.paf.read_text()


def test_threads_do_not_show(real: np.ndarray) -> None:
    pair = pair_of(edited(real, np.random.default_rng(9)), real, BWA_MEM, Mode.LOCAL)
    answers = [align_between_anchors(pair, PairAligner("test", threads))[0].cigar.tolist() for threads in (1, 3)]
    assert answers[0] == answers[1]


def test_pairs_of_all_sizes_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small pair is aligned by one thread, a large one by all."""
    monkeypatch.setattr("quire.pairwise.aligners.LARGE", 10_000)
    random = np.random.default_rng(3)
    sizes = [(200, 200), (0, 5), (10, 20), (300, 100), (5, 0)]
    pairs = [
        pair_of(*(random.integers(0, 4, size).astype(np.uint8) for size in both), BWA_MEM, Mode.GLOBAL)
        for both in sizes
    ]
    found = PairAligner("test", 2).align_many(pairs)
    assert [(one.query_end, one.target_end) for one in found] == sizes
    assert [one.score for one in found] == [align(pair).score for pair in pairs]
    empty: list[Pair] = []
    assert PairAligner("test", 2).align_many(empty) == []

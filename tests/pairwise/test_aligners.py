"""Tests of the stage's engine for a card: answers equal the CPU's, also if the card lacks memory or a kernel."""

import logging

import numpy as np
import pytest
from quire.algorithms.pairwise import Mode, Pair
from quire.algorithms.pairwise.cpu import align
from quire.algorithms.scoring import BWA_MEM, Scoring
from quire.pairwise import aligners
from quire.pairwise.aligners import PairAligner

from tests.emulator.emulated_card import EmulatedCard
from tests.emulator.laboratory import needs_compiler
from tests.support.pairwise_cases import as_oracle, pair


def small_pairs(scoring: Scoring = BWA_MEM) -> list[Pair]:
    """Return two pairs, one of them with an empty query."""
    random = np.random.default_rng(8)
    target = random.integers(0, 5, 60).tolist()
    return [pair(target[10:40], target, scoring, Mode.GLOCAL), pair([], target, scoring, Mode.GLOBAL)]


@pytest.fixture
def all_on_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Align pairs of any size on the card."""
    monkeypatch.setattr(aligners, "LARGE_ON_CARD", 0)


@needs_compiler
@pytest.mark.usefixtures("all_on_card")
@pytest.mark.parametrize("failing", [False, True])
def test_a_card_gives_the_cpus_answers(failing: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A card that is full leaves the work to the CPU, and says so."""
    card = EmulatedCard(memory=1000) if failing else EmulatedCard()
    with caplog.at_level(logging.WARNING):
        found = PairAligner("test", 1, card).align_many(small_pairs())
    assert [as_oracle(one) for one in found] == [as_oracle(align(one)) for one in small_pairs()]
    assert ("the card has no memory left for this pair" in caplog.text) is failing


@needs_compiler
@pytest.mark.usefixtures("all_on_card")
def test_scores_that_the_card_has_no_kernel_for(caplog: pytest.LogCaptureFixture) -> None:
    pairs = small_pairs(Scoring(1 << 21, -4, -7, -1))
    with caplog.at_level(logging.WARNING):
        found = PairAligner("test", 1, EmulatedCard()).align_many(pairs)
    assert [as_oracle(one) for one in found] == [as_oracle(align(one)) for one in pairs]
    assert "aligning the pair on the CPU" in caplog.text


def test_small_pairs_and_ends_between_anchors_are_aligned_on_the_cpu() -> None:
    """No card is used."""
    found = PairAligner("test", 1).align_many(small_pairs())
    assert [as_oracle(one) for one in found] == [as_oracle(align(one)) for one in small_pairs()]
    local = pair([0, 1, 2, 3], [3, 3, 0, 1, 2, 3], BWA_MEM, Mode.LOCAL)
    found = PairAligner("test", 1).align_to_corner(local)
    assert (found.query_end, found.target_end, found.score) == (4, 6, 4)

"""Reported alignments of simulated pairs: the card chooses those of the CPU."""

import numpy as np
import pytest
from quire.align.insert_size import NO_INSERT_SIZES, InsertSize, InsertSizes
from quire.align.model import Alignments, Selection
from quire.align.pairing.gpu import select
from quire.reads.gpu import CardReads, orient

pytest.importorskip("numba", reason="compares with the CPU's functions, which are compiled by Numba")

from quire.align.pairing import cpu
from quire.reads import Reads
from quire.reads.cpu import orient as orient_on_cpu

from tests.support.card_builders import download_all, make_batch, upload_all
from tests.support.places import Place, alignments_of
from tests.support.simulated_batch import INSERT_SIZES, simulated_batch

# Nearly all distances cost more than the score of two mates.
SHARP = InsertSizes(FR=InsertSize(1000, 300, 300, 300, 300, 1, 1, 5000))


def check(
    card, alignments: Alignments, reads: Reads, on_card: CardReads, paired: bool, model: InsertSizes
) -> Selection:
    wanted = cpu.select(alignments, reads, paired, model)
    found = download_all(card, select(card, upload_all(card, alignments), on_card, paired, model))
    for name, ours, theirs in zip(Selection._fields, found, wanted, strict=True):
        assert ours.dtype == (np.uint8 if name == "proper" else theirs.dtype), name
        assert np.array_equal(ours, theirs), name
    return found


@pytest.mark.parametrize("paired", [True, False])
def test_the_same_choice(card, paired: bool) -> None:
    batch = simulated_batch()
    for model in (INSERT_SIZES, SHARP, NO_INSERT_SIZES):
        found = check(card, batch.alignments[2], batch.reads, orient(card, *batch.mates), paired, model)
        assert (found.supplementary >= 0).sum() > 10
        assert (found.proper.sum() > 100) == (paired and model != NO_INSERT_SIZES)
        assert len(set(found.quality.tolist())) > 5


def test_pairs_that_cost_more_than_they_score(card) -> None:
    bases = [np.random.default_rng(mate).integers(0, 4, 60).tolist() for mate in range(2)]
    mates = [make_batch([mate]) for mate in bases]
    reads, on_card = orient_on_cpu(*mates), orient(card, *mates)
    costs = SHARP.FR.penalties()
    qualities = set()
    for farther in range(6, 20):  # bases more than 300, which costs 0; both mates score 60
        others = [Place(30, 1, 1240 + farther + further, 5, 55) for further in range(2)]
        places = [[Place(30, 0, 1000, 5, 55)], [Place(44, 1, 20_000, 5, 55), Place(30, 1, 1240, 5, 55), *others]]
        found = check(card, alignments_of(places), reads, on_card, True, SHARP)
        assert found.primary.tolist() == [0, 2]
        qualities.add(int(found.quality[1]))
    assert costs[305] < 60 < 67 < costs[318]
    assert len(qualities) > 1

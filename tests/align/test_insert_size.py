"""Insert sizes: the fit against bwa mem's, the pairs in the sample, and costs."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.align import insert_size
from quire.align.insert_size import (
    FEWEST_PAIRS,
    NO_INSERT_SIZE,
    NO_INSERT_SIZES,
    ORIENTATIONS,
    InsertSizes,
    fit,
    fit_all,
    proper_lengths,
)
from quire.align.pairing.template_length_cpu import unique_template_lengths
from quire.align.parameters import LONGEST_INSERT

from tests.oracles.align import bwa_insert_size, template_length
from tests.support.places import Place, alignments_of
from tests.support.read_builders import make_reads


@pytest.mark.parametrize(("mean", "deviation"), [(300, 30), (180, 60), (500, 1), (3000, 900)])
def test_fits_as_bwa_does(mean, deviation):
    generator = random.Random(mean)
    lengths = [max(1, round(generator.gauss(mean, deviation))) for _ in range(5000)]
    lengths += [generator.randint(1, LONGEST_INSERT) for _ in range(100)]
    model = fit(np.array(lengths, np.int64))
    wanted = bwa_insert_size(lengths)
    # Quartiles are taken one element lower, and mean and deviation are rounded down.
    assert model.mean == int(wanted[0])
    assert model.standard_deviation == int(wanted[1])
    assert model.low == pytest.approx(wanted[2], abs=6)
    assert model.high == pytest.approx(wanted[3], abs=6)
    assert model.pairs == len(lengths)
    assert model.percentile_25 < model.median < model.percentile_75 or deviation == 1


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(1, LONGEST_INSERT), max_size=60), st.randoms(use_true_random=False))
def test_does_not_depend_on_the_order_and_holds_the_quartiles(lengths, generator):
    model = fit(np.array(lengths, np.int64))
    if len(lengths) < FEWEST_PAIRS:
        assert model == replace(NO_INSERT_SIZE, pairs=len(lengths))
        return
    shuffled = list(lengths)
    generator.shuffle(shuffled)
    assert fit(np.array(shuffled, np.int64)) == model
    assert 1 <= model.low <= model.percentile_25 <= model.median <= model.percentile_75 <= model.high
    costs = model.penalties()
    assert len(costs) == model.high - model.low + 1
    assert (costs >= 0).all()


def test_equal_lengths_make_a_model_of_one_length():
    model = fit(np.full(100, 250, np.int64))
    assert (model.low, model.high, model.standard_deviation) == (250, 250, 0)
    assert model.penalties().tolist() == [0]
    assert NO_INSERT_SIZE.penalties().tolist() == []


def test_costs_are_bwas():
    model = fit(np.array([max(1, round(random.Random(i).gauss(300, 40))) for i in range(2000)], np.int64))
    for length, cost in zip(range(model.low, model.high + 1), model.penalties(), strict=True):
        deviations = abs(length - model.mean) / model.standard_deviation
        # bwa mem: the score of a pair is (int)(sum + .721 * log(2 erfc(|z| / sqrt 2)) + .499).
        pair = int(1000 + 0.721 * math.log(2 * math.erfc(deviations / math.sqrt(2))) + 0.499)
        assert abs(pair - (1000 - cost)) <= 1
    assert model.penalties()[model.mean - model.low] == 0


def coded(lengths: list[int], orientation: str) -> np.ndarray:
    """Return pairs in the form of `unique_template_lengths`."""
    return np.array(lengths, np.int64) << 2 | ORIENTATIONS.index(orientation)


def test_each_orientation_that_is_frequent_has_a_model_of_its_own():
    generator = np.random.default_rng(1)
    mate_pairs, shadow = (np.rint(generator.normal(mean, 40, 1000)).astype(int) for mean in (3000, 300))
    pairs = [coded(mate_pairs, "RF"), coded(shadow, "FR"), coded([500] * 49, "FF"), coded([500] * 50, "RR"), [-1] * 99]
    models = fit_all(generator.permutation(np.concatenate(pairs)))
    few = replace(NO_INSERT_SIZE, pairs=49)  # fewer than one in twenty of the most frequent
    assert models.models == (few, fit(shadow), fit(mate_pairs), fit(np.full(50, 500, np.int64)))
    assert models.are_known
    assert list(models.to_json()) == list(ORIENTATIONS)
    assert fit_all(np.full(100, -1, np.int64)) == NO_INSERT_SIZES
    assert not fit_all(coded([300] * (FEWEST_PAIRS - 1), "FR")).are_known


def test_the_sample_ends_where_one_orientation_is_full(monkeypatch):
    monkeypatch.setattr(insert_size, "SAMPLE_PAIRS", 40)
    pairs = np.concatenate([coded([100] * 30, "FR"), coded([200] * 40, "RF"), coded([900] * 60, "FR")])
    models = fit_all(pairs)
    assert (models.FR.pairs, models.RF.pairs, models.FR.high) == (30, 40, 100)


def test_the_costs_of_all_orientations_lie_one_behind_the_other():
    models = InsertSizes(FF=fit(np.arange(100, 140)), RF=fit(np.arange(500, 580)))
    lengths = proper_lengths(models)
    for orientation, model in enumerate(models.models):
        first = lengths.first[orientation]
        assert (lengths.low[orientation], lengths.high[orientation]) == (model.low, model.high)
        assert lengths.mean[orientation] == model.mean
        assert lengths.penalties[first : first + max(0, model.high - model.low + 1)].tolist() == list(model.penalties())


def test_only_unique_pairs_of_one_contig_are_in_the_sample():
    def forward(position, score=100, contig=0):
        return Place(score, 0, position, 0, 100, contig)

    def reverse(position, score=100, contig=0):
        return Place(score, 1, position, 0, 100, contig)

    pairs = [
        ([forward(1000)], [reverse(1200)], ("FR", 300)),
        ([reverse(1200)], [forward(1000)], ("FR", 300)),
        ([Place(60, 0, 1040, 40, 100)], [Place(60, 1, 1200, 0, 60)], ("FR", 300)),  # clips are part of the template
        ([Place(90, 0, 1000, 0, 100, span=105)], [Place(90, 1, 1200, 0, 100, span=95)], ("FR", 295)),
        ([forward(1000)], [forward(1200)], ("FF", 200)),
        ([reverse(1200)], [reverse(1000)], ("FF", 200)),
        ([forward(1200)], [forward(1000)], ("RR", 200)),
        ([reverse(1000)], [reverse(1200)], ("RR", 200)),
        ([forward(1200)], [reverse(1000)], ("RF", 100)),  # pointing away
        ([reverse(1000)], [forward(1200)], ("RF", 100)),
        ([forward(1100)], [reverse(1000)], -1),  # no base between their ends
        ([forward(1000)], [reverse(1200, contig=1)], -1),
        ([forward(1000)], [reverse(1000 + LONGEST_INSERT - 100)], ("FR", LONGEST_INSERT)),
        ([forward(1000)], [reverse(1001 + LONGEST_INSERT - 100)], -1),
        ([forward(1000), forward(5000, 80)], [reverse(1200)], ("FR", 300)),  # a second place with 4/5 of the score
        ([forward(1000), forward(5000, 81)], [reverse(1200)], -1),
        ([], [reverse(1200)], -1),
        ([forward(1000)], [], -1),
    ]  # fmt: skip
    alignments = alignments_of([pair[0] for pair in pairs] + [pair[1] for pair in pairs])
    got = unique_template_lengths(alignments, make_reads([[0] * 100] * (2 * len(pairs))))
    wanted_codes = [-1 if wanted == -1 else 4 * wanted[1] + ORIENTATIONS.index(wanted[0]) for _, _, wanted in pairs]
    assert got.tolist() == wanted_codes
    for first, second, wanted in pairs:
        if wanted != -1:
            assert template_length(first[0], second[0], (100, 100)) == wanted

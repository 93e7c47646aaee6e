"""The insert size: its fit against bwa mem's, which pairs are in the sample, and costs."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.align.insert_size import FEWEST_PAIRS, NO_INSERT_SIZE, fit
from quire.align.pairing.template_length import unique_template_lengths
from quire.align.parameters import LONGEST_INSERT

from tests.support.align_oracles import bwa_insert_size, template_length
from tests.support.places import Place, alignments_of
from tests.support.read_builders import make_reads


@pytest.mark.parametrize(("mean", "deviation"), [(300, 30), (180, 60), (500, 1), (3000, 900)])
def test_fits_as_bwa_does(mean, deviation):
    generator = random.Random(mean)
    lengths = [max(1, round(generator.gauss(mean, deviation))) for _ in range(5000)]
    lengths += [generator.randint(1, LONGEST_INSERT) for _ in range(100)]
    model = fit(np.array(lengths, np.int64))
    wanted = bwa_insert_size(lengths)
    # Quartiles are taken one element further down, and mean and deviation are rounded down.
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
        assert model == NO_INSERT_SIZE
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


def test_only_unique_pairs_that_point_at_each_other_are_in_the_sample():
    def forward(position, score=100, contig=0):
        return Place(score, 0, position, 0, 100, contig)

    def reverse(position, score=100, contig=0):
        return Place(score, 1, position, 0, 100, contig)

    pairs = [
        ([forward(1000)], [reverse(1200)], 300),
        ([reverse(1200)], [forward(1000)], 300),
        ([Place(60, 0, 1040, 40, 100)], [Place(60, 1, 1200, 0, 60)], 300),  # clips are part of the template
        ([Place(90, 0, 1000, 0, 100, span=105)], [Place(90, 1, 1200, 0, 100, span=95)], 295),
        ([forward(1000)], [forward(1200)], -1),
        ([forward(1200)], [reverse(1000)], -1),  # pointing away
        ([forward(1000)], [reverse(1200, contig=1)], -1),
        ([forward(1000)], [reverse(1000 + LONGEST_INSERT - 100)], LONGEST_INSERT),
        ([forward(1000)], [reverse(1001 + LONGEST_INSERT - 100)], -1),
        ([forward(1000), forward(5000, 80)], [reverse(1200)], 300),  # a second place with 4/5 of the score
        ([forward(1000), forward(5000, 81)], [reverse(1200)], -1),
        ([], [reverse(1200)], -1),
        ([forward(1000)], [], -1),
    ]  # fmt: skip
    alignments = alignments_of([pair[0] for pair in pairs] + [pair[1] for pair in pairs])
    got = unique_template_lengths(alignments, make_reads([[0] * 100] * (2 * len(pairs))))
    assert got.tolist() == [wanted for _, _, wanted in pairs]
    for first, second, wanted in pairs:
        if wanted > 0:
            assert template_length(first[0], second[0], (100, 100)) == wanted

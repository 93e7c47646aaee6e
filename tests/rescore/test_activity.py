"""The activity profile against a pileup in plain Python, and the cutting of regions."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.rescore.activity import (
    FILTER_WING,
    PlaceSums,
    add_reads,
    band_pass_weights,
    likelihood_table,
    mark_doubted,
    phred_rounded,
    posterior_terms,
    profile,
    single_sample_probability,
    smooth,
)
from quire.rescore.activity.regions_cpu import BORDER_REACH, TILE, active_regions, tile_border, tile_range
from quire.rescore.parameters import ACTIVITY_THRESHOLD, MAXIMUM_REGION
from quire.rescore.reads.source import ReadSource

from tests.support.builders import random_bases
from tests.support.defaults import calling_parameters
from tests.support.examples import examples
from tests.support.simulation import Genome, codes, indexed_bam

OPERATIONS = {"M": 0, "I": 1, "D": 2, "S": 4}


def slow_pileup(lines: list[str], reference: str, ploidy: int) -> list[list[float]]:
    """Return log10 likelihoods per position and number of alternates, read by read and base by base."""
    result = [[0.0] * (ploidy + 1) for _ in reference]

    def add(position: int, differs: bool, quality: int) -> None:
        error = 10 ** (-quality / 10)
        for count in range(ploidy + 1):
            agree, disagree = 1 - error, error / 3
            on_reference, on_alternate = (disagree, agree) if differs else (agree, disagree)
            result[position][count] += math.log10((on_reference * (ploidy - count) + on_alternate * count) / ploidy)

    for line in lines:
        fields = line.split("\t")
        position, bases, qualities = int(fields[3]) - 1, fields[9], fields[10]
        elements = []
        number = ""
        for letter in fields[5]:
            if letter.isdigit():
                number += letter
            else:
                elements.append((letter, int(number)))
                number = ""
        query = 0
        for i, (operation, length) in enumerate(elements):
            before = elements[i - 1][0] if i else ""
            after = elements[i + 1][0] if i + 1 < len(elements) else ""
            for k in range(length):
                if operation == "M":
                    quality = ord(qualities[query]) - 33
                    beside = (k == 0 and before in ("I", "D", "S")) or (k == length - 1 and after in ("I", "D", "S"))
                    if quality > 10:
                        add(position, beside or bases[query] != reference[position], quality)
                elif operation == "D":
                    add(position, True, 30)
                position += operation in "MD"
                query += operation in "MIS"
    return result


@pytest.mark.parametrize("ploidy", [2, 3])
def test_likelihoods_of_a_pileup(tmp_path, ploidy: int) -> None:
    generator = random.Random(ploidy)
    reference = random_bases(generator, 900)
    variants = [
        (300, reference[300], "ACGT"["ACGT".index(reference[300]) - 1]),
        (500, reference[500:504], reference[500]),
    ]
    variants.append((650, reference[650], reference[650] + "GATTACA"))
    genome = Genome("c", reference, [[], variants])
    lines = genome.sam_lines(generator, 60, length=80, insert=200, errors=0.02)
    lines = [
        line[: -len(line.split("\t")[10])] + "".join(chr(33 + generator.randrange(2, 41)) for _ in range(80))
        for line in lines
    ]
    bam = indexed_bam(tmp_path / "reads.bam", {"c": len(reference)}, lines)
    reads, _ = ReadSource(bam).fetch("c", 0, 900, np.array([[0, 900]]), calling_parameters())
    log10 = np.zeros((900, ploidy + 1))
    clips, clipped = np.zeros(900), np.zeros(900, np.int64)
    letters = np.frombuffer(codes(reference), np.uint8).copy()
    add_reads(reads, letters, 0, np.arange(900), likelihood_table(ploidy), PlaceSums(log10, clips, clipped))
    # Sums of some tens of log10 in the same order; the tables are computed differently.
    np.testing.assert_allclose(log10, slow_pileup(lines, reference, ploidy), atol=1e-9)

    some = np.arange(0, 900, 7)
    picked, clips_there, clipped_there = np.zeros((len(some), ploidy + 1)), np.zeros(len(some)), clipped[some] * 0
    add_reads(reads, letters, 0, some, likelihood_table(ploidy), PlaceSums(picked, clips_there, clipped_there))
    assert (picked == log10[some]).all()
    assert (clips_there == clips[some]).all()
    assert (clipped_there == clipped[some]).all()

    doubted = np.zeros(900, np.uint8)
    mark_doubted(reads, letters, 0, doubted)
    assert 0 < doubted.sum() < 900
    # Every position where the reference is not the most likely is marked.
    assert doubted[log10.argmax(axis=1) > 0].all()


@given(st.lists(st.lists(st.integers(0, 80), min_size=3, max_size=3), min_size=1, max_size=5))
@settings(max_examples=examples(50), deadline=None)
def test_single_sample_posterior(rows: list[list[int]]) -> None:
    log10 = phred_rounded(np.array(rows) / -10.0)
    fast = single_sample_probability(log10, posterior_terms(2))
    for likelihoods, probability in zip(log10, fast, strict=True):
        # Beta-binomial prior of n alternates of two with pseudocounts 10 and 0.01, in linear space.
        prior = [math.comb(2, n) * math.gamma(n + 0.01) * math.gamma(2 - n + 10) for n in range(3)]
        weights = [p * 10**x for p, x in zip(prior, likelihoods, strict=True)]
        if np.argmax(likelihoods) == 0 or np.argmax(weights) == 0:
            assert probability == 0
        else:
            assert probability == pytest.approx(1 - weights[0] / sum(weights), abs=1e-9)


def test_smoothing_spreads_a_weight_without_losing_any() -> None:
    raw = np.zeros(400)
    raw[200], raw[210] = 1.0, 0.5
    smoothed = smooth(raw, band_pass_weights())
    assert smoothed.sum() == pytest.approx(1.5)
    expected = np.convolve(raw, band_pass_weights(), mode="same")
    np.testing.assert_allclose(smoothed, expected, atol=1e-15)


def test_a_variant_makes_its_surroundings_active_and_several_samples_agree(tmp_path) -> None:
    generator = random.Random(3)
    reference = random_bases(generator, 2000)
    alternate = "A" if reference[1000] != "A" else "C"
    genome = Genome("c", reference, [[], [(1000, reference[1000], alternate)]])
    bam = indexed_bam(tmp_path / "r.bam", {"c": 2000}, genome.sam_lines(generator, 300, errors=0.0))
    reads, _ = ReadSource(bam).fetch("c", 0, 2000, np.array([[0, 2000]]), calling_parameters())
    array = np.frombuffer(codes(reference), np.uint8).copy()
    for samples, ploidies in (([reads], [2]), ([reads, reads], [2, 3])):
        activity = profile(samples, ploidies, array[300:1750], 350, 1700)
        assert np.flatnonzero(activity > 0).tolist() == list(
            range(1000 - FILTER_WING - 350, 1000 + FILTER_WING + 1 - 350)
        )
        assert activity.argmax() == 650


@given(st.lists(st.tuples(st.integers(1, 700), st.sampled_from([0.0, 0.001, 0.01, 0.5])), min_size=1, max_size=8))
@settings(max_examples=examples(60), deadline=None)
def test_active_regions_cover_what_is_active_within_their_limits(runs: list[tuple[int, float]]) -> None:
    activity = np.concatenate([np.full(length, height) for length, height in runs])
    covered = np.zeros(len(activity), bool)
    for start, end in active_regions(activity).tolist():
        assert 0 < end - start <= MAXIMUM_REGION
        assert not covered[start:end].any()
        covered[start:end] = True
    assert (covered == (activity > ACTIVITY_THRESHOLD)).all()


def test_long_regions_are_cut_where_it_is_quietest() -> None:
    activity = np.full(500, 0.9)
    activity[230] = 0.1
    assert active_regions(activity).tolist() == [[0, 231], [231, 500]]


def test_borders_do_not_depend_on_what_is_loaded() -> None:
    generator = np.random.default_rng(1)
    activity = generator.random(3 * TILE)
    whole = tile_border(activity, 0, 1, 3 * TILE)
    part = tile_border(activity[TILE - BORDER_REACH : TILE + BORDER_REACH], TILE - BORDER_REACH, 1, 3 * TILE)
    assert whole == part
    assert abs(whole - TILE) <= BORDER_REACH
    assert tile_border(activity, 0, 0, 3 * TILE) == 0
    assert tile_border(activity, 0, 3, 3 * TILE - BORDER_REACH - 1) == 3 * TILE - BORDER_REACH - 1
    assert list(tile_range(0, 1)) == [0]
    assert list(tile_range(TILE, TILE + 1)) == [0, 1]
    assert list(tile_range(TILE + BORDER_REACH, 2 * TILE - BORDER_REACH)) == [1]

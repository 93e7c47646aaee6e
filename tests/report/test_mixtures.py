"""Contamination and kinship in simulations: mixed reads of two people, and families with Mendelian inheritance."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from quire.report import contamination
from quire.report.contamination import FEWEST_SITES, SHARES, from_called_sites, from_known_sites, likely_source
from quire.report.relatedness import RELATIONS, UNCLEAR, degree, relate
from quire.rescore.cohort_counts import PAIR_COUNTS, PairCounter

DEPTH = 32
ERROR = 0.002
FREQUENCY_BINS = 20


def mixed_reads(share: float, sites: int, seed: int, error: float = ERROR) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate a mixture of two people; return allele frequencies, reference reads and alternate reads by site.

    Frequencies follow 1/p. Allele balance varies between heterozygous sites, with a small bias to the reference, as in
    real data.
    """
    generator = np.random.default_rng(seed)
    frequency = np.exp(generator.uniform(np.log(1e-3), 0, sites))
    own, other = generator.binomial(2, frequency), generator.binomial(2, frequency)
    expected = ((1 - share) * own + share * other) / 2
    spread = 4 * expected * (1 - expected)
    expected = np.clip(expected + spread * generator.normal(-0.01, 0.05, sites), 0, 1)
    depth = generator.poisson(DEPTH, sites)
    alternate = generator.binomial(depth, expected * (1 - error) + (1 - expected) * error)
    return frequency, depth - alternate, alternate


def called(reference: np.ndarray, alternate: np.ndarray) -> list[list[int]]:
    """Return the sites that a caller would call, as rows of (reference reads, alternate reads, number of sites)."""
    seen = (alternate >= 3) & (alternate > 0.12 * (reference + alternate))
    found = Counter(zip(reference[seen].tolist(), alternate[seen].tolist(), strict=True))
    return [[*reads, number] for reads, number in found.items()]


@pytest.mark.parametrize("sites", [4000, 40_000])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2])
def test_mixtures_are_found_at_called_sites(share: float, sites: int) -> None:
    estimate = from_called_sites(called(*mixed_reads(share, sites, seed=5)[1:]))
    assert estimate is not None
    assert estimate.share == pytest.approx(share, rel=0.25, abs=0.01)
    assert estimate.low <= estimate.share <= estimate.high


def test_a_third_of_another_person_is_much() -> None:
    estimate = from_called_sites(called(*mixed_reads(0.35, 10_000, seed=2)[1:]))
    assert estimate is not None
    assert estimate.low > 0.25


def test_errors_of_the_machine_are_no_mixture() -> None:
    """Distinguish errors, which are equally frequent at all sites, from another person's alleles at some sites."""
    estimate = from_called_sites(called(*mixed_reads(0.0, 20_000, seed=3, error=0.015)[1:]))
    assert estimate is not None
    assert estimate.low < 0.02


@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.35])
def test_mixtures_are_found_at_known_sites(share: float) -> None:
    """Estimate from known population frequencies, at called and uncalled sites."""
    frequency, reference, alternate = mixed_reads(share, 12_000, seed=7)
    common = (frequency > 0.05) & (frequency < 0.95)
    bins = np.minimum((frequency * FREQUENCY_BINS).astype(int), FREQUENCY_BINS - 1)
    found = Counter(zip(*(column[common].tolist() for column in (bins, reference, alternate)), strict=True))
    estimate = from_known_sites([[*site, number] for site, number in found.items()], FREQUENCY_BINS)
    assert estimate is not None
    assert estimate.share == pytest.approx(share, rel=0.1, abs=0.005)


def whole_grid(likelihood: Callable[[float, float], float], sites: int) -> contamination.Contamination:
    """Return the best share of the grid without interpolation, and the shares within DROP of it."""
    table = np.array([max(likelihood(share, error) for error in contamination.ERRORS) for share in SHARES])
    inside = SHARES[table >= table.max() - contamination.DROP]
    return contamination.Contamination(float(SHARES[table.argmax()]), float(inside[0]), float(inside[-1]), sites)


@pytest.mark.parametrize("share", [0.0, 0.003, 0.02, 0.1, 0.35])
@pytest.mark.parametrize("sites", [300, 4000])
def test_the_search_finds_the_best_of_the_grid(share: float, sites: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        cells = called(*mixed_reads(share, sites, seed)[1:])
        found = from_called_sites(cells)
        with monkeypatch.context() as patch:
            patch.setattr(contamination, "_maximum", whole_grid)
            best = from_called_sites(cells)
        assert best is not None
        assert found is not None
        assert abs(np.searchsorted(SHARES, found.share) - np.searchsorted(SHARES, best.share)) <= 1
        assert (found.low, found.high) == (min(found.share, best.low), max(found.share, best.high))


def test_few_sites_tell_nothing() -> None:
    assert from_called_sites([]) is None
    assert from_called_sites([[10, 12, FEWEST_SITES - 1]]) is None
    assert from_known_sites([[3, 10, 12, FEWEST_SITES - 1]], FREQUENCY_BINS) is None


def test_families_and_strangers() -> None:
    """Relate parents, two children (one of them sampled twice) and a stranger, with wrong and missing genotypes."""
    generator = np.random.default_rng(11)
    sites = 6000
    frequency = np.exp(generator.uniform(np.log(0.02), np.log(0.9), sites))
    mother, father, stranger = (generator.random((3, 2, sites)) < frequency).astype(int)

    def child() -> np.ndarray:
        choices = generator.integers(2, size=(2, sites)), np.arange(sites)
        return np.stack([mother[choices[0][0], choices[1]], father[choices[0][1], choices[1]]])

    son, daughter = child(), child()
    again = son.sum(axis=0)
    wrong = generator.random(sites) < 0.005
    again[wrong] = generator.integers(3, size=int(wrong.sum()))
    people = {"mother": mother, "father": father, "son": son, "daughter": daughter, "stranger": stranger}
    codes = np.stack([*(1 + person.sum(axis=0) for person in people.values()), 1 + again])
    codes[5, generator.random(sites) < 0.02] = 0
    counter = PairCounter(len(codes))
    for site in codes.T.tolist():
        counter.add(site)
    rows = {(row["first"], row["second"]): row for row in relate([*people, "again"], counter.counts()).rows}
    expected = {
        ("son", "again"): "the same person",
        **dict.fromkeys(
            [("mother", "son"), ("father", "daughter"), ("son", "daughter"), ("mother", "again")], "first degree"
        ),
        **dict.fromkeys([("mother", "father"), ("son", "stranger"), ("stranger", "again")], "unrelated"),
    }
    assert {pair: rows[pair]["relation"] for pair in expected} == expected
    assert rows["mother", "son"]["opposite_homozygous"] == 0
    assert rows["mother", "son"]["kinship"] == pytest.approx(0.25, abs=0.02)
    assert rows["son", "again"]["kinship"] == pytest.approx(0.5, abs=0.02)
    assert rows["son", "again"]["concordance"] > 0.99


@pytest.mark.parametrize(("share", "sites"), [(0.03, 20_000), (0.15, 4000)])
def test_the_source_of_a_mixture_is_named(share: float, sites: int) -> None:
    """Name the one of four people whose reads are mixed in, and nobody if it is none of them."""
    generator = np.random.default_rng(3)
    frequency = generator.uniform(0.05, 0.95, sites)
    people = (generator.random((5, 2, sites)) < frequency).sum(axis=1)
    depth = generator.poisson(30, sites)
    for source in (1, 3, 4):
        expected = ((1 - share) * people[0] + share * people[source]) / 2
        alternate = generator.binomial(depth, expected * 0.998 + 0.001)
        counter = PairCounter(4)
        for number in range(sites):
            read = int(depth[number] - alternate[number]), int(depth[number])
            counter.add([1 + int(person[number]) for person in people[:4]], [read, (0, 0), (0, 0), (0, 0)])
        rows = dict(zip(range(4), counter.foreign(0), strict=True))
        named = likely_source({f"s{number}": row for number, row in rows.items() if number})
        assert named == (f"s{source}" if source < 4 else None)


def test_a_sample_whose_pairs_are_unclear_is_not_judged() -> None:
    """It has no pair of the same person, but by too few sites."""
    pairs = {name: [0] for name in PAIR_COUNTS} | {"heterozygous_first": [40], "heterozygous_second": [40]}
    found = relate(["a", "b"], pairs | {"sites": [100], "both_heterozygous": [20], "opposite_homozygous": [10]})
    assert (found.rows[0]["kinship"], found.rows[0]["relation"]) == (0.0, None)
    assert found.of(0) == {"same_person": [], "reason": "too few sites"}


@pytest.mark.parametrize("sites", [100, 300, 1000, 3000])
def test_relatives_are_never_called_unrelated(sites: int) -> None:
    """With few sites, siblings and cousins are relatives or unclear; with many, strangers are unrelated."""
    generator = np.random.default_rng(sites)
    said = Counter[tuple[str, str | None]]()
    for _ in range(60):
        frequency = generator.uniform(0.1, 0.9, sites)
        first, second, third = (generator.random((3, 2, sites)) < frequency).astype(int)

        def child(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            picked = generator.integers(2, size=(2, sites)), np.arange(sites)
            return np.stack([one[picked[0][0], picked[1]], other[picked[0][1], picked[1]]])

        son, daughter = child(first, second), child(first, second)
        counter = PairCounter(4)
        codes = np.stack([1 + person.sum(axis=0) for person in (son, daughter, child(son, third), third)])
        for site in codes.T.tolist():
            counter.add(site)
        names = ["son", "daughter", "niece", "stranger"]
        said.update(
            (f"{row['first']} {row['second']}", row["relation"]) for row in relate(names, counter.counts()).rows
        )
    assert not said["son daughter", "unrelated"]
    assert said["daughter niece", "unrelated"] <= 1
    related = [name for name in RELATIONS if name != "unrelated"]
    assert sum(said[f"{child} stranger", name] for child in ("son", "daughter") for name in related) <= 6
    if sites == 3000:
        assert said["son stranger", "unrelated"] > 30
        assert said["son daughter", "first degree"] > 55


def test_degrees_and_too_few_sites() -> None:
    assert degree([0.5, 0.3, 0.12, 0.06, 0.0]).tolist() == list(range(len(RELATIONS)))
    assert degree([0.3, 0.14, 0.0, -0.06], 0.05).tolist() == [1, UNCLEAR, UNCLEAR, 4]
    (row,) = relate(["a", "b"], {name: [5] for name in PAIR_COUNTS}).rows
    assert (row["kinship"], row["relation"], row["concordance"]) == (None, None, 1.0)

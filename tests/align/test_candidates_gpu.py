"""From hits to candidates on the CPU and on a card, against the definition in plain Python."""

import random
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from quire.algorithms.seeding import DIAGONAL_BIAS, SeedingParameters
from quire.align.candidates.gpu import LOCAL_BUNDLES
from quire.align.parameters import (
    BAND_MARGIN,
    BUNDLE_GAP,
    LARGEST_GAP,
    MOST_CANDIDATES,
    SHORTEST_SCORE,
    WIDEST_BUNDLE,
)
from quire.ragged import offsets_from_lengths
from quire.reference.gpu import upload_reference

from tests.oracles.seeding import seed_ends
from tests.oracles.ties import hash_name, tie_hash
from tests.support.card_builders import Host, card_reads, download_all, pack, reverse_complement, twin
from tests.support.examples import examples, some
from tests.support.places import rows_of

NONE = np.zeros(0, np.uint8)
SEEDINGS = [SeedingParameters(3, 32, 16), SeedingParameters(5, 32), SeedingParameters(20, 32)]


@pytest.fixture
def card(card_or_cpu):
    return card_or_cpu


class Bundle:
    """Adjacent hits of one strand and island."""

    def __init__(self, strand: int, island: int) -> None:
        self.strand, self.island = strand, island
        self.diagonals: list[int] = []
        self.seeds: set[int] = set()

    def covered(self, ends: list[int], also: set[int] = frozenset()) -> int:
        seed_length = ends[0]
        return len({base for seed in self.seeds | also for base in range(ends[seed] - seed_length, ends[seed])})

    def peak(self) -> int:
        counts = Counter(self.diagonals)
        return min(d for d in counts if counts[d] == max(counts.values()))


def bundles_of(hits, ends: list[int], borders: list[int]) -> list[Bundle]:
    bundles: list[Bundle] = []
    for strand, diagonal, seed in hits:
        end = diagonal + ends[seed]
        inside = [i for i in range(len(borders) - 1) if borders[i] <= end - ends[0] and end <= borders[i + 1]]
        if not inside:
            continue
        last = bundles[-1] if bundles else None
        if (
            last is None
            or (last.strand, last.island) != (strand, inside[0])
            or diagonal - max(last.diagonals) > BUNDLE_GAP
            or diagonal - min(last.diagonals) > WIDEST_BUNDLE
        ):
            bundles.append(Bundle(strand, inside[0]))
        bundles[-1].diagonals.append(diagonal)
        bundles[-1].seeds.add(seed)
    return bundles


def gap_between(a: Bundle, b: Bundle) -> int:
    return max(min(b.diagonals) - max(a.diagonals), min(a.diagonals) - max(b.diagonals))


def continuations(bundles: list[Bundle], i: int):
    """Return the indices of the bundles that continue bundle i across a gap."""
    own = bundles[i]
    for step in (-1, 1):
        j = i + step
        while 0 <= j < len(bundles):
            other = bundles[j]
            if (other.strand, other.island) != (own.strand, own.island) or gap_between(own, other) > LARGEST_GAP:
                break
            if 4 * len(own.seeds & other.seeds) <= min(len(own.seeds), len(other.seeds)):
                yield j
            j += step


def candidates_of(
    hits,
    codes: list[int],
    name: bytes,
    axis: list[int],
    borders: list[int],
    seeding: SeedingParameters,
    alternate: Sequence[int] = (),
) -> list[tuple]:
    """Return (strand, diagonal, lowest, highest, island) of a read's candidates, as the module's text defines them.

    Those on `alternate` islands come last; the others are the same as without them.
    """
    length, ends = len(codes), seed_ends(len(codes), seeding)
    bundles = bundles_of(hits, ends, borders)
    found = []
    for i, own in enumerate(bundles):
        near = list(continuations(bundles, i))
        covered = own.covered(ends)
        absorbing = [j for j in near if (bundles[j].covered(ends), i) > (covered, j)]
        if any(covered > 6 + gap_between(own, bundles[j]) for j in absorbing):
            continue
        near = [] if absorbing else near
        diagonals = own.diagonals + [d for j in near for d in bundles[j].diagonals]
        paying = [j for j in near if min(covered, bundles[j].covered(ends)) > 6 + gap_between(own, bundles[j])]
        promise = own.covered(ends, {seed for j in paying for seed in bundles[j].seeds})
        peak = own.peak()
        if borders[own.island] <= peak and peak + length <= borders[own.island + 1]:
            oriented = reverse_complement(codes) if own.strand else codes
            text = axis[peak : peak + length]
            differing = sum((0 if a > 3 else a) != b for a, b in zip(oriented, text, strict=True))
            promise = max(promise, length - 5 * differing)
        rank = (-promise, tie_hash(hash_name(name), peak), i)
        part = [ends[min(own.seeds)] - ends[0], ends[max(own.seeds)]]
        part = [length - part[1], length - part[0]] if own.strand else part
        found.append((rank, (own.strand, peak, min(diagonals), max(diagonals), own.island), part))
    of_primary = [item for item in found if item[1][-1] not in alternate]
    of_alternate = [item for item in found if item[1][-1] in alternate]
    places = kept_of(of_primary, length, max((-item[0][0] for item in of_primary), default=0))
    return places + kept_of(of_alternate, length, max((-item[0][0] for item in found), default=0))


def kept_of(found: list[tuple], length: int, best: int) -> list[tuple]:
    """Return the kept places of (rank, place, part); none below half of the best if that covers the whole read."""
    found, others = sorted(found)[:MOST_CANDIDATES], sorted(found)[MOST_CANDIDATES:]
    if best > length - SHORTEST_SCORE:
        found = [item for item in found if -2 * item[0][0] >= best]
    elif others and not any(are_apart(found[0][2], item[2]) for item in found):
        found[-1] = next((item for item in others if are_apart(found[0][2], item[2])), found[-1])
    return [place for _, place, _ in found]


def are_apart(a: list[int], b: list[int]) -> bool:
    """Return True if two parts of a read share less than half of the shorter one."""
    shared = len(set(range(*a)) & set(range(*b)))
    return 2 * shared < min(a[1] - a[0], b[1] - b[0])


def check(
    card,
    sequences,
    hits_of_reads,
    axis: list[int],
    borders: list[int],
    seeding: SeedingParameters,
    alternate: Sequence[int] = (),
) -> list[int]:
    """Compare with the definition; return the number of candidates of each read."""
    hits_of_reads = [sorted(set(hits)) for hits in hits_of_reads]
    words = [strand << 63 | (diagonal + DIAGONAL_BIAS) << 8 | seed
             for hits in hits_of_reads for strand, diagonal, seed in hits]  # fmt: skip
    reference = SimpleNamespace(
        text=pack(axis), ambiguous=np.empty((0, 2), np.int64), island_axis=np.array(borders, np.int64),
        island_contig=np.arange(len(borders) - 1, dtype=np.int32), island_start=np.zeros(len(borders) - 1, np.int64),
        alternate=np.isin(np.arange(len(borders) - 1), alternate).astype(np.uint8) if len(alternate) else NONE,
    )  # fmt: skip
    offsets = offsets_from_lengths([len(hits) for hits in hits_of_reads])
    reference.text.flags.writeable = reference.ambiguous.flags.writeable = False  # as in mapped files
    jobs = twin(card, "quire.align.candidates", "find_candidates")(
        card.upload(offsets), card.upload(np.array(words, np.uint64)), card_reads(card, sequences),
        reference if isinstance(card, Host) else upload_reference(card, reference), seeding,
    )  # fmt: skip
    jobs = download_all(card, jobs)
    wanted = [candidates_of(hits, sequences[read], b"r%05d" % read, axis, borders, seeding, alternate)
              for read, hits in enumerate(hits_of_reads)]  # fmt: skip
    flat = [(read, strand, peak, low - BAND_MARGIN, high + BAND_MARGIN, borders[island], borders[island + 1])
            for read, places in enumerate(wanted) for strand, peak, low, high, island in places]  # fmt: skip
    assert rows_of(jobs) == flat
    return [len(places) for places in wanted]


def drawn_axis(generator: random.Random, islands: int) -> tuple[list[int], list[int]]:
    """Return the codes of an axis with many similar copies, and the borders of its islands."""
    unit = generator.choices(range(4), k=generator.choice([1, 7, 90]))
    axis: list[int] = []
    while len(axis) < 900:
        axis += [code if generator.random() < 0.98 else generator.randrange(4) for code in unit]
    borders = sorted(generator.sample(range(1, len(axis)), islands - 1))
    return axis, [0, *borders, len(axis)]


def drawn_hits(generator: random.Random, seeds: int, axis: int, clusters: int) -> list[tuple[int, int, int]]:
    """Return hits around some diagonals, of any seed: lone ones, tandem chains, gaps, and some beyond the axis."""
    hits = []
    for _ in range(clusters if seeds else 0):
        strand, diagonal = generator.randint(0, 1), generator.randint(-100, axis)
        step = generator.choice([0, 0, 1, 3, BUNDLE_GAP, BUNDLE_GAP + 1, 30, LARGEST_GAP])
        for _ in range(generator.choice([1, 2, 6, 12])):
            hits.append((strand, diagonal, generator.randrange(seeds)))
            if generator.random() < 0.1:
                hits.append((1 - strand, diagonal, hits[-1][2]))
            diagonal += step if generator.random() < 0.8 else generator.randint(0, 12)
    return hits


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 1 << 32), st.integers(1, 4), st.sampled_from(SEEDINGS),
    st.lists(st.tuples(st.sampled_from([0, 19, 20, 21, 50, 63, 96, 120, 393, 400]), st.integers(0, 20)), max_size=6),
)  # fmt: skip
@example(1, 3, SEEDINGS[1], [(150, 60), (100, 60), (60, 90)])
def test_as_defined(card, seed: int, islands: int, seeding: SeedingParameters, shapes: list[tuple[int, int]]) -> None:
    generator = random.Random(seed)
    axis, borders = drawn_axis(generator, islands)
    sequences, hits = [], []
    for length, clusters in shapes:
        start = generator.randrange(len(axis) - length)
        codes = [generator.randrange(5) if generator.random() < 0.02 else code for code in axis[start : start + length]]
        strand, seeds = generator.randint(0, 1), len(seed_ends(length, seeding))
        sequences.append(reverse_complement(codes) if strand else codes)
        hits.append(drawn_hits(generator, seeds, len(axis), clusters))
        hits[-1] += [(strand, start, seed) for seed in range(seeds) if generator.random() < 0.5]
    check(card, sequences, hits, axis, borders, seeding)
    check(
        card, sequences, hits, axis, borders, seeding, [island for island in range(islands) if island % 2 == seed % 2]
    )


@pytest.mark.parametrize(("alternate", "kept"), [((), 2), ((0,), 4), ((0, 1), 3), ((1,), 2)])
def test_a_place_on_an_alternate_contig_leaves_out_none_of_the_primary_assembly(card, alternate, kept: int) -> None:
    """A read matches one island, half of it matches another, and one seed of it each of three islands."""
    generator = random.Random(4)
    axis = generator.choices(range(4), k=900)
    hits = [(0, 100, seed) for seed in range(5)] + [(0, 180, 0), (0, 180, 1), (0, 180, 2)]
    hits += [(0, 400, 1), (0, 700, 2)]
    assert check(card, [axis[100:200]], [hits], axis, [0, 300, 600, 900], SEEDINGS[2], alternate) == [kept]


@pytest.mark.parametrize("count", [LOCAL_BUNDLES, LOCAL_BUNDLES + 1, 700])
def test_the_best_of_many_and_of_all_alike(card, count: int) -> None:
    """Equal copies are chosen by hash; a better copy is chosen anywhere; the other strand has no influence."""
    generator = random.Random(count)
    axis = generator.choices(range(4), k=90 * (count // 2 + 3))
    read = generator.choices(range(4), k=100)
    hits = [(generator.randint(0, 1), 90 * i, 0) for i in range(count // 2 + 1)]
    hits += [(1 - strand, diagonal, seed) for strand, diagonal, seed in hits]
    # bundles of two and three seeds, spread over all diagonals
    hits += [(strand, diagonal, 1 + i % 4) for i, (strand, diagonal, _) in enumerate(hits) if i % 41 == 0]
    assert check(card, [read, read[:50]], [hits[:count], []], axis, [0, len(axis)], SEEDINGS[2]) == [MOST_CANDIDATES, 0]


@pytest.mark.parametrize("strand", [0, 1])
@pytest.mark.parametrize("copies", some(2, [16, 200, 15, 17, 60]))
@pytest.mark.parametrize("others", [0, 1, 3, 40])
def test_copies_of_one_part_leave_a_place_to_another_part(card, copies: int, others: int, strand: int) -> None:
    """The first 60 bases have many places; the last 40 have others, with the lowest, an equal or a better score."""
    generator = random.Random(copies + others)
    axis = generator.choices(range(4), k=100 * (copies + others + 3))
    read = generator.choices(range(4), k=100)
    seeds = [2, 3, 4] if strand else [0, 1, 2]
    hits = [(strand, 100 * i, seed) for i in range(copies) for seed in seeds]
    other_seed = 0 if strand else 4
    hits += [(strand, 100 * (copies + 1 + i), other_seed) for i in range(others)]
    hits += [(1 - strand, 100 * (copies + 1 + others), 4 - other_seed)] if others == 3 else []
    found = check(card, [read], [hits], axis, [0, len(axis)], SEEDINGS[2])
    assert found == [min(MOST_CANDIDATES, len(hits) - 2 * copies)]
    if others:
        places = candidates_of(sorted(hits), read, b"r00000", axis, [0, len(axis)], SEEDINGS[2])
        assert any(place[1] > 100 * copies for place in places)


@pytest.mark.parametrize(
    ("alternate", "kept"),
    [((), MOST_CANDIDATES), ((0,), MOST_CANDIDATES + 4), ((1,), 2 * MOST_CANDIDATES), ((0, 1, 2), MOST_CANDIDATES)],
)
def test_places_on_alternate_contigs_take_none_of_the_primary_assembly(card, alternate, kept: int) -> None:
    """Islands with 4 and 20 copies of a read's first two seeds and 30 of its third: neither list limits the other."""
    generator = random.Random(6)
    axis = generator.choices(range(4), k=100 * 60)
    read = generator.choices(range(4), k=100)
    hits = [(i % 2, 100 * i + 10, seed) for i in range(54) for seed in ((0, 1) if i < 24 else (2,))]
    borders = [0, 400, 2400, 6000]
    assert check(card, [read], [hits], axis, borders, SEEDINGS[2], alternate) == [kept]
    own = {place for place in candidates_of(sorted(hits), read, b"r00000", axis, borders, SEEDINGS[2], alternate)
           if place[-1] not in alternate}  # fmt: skip
    alone = [hit for hit in sorted(hits) if sum(hit[1] >= border for border in borders[1:3]) not in alternate]
    assert own == {*candidates_of(alone, read, b"r00000", axis, borders, SEEDINGS[2])}


@pytest.mark.parametrize("step", [1, 5, 8])
def test_a_chain_of_hits_is_cut_by_its_width(card, step: int) -> None:
    """Hits so close that only the width ends a bundle, over several rounds of 32, next to others and across islands."""
    generator = random.Random(step)
    axis = generator.choices(range(4), k=1500)
    chain = [(0, 130 + step * i, i % 3) for i in range(120)]
    others = [(0, 20, 1), (1, 300, 0), (1, 900, 2)]
    borders = [0, 217, 640, 1500]
    assert len(bundles_of(chain, seed_ends(60, SEEDINGS[2]), borders)) > 3
    check(card, [axis[200:260]] * 2, [chain + others, chain], axis, borders, SEEDINGS[2])


def test_no_reads_and_no_hits(card) -> None:
    assert check(card, [], [], [0] * 50, [0, 50], SEEDINGS[2]) == []
    assert check(card, [[0] * 30, []], [[], []], [0] * 50, [0, 50], SEEDINGS[2]) == [0, 0]

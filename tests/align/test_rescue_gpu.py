"""Mate rescue on the CPU and on a card: windows, votes, ties and the order of jobs against plain Python."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.align.insert_size import NO_INSERT_SIZES, ORIENTATIONS, InsertSize, InsertSizes
from quire.align.parameters import (
    BAND_MARGIN,
    FEWEST_KMERS,
    KMER,
    MOST_ANCHORS,
    MOST_CANDIDATES,
    UNPAIRED_COST,
)
from quire.align.rescue import gpu as rescue_gpu
from quire.reference.gpu import upload_reference

from tests.oracles.align import best_diagonals, five_prime, template_length
from tests.support.card_builders import Host, card_reads, download_all, pack, reverse_complement, twin, upload_all
from tests.support.examples import examples, some
from tests.support.places import Place, alignments_of, rows_of

AT_300 = InsertSize(1000, 280, 300, 320, 300, 30, 180, 420)
NEAR = InsertSize(1000, 60, 80, 100, 80, 10, 20, 140)
MODEL, CLOSE = InsertSizes(FR=AT_300), InsertSizes(FR=NEAR)
SHADOWED, ALL = InsertSizes(FR=NEAR, RF=AT_300), InsertSizes(AT_300, NEAR, AT_300, NEAR)
SKEWED = InsertSizes(FR=InsertSize(1000, 100, 200, 300, 200, 150, 1, 700))
# Two contigs, the second at axis position 100,000 (`Place`); its first island is a sequel of the first contig's text.
ISLANDS = [0, 700, 705, 1500, 2600, 100_000, 100_400, 101_000]
ENDS = {0: 2600, 1: 1000}
SETTINGS = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def card(card_or_cpu):
    return card_or_cpu


@cache
def axis() -> np.ndarray:
    """Return random text with tandem repeats, simple sequence and copies."""
    codes = np.random.default_rng(4).integers(0, 4, ISLANDS[-1]).astype(np.uint8)
    codes[900:1100] = np.resize(codes[900:937], 200)
    codes[1200:1260] = 0
    codes[1800:1900] = np.resize([0, 1], 100)
    codes[2000:2100] = codes[1700:1800]
    codes[100_500:100_700] = np.resize(codes[100_500:100_512], 200)
    return codes


@cache
def packed_axis() -> np.ndarray:
    return pack(axis().tolist())


def upload_axis(card):
    islands = len(ISLANDS) - 1
    reference = SimpleNamespace(
        text=packed_axis(), ambiguous=np.zeros((0, 2), np.int64), island_axis=np.array(ISLANDS, np.int64),
        island_contig=np.zeros(islands, np.int32), island_start=np.zeros(islands, np.int64),
        alternate=np.zeros(0, np.uint8),
    )  # fmt: skip
    return reference if isinstance(card, Host) else upload_reference(card, reference)


def in_order(anchor: Place, other: Place, lengths: tuple[int, int], side: int) -> tuple[str, int] | None:
    """Return orientation and template length of an anchor and a place of its mate; the anchor is mate `side`."""
    if side == 0:
        return template_length(anchor, other, lengths)
    return template_length(other, anchor, lengths[::-1])


@cache
def places_of_mate(
    anchor: Place, lengths: tuple[int, int], side: int, orientation: str, model: InsertSize
) -> tuple[int, int, int, int]:
    """Return strand, begin and end on the contig of all places of the mate that form a proper pair of an orientation.

    Also return where the place with the mean template length begins.
    """
    five = five_prime(anchor, lengths[0])
    found, of_mean = [], []
    for strand in (0, 1):
        for position in range(five - model.high - lengths[1], five + model.high + 1):
            other = Place(100, strand, position, 0, lengths[1], anchor.contig)
            pair = in_order(anchor, other, lengths, side)
            if pair is not None and pair[0] == orientation and model.low <= pair[1] <= model.high:
                found.append((strand, position, position + lengths[1]))
                of_mean += [position] * (pair[1] == model.mean)
    assert len({strand for strand, *_ in found}) == 1
    assert len(of_mean) == 1
    return found[0][0], min(begin for _, begin, _ in found), max(end for *_, end in found), of_mean[0]


def wanted_jobs(reads: list[list[int]], places: list[list[Place]], models: InsertSizes) -> list[tuple[int, ...]]:
    """Return the jobs by pair, side, anchor and orientation."""
    jobs = []
    pairs = len(reads) // 2
    for read, mate in (order for pair in range(pairs) for order in ((pair, pairs + pair), (pairs + pair, pair))):
        side, lengths = int(read >= pairs), (len(reads[read]), len(reads[mate]))
        best = max((place.score for place in places[read]), default=0)
        near = [place for place in places[read] if place.score >= best - UNPAIRED_COST]
        mate_scores = sorted(place.score for place in places[mate])
        tied = len(mate_scores) > 1 and mate_scores[-1] == mate_scores[-2]
        looks_again = len(near) < MOST_CANDIDATES and (tied or len(mate_scores) >= MOST_CANDIDATES)
        for anchor in places[read][:MOST_ANCHORS]:
            if anchor not in near:
                continue
            found = [in_order(anchor, other, lengths, side) or ("FR", 0) for other in places[mate]]
            proper = [getattr(models, name).low <= length <= getattr(models, name).high for name, length in found]
            if any(proper) and not looks_again:
                continue
            island = next(i for i, end in enumerate(ISLANDS[1:]) if anchor.axis_begin < end)
            borders = ISLANDS[island], ISLANDS[island + 1]
            for name, model in zip(ORIENTATIONS, models.models, strict=True):
                if model.low > model.high:
                    continue
                strand, *span = places_of_mate(anchor, lengths, side, name, model)
                begin, end, target = (anchor.contig * 100_000 + place for place in span)
                codes = reverse_complement(reads[mate]) if strand == 1 else reads[mate]
                begin, end = max(begin, borders[0]), min(end, borders[1])
                found = best_diagonals(codes, axis()[begin : max(begin, end)].tolist(), target - begin)
                for diagonal in (begin + one for one in found):
                    jobs.append((mate, strand, diagonal, diagonal - BAND_MARGIN, diagonal + BAND_MARGIN, *borders))
    return jobs


def on_card(card, reads, places, model) -> list[tuple[int, ...]]:
    pairs = len(reads) // 2
    jobs = twin(card, "quire.align.rescue", "rescue_jobs")(
        upload_all(card, alignments_of(places)),
        card_reads(card, reads[:pairs], reads[pairs:]),
        upload_axis(card),
        model,
    )
    return rows_of(download_all(card, jobs))


@st.composite
def pairs_of_places(draw):
    """Return anchors anywhere, also at island borders, and mates near them: with errors, N, simple, short, foreign."""
    generator = np.random.default_rng(draw(st.integers(0, 999)))
    first, second, places = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        contig = draw(st.sampled_from([0, 0, 1]))
        length, mate_length = (draw(st.sampled_from([0, 7, 8, 20, 60, 100])) for _ in range(2))
        anchors = []
        for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
            at = draw(st.sampled_from([0, 650, 702, 760, 990, 1180, 1400, 1700, 1990, 2300, 2500]))
            clipped = draw(st.sampled_from([0, 0, length // 3]))
            strand, score = draw(st.integers(0, 1)), 100 - draw(st.sampled_from([0, 0, 10, 17, 18]))
            at = min(at + draw(st.integers(0, 40)), ENDS[contig] - length - 1)
            anchors.append(Place(score, strand, at, clipped, length, contig, length - clipped))
        anchors.sort(key=lambda place: -place.score)
        mate = generator.integers(0, 4, mate_length).tolist()
        partners = []
        if anchors:
            anchor = anchors[draw(st.integers(0, len(anchors) - 1))]
            template = draw(st.sampled_from([20, 100, 179, 180, 181, 250, 300, 420, 421]))
            at = anchor.position + template - mate_length if anchor.strand == 0 else anchor.position + length - template
            at = min(max(at, 0), ENDS[contig] - mate_length - 1)
            if draw(st.booleans()):
                begin = contig * 100_000 + at
                mate = axis()[begin : begin + mate_length].tolist()
                for i in range(draw(st.integers(0, 11)), mate_length, draw(st.sampled_from([9, 12, 20, 200]))):
                    mate[i] = draw(st.sampled_from([4, (mate[i] + 1) % 4]))
                mate = reverse_complement(mate) if anchor.strand == 0 else mate
            if draw(st.booleans()):
                strand, count = (
                    draw(st.integers(0, 1)),
                    draw(st.sampled_from([1, 1, 1, MOST_CANDIDATES - 1, MOST_CANDIDATES])),
                )
                partners += [Place(50, strand, at, 0, mate_length, contig)]
                partners += [Place(50 - draw(st.integers(0, 1)), strand, at, 0, mate_length, contig)] * (count - 1)
        if draw(st.sampled_from([False, False, True])):
            mate = np.resize(draw(st.sampled_from([[0], [0, 1], [0, 0, 1, 1, 2, 2, 0, 3]])), mate_length).tolist()
        read = generator.integers(0, 4, length).tolist()
        swapped = draw(st.booleans())
        first.append(mate if swapped else read)
        second.append(read if swapped else mate)
        places.append((partners, anchors) if swapped else (anchors, partners))
    return first + second, [of_pair[side] for side in range(2) for of_pair in places]


@pytest.mark.parametrize("diagonals", [2048, 64])
@given(batch=pairs_of_places(), model=st.sampled_from([MODEL, CLOSE, SHADOWED, ALL, SKEWED]))
@SETTINGS
def test_jobs_equal_a_plain_vote(card, diagonals, batch, model) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rescue_gpu, "MOST_DIAGONALS", diagonals)
        assert on_card(card, *batch, model) == wanted_jobs(*batch, model)


@pytest.mark.parametrize("diagonals", [2048, 16])
@pytest.mark.parametrize("shared_bytes", some(1, [9000, 64 << 10, 227 << 10]))
def test_ties_inside_repeats(card, monkeypatch, diagonals, shared_bytes) -> None:
    monkeypatch.setattr(rescue_gpu, "MOST_DIAGONALS", diagonals)
    monkeypatch.setattr(card, "shared_bytes", shared_bytes, raising=False)
    first, second, places = [], [], []
    for at in range(700, 2500, 60):
        mate = axis()[at : at + 100].copy()
        mate[50:53] = (mate[50:53] + 1) % 4
        for strand in range(2):
            first.append([0] * 100)
            second.append(reverse_complement(mate) if strand == 0 else mate.tolist())
            places.append([Place(100, strand, min(max(at - 200 + 400 * strand, 0), 2490), 0, 100)])
    reads, places = first + second, places + [[] for _ in second]
    wanted = wanted_jobs(reads, places, MODEL)
    assert len(wanted) > 40
    assert on_card(card, reads, places, MODEL) == wanted


FIVE = (2000, 2400)


def one_pair(card, strand: int, codes: list[int], partners: list[Place] = ()) -> list[int]:
    """Return the diagonals of a mate with these codes (as on the axis), for an anchor with 5' end FIVE[strand]."""
    reads = [[0] * 100, reverse_complement(codes) if strand == 0 else codes]
    places = [[Place(100, strand, FIVE[strand] - 100 * strand, 0, 100)], list(partners)]
    jobs = on_card(card, reads, places, MODEL)
    assert jobs == wanted_jobs(reads, places, MODEL)
    return [job[2] for job in jobs]


@pytest.mark.parametrize("strand", [0, 1])
def test_bounds_of_proper_distances(card, strand: int) -> None:
    def place_of_mate(template: int, length: int) -> int:
        return FIVE[strand] + template - length if strand == 0 else FIVE[strand] - template

    full = axis()[place_of_mate(300, 100) : place_of_mate(300, 100) + 100].tolist()
    for template in (AT_300.low - 1, AT_300.low, AT_300.high, AT_300.high + 1):
        proper = AT_300.low <= template <= AT_300.high
        partner = Place(40, 1 - strand, place_of_mate(template, 100), 0, 100)
        assert len(one_pair(card, strand, full, [partner])) == (not proper)
        # The fewest bases that give a job: all their k-mers must be found.
        at = place_of_mate(template, KMER + FEWEST_KMERS - 1)
        few = axis()[at : at + KMER + FEWEST_KMERS - 1].tolist()
        assert one_pair(card, strand, few) == ([at] if proper else [])


def test_an_ambiguous_base_matches_nothing(card) -> None:
    at = 2200 + axis()[2200:2400].tolist().index(0)
    mate = axis()[at - KMER : at + KMER + 1].tolist()
    assert one_pair(card, 0, mate) == [at - KMER]
    mate[KMER] = 4  # packed as A, the base at this place
    assert one_pair(card, 0, mate) == []


@pytest.mark.parametrize("diagonals", [2048, 16])
def test_of_equals_that_of_the_template_length_nearest_the_mean(card, monkeypatch, diagonals) -> None:
    monkeypatch.setattr(rescue_gpu, "MOST_DIAGONALS", diagonals)
    size = KMER + FEWEST_KMERS - 1
    junk = np.random.default_rng(1).integers(0, 4, 40).tolist()
    at_mean = FIVE[0] + AT_300.mean - (2 * size + len(junk))
    # Its two parts are 40 bases apart; if both are equally far from the mean, the lower one is chosen.
    for at, other in ((0, False), (19, False), (20, True), (21, True), (40, True)):
        parts = [axis()[begin : begin + size].tolist() for begin in (at_mean + at, at_mean + at + size)]
        junk[0], junk[-1] = 3 - parts[1][0], 3 - parts[0][-1]  # so that neither part continues
        nearest = at_mean + at - len(junk) * other
        assert one_pair(card, 0, parts[0] + junk + parts[1]) == [nearest, 2 * (at_mean + at) - len(junk) - nearest]


def test_one_kmer_at_the_end_of_a_window_is_too_few(card) -> None:
    last = axis()[FIVE[0] + AT_300.high - KMER : FIVE[0] + AT_300.high].tolist()
    for length in range(8, 13):
        assert one_pair(card, 0, last + [0] * length) == []


def test_the_first_anchors_only_and_near_the_best(card) -> None:
    mate = reverse_complement(axis()[2140:2240].tolist())
    reads = [[0] * 100, mate]
    anchors = [Place(100, 0, 1940 + copy, 0, 100) for copy in range(MOST_ANCHORS + 5)]
    assert [job[2] for job in on_card(card, reads, [anchors, []], MODEL)] == [2140] * MOST_ANCHORS
    anchors[3:] = [Place(100 - UNPAIRED_COST - (copy > 5), 0, 1940 + copy, 0, 100) for copy in range(3, 9)]
    assert len(on_card(card, reads, [anchors, []], MODEL)) == 6
    # A better place on an alternate contig may follow the others.
    better = [Place(100 - UNPAIRED_COST - 1, 0, 1940, 0, 100), *anchors[:3]]
    assert len(on_card(card, reads, [better, []], MODEL)) == 3


@pytest.mark.parametrize("diagonals", [2048, 16])
@pytest.mark.parametrize("length", some(2, [KMER, 50, KMER + 3, 30, 100]))
def test_a_mate_in_a_tandem_repeat_has_two_places(card, monkeypatch, diagonals, length) -> None:
    """Poly-A at [1200, 1260), a repeat of AC at [1800, 1900) and one of 37 bases at [900, 1100)."""
    monkeypatch.setattr(rescue_gpu, "MOST_DIAGONALS", diagonals)
    places = [[Place(100, 0, at, 0, 100)] for at in (1000, 1600, 720)]
    mates = [np.zeros(length, int), np.resize([0, 1], length), np.resize(axis()[900:937], length)]
    reads = [*[[0] * 100] * 3, *(reverse_complement(mate.tolist()) for mate in mates)]
    jobs = on_card(card, reads, places + [[]] * 3, MODEL)
    assert jobs == wanted_jobs(reads, places + [[]] * 3, MODEL)
    found = [[job[2] for job in jobs if job[0] == read] for read in (3, 4, 5)]
    # A mate with fewer k-mers than a seed needs votes is not found.
    assert [len(of_one) for of_one in found] == [0 if length < KMER + FEWEST_KMERS - 1 else 2] * 3
    for mate, diagonals_found in zip(mates, found, strict=True):
        for diagonal in diagonals_found[:1] if length < 60 else []:
            assert (axis()[diagonal : diagonal + length] == mate).all()


@pytest.mark.full
@pytest.mark.parametrize("diagonals", [2048, 16])
@pytest.mark.parametrize("length", [*range(KMER, 60), 100])
def test_a_microsatellite_with_another_base(card, monkeypatch, diagonals, length) -> None:
    """A repeat of AC at [1800, 1900), and mates of it with one or two substitutions."""
    monkeypatch.setattr(rescue_gpu, "MOST_DIAGONALS", diagonals)
    places = [[Place(100, 0, 1600, 0, 100)]] * 2 + [[], []]
    one, two = np.resize([0, 1], length), np.resize([0, 1], length)
    one[length // 2] = 3
    two[[length // 3, 2 * length // 3]] = 2
    reads = [[0] * 100, [0] * 100, reverse_complement(one.tolist()), reverse_complement(two.tolist())]
    assert on_card(card, reads, places, MODEL) == wanted_jobs(reads, places, MODEL)


def test_a_mate_of_mostly_n(card) -> None:
    """Mates with 16, 23, 31 and 60 called bases, before or after N."""
    mate = axis()[2140:2240].tolist()
    mates = [mate[:called] + [4] * (100 - called) for called in (16, 23, 31, 60)]
    mates += [[4] * (100 - called) + mate[100 - called :] for called in (16, 23, 31, 60)]
    reads = [*([[0] * 100] * len(mates)), *map(reverse_complement, mates)]
    places = [[Place(100, 0, 1940, 0, 100)]] * len(mates) + [[]] * len(mates)
    jobs = on_card(card, reads, places, MODEL)
    assert jobs == wanted_jobs(reads, places, MODEL)
    assert [job[2] for job in jobs] == [2140] * len(mates)


def test_looks_again_beside_few_places_if_the_mate_may_have_better_ones(card) -> None:
    reads = [[0] * 100, reverse_complement(axis()[2140:2240].tolist())]
    for anchors, partners, jobs in (([100], [40], 0), ([100], [40, *[39] * (MOST_CANDIDATES - 2)], 0),
                                    ([100], [40, *[39] * (MOST_CANDIDATES - 1)], 1), ([100], [40, 40], 1),
                                    ([100], [39, 40, 30, 40], 1), ([100], [40, 39, 39], 0),
                                    ([100] * (MOST_CANDIDATES - 1), [40, 40], MOST_CANDIDATES - 1),
                                    ([100] * MOST_CANDIDATES, [40] * MOST_CANDIDATES, 0),
                                    ([100, *[99 - UNPAIRED_COST] * MOST_CANDIDATES], [40, 40], 1)):  # fmt: skip
        places = [
            [Place(score, 0, 1940, 0, 100) for score in anchors],
            [Place(score, 1, 2150, 0, 100) for score in partners],
        ]
        assert [job[2] for job in on_card(card, reads, places, MODEL)] == [2140] * jobs


def test_nothing_to_rescue(card) -> None:
    mate = reverse_complement(axis()[2140:2240].tolist())
    anchor, partner = Place(100, 0, 1940, 0, 100), Place(40, 1, 2140, 0, 100)
    reads = [[0] * 100, mate]
    assert on_card(card, reads, [[anchor], []], MODEL) == wanted_jobs(reads, [[anchor], []], MODEL) != []
    assert on_card(card, reads, [[anchor], []], NO_INSERT_SIZES) == []
    assert on_card(card, reads, [[anchor], [partner]], MODEL) == []
    assert on_card(card, reads, [[], []], MODEL) == []
    assert on_card(card, [], [], MODEL) == []
    for short in (0, 1, KMER - 1):
        assert on_card(card, [[0] * 100, mate[:short]], [[anchor], []], MODEL) == []


@pytest.mark.parametrize("shared_bytes", [227 << 10, 16000])  # for the usual table, and for a fuller one
@pytest.mark.parametrize("high", [420, 2400])
def test_long_mates_and_wide_windows(card, monkeypatch, high, shared_bytes) -> None:
    monkeypatch.setattr(card, "shared_bytes", shared_bytes, raising=False)
    model = InsertSizes(FR=InsertSize(1000, 280, 300, 320, 300, 30, 100, high))
    mate = axis()[1500:2524].copy()
    mate[::12] = (mate[::12] + 1) % 4
    reads = [[0] * 50, [0] * 50, mate.tolist(), reverse_complement(mate.tolist())]
    places = [[Place(50, 1, 2540, 0, 50)], [Place(50, 0, 1510, 0, 50)], [], []]
    assert on_card(card, reads, places, model) == wanted_jobs(reads, places, model)
    assert len(wanted_jobs(reads, places, model)) >= 1 + (high > 1000)

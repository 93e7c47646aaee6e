"""Selection on the CPU and on a card against brute force over all places and pairs of places."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.align.insert_size import NO_INSERT_SIZES, InsertSize, InsertSizes
from quire.align.parameters import (
    CHANCE_SCORE,
    COUNT_COST,
    CROWDED_PARTS,
    LENGTH_FACTOR,
    LONGEST_SPAN,
    MOST_CANDIDATES,
    MOST_SUPPLEMENTARY,
)

from tests.oracles.align import (
    Chosen,
    Marked,
    choose_pair,
    choose_single,
    complete,
    is_simple,
)
from tests.oracles.ties import hash_name, tie_hash
from tests.support.card_builders import Host, card_reads, download_all, reverse_complement, twin, upload_all
from tests.support.examples import examples
from tests.support.places import Place, alignments_of

AT_300 = InsertSize(1000, 280, 300, 320, 300, 30, 180, 420)
NEAR = InsertSize(1000, 80, 100, 120, 100, 30, 1, 240)
MODELS = {
    "300": InsertSizes(FR=AT_300),
    "short": InsertSizes(FR=InsertSize(1000, 90, 100, 110, 100, 15, 1, 190)),  # most templates are shorter than a read
    "one length": InsertSizes(FR=InsertSize(1000, 250, 250, 250, 250, 0, 250, 250)),
    "all": InsertSizes(NEAR, AT_300, AT_300, NEAR),
    "wide": InsertSizes(FR=InsertSize(1000, 280, 300, 320, 300, 150, 1, 700)),
    "mate pairs": InsertSizes(RF=AT_300),
    "shadow of pairs": InsertSizes(FR=AT_300, RF=NEAR),
    "mate pairs with a shadow": InsertSizes(FR=NEAR, RF=AT_300),
    "one strand": InsertSizes(FF=AT_300),
    "none": NO_INSERT_SIZES,
}
FOREIGN_IN_PART = [
    pytest.param(150, 75, Place(150, 1, 40_000, 0, 150), 60, id="half of the read"),
    pytest.param(150, 74, Place(150, 1, 40_000, 0, 150), 59, id="less"),
    pytest.param(150, 50, Place(150, 1, 40_000, 0, 150), 40, id="a third"),
    pytest.param(150, 50, None, 40, id="mate unmapped"),
    pytest.param(150, 25, Place(150, 1, 250, 0, 150), 60, id="a sixth beside the mate"),
    pytest.param(300, 25, Place(300, 1, 100, 0, 300), 40, id="a twelfth beside it"),
    pytest.param(150, 25, Place(30, 1, 250, 0, 30), 60, id="beside what is reported alone"),
    pytest.param(150, 25, Place(29, 1, 250, 0, 29), 30, id="beside what is not"),
]
"""Bases of a read, the score of its alignment at 100 (that of so many first bases), its mate's place, the quality."""
SETTINGS = settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def card(card_or_cpu):
    return card_or_cpu


def quality(score: int, second: int, near: int, read_span: int, axis_span: int, crowded: int) -> int:
    """Return the quality of a place without regard to a mate, in Python's integers (see mapping_quality.py)."""
    second = max(second, CHANCE_SCORE)
    if second >= score:
        return 0
    span = max(read_span, axis_span)
    identity = ((4 * span + score) << 15) // (5 * span)
    fourth = ((identity * identity) >> 15) ** 2 >> 15
    weight = int(LENGTH_FACTOR[min(span, LONGEST_SPAN)]) * fourth >> 15
    value = ((score - second) * 602 * weight // 100 + (1 << 14)) >> 15
    return min(60, max(0, value - int(COUNT_COST[near])) * (CROWDED_PARTS - crowded) // CROWDED_PARTS)


def name_hash(pair: int) -> int:
    return hash_name(b"r%05d" % pair)


def random_places(generator: random.Random, length: int, pair: int) -> list[Place]:
    """Return up to eight places, or more than a pass keeps, close together and with few scores, for ties."""
    places = []
    for _ in range(generator.choices([0, 1, 2, 3, 8, MOST_CANDIDATES + 1], weights=[4, 8, 4, 4, 4, 1])[0]):
        begin = generator.choice([0, 0, 0, length // 3, length // 2])
        end = generator.choice([length, length, length - length // 4, (begin + length) // 2 + 1])
        score = max(1, end - begin - generator.choice([0, 0, 5, 7, 10, 17, 40]))
        span = end - begin + generator.choice([0, 0, 0, 3, -3])
        position = 1000 + generator.choice([0, 90, 100, 150, 195, 200, 205, 320, 321, 400, 3000])
        strand, contig = generator.randint(0, 1), generator.choice([0, 0, 1])
        places.append(Place(score, strand, position, begin, end, contig, span))
    places.sort(key=lambda p: (-p.score, tie_hash(name_hash(pair), p.axis_begin), p.axis_begin, p.strand))
    return places


def random_sequence(generator: random.Random) -> list[int]:
    """Return random or simple sequence, or half of each, with or without N."""
    length = generator.choice([40, 66, 100, 150])
    word = [generator.randint(0, 3) for _ in range(generator.choice([1, 3, 6, length]))]
    bases = (word * length)[:length]
    half = generator.choice([slice(0), slice(length // 2), slice(length // 2, length)])
    bases[half] = [generator.randint(0, 3) for _ in range(length)[half]]
    bases[generator.randrange(length)] = generator.choice([0, 4])
    return bases


def random_batch(generator: random.Random, count: int, paired: bool) -> tuple[list[list[int]], list[list[Place]]]:
    """Return reads, first mates before second ones, and their places."""
    reads = [random_sequence(generator) for _ in range(2 * count if paired else count)]
    return reads, [random_places(generator, len(bases), read % count) for read, bases in enumerate(reads)]


def on_card(card, reads, places, paired, model, alternate=()):
    """Return the selection on the host, and the offsets of the alignments."""
    half = len(reads) // 2
    oriented = card_reads(card, reads[:half], reads[half:]) if paired else card_reads(card, reads)
    alignments = alignments_of(places)
    contigs = card.upload(np.array([contig in alternate for contig in range(2)], np.uint8)) if alternate else None
    given = upload_all(card, alignments), oriented, paired, model, *([contigs] if alternate else [])
    return download_all(card, twin(card, "quire.align.pairing", "select")(*given)), alignments.offsets


def reported(selection, read: int, first: int) -> Chosen:
    """Return the selection for a read whose places begin at `first`."""
    used = selection.supplementary[read] >= 0
    assert not selection.supplementary_quality[read][~used].any()
    assert not selection.supplementary_suboptimal_score[read][~used].any()
    columns = selection.supplementary, selection.supplementary_quality, selection.supplementary_suboptimal_score
    further = [(int(i) - first, int(q), int(s)) for i, q, s in zip(*(c[read][used] for c in columns), strict=True)]
    primary = int(selection.primary[read])
    return Chosen(
        primary - first if primary >= 0 else -1,
        int(selection.quality[read]),
        int(selection.suboptimal_score[read]),
        bool(selection.proper[read]),
        further,
    )


def check(card, reads, places, paired, model, alternate=()):
    """Compare with brute force; return the selection."""
    places = [sorted(of_read, key=lambda place: place.contig in alternate) for of_read in places]
    selection, offsets = on_card(card, reads, places, paired, model, alternate)
    codes = [(bases, reverse_complement(bases)) for bases in reads]
    marked = [Marked(of_read, both, quality, alternate) for of_read, both in zip(places, codes, strict=True)]
    pairs = len(reads) // 2 if paired else len(reads)
    wanted = [choose_single(of_read) for of_read in marked]
    if paired:
        for pair in range(pairs):
            mates = marked[pair], marked[pairs + pair]
            wanted[pair], wanted[pairs + pair] = choose_pair(mates, name_hash(pair), model)
    for read, chosen in enumerate(wanted):
        assert reported(selection, read, int(offsets[read])) == complete(chosen, marked[read])
    return selection


def how_many(card) -> int:
    """Return the number of pairs of a large batch."""
    return examples(1600) if isinstance(card, Host) else 300


@pytest.mark.parametrize("model", MODELS)
def test_many_pairs_equal_brute_force(card, model: str) -> None:
    selection = check(card, *random_batch(random.Random(model), how_many(card), True), True, MODELS[model])
    assert not selection.proper.all()
    assert selection.proper.any() == MODELS[model].are_known or model == "one length"  # a distance of 250 is rare


def test_many_single_reads_equal_brute_force(card) -> None:
    assert not check(card, *random_batch(random.Random(1), how_many(card), False), False, MODELS["300"]).proper.any()


@pytest.mark.parametrize("alternate", [[0], [1], [0, 1]])
@pytest.mark.parametrize("paired", [True, False])
def test_alternate_contigs_equal_brute_force(card, paired: bool, alternate: list[int]) -> None:
    check(card, *random_batch(random.Random(7), how_many(card), paired), paired, MODELS["all"], alternate)


@given(generator=st.randoms(use_true_random=False), paired=st.booleans(), model=st.sampled_from(list(MODELS)))
@SETTINGS
def test_few_reads_equal_brute_force(card, generator, paired: bool, model: str) -> None:
    check(card, *random_batch(generator, generator.randint(1, 2), paired), paired, MODELS[model])


def test_ties_of_many_places_go_to_the_smaller_hash(card) -> None:
    sequence = np.random.default_rng(1).integers(0, 4, 100).tolist()
    copies = [1000 * copy for copy in range(20)]
    left, right = (
        sorted(
            (Place(100, strand, at + 200 * strand, 0, 100) for at in copies),
            key=lambda place: tie_hash(name_hash(0), place.axis_begin),
        )
        for strand in range(2)
    )
    check(card, [sequence, sequence], [left, right], True, MODELS["300"])


@pytest.mark.parametrize(
    ("left_copies", "right_copies", "quality"), [(15, 16, 40), (16, 15, 40), (16, 16, 0), (20, 30, 0)]
)
def test_one_pair_of_mates_with_more_places_than_are_kept_tells_nothing(
    card, left_copies, right_copies, quality
) -> None:
    sequence = np.random.default_rng(8).integers(0, 4, 100).tolist()
    left = [Place(100, 0, 5000 * copy, 0, 100) for copy in range(left_copies)]
    right = [Place(100, 1, 5000 * copy + (200 if copy == 0 else 2500), 0, 100) for copy in range(right_copies)]
    worse = [Place(90, 1, 5000 * copy + 1000, 0, 100) for copy in range(3)]  # these do not count
    for places in (left, right):
        places.sort(key=lambda place: tie_hash(name_hash(0), place.axis_begin))
    selection = check(card, [sequence, sequence], [left, right + worse], True, MODELS["300"])
    assert selection.quality.tolist() == [quality, quality]


def test_pairs_nearly_as_good_as_the_second_cost_quality(card) -> None:
    sequence = np.random.default_rng(6).integers(0, 4, 100).tolist()
    qualities = []
    for behind in range(5, 10):
        left = [Place(score, 0, 2000 * i, 0, 100) for i, score in enumerate((100, 97, 97 - behind))]
        right = [Place(100, 1, 2000 * i + 200, 0, 100) for i in range(3)]
        right.sort(key=lambda place: tie_hash(name_hash(0), place.axis_begin))
        selection = check(card, [sequence, sequence], [left, right], True, MODELS["300"])
        qualities.append(int(selection.quality[1]))
    assert qualities == [13, 13, 13, 15, 15]  # NEAR_BEST is 7


def test_more_places_of_other_parts_than_are_reported(card) -> None:
    sequence = np.random.default_rng(2).integers(0, 4, 240).tolist()
    parts = [Place(40 - part, part % 2, 5000 * part, 40 * part, 40 * part + 40) for part in range(6)]
    turned = [
        place
        if place.strand == 0
        else Place(place.score, 1, place.position, 240 - place.read_end, 240 - place.read_begin)
        for place in parts
    ]
    selection = check(card, [sequence], [turned], False, NO_INSERT_SIZES)
    assert selection.supplementary.tolist() == [list(range(1, MOST_SUPPLEMENTARY + 1))]


def test_a_loser_takes_no_place_of_its_own(card) -> None:
    sequence = np.random.default_rng(4).integers(0, 4, 120).tolist()
    places = [Place(60 - part, 0, 5000 * part, 30 * part, 30 * part + 60) for part in range(3)]
    selection = check(card, [sequence], [places], False, NO_INSERT_SIZES)
    assert selection.supplementary[0].tolist() == [2, -1, -1, -1]


def test_simple_sequence_gets_no_quality(card) -> None:
    generator = np.random.default_rng(5)
    reads, places, simple = [], [], []
    for length in range(3, 100):
        short = length % 2
        part = max(1, (length - 3) // 4)
        for period in (1, max(1, part - 1), part, part + 1, part + 2, length):
            bases = np.resize(generator.integers(0, 4, period), length).tolist()
            begin = int(generator.integers(0, 70))
            reads.append([2] * begin + bases + [2] * (150 if short else 5))
            places.append([Place(90, 0, 500, begin, begin + length)])
            simple.append(is_simple(bases))
    selection, _ = on_card(card, reads, places, False, NO_INSERT_SIZES)
    assert (selection.quality == 0).tolist() == simple
    assert 100 < sum(simple) < len(simple) - 100
    for word, known in (("A" * 60, 1), ("A" * 200, 1), ("AC" * 30, 1), ("ACGTTGCA" * 8, 1), ("ACGGTCATT" * 4, 0)):
        bases = ["ACGT".index(base) for base in word]
        selection, _ = on_card(card, [bases], [[Place(90, 0, 500, 0, len(bases))]], False, NO_INSERT_SIZES)
        assert (selection.quality[0] == 0) == is_simple(bases) == known


@pytest.mark.parametrize(
    ("behind", "overlap", "proper"),
    [("A", 0, True), ("AC", 0, True), ("A", 26, False), ("ACGTGGTCATTCAGACTTGCCGATAGGCTA", 0, False), ("", 0, False)],
)
def test_simple_sequence_behind_an_adapter_outbids_no_pair(card, behind, overlap, proper) -> None:
    """Both mates are 50 bases of a fragment; the next 70 align elsewhere and outscore the cost of an unpaired pair.

    If they are the same part of the read, or are not simple, they decide, as in bwa mem.
    """
    mates, places = np.random.default_rng(9).integers(0, 4, (2, 150)), []
    for mate in range(2):
        if behind:
            mates[mate, 80:] = np.resize(["ACGT".index(base) for base in behind], 70)
        begin = 80 - 2 * overlap  # on the same part if the overlap is half of the shorter alignment
        far = Place(70, 0, 500_000 * (mate + 1), begin, begin + 70, mate)
        at = (0, 50) if mate == 0 else (100, 150)
        places.append([far, Place(50, mate, 1000 + 250 * mate, *at)])
    selection = check(card, mates.tolist(), places, True, MODELS["300"])
    assert selection.proper.tolist() == [proper, proper]
    assert (selection.primary % 2).tolist() == [proper, proper]
    assert (selection.quality == 60).all() == proper


@pytest.mark.parametrize(("mate", "mapped"), [(250, True), (40_000, False), (None, False)])
def test_a_short_alignment_needs_its_mate(card, mate, mapped) -> None:
    reads = np.random.default_rng(7).integers(0, 4, (2, 150)).tolist()
    mates = [] if mate is None else [Place(150, 1, mate, 0, 150)]
    selection = check(card, reads, [[Place(29, 0, 100, 0, 29)], mates], True, MODELS["300"])
    assert (selection.primary[0] == 0) == selection.proper[0] == mapped
    assert (selection.quality[0] > 0) == mapped
    assert (selection.primary[1] >= 0) == (mate is not None)


@pytest.mark.parametrize(("length", "score", "mate", "quality"), FOREIGN_IN_PART)
def test_the_less_of_a_read_agrees_the_less_is_known(card, length, score, mate, quality) -> None:
    reads = np.random.default_rng(7).integers(0, 4, (2, length)).tolist()
    mates = [] if mate is None else [mate]
    selection, _ = on_card(card, reads, [[Place(score, 0, 100, 0, score)], mates], True, MODELS["300"])
    assert selection.quality[0] == quality


def test_no_reads_and_reads_without_places(card) -> None:
    selection, _ = on_card(card, [], [], False, NO_INSERT_SIZES)
    assert len(selection.primary) == 0
    selection, _ = on_card(card, [[], []], [[], []], True, MODELS["300"])
    assert selection.primary.tolist() == [-1, -1]
    assert (selection.supplementary == -1).all()


def test_a_second_model_on_the_same_card(card) -> None:
    sequence = np.random.default_rng(3).integers(0, 4, 100).tolist()
    places = [[Place(100, 0, 1000, 0, 100)], [Place(100, 1, 1110, 0, 100)]]
    for name in ("300", "wide", "short", "300"):
        check(card, [sequence, sequence], places, True, MODELS[name])

"""Selection on a card against brute force over all places and pairs of places."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quire.align.insert_size import NO_INSERT_SIZE, InsertSize
from quire.align.pairing_gpu import select
from quire.align.parameters import CHANCE_SCORE, COUNT_COST, LENGTH_FACTOR, LONGEST_SPAN, MOST_SUPPLEMENTARY
from quire.oriented.oracle import hash_name

from tests.kernels.builders import card_reads, reverse_complement
from tests.unit.align.oracles_align import Chosen, Marked, choose_pair, choose_single, finish, is_simple, tie_hash
from tests.unit.align.places_align import Place, alignments_of

MODELS = {
    "300": InsertSize(1000, 280, 300, 320, 300, 30, 180, 420),
    "short": InsertSize(1000, 90, 100, 110, 100, 15, 1, 190),  # most templates are shorter than a read
    "one length": InsertSize(1000, 250, 250, 250, 250, 0, 250, 250),
    "wide": InsertSize(1000, 280, 300, 320, 300, 800, 1, 5000),
    "none": NO_INSERT_SIZE,
}
SETTINGS = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def quality(score: int, second: int, near: int, read_span: int, axis_span: int) -> int:
    """Mapping quality of a place by itself, in Python's integers (docs: mapping_quality.py)."""
    second = max(second, CHANCE_SCORE)
    if second >= score:
        return 0
    span = max(read_span, axis_span)
    identity = ((4 * span + score) << 15) // (5 * span)
    fourth = ((identity * identity) >> 15) ** 2 >> 15
    weight = int(LENGTH_FACTOR[min(span, LONGEST_SPAN)]) * fourth >> 15
    value = ((score - second) * 602 * weight // 100 + (1 << 14)) >> 15
    return max(0, min(60, value - int(COUNT_COST[near])))


def name_hash(pair: int) -> int:
    return hash_name(b"r%05d" % pair)


@st.composite
def places_of_read(draw, length: int, pair: int) -> list[Place]:
    """Up to eight places, close together and of few scores, so that ties, overlaps and proper pairs are frequent."""
    places = []
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3, 8]))):
        begin = draw(st.sampled_from([0, 0, 0, length // 3, length // 2]))
        end = draw(st.sampled_from([length, length, length - length // 4, (begin + length) // 2 + 1]))
        score = max(1, end - begin - draw(st.sampled_from([0, 0, 5, 7, 10, 17, 40])))
        span = end - begin + draw(st.sampled_from([0, 0, 0, 3, -3]))
        position = 1000 + draw(st.sampled_from([0, 90, 100, 150, 195, 200, 205, 320, 321, 400, 3000]))
        strand, contig = draw(st.integers(0, 1)), draw(st.sampled_from([0, 0, 1]))
        places.append(Place(score, strand, position, begin, end, contig, span))
    places.sort(key=lambda p: (-p.score, tie_hash(name_hash(pair), p.axis_begin), p.axis_begin, p.strand))
    return places


@st.composite
def sequences(draw) -> list[int]:
    """Random and simple reads, with N and without."""
    length = draw(st.sampled_from([40, 100, 150]))
    period = draw(st.sampled_from([1, 3, 6, length]))
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    bases = np.resize(generator.integers(0, 4, period), length)
    bases[generator.random(length) < draw(st.sampled_from([0.0, 0.02]))] = 4
    return bases.tolist()


@st.composite
def batches(draw, paired: bool) -> tuple[list[list[int]], list[list[Place]]]:
    """Reads, first mates before second ones, and their places."""
    count = draw(st.integers(1, 6))
    reads = [draw(sequences()) for _ in range(2 * count if paired else count)]
    return reads, [draw(places_of_read(len(bases), read % count)) for read, bases in enumerate(reads)]


def on_card(card, reads, places, paired, model):
    """(selection on the host, offsets of the alignments)"""
    half = len(reads) // 2
    oriented = card_reads(card, reads[:half], reads[half:]) if paired else card_reads(card, reads)
    alignments = alignments_of(places)
    selection = select(card, card.upload_all(alignments), oriented, paired, model)
    return card.download_all(selection), alignments.offsets


def reported(selection, read: int, first: int) -> Chosen:
    """What `select` says of a read whose places begin at `first`."""
    used = selection.supplementary[read] >= 0
    assert not selection.supplementary_quality[read][~used].any()
    assert not selection.supplementary_second[read][~used].any()
    columns = selection.supplementary, selection.supplementary_quality, selection.supplementary_second
    further = [(int(i) - first, int(q), int(s)) for i, q, s in zip(*(c[read][used] for c in columns), strict=True)]
    primary = int(selection.primary[read])
    return Chosen(
        primary - first if primary >= 0 else -1,
        int(selection.quality[read]),
        int(selection.second[read]),
        bool(selection.proper[read]),
        further,
    )


def check(card, reads, places, paired, model) -> None:
    selection, offsets = on_card(card, reads, places, paired, model)
    marked = [Marked(of_read, len(bases), quality) for of_read, bases in zip(places, reads, strict=True)]
    pairs = len(reads) // 2 if paired else len(reads)
    wanted = [choose_single(of_read) for of_read in marked]
    if paired:
        for pair in range(pairs):
            mates = marked[pair], marked[pairs + pair]
            wanted[pair], wanted[pairs + pair] = choose_pair(mates, name_hash(pair), model)
    for read, chosen in enumerate(wanted):
        codes = reads[read], reverse_complement(reads[read])
        assert reported(selection, read, int(offsets[read])) == finish(chosen, marked[read], codes)


@given(batch=batches(True), model=st.sampled_from(list(MODELS)))
@SETTINGS
def test_pairs_equal_brute_force(card, batch, model) -> None:
    check(card, *batch, True, MODELS[model])


@given(batch=batches(False))
@SETTINGS
def test_single_reads_equal_brute_force(card, batch) -> None:
    check(card, *batch, False, NO_INSERT_SIZE)


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


def test_more_places_of_other_parts_than_are_reported(card) -> None:
    sequence = np.random.default_rng(2).integers(0, 4, 240).tolist()
    parts = [Place(40 - part, part % 2, 5000 * part, 40 * part, 40 * part + 40) for part in range(6)]
    turned = [
        place
        if place.strand == 0
        else Place(place.score, 1, place.position, 240 - place.read_end, 240 - place.read_begin)
        for place in parts
    ]
    selection, _ = on_card(card, [sequence], [turned], False, NO_INSERT_SIZE)
    assert selection.supplementary.tolist() == [list(range(1, MOST_SUPPLEMENTARY + 1))]
    check(card, [sequence], [turned], False, NO_INSERT_SIZE)


@pytest.mark.parametrize("length", [3, 4, 5, 28, 29, 30, 60, 99])
def test_simple_sequence_gets_no_quality(card, length: int) -> None:
    random = np.random.default_rng(length).integers(0, 4, length).tolist()
    for bases in ([0] * length, ([1, 3] * length)[:length], ([0, 1, 2, 3, 3, 2, 1, 0] * length)[:length], random):
        for begin in (0, length // 7):
            read, place = [2] * 40 + bases, Place(90, 0, 500, 40 + begin, 40 + length)
            selection, _ = on_card(card, [read], [[place]], False, NO_INSERT_SIZE)
            assert (selection.quality[0] == 0) == is_simple(bases[begin:])


def test_no_reads_and_reads_without_places(card) -> None:
    selection, _ = on_card(card, [], [], False, NO_INSERT_SIZE)
    assert len(selection.primary) == 0
    selection, _ = on_card(card, [[], []], [[], []], True, MODELS["300"])
    assert selection.primary.tolist() == [-1, -1]
    assert (selection.supplementary == -1).all()


def test_a_second_model_on_the_same_card(card) -> None:
    sequence = np.random.default_rng(3).integers(0, 4, 100).tolist()
    places = [[Place(100, 0, 1000, 0, 100)], [Place(100, 1, 1110, 0, 100)]]
    for name in ("300", "wide", "short", "300"):
        check(card, [sequence, sequence], places, True, MODELS[name])

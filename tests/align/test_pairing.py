"""Selection against brute force over all places and pairs of places; marking, supplementary places, simple sequence."""

import random

import numpy as np
import pytest
from quire.align.insert_size import NO_INSERT_SIZES, InsertSizes
from quire.align.pairing.cpu import select
from quire.align.pairing.mapping_quality_cpu import single_quality
from quire.align.parameters import MOST_CANDIDATES
from quire.reads import Reads
from quire.reads.cpu import subset

from tests.oracles.align import Chosen, Marked, choose_pair, choose_single, complete, is_simple
from tests.oracles.ties import tie_hash
from tests.support import pairing_cases
from tests.support.examples import examples
from tests.support.pairing_cases import AT_300, NEAR
from tests.support.places import Place, alignments_of
from tests.support.read_builders import make_reads

MODELS = {
    **pairing_cases.MODELS,
    "mate pairs": InsertSizes(RF=AT_300),
    "mate pairs with a shadow": InsertSizes(FR=AT_300, RF=NEAR),
    "one strand": InsertSizes(FF=AT_300),
}


def quality(*arguments: int) -> int:
    return int(single_quality(*map(np.int64, arguments)))


def random_places(generator: random.Random, length: int, name_hash: int) -> list[Place]:
    """Return up to eight places, or more than a pass keeps, close together and with few scores, for ties."""
    places = []
    for _ in range(generator.choices([0, 1, 2, 3, 8, MOST_CANDIDATES + 1], weights=[4, 8, 4, 4, 4, 1])[0]):
        begin = generator.choice([0, 0, 0, length // 3, length // 2])
        end = generator.choice([length, length, length - length // 4, (begin + length) // 2 + 1])
        score = max(1, end - begin - generator.choice([0, 0, 5, 10, 17, 40]))
        span = end - begin + generator.choice([0, 0, 0, 3, -3])
        position = 1000 + generator.choice([0, 90, 100, 150, 195, 200, 205, 400, 3000])
        places.append(Place(score, generator.randint(0, 1), position, begin, end, generator.choice([0, 0, 1]), span))
    places.sort(key=lambda p: (-p.score, tie_hash(name_hash, p.axis_begin), p.axis_begin, p.strand))
    return places


def behind(places: list[Place], alternate: list[int]) -> list[Place]:
    """Return the same places, those on alternate contigs after the others."""
    return sorted(places, key=lambda place: place.contig in alternate)


def random_sequence(generator: random.Random, length: int) -> np.ndarray:
    if generator.random() < 0.2:
        word = generator.choices(range(4), k=generator.randint(1, 6))
        return np.array((word * length)[:length], np.uint8)
    return np.array(generator.choices(range(5), weights=[9, 9, 9, 9, 1], k=length), np.uint8)


def partly_simple_sequence(generator: random.Random, length: int) -> np.ndarray:
    """Return a random sequence, one half of which may be a short repeat."""
    bases = random_sequence(generator, length)
    if generator.random() < 0.4:
        half = generator.choice([slice(length // 2, None), slice(length // 2)])
        bases[half] = np.resize(generator.choices(range(4), k=generator.randint(1, 6)), length)[half]
    return bases


def reported(selection, read: int, first: int) -> Chosen:
    """Return the selection for a read whose places begin at `first`."""
    used = selection.supplementary[read] >= 0
    return Chosen(
        int(selection.primary[read]) - first if selection.primary[read] >= 0 else -1,
        int(selection.quality[read]),
        int(selection.suboptimal_score[read]),
        bool(selection.proper[read]),
        [
            (int(i) - first, int(q), int(s))
            for i, q, s in zip(
                selection.supplementary[read][used],
                selection.supplementary_quality[read][used],
                selection.supplementary_suboptimal_score[read][used],
                strict=True,
            )
        ],
    )


@pytest.mark.parametrize("alternate", [[], [1], [0, 1]], ids=["no alternate", "one alternate", "all alternate"])
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_equals_brute_force(name, paired, alternate):
    model, generator = MODELS[name], random.Random(f"{name} {alternate}")
    count = examples(1600)
    sequences = [
        [partly_simple_sequence(generator, generator.choice([40, 66, 100, 150])) for _ in range(count)]
        for _ in range(2)
    ]
    reads = make_reads(*sequences) if paired else make_reads(sequences[0])
    lengths = np.diff(reads.offsets)
    places = [random_places(generator, int(lengths[r]), int(reads.name_hash[r])) for r in range(len(reads))]
    places = [behind(of_read, alternate) for of_read in places]
    alignments = alignments_of(places)
    contigs = np.array([contig in alternate for contig in range(2)] if alternate else [], np.uint8)
    selection = select(alignments, reads, paired, model, contigs)
    codes = [reads.codes[:, begin:end].tolist() for begin, end in zip(reads.offsets, reads.offsets[1:], strict=False)]
    marked = [Marked(of_read, bases, quality, alternate) for of_read, bases in zip(places, codes, strict=True)]
    proper = 0
    for pair in range(count):
        members = [pair, count + pair] if paired else [pair]
        if paired:
            wanted = choose_pair((marked[pair], marked[count + pair]), int(reads.name_hash[pair]), model)
        else:
            wanted = (choose_single(marked[pair]),)
        for read, chosen in zip(members, wanted, strict=True):
            got = reported(selection, read, int(alignments.offsets[read]))
            wanted = complete(chosen, marked[read])
            assert got == wanted, (read, [places[member] for member in members])
            proper += got.proper
    if paired and model.are_known:
        assert proper < 2 * count
        assert proper or count < 1600  # a distance of exactly 250 is rare
    else:
        assert proper == 0


def random_pairs(generator: random.Random, count: int) -> tuple[Reads, list[list[Place]]]:
    """Return pairs of 100 bases each, and the places of each read."""
    reads = make_reads(*([random_sequence(generator, 100) for _ in range(count)] for _ in range(2)))
    return reads, [random_places(generator, 100, int(name_hash)) for name_hash in reads.name_hash]


def test_proper_is_the_same_for_both_mates_and_never_crosses_contigs():
    generator = random.Random(5)
    reads, places = random_pairs(generator, 500)
    alignments = alignments_of(places)
    selection = select(alignments, reads, True, MODELS["300"])
    assert (selection.proper[:500] == selection.proper[500:]).all()
    both = selection.primary[:500][selection.proper[:500]], selection.primary[500:][selection.proper[500:]]
    assert len(both[0])
    assert (alignments.contig[both[0]] == alignments.contig[both[1]]).all()
    assert (alignments.strand[both[0]] != alignments.strand[both[1]]).all()


def test_a_pair_is_decided_alone_as_in_any_batch():
    generator = random.Random(6)
    reads, places = random_pairs(generator, 60)
    whole = alignments_of(places)
    selection = select(whole, reads, True, MODELS["300"])
    for pair in range(60):
        chosen = np.array([pair, 60 + pair])
        alone = alignments_of([places[pair], places[60 + pair]])
        single = select(alone, subset(reads, chosen), True, MODELS["300"])
        for member in range(2):
            got = reported(selection, int(chosen[member]), int(whole.offsets[chosen[member]]))
            assert got == reported(single, member, int(alone.offsets[member]))


@pytest.mark.parametrize(
    ("bases", "simple"),
    [("A" * 60, 1), ("A" * 200, 1), ("AC" * 30, 1), ("ACGTTGCA" * 8, 1), ("ACGGTCATT" * 4, 0)],
)
def test_simple_sequence_gets_no_quality(bases, simple):
    generator = random.Random(8)
    codes = np.array(["ACGT".index(base) for base in bases], np.uint8)
    assert is_simple(codes.tolist()) == simple
    for rest in (len(codes), len(codes) + 1):
        reads = make_reads([np.concatenate([codes, random_sequence(generator, rest)])])
        places = [[Place(len(codes), 0, 500, 0, len(codes))]]
        assert (select(alignments_of(places), reads, False, NO_INSERT_SIZES).quality[0] == 0) == simple


@pytest.mark.parametrize(
    ("behind", "overlap", "proper"),
    [("A", 0, True), ("AC", 0, True), ("A", 26, False), ("ACGTGGTCATTCAGACTTGCCGATAGGCTA", 0, False), ("", 0, False)],
)
def test_simple_sequence_behind_an_adapter_outbids_no_pair(behind, overlap, proper):
    """Both mates are 50 bases of a fragment; the next 70 align elsewhere and outscore the cost of an unpaired pair.

    If they are the same part of the read, or are not simple, they decide, as in bwa mem.
    """
    generator = random.Random(9)
    mates, places = [], []
    for mate in range(2):
        bases = random_sequence(random.Random(100 + mate), 150)
        bases[:50] = [generator.randint(0, 3) for _ in range(50)]
        bases[80:] = np.resize(["ACGT".index(base) for base in behind], 70) if behind else bases[80:]
        mates.append(bases)
        begin = 80 - 2 * overlap  # on the same part if the overlap is half of the shorter alignment
        far = Place(70, 0, 500_000 * (mate + 1), begin, begin + 70, mate)
        at = (0, 50) if mate == 0 else (100, 150)
        places.append([far, Place(50, mate, 1000 + 250 * mate, *at)])
    reads = make_reads([mates[0]], [mates[1]])
    selection = select(alignments_of(places), reads, True, MODELS["300"])
    assert selection.proper.tolist() == [proper, proper]
    assert (selection.primary % 2).tolist() == [proper, proper]
    assert (selection.quality == 60).all() == proper


@pytest.mark.parametrize(("length", "score", "mate", "quality"), pairing_cases.FOREIGN_IN_PART)
def test_the_less_of_a_read_agrees_the_less_is_known(length, score, mate, quality):
    generator = random.Random(7)
    reads = make_reads([random_sequence(generator, length)], [random_sequence(generator, length)])
    mates = [] if mate is None else [mate]
    selection = select(alignments_of([[Place(score, 0, 100, 0, score)], mates]), reads, True, MODELS["300"])
    assert selection.quality[0] == quality


@pytest.mark.parametrize(("mate", "mapped"), [(250, True), (40_000, False), (None, False)])
def test_a_short_alignment_needs_its_mate(mate, mapped):
    generator = random.Random(7)
    reads = make_reads([random_sequence(generator, 150)], [random_sequence(generator, 150)])
    mates = [] if mate is None else [Place(150, 1, mate, 0, 150)]
    selection = select(alignments_of([[Place(29, 0, 100, 0, 29)], mates]), reads, True, MODELS["300"])
    assert (selection.primary[0] == 0) == selection.proper[0] == mapped
    assert (selection.quality[0] > 0) == mapped
    assert (selection.primary[1] >= 0) == (mate is not None)


def test_no_reads_and_reads_without_places():
    none = make_reads([])
    assert len(select(alignments_of([]), none, False, NO_INSERT_SIZES).primary) == 0
    empty = make_reads([np.empty(0, np.uint8)], [np.empty(0, np.uint8)])
    assert select(alignments_of([[], []]), empty, True, MODELS["300"]).primary.tolist() == [-1, -1]

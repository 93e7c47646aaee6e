"""Mate rescue: places where seeding has nothing to hold on to, only where the insert size allows them."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from quire.align.engines import cpu as engine_cpu
from quire.align.insert_size import NO_INSERT_SIZES, InsertSize, InsertSizes
from quire.align.parameters import FEWEST_KMERS, KMER, MOST_CANDIDATES
from quire.align.rescue.cpu import rescue_jobs

from tests.support.align_oracles import is_microsatellite, kmers_of
from tests.support.builders import random_bases, write_fasta
from tests.support.places import Place, alignments_of
from tests.support.read_builders import (
    build_index,
    make_reads,
    map_files,
    mates_of,
    named,
    pack,
    write_pairs,
)

MODEL = InsertSize(1000, 280, 300, 320, 300, 30, 180, 420)
MODELS = InsertSizes(FR=MODEL)
ISLANDS = np.array([0, 4000, 9000], np.int64)
LENGTH = 100
NINE_BASES = [0, 0, 1, 2, 2, 3, 1, 1, 3]


def spoiled(bases: np.ndarray, step: int) -> np.ndarray:
    """A mismatch every `step` bases: no seed of 20 bases is left for a step below 20."""
    out = bases.copy()
    out[step // 2 :: step] = (out[step // 2 :: step] + 1) % 4
    return out


def other_strand(codes: np.ndarray) -> np.ndarray:
    return np.where(codes < 4, 3 - codes, codes)[::-1]


def shared_kmers(read: np.ndarray, text: np.ndarray) -> dict[int, int]:
    """Votes of each diagonal (text position minus read position), each k-mer of the read counted where it is last."""
    last = {tuple(read[i : i + KMER]): i for i in range(len(read) - KMER + 1) if (read[i : i + KMER] < 4).all()}
    votes: dict[int, int] = {}
    for position in range(len(text) - KMER + 1):
        place = last.get(tuple(text[position : position + KMER]))
        if place is not None:
            votes[position - place] = votes.get(position - place, 0) + 1
    return {diagonal: count for diagonal, count in votes.items() if diagonal >= 0}


def known_kmers(read: np.ndarray, text: np.ndarray) -> dict[int, int]:
    """Votes of each diagonal whose stretch of the read's length lies in the text: its k-mers that the read has."""
    kmers = {tuple(read[i : i + KMER]) for i in range(len(read) - KMER + 1) if (read[i : i + KMER] < 4).all()}
    known = [tuple(text[i : i + KMER]) in kmers for i in range(len(text) - KMER + 1)]
    of_a_stretch = len(read) - KMER + 1
    votes = {i: sum(known[i : i + of_a_stretch]) for i in range(len(known) - of_a_stretch + 1)}
    return {diagonal: count for diagonal, count in votes.items() if count}


def window(anchor: Place, island: tuple[int, int]) -> tuple[int, int]:
    """Span of the axis in which the mate of a full-length anchor lies if the pair is proper."""
    if anchor.strand == 0:
        begin, end = anchor.axis_begin + MODEL.low - LENGTH, anchor.axis_begin + MODEL.high
    else:
        begin, end = anchor.axis_end - MODEL.high, anchor.axis_end - MODEL.low + LENGTH
    return max(begin, island[0]), min(end, island[1])


def test_jobs_equal_a_plain_vote():
    rng = np.random.default_rng(4)
    axis = rng.integers(0, 4, int(ISLANDS[-1])).astype(np.uint8)
    axis[2000:2200] = np.tile([0, 1], 100)
    first, second, places, wanted = [], [], [], []
    for _ in range(150):
        position = int(rng.integers(0, len(axis) - LENGTH))
        strand = int(rng.integers(0, 2))
        template = int(rng.integers(120, 480))
        anchor = Place(LENGTH, strand, position, 0, LENGTH)
        mate = position + template - LENGTH if strand == 0 else position + LENGTH - template
        mate = min(max(mate, 0), len(axis) - LENGTH)
        codes = spoiled(axis[mate : mate + LENGTH], int(rng.choice([10, 12, 15])))
        codes[rng.integers(0, LENGTH, 2)] = 4
        first.append(axis[position : position + LENGTH])
        second.append(np.where(codes > 3, 4, 3 - codes)[::-1] if strand == 0 else codes)
        places.append([anchor])
        island = int(np.searchsorted(ISLANDS, position, side="right")) - 1
        begin, end = window(anchor, (int(ISLANDS[island]), int(ISLANDS[island + 1])))
        count = known_kmers if is_microsatellite(codes) else shared_kmers
        votes = count(codes, axis[begin:end]) if end - begin >= KMER else {}
        wanted.append((1 - strand, island, {begin + diagonal: count for diagonal, count in votes.items()}))
    reads = make_reads(first, second)
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    jobs = rescue_jobs(alignments_of(places + [[] for _ in second]), reads, reference, MODELS)
    by_read = {
        int(read): i for i, read in reversed(list(enumerate(jobs.read)))
    }  # a second place stands behind the first
    for pair, (strand, island, votes) in enumerate(wanted):
        most = max(votes.values(), default=0)
        assert (150 + pair in by_read) == (most >= FEWEST_KMERS)
        if most >= FEWEST_KMERS:
            job = by_read[150 + pair]
            assert votes[int(jobs.diagonal[job])] == most
            assert jobs.strand[job] == strand
            assert (jobs.axis_low[job], jobs.axis_high[job]) == (ISLANDS[island], ISLANDS[island + 1])
            assert jobs.diagonal_low[job] < jobs.diagonal[job] < jobs.diagonal_high[job]
    assert len(jobs) > 60


@pytest.mark.parametrize(("differences", "jobs"), [(0, 2), (2, 2), (3, 1)])
def test_a_second_place_in_the_window_is_looked_at_if_it_is_nearly_as_good(differences, jobs):
    axis = np.random.default_rng(2).integers(0, 4, 9000).astype(np.uint8)
    axis[1320 : 1320 + LENGTH] = axis[1200 : 1200 + LENGTH]
    axis[1340 : 1340 + 20 * differences : 20] ^= 1
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(axis[1200 : 1200 + LENGTH])])
    found = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    assert found.diagonal.tolist() == [1200, 1320][:jobs]


@pytest.mark.parametrize("strand", [0, 1])
def test_no_job_beside_a_proper_partner_without_a_model_or_for_a_short_mate(strand):
    axis = np.random.default_rng(1).integers(0, 4, 9000).astype(np.uint8)
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    mate_at = 1200 if strand == 0 else 800
    codes = spoiled(axis[mate_at : mate_at + LENGTH], 12)
    anchor, partner = Place(100, strand, 1000, 0, 100), Place(40, 1 - strand, mate_at, 0, 100)
    mate = other_strand(codes) if strand == 0 else codes
    read = axis[1000:1100] if strand == 0 else other_strand(axis[1000:1100])
    reads = make_reads([read], [mate])
    assert rescue_jobs(alignments_of([[anchor], []]), reads, reference, MODELS).read.tolist() == [1]
    assert rescue_jobs(alignments_of([[], [anchor]]), make_reads([mate], [read]), reference, MODELS).read.tolist() == [
        0
    ]
    assert len(rescue_jobs(alignments_of([[anchor], []]), reads, reference, NO_INSERT_SIZES)) == 0
    assert len(rescue_jobs(alignments_of([[anchor], [partner]]), reads, reference, MODELS)) == 0
    assert len(rescue_jobs(alignments_of([[], []]), reads, reference, MODELS)) == 0
    for short in (0, 1, KMER - 1):
        assert (
            len(rescue_jobs(alignments_of([[anchor], []]), make_reads([read], [mate[:short]]), reference, MODELS)) == 0
        )
    weak = Place(anchor.score - 18, strand, 5000, 0, 100)  # worse than the best by more than an unpaired end costs
    assert len(rescue_jobs(alignments_of([[anchor, weak], []]), reads, reference, MODELS)) == 1
    assert len(rescue_jobs(alignments_of([[weak, anchor], []]), reads, reference, MODELS)) == 1


@pytest.mark.parametrize("length", [KMER, KMER + 3, 36, 60, 80])
@pytest.mark.parametrize("word", [[0], [0, 1], NINE_BASES[:KMER], NINE_BASES, NINE_BASES * 3 + [2]])
def test_a_microsatellite_lies_where_most_kmers_are_its(word, length):
    axis = np.random.default_rng(3).integers(0, 4, 9000).astype(np.uint8)
    axis[1180:1260] = np.resize(word, 80)
    axis[1190:1194] ^= 1
    mate = np.resize(word, length).astype(np.uint8)
    kmers = set(kmers_of(mate))
    begin, end = window(Place(LENGTH, 0, 1000, 0, LENGTH), (0, 4000))
    begin += LENGTH - length
    by_diagonal = known_kmers(mate, axis[begin:end])
    votes = [by_diagonal.get(i, 0) for i in range(end - begin - length + 1)]
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    jobs = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    if not is_microsatellite(mate):  # too few of a longer word: every k-mer votes for one diagonal
        assert len(word) > KMER
        assert max(shared_kmers(mate, axis[begin:end]).values()) <= len(kmers)
    elif max(votes) < FEWEST_KMERS:
        assert len(jobs) == 0
    else:
        assert jobs.diagonal[0] == begin + votes.index(max(votes))
        assert max(votes) > len(kmers) or length < 36
        bands = list(zip(jobs.diagonal_low, jobs.diagonal_high, strict=True))
        assert len(bands) == 1 or bands[0][1] < bands[1][0]


@pytest.mark.parametrize("errors", [1, 2, 3])
@pytest.mark.parametrize("length", [35, 50, 100, 150])
def test_a_microsatellite_with_errors_is_found_beside_its_mate(length, errors):
    """Each k-mer of the genome voted for one diagonal alone, by its last place in the mate: none had four votes."""
    axis = np.random.default_rng(6).integers(0, 4, 9000).astype(np.uint8)
    axis[1160 : 1180 + length] = np.resize([0, 3], 20 + length)
    mate = axis[1170 : 1170 + length].copy()
    mate[[(1 + error) * length // (1 + errors) for error in range(errors)]] = 2
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    jobs = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    # Where so many of its k-mers are its own that it is no microsatellite, votes decide as ever.
    if is_microsatellite(mate):
        assert jobs.diagonal_low[0] <= 1170 <= jobs.diagonal_high[0]


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("called", [16, 23, 31, 32, 60])
def test_a_mate_of_mostly_n_is_no_microsatellite(called, behind):
    """Of a few different k-mers because the rest are N: each stands in it once, and tells where it lies."""
    axis = np.random.default_rng(6).integers(0, 4, 9000).astype(np.uint8)
    mate = axis[1200 : 1200 + LENGTH].copy()
    mate[slice(called, None) if behind else slice(LENGTH - called)] = 4
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    jobs = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    assert jobs.diagonal.tolist() == [1200]


@pytest.mark.parametrize(
    ("anchors", "partners", "jobs"),
    [(1, 1, 0), (1, MOST_CANDIDATES - 1, 0), (1, MOST_CANDIDATES, 1), (MOST_CANDIDATES, MOST_CANDIDATES, 0)],
)
def test_looks_again_beside_few_places_if_the_mate_has_many(anchors, partners, jobs):
    axis = np.random.default_rng(1).integers(0, 4, 9000).astype(np.uint8)
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(axis[1200:1300])])
    places = [[Place(100, 0, 1000, 0, 100)] * anchors, [Place(40, 1, 1210, 0, 100)] * partners]
    assert rescue_jobs(alignments_of(places), reads, reference, MODELS).diagonal.tolist() == [1200] * jobs


def test_a_mate_without_any_seed_is_found(tmp_path, monkeypatch):
    generator = random.Random(8)
    genome = random_bases(generator, 30_000)
    fasta = write_fasta(tmp_path / "genome.fa", {"one": genome})
    pairs, places = [], []
    for number in range(200):
        size = round(generator.gauss(300, 30))
        start = generator.randrange(len(genome) - size)
        first, second = mates_of(generator, f"p{number}", genome[start : start + size], (100, 100), 0.0)
        if number % 2:
            bases = "".join(
                "ACGT"["ACGT".index(base) - 1] if i % 12 == 5 else base for i, base in enumerate(second.bases)
            )
            second = named(generator, first.name, bases)
        swap = number % 4 > 1
        pairs.append((second, first) if swap else (first, second))
        places.append((start, start + size - 100) if not swap else (start + size - 100, start))
    indexed = build_index(tmp_path, fasta)
    mates = write_pairs(tmp_path, pairs)
    records = map_files(tmp_path, indexed, mates).records()
    assert len(records) == 400
    for record in records:
        number = int(record.query_name[1:])
        assert record.is_proper_pair
        assert abs(record.reference_start - record.query_alignment_start - places[number][record.is_read2]) <= 1
    without_rescue = replace(engine_cpu.STEPS, rescue_jobs=lambda *given: rescue_jobs(*given[:3], NO_INSERT_SIZES))
    monkeypatch.setattr(engine_cpu, "STEPS", without_rescue)
    without = map_files(tmp_path, indexed, mates)
    assert without.ledger["counts"]["unmapped"] == 100

"""Mate rescue: places without seeds are found, but only where the insert sizes allow them."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from quire.align.engines import cpu as engine_cpu
from quire.align.insert_size import NO_INSERT_SIZES, InsertSize, InsertSizes
from quire.align.parameters import BAND_MARGIN, FEWEST_KMERS, KMER, MOST_CANDIDATES, UNPAIRED_COST
from quire.align.rescue.cpu import rescue_jobs

from tests.oracles.align import best_diagonals
from tests.support.builders import random_bases, write_fasta
from tests.support.places import Place, alignments_of, rows_of
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
    """Put a mismatch every `step` bases: below 20, no seed of 20 bases is left."""
    out = bases.copy()
    out[step // 2 :: step] = (out[step // 2 :: step] + 1) % 4
    return out


def other_strand(codes: np.ndarray) -> np.ndarray:
    return np.where(codes < 4, 3 - codes, codes)[::-1]


def window(anchor: Place, island: tuple[int, int]) -> tuple[int, int]:
    """Return the span of the axis in which the mate of a full-length anchor lies in a proper pair."""
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
        target = anchor.axis_begin + MODEL.mean - LENGTH if strand == 0 else anchor.axis_end - MODEL.mean
        found = best_diagonals(codes.tolist(), axis[begin : max(begin, end)].tolist(), target - begin)
        for diagonal in (begin + one for one in found):
            ends = diagonal - BAND_MARGIN, diagonal + BAND_MARGIN, *ISLANDS[island : island + 2].tolist()
            wanted.append((150 + len(first) - 1, 1 - strand, diagonal, *ends))
    reads = make_reads(first, second)
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    jobs = rescue_jobs(alignments_of(places + [[] for _ in second]), reads, reference, MODELS)
    assert rows_of(jobs) == wanted
    assert len(wanted) > 60


@pytest.mark.parametrize("differences", [0, 2, 4])
def test_a_second_place_in_the_window_is_aligned(differences):
    axis = np.random.default_rng(2).integers(0, 4, 9000).astype(np.uint8)
    axis[1320 : 1320 + LENGTH] = axis[1200 : 1200 + LENGTH]
    axis[1340 : 1340 + 20 * differences : 20] ^= 1
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(axis[1200 : 1200 + LENGTH])])
    found = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    assert found.diagonal.tolist() == [1200, 1320]


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
    assert len(rescue_jobs(alignments_of([[anchor], []]), reads, reference, NO_INSERT_SIZES).read) == 0
    assert len(rescue_jobs(alignments_of([[anchor], [partner]]), reads, reference, MODELS).read) == 0
    assert len(rescue_jobs(alignments_of([[], []]), reads, reference, MODELS).read) == 0
    for short in (0, 1, KMER - 1):
        assert (
            len(rescue_jobs(alignments_of([[anchor], []]), make_reads([read], [mate[:short]]), reference, MODELS).read)
            == 0
        )
    weak = Place(anchor.score - 18, strand, 5000, 0, 100)  # worse than the best by more than UNPAIRED_COST
    assert len(rescue_jobs(alignments_of([[anchor, weak], []]), reads, reference, MODELS).read) == 1
    assert len(rescue_jobs(alignments_of([[weak, anchor], []]), reads, reference, MODELS).read) == 1


@pytest.mark.parametrize("model", [MODEL, replace(MODEL, low=1, high=520), replace(MODEL, low=290)])
@pytest.mark.parametrize("length", [KMER, KMER + 3, 36, 60, 80])
@pytest.mark.parametrize("word", [[0], [0, 1], NINE_BASES[:KMER], NINE_BASES, NINE_BASES * 3 + [2]])
def test_of_places_in_a_tandem_repeat_that_of_the_mean_template_length_is_taken(word, length, model):
    """The place at the mean template length is chosen, and a second one beyond its band."""
    axis = np.random.default_rng(3).integers(0, 4, 9000).astype(np.uint8)
    axis[1100:1380] = np.resize(word, 280)
    mate = np.resize(word, length).astype(np.uint8)
    reference = SimpleNamespace(text=pack(axis), island_axis=np.array([0, 1390, 9000], np.int64))
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    models = InsertSizes(FR=model)
    jobs = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, models)
    begin, end = 1000 + model.low - length, min(1000 + model.high, 1390)
    found = best_diagonals(mate, axis[begin:end], 1000 + model.mean - length - begin)
    assert jobs.diagonal.tolist() == [begin + diagonal for diagonal in found]
    if length < KMER + FEWEST_KMERS - 1:
        assert len(jobs.read) == 0
    else:
        first = int(jobs.diagonal[0])
        assert (axis[first : first + length] == mate).all()
        assert abs(first + length - (1000 + model.mean)) <= len(word) / 2
        assert len(jobs.read) == 2


@pytest.mark.parametrize("ends", [(100, 500), (180, 420), (200, 220), (330, 400)])
@pytest.mark.parametrize("length", [KMER, 24, 25, 32, 33, 57, 150, 1000])
@pytest.mark.parametrize("word", [[0], [0, 1], [0, 1, 1, 2, 3], NINE_BASES])
def test_long_tandem_repeats_are_compared_base_by_base(word, length, ends):
    """The result is that of votes, which would be too many; also next to N, and for mates longer than the window."""
    generator = np.random.default_rng(length)
    axis = np.resize(word, 3000).astype(np.uint8)
    axis[generator.integers(0, 3000, 40)] = 3
    mate = np.resize(word, length).astype(np.uint8)
    mate[generator.integers(0, length, length // 60)] = 4
    mate[generator.integers(0, length, length // 60)] = 2
    model = replace(MODEL, low=ends[0], high=ends[1], mean=sum(ends) // 2)
    reference = SimpleNamespace(text=pack(axis), island_axis=np.array([0, 1450, 3000], np.int64))
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    places = alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []])
    begin, end = max(1000 + ends[0] - length, 0), min(1000 + ends[1], 1450)
    wanted = best_diagonals(mate, axis[begin:end], 1000 + model.mean - length - begin)
    jobs = rescue_jobs(places, reads, reference, InsertSizes(FR=model))
    assert jobs.diagonal.tolist() == [begin + diagonal for diagonal in wanted]


@pytest.mark.parametrize("errors", [1, 2, 3])
@pytest.mark.parametrize("length", [35, 50, 100, 150])
def test_a_microsatellite_with_errors_is_found_beside_its_mate(length, errors):
    """Regression: each k-mer once voted only for its last place in the mate, so no diagonal had four votes."""
    axis = np.random.default_rng(6).integers(0, 4, 9000).astype(np.uint8)
    axis[1160 : 1180 + length] = np.resize([0, 3], 20 + length)
    mate = axis[1170 : 1170 + length].copy()
    mate[[(1 + error) * length // (1 + errors) for error in range(errors)]] = 2
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    jobs = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    assert jobs.diagonal_low[0] <= 1170 <= jobs.diagonal_high[0]


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("called", [16, 23, 31, 32, 60])
def test_a_mate_of_mostly_n_is_found(called, behind):
    """It has as few different k-mers as a microsatellite, because the rest is N."""
    axis = np.random.default_rng(6).integers(0, 4, 9000).astype(np.uint8)
    mate = axis[1200 : 1200 + LENGTH].copy()
    mate[slice(called, None) if behind else slice(LENGTH - called)] = 4
    reads = make_reads([axis[1000:1100]], [other_strand(mate)])
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    jobs = rescue_jobs(alignments_of([[Place(LENGTH, 0, 1000, 0, LENGTH)], []]), reads, reference, MODELS)
    assert jobs.diagonal.tolist() == [1200]


@pytest.mark.parametrize(
    ("anchors", "partners", "jobs"),
    [
        ([100], [40], 0),
        ([100], [40, *[39] * (MOST_CANDIDATES - 2)], 0),
        ([100], [40, *[39] * (MOST_CANDIDATES - 1)], 1),  # the largest number of places that are examined
        ([100], [40, 40], 1),  # two equally good
        ([100], [39, 40, 30, 40], 1),
        ([100], [40, 39, 39], 0),
        ([100] * (MOST_CANDIDATES - 1), [40, 40], MOST_CANDIDATES - 1),
        ([100] * MOST_CANDIDATES, [40] * MOST_CANDIDATES, 0),
        ([100, *[100 - UNPAIRED_COST - 1] * MOST_CANDIDATES], [40, 40], 1),  # the others are no anchors
    ],
)
def test_looks_again_beside_few_places_if_the_mate_may_have_better_ones(anchors, partners, jobs):
    axis = np.random.default_rng(1).integers(0, 4, 9000).astype(np.uint8)
    reference = SimpleNamespace(text=pack(axis), island_axis=ISLANDS)
    reads = make_reads([axis[1000:1100]], [other_strand(axis[1200:1300])])
    places = [
        [Place(score, 0, 1000, 0, 100) for score in anchors],
        [Place(score, 1, 1210, 0, 100) for score in partners],
    ]
    found = rescue_jobs(alignments_of(places), reads, reference, MODELS)
    assert found.diagonal[found.read == 1].tolist() == [1200] * jobs


@pytest.mark.full
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

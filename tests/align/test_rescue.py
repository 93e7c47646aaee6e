"""Mate rescue on the CPU in long tandem repeats, and in a whole run; the other cases are in test_rescue_gpu."""

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from quire.align.engines import cpu as engine_cpu
from quire.align.insert_size import NO_INSERT_SIZES, InsertSize, InsertSizes
from quire.align.parameters import KMER
from quire.align.rescue.cpu import rescue_jobs

from tests.oracles.align import best_diagonals
from tests.support.builders import random_bases, write_fasta
from tests.support.card_builders import pack
from tests.support.places import Place, alignments_of
from tests.support.read_builders import build_index, make_reads, map_files, mates_of, named, write_pairs

MODEL = InsertSize(1000, 280, 300, 320, 300, 30, 180, 420)
LENGTH = 100
NINE_BASES = [0, 0, 1, 2, 2, 3, 1, 1, 3]


def other_strand(codes: np.ndarray) -> np.ndarray:
    return np.where(codes < 4, 3 - codes, codes)[::-1]


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

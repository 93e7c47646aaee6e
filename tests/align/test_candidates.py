"""The true place of a read is among its candidates; what candidates are is tested in test_candidates_gpu."""

import random

import numpy as np
import pytest
from quire.algorithms.extension import ExtensionJobs
from quire.algorithms.seeding import SeedingParameters
from quire.algorithms.seeding.cpu import find_hits
from quire.align.candidates.cpu import find_candidates
from quire.index import open_page
from quire.reads import Reads

from tests.support.builders import random_bases, write_fasta
from tests.support.read_builders import build_index, make_reads, with_errors

SEEDING = SeedingParameters(stride=10, maximum_hits=32)


class Genome:
    """Two contigs of three islands; the second one holds a tandem repeat, the first one twenty copies of 150 bases."""

    def __init__(self, folder) -> None:
        generator = random.Random(2)
        copy = random_bases(generator, 150)
        one = "".join(copy + random_bases(generator, 80) for _ in range(20)) + "N" * 40 + random_bases(generator, 4000)
        two = random_bases(generator, 3000) + random_bases(generator, 31) * 8 + random_bases(generator, 1000)
        indexed = build_index(folder, write_fasta(folder / "genome.fa", {"one": one, "two": two}))
        self.reference = indexed.open()
        self.pages = [open_page(page, self.reference) for page in indexed.pages]
        self.axis = self.reference.codes(0, self.reference.axis_length)

    def candidates(self, reads: Reads) -> ExtensionJobs:
        offsets, hits = find_hits(self.pages, reads, self.reference.text, SEEDING)
        return find_candidates(offsets, hits, reads, self.reference, SEEDING)


@pytest.fixture(scope="module")
def genome(tmp_path_factory) -> Genome:
    return Genome(tmp_path_factory.mktemp("candidates"))


def drawn(genome: Genome, seed: int, count: int) -> tuple[list[np.ndarray], list[tuple[int, int]]]:
    """Return reads with errors from the whole axis (also across islands), and strand and position of each."""
    generator = random.Random(seed)
    sequences, places = [], []
    for _ in range(count):
        length = generator.choice([40, 100, 150, 400])
        start = generator.randrange(len(genome.axis) - length)
        letters = "".join("ACGT"[code] for code in genome.axis[start : start + length])
        codes = np.array(["ACGT".index(base) for base in with_errors(generator, letters, 0.02)], np.uint8)
        strand = generator.randint(0, 1)
        sequences.append((3 - codes)[::-1] if strand else codes)
        places.append((strand, start))
    return sequences, places


def test_the_true_place_is_among_the_candidates(genome):
    sequences, places = drawn(genome, 1, 400)
    jobs = genome.candidates(make_reads(sequences))
    borders = genome.reference.island_axis
    found = expected = 0
    for read, (strand, start) in enumerate(places):
        end = start + len(sequences[read])
        if len(sequences[read]) < 90 or ((borders > start) & (borders < end)).any():
            continue
        mine = (jobs.read == read) & (jobs.strand == strand)
        inside = (jobs.diagonal_low <= start) & (jobs.diagonal_high >= start) & (jobs.axis_low <= start)
        expected += 1
        found += bool((mine & inside & (jobs.axis_high >= end)).any())
    assert expected > 200
    assert found >= 0.98 * expected  # the rest are reads within one of twenty copies; only sixteen are kept


def test_reads_without_hits_have_no_candidates(genome):
    foreign = np.array(random.Random(99).choices(range(4), k=100), np.uint8)
    jobs = genome.candidates(make_reads([np.full(50, 4, np.uint8), np.empty(0, np.uint8), foreign, foreign[:19]]))
    assert len(jobs.read) == 0
    assert len(genome.candidates(make_reads([])).read) == 0

"""Candidates: the true place is among them, bands stay in one island, copies stay apart, and reads do not interact."""

import random
from itertools import pairwise

import numpy as np
import pytest
from quire.algorithms.extension import ExtensionJobs
from quire.algorithms.seeding import SeedingParameters
from quire.algorithms.seeding.cpu import find_hits
from quire.align.candidates.cpu import find_candidates
from quire.align.parameters import BAND_MARGIN, LARGEST_GAP, MOST_CANDIDATES, WIDEST_BUNDLE
from quire.index import open_page
from quire.reads import Reads
from quire.reads.cpu import subset

from tests.support.builders import random_bases, write_fasta
from tests.support.read_builders import build_index, make_reads, with_errors

SEEDING = SeedingParameters(stride=10, maximum_hits=32)
UNIT = 31


class Genome:
    """Two contigs of three islands; the second one holds a tandem repeat, the first one twenty copies of 150 bases."""

    def __init__(self, folder) -> None:
        generator = random.Random(2)
        copy = random_bases(generator, 150)
        one = "".join(copy + random_bases(generator, 80) for _ in range(20)) + "N" * 40 + random_bases(generator, 4000)
        self.tandem = random_bases(generator, UNIT) * 8
        two = random_bases(generator, 3000) + self.tandem + random_bases(generator, 1000)
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


def test_a_candidate_keeps_to_one_island_and_has_a_bounded_band(genome):
    jobs = genome.candidates(make_reads(drawn(genome, 2, 400)[0]))
    islands = set(pairwise(genome.reference.island_axis.tolist()))
    assert {(int(a), int(b)) for a, b in zip(jobs.axis_low, jobs.axis_high, strict=True)} == islands
    assert (np.diff(jobs.read) >= 0).all()
    assert np.bincount(jobs.read).max() == MOST_CANDIDATES
    width = jobs.diagonal_high - jobs.diagonal_low
    assert (width >= 2 * BAND_MARGIN).all()
    assert (width <= 2 * BAND_MARGIN + 3 * WIDEST_BUNDLE + 2 * LARGEST_GAP).all()
    assert ((jobs.diagonal_low <= jobs.diagonal) & (jobs.diagonal <= jobs.diagonal_high)).all()


def test_copies_in_tandem_stay_apart(genome):
    """A read of two units fits at every unit of the repeat, and each place is a separate candidate."""
    codes = np.array(["ACGT".index(base) for base in genome.tandem[: 2 * UNIT]], np.uint8)
    jobs = genome.candidates(make_reads([codes]))
    contig, position = genome.reference.axis_to_contig(np.arange(len(genome.axis)))
    start = int(np.flatnonzero((contig == 1) & (position == 3000))[0])
    wanted = {start + UNIT * copy for copy in range(7)}
    assert wanted <= set(jobs.diagonal.tolist())


@pytest.mark.parametrize("gap", [1, 9, 20, 60])
def test_a_gap_is_inside_one_band(genome, gap):
    """Both sides of a gap lead to a candidate whose band contains both diagonals.

    If the gap costs more than the seeds of one side cover, that side is also a separate candidate.
    """
    start = len(genome.axis) - 900
    axis = genome.axis[start:]
    inserted = np.tile([0, 1, 2, 3], 20)[:gap]
    deletion = np.concatenate([axis[:60], axis[60 + gap : 120 + gap]])
    insertion = np.concatenate([axis[:70], inserted, axis[70:140]])
    for codes, shift in ((deletion, gap), (insertion, -gap)):
        jobs = genome.candidates(make_reads([codes]))
        mine = jobs.strand == 0
        both = (jobs.diagonal_low <= min(start, start + shift)) & (jobs.diagonal_high >= max(start, start + shift))
        assert (mine & both).any()
        assert (mine & (abs(jobs.diagonal - start) < 100)).sum() == (2 if shift == 60 else 1)


def test_reads_do_not_interact(genome):
    sequences, _ = drawn(genome, 3, 120)
    reads = make_reads(sequences)
    whole = genome.candidates(reads)
    for read in range(0, 120, 5):
        alone = genome.candidates(subset(reads, np.array([read])))
        mine = whole.read == read
        for name in ("strand", "diagonal", "diagonal_low", "diagonal_high", "axis_low", "axis_high"):
            assert getattr(alone, name).tolist() == getattr(whole, name)[mine].tolist()


def test_reads_without_hits_have_no_candidates(genome):
    foreign = np.array(random.Random(99).choices(range(4), k=100), np.uint8)
    jobs = genome.candidates(make_reads([np.full(50, 4, np.uint8), np.empty(0, np.uint8), foreign, foreign[:19]]))
    assert len(jobs.read) == 0
    assert len(genome.candidates(make_reads([])).read) == 0

"""Seeding against a scan of the whole axis, with one page and with many, whole and sampled suffix arrays."""

import numpy as np
import pytest
from quire.algorithms.seeding import SeedingParameters, find_hits, oracle
from quire.algorithms.seeding.cpu import page_arrays
from quire.index import PageIndex, build
from quire.reference import Reference
from quire.reference import build as build_reference

from tests.unit.align.builders_align import make_reads

PARAMETERS = {"sampling_distance": 64, "sa_sampling": 1}


def repetitive_genome(rng: np.random.Generator, kind: str) -> np.ndarray:
    """About 6 kb whose seeds are unique, repeated, or of one letter."""
    if kind == "random":
        return rng.integers(0, 4, 6000)
    if kind == "single letter":
        return np.concatenate([rng.integers(0, 4, 500), np.zeros(2000, np.int64), rng.integers(0, 4, 500)])
    unit = rng.integers(0, 4, 90)
    copies = []
    for _ in range(50):
        copy = unit.copy()
        copy[rng.integers(0, 90, 2)] = rng.integers(0, 4, 2)
        copies += [copy, rng.integers(0, 4, 20)]
    return np.concatenate(copies)


def sample_reads(rng: np.random.Generator, axis: np.ndarray, count: int) -> list[np.ndarray]:
    reads = []
    for _ in range(count):
        length = int(rng.integers(10, 160))
        start = int(rng.integers(0, len(axis) - length))
        read = axis[start : start + length].copy()
        for place in rng.integers(0, length, int(rng.integers(0, 4))):
            read[place] = rng.integers(0, 5)
        reads.append(np.where(read > 3, 4, 3 - read)[::-1] if rng.random() < 0.5 else read)
    return reads


@pytest.fixture(scope="module", params=["random", "single letter", "repeats"])
def genome(request, tmp_path_factory):
    rng = np.random.default_rng(len(request.param))
    axis = repetitive_genome(rng, request.param)
    folder = tmp_path_factory.mktemp("genome")
    fasta = folder / "genome.fa"
    fasta.write_text(">one\n" + "".join("ACGT"[c] for c in axis) + "\n")
    return axis.astype(np.uint8), fasta, folder, rng


@pytest.mark.parametrize(("page_size", "sa_sampling"), [(1 << 30, 1), (1500, 1), (1100, 1), (1500, 8), (1 << 30, 8)])
def test_hits_equal_a_scan_of_the_axis(genome, page_size, sa_sampling):
    axis, fasta, folder, rng = genome
    directory = folder / f"reference_{page_size}"
    if not directory.exists():
        build_reference(fasta, directory, page_size)
    reference = Reference.open(directory)
    pages = []
    for number in range(len(reference.pages)):
        target = folder / f"page_{page_size}_{sa_sampling}_{number}"
        build(directory, number, target, {**PARAMETERS, "sa_sampling": sa_sampling})
        index = PageIndex.open(target, reference)
        pages.append(page_arrays(index, index))
    sequences = sample_reads(rng, axis, 60)
    reads = make_reads(sequences)
    parameters = SeedingParameters(stride=10, maximum_hits=12)
    offsets, hits = find_hits(pages, reads, reference.text, parameters)
    for read in range(len(reads)):
        codes = reads.codes[:, reads.offsets[read] : reads.offsets[read + 1]]
        wanted = oracle.find_hits(axis, codes, int(reads.name_hash[read]), parameters)
        assert [int(hit) for hit in hits[offsets[read] : offsets[read + 1]]] == wanted, (read, codes)


def test_seed_ends_reach_the_end_of_the_read_and_stay_within_the_limit():
    for length in range(20, 1025):
        ends = oracle.seed_ends(length, 10)
        assert ends[0] == 20
        assert ends[-1] == length
        assert len(ends) <= 64

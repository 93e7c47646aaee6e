"""Seeding against a scan of the whole axis, with one page and with many, whole and sampled suffix arrays."""

from pathlib import Path

import numpy as np
import pytest
from quire.algorithms.seeding import DIAGONAL_BIAS, SeedingParameters
from quire.algorithms.seeding.cpu import find_hits
from quire.index import build, open_page
from quire.reference import Reference
from quire.reference import build as build_reference

from tests.oracles import seeding as oracle
from tests.support.examples import examples
from tests.support.read_builders import make_reads

PARAMETERS = {"sampling_distance": 64, "sa_sampling": 1}


def repetitive_genome(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Return about 6 kb whose seeds are unique, repeated, or of one letter."""
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


def open_pages(fasta: Path, folder: Path, page_size: int, sa_sampling: int):
    """Return the reference and its page arrays, which are built once per folder."""
    directory = folder / f"reference_{page_size}"
    if not directory.exists():
        build_reference(fasta, directory, page_size)
    reference = Reference.open(directory)
    pages = []
    for number in range(len(reference.pages)):
        target = folder / f"page_{page_size}_{sa_sampling}_{number}"
        if not target.exists():
            build(directory, number, target, {**PARAMETERS, "sa_sampling": sa_sampling})
        pages.append(open_page(target, reference))
    return reference, pages


def require_hits_of_oracle(axis: np.ndarray, reference: Reference, pages, reads, parameters) -> tuple:
    """Seed reads and compare with a scan of the axis; return offsets and hits."""
    offsets, hits = find_hits(pages, reads, reference.text, parameters)
    for read in range(len(reads)):
        codes = reads.codes[:, reads.offsets[read] : reads.offsets[read + 1]]
        wanted = oracle.find_hits(axis, codes, int(reads.name_hash[read]), parameters)
        assert [int(hit) for hit in hits[offsets[read] : offsets[read + 1]]] == wanted, (read, codes)
    return offsets, hits


@pytest.mark.parametrize(("page_size", "sa_sampling"), [(1 << 30, 1), (1500, 1), (1100, 1), (1500, 8), (1 << 30, 8)])
def test_hits_equal_a_scan_of_the_axis(genome, page_size, sa_sampling):
    axis, fasta, folder, rng = genome
    reference, pages = open_pages(fasta, folder, page_size, sa_sampling)
    reads = make_reads(sample_reads(rng, axis, examples(60)))
    for parameters in (SeedingParameters(10, 12), SeedingParameters(7, 1, 16), SeedingParameters(20, 3)):
        require_hits_of_oracle(axis, reference, pages, reads, parameters)


@pytest.fixture(scope="module")
def spread(tmp_path_factory):
    """Return four pages of 1,500 bases, each with the same words, so that only the sum reaches a cap of hits.

    `frequent` occurs five times on every page. So does `common`, but after different bases, so that longer seeds are
    rare. `once` occurs once on every page, in the part that the previous page contains as well.
    """
    rng = np.random.default_rng(5)
    frequent, common, once = rng.integers(0, 4, 100), rng.integers(0, 4, 22), rng.integers(0, 4, 70)
    pieces = []
    for _ in range(4):
        page = [once]
        for _ in range(5):
            page += [frequent, rng.integers(0, 4, 60), common, rng.integers(0, 4, 30)]
        size = sum(map(len, page))
        pieces += [*page, rng.integers(0, 4, 1500 - size)]
    axis = np.concatenate(pieces).astype(np.uint8)
    folder = tmp_path_factory.mktemp("spread")
    fasta = folder / "genome.fa"
    fasta.write_text(">one\n" + "".join("ACGT"[c] for c in axis) + "\n")
    return axis, fasta, folder, frequent, common, once


def owned_per_page(axis: np.ndarray, word: np.ndarray) -> list[int]:
    """Return the occurrences of a word on each page of 1,500 bases."""
    return np.bincount(np.array(oracle.occurrences(axis, word)) // 1500, minlength=4).tolist()


@pytest.mark.parametrize("sa_sampling", [1, 8])
def test_the_cap_is_on_the_sum_of_pages(spread, sa_sampling):
    axis, fasta, folder, _, common, once = spread
    assert owned_per_page(axis, common) == [5, 5, 5, 5]
    assert owned_per_page(axis, once) == [1, 1, 1, 1]
    reference, pages = open_pages(fasta, folder, 1500, sa_sampling)
    assert len(pages) == 4
    places = oracle.occurrences(axis, common)[3::5]
    around_common = [axis[place - 40 : place + len(common)] for place in places]
    reads = make_reads([*around_common, once])
    offsets, hits = require_hits_of_oracle(axis, reference, pages, reads, SeedingParameters(20, 12))
    for read in range(4):  # the last 20 bases occur 20 times on the axis, the last 24 once or a few times
        forward = [int(hit) for hit in hits[offsets[read] : offsets[read + 1]] if hit < 1 << 63]
        assert 1 <= sum(hit & 255 == 3 for hit in forward) < 12
    for cap, found in ((4, 4), (3, 3)):
        offsets, hits = require_hits_of_oracle(axis, reference, pages, reads, SeedingParameters(64, cap))
        of_one_seed = hits[offsets[4] : offsets[5]] & np.uint64(255)
        assert np.count_nonzero(of_one_seed == of_one_seed[0]) == found


@pytest.mark.parametrize("sa_sampling", [1, 8])
def test_a_rarest_seed_has_its_hits_on_all_pages(spread, sa_sampling):
    axis, fasta, folder, frequent, _, _ = spread
    assert owned_per_page(axis, frequent) == [5, 5, 5, 5]
    reference, pages = open_pages(fasta, folder, 1500, sa_sampling)
    reads = make_reads([frequent] * 30)
    offsets, hits = require_hits_of_oracle(axis, reference, pages, reads, SeedingParameters(20, 12))
    assert (np.diff(offsets) == 12).all()
    starts = ((hits << np.uint64(1)) >> np.uint64(9)).astype(np.int64) - DIAGONAL_BIAS
    for read in range(30):
        assert len(set(starts[offsets[read] : offsets[read + 1]] // 1500)) >= 3
    assert len({tuple(starts[offsets[read] : offsets[read + 1]]) for read in range(30)}) > 20


def test_seed_ends_reach_the_end_of_the_read_and_stay_within_the_limit():
    for length in range(20, 1025):
        ends = oracle.seed_ends(length, SeedingParameters(10, 1))
        assert ends[0] == 20
        assert ends[-1] == length
        assert len(ends) <= 64

"""Records do not depend on threads, batches, pages, index parameters, or the other reads of the file."""

import gzip
import random
from itertools import islice
from pathlib import Path

import pytest
from quire.align import insert_size, mapper

from tests.support.awkward_genomes import ADAPTER, awkward_genome, awkward_pairs
from tests.support.builders import Read, random_bases, reverse_complement, write_fasta
from tests.support.read_builders import WHOLE, Indexed, build_index, map_files, mates_of, with_errors, write_pairs

DEMO = Path(__file__).parents[1] / "data" / "demo"
DEMO_PAIRS = 4000


def repetitive_genome(generator: random.Random) -> dict[str, str]:
    """Return two families of copies, one exact, tandem repeats and simple sequence: most seeds are too frequent."""
    exact, near = random_bases(generator, 300), random_bases(generator, 400)
    pieces = []
    for number in range(60):
        copy = exact if number % 2 else with_errors(generator, near, 0.03)
        pieces += [copy if generator.random() < 0.5 else reverse_complement(copy), random_bases(generator, 60)]
    pieces += ["A" * 300, random_bases(generator, 25) * 20, "N" * 30, random_bases(generator, 1500), "CA" * 100]
    genome = "".join(pieces)
    return {"long": genome, "short": genome[5000:9000] + random_bases(generator, 500)}


def repetitive_pairs(generator: random.Random, genome: dict[str, str], count: int) -> list[tuple[Read, Read]]:
    pairs = []
    for number in range(count):
        contig = generator.choice(list(genome.values()))
        size = max(50, round(generator.gauss(260, 40)))
        start = generator.randrange(len(contig) - size)
        lengths = generator.choice([(100, 100), (100, 100), (60, 300), (36, 36)])
        pairs.append(mates_of(generator, f"p{number}", contig[start : start + size], lengths, 0.01, ADAPTER))
    return pairs


class Case:
    """A genome, pairs, and the records that all ways of mapping them must produce."""

    def __init__(self, folder: Path, genome: dict[str, str], pairs: list[tuple[Read, Read]]) -> None:
        self.folder, self.pairs = folder, pairs
        self.fasta = write_fasta(folder / "genome.fa", genome)
        self.mates = write_pairs(folder, pairs)
        self.whole = build_index(folder, self.fasta)
        first = map_files(folder, self.whole, self.mates, batch=1000, threads=1)
        self.lines, self.insert_size = first.lines, first.insert_size

    def require_same(self, indexed: Indexed, batch: int, threads: int) -> None:
        """Map once more and compare records and insert size."""
        again = map_files(self.folder, indexed, self.mates, batch, threads)
        assert again.insert_size == self.insert_size
        assert first_difference(again.lines, self.lines) is None


def first_difference(got: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """Return the first two lines that differ."""
    for pair in zip(got, wanted, strict=False):
        if pair[0] != pair[1]:
            return pair
    return None if len(got) == len(wanted) else (f"{len(got)} records", f"{len(wanted)} records")


@pytest.fixture(scope="module", params=["repetitive", "awkward"])
def case(request, tmp_path_factory) -> Case:
    generator = random.Random(7)
    folder = tmp_path_factory.mktemp("case")
    if request.param == "repetitive":
        genome = repetitive_genome(generator)
        return Case(folder, genome, repetitive_pairs(generator, genome, 400))
    genome = awkward_genome(generator)
    return Case(folder, genome, awkward_pairs(generator, genome, 400))


@pytest.mark.full
@pytest.mark.parametrize(("batch", "threads"), [(1, 2), (7, 1), (7, 3), (1000, 2), (100_000, 1), (100_000, 3)])
def test_batches_and_threads(case, batch, threads):
    case.require_same(case.whole, batch, threads)


@pytest.mark.parametrize(
    ("page_size", "sampling_distance", "sa_sampling"),
    [(3000, 64, 1), (3000, 448, 8), (10_000, 192, 1), (10_000, 64, 8), (WHOLE, 192, 1), (WHOLE, 960, 8)],
)
def test_pages_and_index_parameters(case, page_size, sampling_distance, sa_sampling):
    indexed = build_index(case.folder, case.fasta, page_size, sampling_distance, sa_sampling)
    assert (len(indexed.pages) > 1) == (page_size < WHOLE)
    case.require_same(indexed, batch=150, threads=2)


def test_the_sample_of_the_insert_size_ends_within_a_batch(case, monkeypatch):
    """The model depends only on the first pairs, not on the rest of the batch in which the sample ends."""
    for module in (mapper, insert_size):
        monkeypatch.setattr(module, "SAMPLE_PAIRS", 60)
    monkeypatch.setattr(mapper, "MOST_BASES_LOOKED_AT", 40_000)
    runs = [
        map_files(case.folder, case.whole, case.mates, batch, threads)
        for batch, threads in ((1, 1), (7, 3), (90, 2), (1000, 1))
    ]
    assert 10 <= runs[0].insert_size["FR"]["pairs"] <= 60
    for run in runs[1:]:
        assert run.insert_size == runs[0].insert_size
        assert first_difference(run.lines, runs[0].lines) is None


def test_single_reads(case):
    whole = map_files(case.folder, case.whole, case.mates[:1], batch=1000, threads=1)
    pages = build_index(case.folder / "single", case.fasta, 3000)
    again = map_files(case.folder, pages, case.mates[:1], batch=7, threads=3)
    assert first_difference(again.lines, whole.lines) is None


def test_a_pair_among_others_is_as_in_another_order(case, tmp_path):
    """With the same insert sizes the position of a pair in the file does not change its records."""
    lines: dict[str, list[str]] = {}
    for line in case.lines:
        lines.setdefault(line.split("\t", 1)[0], []).append(line)
    pairs = list(case.pairs)
    random.Random(1).shuffle(pairs)
    again = map_files(tmp_path, case.whole, write_pairs(tmp_path, pairs), batch=64, threads=1)
    assert again.insert_size == case.insert_size  # all pairs are in the sample, in any order
    assert again.lines == [line for pair in pairs for line in lines[pair[0].name]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[Path, Path, list[Path]]:
    """Return the unmasked part of the demo's chr20, and the first of its pairs."""
    folder = tmp_path_factory.mktemp("demo")
    mates = []
    for mate in (1, 2):
        mates.append(folder / f"{mate}.fq")
        with gzip.open(DEMO / f"NA12878_R{mate}.fastq.gz", "rt") as source, mates[-1].open("w") as target:
            target.writelines(islice(source, 4 * DEMO_PAIRS))
    fasta = folder / "unmasked.fa"
    with gzip.open(DEMO / "hg19.chr20.masked.fa.gz", "rt") as source, fasta.open("w") as target:
        target.writelines(line for line in source if line[0] == ">" or line.strip().strip("N"))
    return folder, fasta, mates


def test_real_reads(demo):
    folder, fasta, mates = demo
    wanted = map_files(folder, build_index(folder, fasta), mates, batch=100_000, threads=1)
    assert len(wanted.lines) >= 2 * DEMO_PAIRS
    for page_size, batch, threads in ((300_000, 1000, 2), (1_000_000, 333, 3)):
        indexed = build_index(folder, fasta, page_size)
        assert len(indexed.pages) > 1
        again = map_files(folder, indexed, mates, batch, threads)
        assert again.insert_size == wanted.insert_size
        assert first_difference(again.lines, wanted.lines) is None

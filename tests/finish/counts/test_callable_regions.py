"""Callable regions of samples, compared with the depth of samtools, and of a cohort of them."""

import gzip
import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.finish.counts import callable_regions
from quire.finish.counts import sample as sample_module
from quire.finish.counts.callable_regions import CallableRule, write_callable, write_cohort_callable
from quire.finish.counts.sample import FinishedSample
from quire.reference import build

from tests.support.builders import random_bases, write_bam, write_fasta

LENGTHS = {"1": 30_000, "bare": 700, "2": 3000, "last": 400}


def sample_of(folder: Path, name: str, seed: int) -> FinishedSample:
    """Write a sorted BAM of records of many kinds, deep at few places."""
    generator, lines = random.Random(seed), []
    for number in range(4000):
        contig = generator.choice(["1", "1", "1", "2"])
        at = generator.randrange(generator.choice((1500, LENGTHS[contig])) - 300)
        cigar = generator.choice(["100M", "10S90M", "40M3I57M", "50M5D50M", "30=20X50M", "5H100M", "60M200N40M"])
        place = f"{contig}\t{at + 1}\t{generator.choice((0, 19, 20, 60))}\t{cigar}"
        flag = generator.choice((0, 0, 16, 256, 1024, 512, 2048))
        lines.append(f"r{number}\t{flag}\t{place}\t*\t0\t0\t{'A' * 100}\t{'F' * 100}")
    lines.append(f"away\t4\t*\t0\t0\t*\t*\t0\t0\t{'A' * 100}\t{'F' * 100}")
    plain, bam = write_bam(folder / f"{name}.plain.bam", LENGTHS, lines), folder / f"{name}.bam"
    pysam.sort("-o", str(bam), str(plain))
    return FinishedSample(name, bam, folder / "reference", folder / "genome.fa")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a packed reference."""
    made, generator = tmp_path_factory.mktemp("callable"), random.Random(2)
    contigs = {name: random_bases(generator, length) for name, length in LENGTHS.items()}
    build(write_fasta(made / "genome.fa", contigs), made / "reference", 1 << 20)
    return made


def depth_of(bam: Path) -> dict[str, np.ndarray]:
    """Return the depth of every position by samtools, of reads with mapping quality 20 or more."""
    depth = {name: np.zeros(length, np.int64) for name, length in LENGTHS.items()}
    for line in pysam.depth("-Q", "20", str(bam)).splitlines():
        contig, position, count = line.split("\t")
        depth[contig][int(position) - 1] = int(count)
    return depth


def positions_of(path: Path) -> tuple[str, dict[str, np.ndarray]]:
    """Return the first line, and for each position whether a row has it; rows are in order and never adjacent."""
    comment, *rows = gzip.decompress(path.read_bytes()).decode().splitlines()
    found = {name: np.zeros(length, np.bool_) for name, length in LENGTHS.items()}
    before = (0, -1)
    for contig, start, end in (row.split("\t") for row in rows):
        place = [*LENGTHS].index(contig), int(start)
        assert place > before
        assert int(end) > int(start)
        found[contig][int(start) : int(end)] = True
        before = place[0], int(end)
    return comment, found


@pytest.mark.parametrize(("least", "most"), [(4, 0), (3, 9), (10_000, 0)])
def test_regions_are_those_of_samtools_depth(
    least: int, most: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_module, "STRETCH_BYTES", 1 << 14)  # several batches
    sample = sample_of(folder, "S", 5)
    write_callable(sample, CallableRule(least, most, 20), tmp_path / "S.bed.gz", 2)
    comment, found = positions_of(tmp_path / "S.bed.gz")
    limits = {4: "4 or more", 3: "3 to 9", 10_000: "10000 or more"}[least]
    assert comment == f"# callable in S: depth {limits}, of reads with mapping quality 20 or more"
    depth = depth_of(sample.alignments)
    assert max(depth["1"]) > 20
    for contig in LENGTHS:
        assert (found[contig] == ((depth[contig] >= least) & (depth[contig] <= (most or 10**9)))).all()


def test_regions_of_a_cohort(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A share of the samples, within overlapping intervals, whatever the size of the pieces."""
    monkeypatch.setattr(callable_regions, "_PIECE", 1000)
    beds = [tmp_path / f"{number}.bed.gz" for number in range(3)]
    for number, bed in enumerate(beds):
        sample = sample_of(folder, f"S{number}", number)
        write_callable(sample, CallableRule(4 if number else 10_000, 0, 20), bed, 1)
    each = [positions_of(bed)[1] for bed in beds]
    assert not any(rows.any() for rows in each[0].values())  # a sample without callable positions
    (tmp_path / "intervals.bed").write_text("1\t0\t5000\n1\t500\t900\n2\t100\t3000\n")
    inside = {name: np.zeros(length, np.bool_) for name, length in LENGTHS.items()}
    inside["1"][:5000] = inside["2"][100:] = True
    for fraction, enough in ((1.0, 3), (2 / 3, 2), (0.5, 2), (0.1, 1)):
        for intervals in (None, tmp_path / "intervals.bed"):
            write_cohort_callable(beds, fraction, LENGTHS, intervals, tmp_path / "all.bed.gz")
            comment, found = positions_of(tmp_path / "all.bed.gz")
            assert comment == f"# callable in {enough} of 3 samples"
            for contig in LENGTHS:
                expected = sum(rows[contig] for rows in each) >= enough
                assert (found[contig] == expected & (inside[contig] if intervals else True)).all()
            assert found["1"].any() == (enough < 3)

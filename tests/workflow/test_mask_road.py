"""A chromosome with a false copy of a part of itself, from FASTA to variants, with and without `reference.mask`."""

import random
import shutil

import pysam
import pytest

from tests.support.builders import Read, random_bases, reverse_complement, write_fasta
from tests.support.read_builders import write_pairs
from tests.workflow.runs import SMALL_UNIT, Run, errors_of

pytestmark = pytest.mark.full

COPIED = (4000, 9000)
CALLED = (5000, 6480, 8000)  # 0-based, homozygous
COPY = 14_000  # where the copy starts
SIZES = (150, 350)  # of reads and fragments


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("mask")
    generator = random.Random(6)
    bases = random_bases(generator, COPY)
    fasta = write_fasta(folder / "genome.fa", {"chr1": bases + bases[slice(*COPIED)] + random_bases(generator, 1000)})
    letters = list(bases)
    for place in CALLED:
        letters[place] = {"A": "C", "C": "A", "G": "T", "T": "G"}[letters[place]]
    pairs = []
    for number in range(1000):
        start = generator.randrange(COPY - SIZES[1])
        fragment = "".join(letters[start : start + SIZES[1]])
        ends = fragment[: SIZES[0]], reverse_complement(fragment)[: SIZES[0]]
        pairs.append(tuple(Read(f"r{number}", end, "F" * len(end)) for end in ends))
    mates = dict(zip(("fq1", "fq2"), map(str, write_pairs(folder, pairs)), strict=True))
    run = Run(folder, {"reference": {"fasta": str(fasta)}}, units=[SMALL_UNIT | mates])
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    return run


def found(run: Run) -> tuple[list[int], set[int]]:
    """Return the positions of the variants, and the mapping qualities of the reads within the copied part."""
    with pysam.VariantFile(str(run.output / "rescore/all.vcf.gz")) as records:
        positions = [record.start for record in records]
    with pysam.AlignmentFile(str(run.output / "align/NA12878.bam")) as reads:
        inside = reads.fetch("chr1", COPIED[0] + SIZES[1], COPIED[1] - SIZES[1])
        return positions, {one.mapping_quality for one in inside}


def test_a_masked_copy_takes_no_reads(run: Run) -> None:
    """Without a mask no variant is found; an index without it, or with another, is refused until it is removed."""
    assert found(run) == ([], {0})
    (run.folder / "copy.bed").write_text(f"chr1\t{COPY}\t{COPY + 5000}\n")
    run.config["reference"]["mask"] = "copy.bed"
    run.write()
    result = run.snakemake()
    assert errors_of(result.stdout)[0].startswith("quire: error: reference.mask: out/index/reference was built with")
    shutil.rmtree(run.output / "index")
    result = run.snakemake()
    assert result.returncode == 0, result.stdout
    positions, qualities = found(run)
    assert positions == list(CALLED)
    assert min(qualities) >= 50

"""Primers of amplicons: their bases are not called, as after samtools ampliconclip."""

import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quire import reference as reference_stage
from quire.errors import InputError
from quire.io.primers import FAR, TOLERANCE, read_primers
from quire.rescore.job import Output, open_job

from tests.support.builders import random_bases, write_fasta
from tests.support.calling import call_gvcf, call_variants
from tests.support.defaults import default_settings
from tests.support.gvcf import lines_of, sample_of
from tests.support.simulation import indexed_bam

SETTINGS = default_settings("rescore")
LENGTH, READ, DEPTH, PRIMER = 1600, 150, 40, 24
# Three tiled amplicons, one that is shorter than its reads, and one over its end.
AMPLICONS = ((100, 400), (340, 640), (580, 880), (900, 1020), (940, 1240))
# In the second one's left primer, in the first one's right primer, in no primer, in the short one's right primer.
SNVS = (350, 385, 500, 1010)
SPANS = st.lists(st.tuples(st.integers(0, 80), st.integers(1, 30), st.sampled_from("+-")), min_size=1, max_size=8)


def bed_of(rows: list[tuple[int, int, str]], path: Path) -> Path:
    """Write primers (start, end, strand) of the contig `c`."""
    path.write_text("".join(f"c\t{start}\t{end}\tname\t1\t{strand}\n" for start, end, strand in rows))
    return path


# -- The file ---------------------------------------------------------------------------------------------------------


@given(SPANS)
def test_ends_in_primers(tmp_path_factory: pytest.TempPathFactory, spans: list[tuple[int, int, str]]) -> None:
    """A fragment that starts or ends in primers loses what all overlapping primers of that strand cover."""
    rows = [(start, start + length, strand) for start, length, strand in spans]
    primers = read_primers(bed_of(rows, tmp_path_factory.mktemp("bed") / "x.bed"), {"c": 200})["c"]
    covered = {strand: {p for start, end, own in rows if own == strand for p in range(start, end)} for strand in "+-"}
    for own in covered.values():  # gaps between primers that are one
        ends = sorted(own)
        own.update(p for one, two in pairwise(ends) if two - one - 1 <= TOLERANCE for p in range(one, two))
    places = np.arange(120)
    for place, first, last in zip(places, primers.inner_starts(places), primers.inner_ends(places), strict=True):
        if place in covered["+"]:
            assert first >= place + 1
            assert set(range(place, first)) <= covered["+"]
        elif first != -FAR:  # just before a primer
            assert set(range(place, place + TOLERANCE + 1)) & covered["+"]
        else:
            assert not set(range(place, place + TOLERANCE + 1)) & covered["+"]
        if place - 1 in covered["-"]:
            assert last <= place - 1
            assert set(range(last, place)) <= covered["-"]
        elif last != FAR:
            assert set(range(place - TOLERANCE - 1, place)) & covered["-"]
        else:
            assert not set(range(place - TOLERANCE - 1, place)) & covered["-"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("c\t1\t5\n", "line 1: the strand of the primer, in the sixth column, is ''; give"),
        ("c\t1\t5\tname\t1\tleft\n", "is 'left'; give"),
        ("d\t1\t5\tname\t1\t+\n", "unknown contig 'd'"),
        ("c\t1\t500\tname\t1\t+\n", "beyond contig"),
        ("# nothing\n", "holds no primers"),
    ],
)
def test_wrong_lines(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "x.bed").write_text(text)
    with pytest.raises(InputError, match=sentence):
        read_primers(tmp_path / "x.bed", {"c": 200})


# -- Calling ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a virus, and the pairs of its amplicons, whose ends are primers: they have the reference's bases."""
    root = tmp_path_factory.mktemp("world")
    bases = random_bases(random.Random(3), LENGTH)
    write_fasta(root / "genome.fa", {"c": bases})
    reference_stage.build(root / "genome.fa", root / "reference", 1 << 20)
    sample = "".join("CGTA"["ACGT".index(base)] if at in SNVS else base for at, base in enumerate(bases))
    lines, rows = [], []
    for number, (start, end) in enumerate(AMPLICONS):
        left, right = start + PRIMER, end - PRIMER
        rows += [(start, left, "+"), (right, end, "-")]
        molecule = bases[start:left] + sample[left:right] + bases[right:end]
        size = min(READ, end - start)
        for copy in range(DEPTH):
            reads = ((99, start, end - size, end - start), (147, end - size, start, start - end))
            for flag, at, mate, span in reads:
                letters = molecule[at - start : at - start + size]
                fields = [
                    f"{number}.{copy}",
                    flag,
                    "c",
                    at + 1,
                    60,
                    f"{size}M",
                    "=",
                    mate + 1,
                    span,
                    letters,
                    "I" * size,
                ]
                lines.append("\t".join(map(str, fields)))
    lines.sort(key=lambda text: int(text.split("\t")[3]))
    indexed_bam(root / "virus.bam", {"c": LENGTH}, lines)
    bed_of(rows, root / "primers.bed")
    return root


def depths(world: Path, output: Path, bam: Path, gvcf: bool = False, **more: Path) -> dict[int, list[int]]:
    """Return AD of the called positions (0-based)."""
    call = call_gvcf if gvcf else call_variants
    row = {"sample": "virus", "ploidy": 1, "bam": bam}
    call(world / "reference", [row], [("c", 0, LENGTH)], output, SETTINGS, output.with_suffix(".json"), **more)
    records = [fields for fields in lines_of(output) if sample_of(fields)["GT"] == "1"]
    return {int(fields[1]) - 1: [int(n) for n in sample_of(fields)["AD"].split(",")][:2] for fields in records}


@pytest.mark.parametrize("gvcf", [False, True])
def test_bases_of_primers_are_not_called(world: Path, tmp_path: Path, gvcf: bool) -> None:
    """Without the file half of the reads or more have the primer's base; with it all have the sample's."""
    plain = depths(world, tmp_path / "plain.vcf.gz", world / "virus.bam", gvcf)
    assert [at for at in SNVS if plain.get(at, [DEPTH])[0]] == [350, 385, 1010]
    found = depths(world, tmp_path / "cut.vcf.gz", world / "virus.bam", gvcf, primers=world / "primers.bed")
    assert found == {at: [0, DEPTH] for at in SNVS}


def test_as_after_ampliconclip(world: Path, tmp_path: Path) -> None:
    """The program of samtools cuts the same bases out of the file, at both ends of each read."""
    clipped = tmp_path / "clipped.bam"
    arguments = ("--hard-clip", "--both-ends", "-b", str(world / "primers.bed"), str(world / "virus.bam"))
    pysam.samtools.ampliconclip(*arguments, "-o", str(tmp_path / "unsorted.bam"), catch_stdout=False)
    pysam.sort("-o", str(clipped), str(tmp_path / "unsorted.bam"))
    pysam.index(str(clipped))
    theirs = depths(world, tmp_path / "theirs.vcf.gz", clipped)
    assert theirs == depths(world, tmp_path / "cut.vcf.gz", world / "virus.bam", primers=world / "primers.bed")


def test_reads_without_primers_are_as_before(world: Path) -> None:
    """Primers elsewhere change nothing, not even where reads have soft clips."""
    sample = {"sample": "virus", "ploidy": 1, "bam": world / "virus.bam"}
    other = bed_of([(1500, 1520, "+"), (1560, 1590, "-")], world / "other.bed")
    found = []
    for primers in (None, other):
        job = open_job(Output.VARIANTS, world / "reference", [sample], SETTINGS, primers=primers)
        found.append(job.samples[0].source.fetch("c", 0, LENGTH, np.array([[0, LENGTH]]), job.parameters)[0])
    for one, two in zip(*found, strict=True):
        assert np.array_equal(one, two)

"""A CRAM whose containers state other positions than its index: by region, samtools leaves out records silently."""

import random
from pathlib import Path

import pysam
import pytest
from quire.errors import InputError
from quire.io.bam.regions import IndexedAlignments

from tests.fuzz.cram import FILE_DEFINITION, itf8, joined, read_itf8, split
from tests.fuzz.forked import forked_children
from tests.fuzz.indexed import CONTIGS, in_regions, write_sorted
from tests.support.builders import random_bases, write_fasta

PARTS = (("one", 0, 200_000), *(("one", at, at + 10_000) for at in range(0, 200_000, 10_000)), ("two", 0, 40_000))
KINDS = ("version=3.0", "version=2.1", "version=3.1,slices_per_container=3", "version=3.0,multi_seq_per_slice=1")
Change = tuple[int, int, int]


def written(folder: Path, kind: str) -> IndexedAlignments:
    """Write a sorted CRAM of small slices and its index."""
    fasta, bam, cram = folder / "genome.fa", folder / "made.bam", folder / "case.cram"
    write_fasta(fasta, {name: random_bases(random.Random(name), size) for name, size in CONTIGS.items()})
    write_sorted(bam, 1)
    kind = f"cram,seqs_per_slice=30,{kind}"
    pysam.view("-O", kind, "-T", str(fasta), "-o", str(cram), str(bam), catch_stdout=False)
    pysam.faidx(str(fasta))
    pysam.index(str(cram))
    return IndexedAlignments(cram, fasta)


def starts(alignments: IndexedAlignments) -> list[int]:
    """Return the starts of the records of all parts."""
    with forked_children():
        return [start for part in PARTS for start in alignments.records(*part).fixed["position"].tolist()]


def restate(cram: Path, number: int, change: Change) -> None:
    """Add to contig, first position and bases that the header of one container states."""
    content = cram.read_bytes()
    containers = list(split(content))
    fields, at, stated = containers[number].fields, 0, b""
    for added in change:
        value, at = read_itf8(fields, at)
        stated += itf8(value + added)
    containers[number] = containers[number]._replace(fields=stated + fields[at:])
    data = content[:FILE_DEFINITION] + b"".join(joined(one, None, content[4]) for one in containers)
    cram.write_bytes(data)
    Path(f"{cram}.crai").unlink()
    pysam.index(str(cram))


@pytest.mark.parametrize("kind", KINDS)
def test_containers_that_fit_the_index_are_read(kind: str, tmp_path: Path) -> None:
    alignments = written(tmp_path, kind)
    expected = in_regions(write_sorted(tmp_path / "again.bam", 1), PARTS)
    assert starts(alignments) == [start for _, start in expected]


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("change", [(16, 0, 0), (1, 0, 0), (0, 20_000, 0), (0, 0, -15_000)])
def test_a_container_that_states_other_positions_is_one_sentence(kind: str, change: Change, tmp_path: Path) -> None:
    cram = Path(written(tmp_path, kind).path)
    restate(cram, 2, change)
    with pytest.raises(
        InputError,
        match=r"case\.cram: its container at byte \d+ states other positions than its index; run samtools index on it",
    ):
        starts(IndexedAlignments(cram, tmp_path / "genome.fa"))


def test_a_container_that_states_more_than_its_slices_is_read(tmp_path: Path) -> None:
    alignments = written(tmp_path, KINDS[0])
    expected = starts(alignments)
    restate(Path(alignments.path), 2, (0, -100, 25_000))
    assert starts(IndexedAlignments(alignments.path, tmp_path / "genome.fa")) == expected

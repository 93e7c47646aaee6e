"""Placement of reads against the truth of a simulation, and against bwa mem on the same reads."""

import random
import shutil
import subprocess

import pysam
import pytest

from tests.support.awkward_genomes import unique_pairs
from tests.support.builders import Read, random_bases, reverse_complement, write_fasta, write_fastq
from tests.support.read_builders import build_index, map_files, with_errors, write_pairs

CONFIDENT, NEAR = 20, 5


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return records of Quire and of bwa mem (None if not installed) of the same pairs, and their origins."""
    generator = random.Random(11)
    family = random_bases(generator, 600)
    pieces = []
    for number in range(120):
        pieces.append(random_bases(generator, 1200))
        if number % 3 == 0:
            copy = with_errors(generator, family, generator.choice([0.002, 0.02, 0.1]))
            pieces.append(copy if generator.random() < 0.5 else reverse_complement(copy))
    folder = tmp_path_factory.mktemp("placement")
    genome = {"one": "".join(pieces)}
    fasta = write_fasta(folder / "genome.fa", genome)
    pairs, origins = unique_pairs(generator, genome, 4000)
    mates = write_pairs(folder, pairs)
    ours = map_files(folder, build_index(folder, fasta), mates).records()
    theirs = None
    if shutil.which("bwa"):
        subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
        sam = folder / "bwa.sam"
        with sam.open("w") as stream:
            subprocess.run(["bwa", "mem", fasta, *mates], check=True, stdout=stream, stderr=subprocess.DEVNULL)
        with pysam.AlignmentFile(str(sam)) as stream:
            theirs = list(stream.fetch(until_eof=True))
    return primary(ours), None if theirs is None else primary(theirs), origins


def primary(records) -> dict:
    """Return the primary record of each read."""
    return {(r.query_name, r.is_read2): r for r in records if not r.is_supplementary and not r.is_secondary}


def near(record, other: int) -> bool:
    return not record.is_unmapped and abs(record.reference_start - record.query_alignment_start - other) <= NEAR


def test_reads_are_where_they_came_from(runs):
    ours, _, origins = runs
    assert len(ours) == 2 * len(origins)
    right = confident = wrong = 0
    for (name, second), record in ours.items():
        origin = origins[int(name[1:])]
        left = origin.start if origin.forward != second else origin.end - record.query_length
        good = near(record, left)
        right += good
        confident += record.mapping_quality >= CONFIDENT
        wrong += record.mapping_quality >= CONFIDENT and not good
    assert right >= 0.985 * len(ours)
    assert confident >= 0.94 * len(ours)
    assert wrong <= 0.0005 * len(ours)


def test_agrees_with_bwa_mem(runs):
    ours, theirs, _ = runs
    if theirs is None:
        pytest.skip("bwa is not installed")
    for one, other in ((ours, theirs), (theirs, ours)):
        sure = [key for key, record in one.items() if record.mapping_quality >= CONFIDENT]
        same = sum(
            other[key].is_reverse == one[key].is_reverse
            and near(other[key], one[key].reference_start - one[key].query_alignment_start)
            for key in sure
        )
        assert len(sure) >= 0.94 * len(ours)
        assert same >= 0.995 * len(sure)
    proper = [sum(record.is_proper_pair for record in records.values()) for records in (ours, theirs)]
    assert proper[0] >= 0.998 * proper[1]
    both = [key for key in ours if ours[key].reference_start == theirs[key].reference_start]
    assert sum(ours[key].cigarstring == theirs[key].cigarstring for key in both) >= 0.99 * len(both)
    # AS is not compared: bwa mem writes the best local score even where it reports the path to the read's end.


@pytest.fixture
def one_of_many(tmp_path):
    """Write a genome with 60 copies, and reads of the one copy that differs; return both files and the reads' start."""
    generator = random.Random(12)
    family = random_bases(generator, 200)
    pieces = []
    for copy in range(60):
        middle = "ACGT"["ACGT".index(family[100]) - 1] if copy == 7 else family[100]
        pieces += [family[:100] + middle + family[101:], random_bases(generator, 100)]
    fasta = write_fasta(tmp_path / "genome.fa", {"one": "".join(pieces)})
    origin = 7 * 300 + 50
    bases = list("".join(pieces)[origin : origin + 100])
    bases[94] = "ACGT"["ACGT".index(bases[94]) - 1]
    reads = [Read(f"r{number}", "".join(bases), "I" * 100) for number in range(20)]
    return fasta, write_fastq(tmp_path / "reads.fq", reads), origin


def test_one_copy_of_many_is_not_the_only_place(one_of_many, tmp_path):
    """A base that only one of 60 copies has makes the seeds over it rare; all others of the read are too frequent.

    Reads of that copy with an error near their end score 95 there and 90 in the other copies, as bwa mem finds.
    """
    fasta, fastq, origin = one_of_many
    records = map_files(tmp_path, build_index(tmp_path, fasta), [fastq]).records()
    assert [record.reference_start for record in records] == [origin] * 20
    assert {(record.get_tag("AS"), record.get_tag("XS")) for record in records} == {(95, 90)}
    assert max(record.mapping_quality for record in records) < CONFIDENT


@pytest.mark.skipif(shutil.which("bwa") is None, reason="bwa is not installed")
def test_bwa_mem_does_not_trust_one_copy_of_many(one_of_many):
    fasta, fastq, origin = one_of_many
    subprocess.run(["bwa", "index", fasta], check=True, capture_output=True)
    sam = subprocess.run(["bwa", "mem", fasta, fastq], check=True, capture_output=True, text=True).stdout
    theirs = [line.split("\t") for line in sam.splitlines() if not line.startswith("@")]
    assert {int(line[3]) - 1 for line in theirs} == {origin}
    assert max(int(line[4]) for line in theirs) < CONFIDENT

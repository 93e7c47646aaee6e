"""Listed alternate contigs: places on the primary assembly, flags and qualities are those of bwa mem with the list."""

import random
import shutil
import subprocess
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pysam
import pytest
from quire.align.origin import origin_of
from quire.align.parameters import MOST_CANDIDATES
from quire.align.read_ends import Clipping
from quire.align.unit import map_unit
from quire.align.unit_files import MappingSettings, UnitInputs
from quire.buckets.file import UnitFiles
from quire.errors import InputError
from quire.io.read_files import ReadFiles

from tests.support.builders import random_bases, reverse_complement, write_fasta
from tests.support.read_builders import READ_GROUP, build_index, map_files, named, with_errors, write_pairs

LENGTH, PAIRS = 120, 900
ALTERNATE = ("chr1_alt", "HLA-A*01:01:01:01")
DRAWN = {"chr1": 3, "chr2": 1, "chr1_alt": 4, "HLA-A*01:01:01:01": 2, "decoy": 1}


def mutated(generator: random.Random, bases: str, rate: float) -> str:
    return "".join(generator.choice("ACGT") if generator.random() < rate else base for base in bases)


def make_genome(generator: random.Random) -> dict[str, str]:
    """Return two chromosomes, diverged copies of parts of both (one with 2 kb of its own), and a decoy."""
    one, two = random_bases(generator, 60_000), random_bases(generator, 20_000)
    copy = one[20_000:40_000]
    near, far = mutated(generator, copy[:8000], 0.01), mutated(generator, copy[8000:14_000], 0.03)
    return {
        "chr1": one,
        "chr2": two,
        "chr1_alt": near + random_bases(generator, 2000) + far + copy[14_000:],
        "HLA-A*01:01:01:01": mutated(generator, two[5000:11_000], 0.02),
        "decoy": random_bases(generator, 5000),
    }


class Run:
    """The records of each read, the primary one first: Quire's with and without the list, and bwa mem's with it."""

    def __init__(self, folder: Path) -> None:
        generator = random.Random(5)
        genome = make_genome(generator)
        self.fasta = write_fasta(folder / "genome.fa", genome)
        self.listed = folder / "genome.fa.alt"
        self.listed.write_text(f"@SQ\tSN:chr1\n{ALTERNATE[0]}\n{ALTERNATE[1]}\n")
        pairs = []
        for number in range(PAIRS):
            source = genome[generator.choices(list(DRAWN), DRAWN.values())[0]]
            size = round(generator.gauss(350, 40))
            start = generator.randrange(len(source) - size)
            fragment = source[start : start + size]
            ends = (fragment[:LENGTH], reverse_complement(fragment)[:LENGTH])
            pairs.append(tuple(named(generator, f"r{number}", with_errors(generator, end, 0.005)) for end in ends))
        self.folder, self.mates = folder, write_pairs(folder, pairs)
        self.indexed = build_index(folder, self.fasta)
        self.with_list, self.without = self.mapped("listed", self.listed), self.mapped("plain", None)

    def mapped(self, name: str, alternate: Path | None, batch: int = 1000) -> Path:
        bam = self.folder / f"{name}.bam"
        inputs = UnitInputs(
            self.indexed.directory, self.indexed.pages, ReadFiles(self.mates[:1], self.mates[1:]), alternate=alternate
        )
        outputs = UnitFiles(bam, self.folder / "ledger.json", self.folder / "insert_size.json")
        map_unit(inputs, outputs, READ_GROUP, MappingSettings(1, backend="cpu", reads_per_batch=batch))
        return bam


def by_read(path: Path) -> dict[tuple[str, bool], list[pysam.AlignedSegment]]:
    found = defaultdict(list)
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        for record in stream:
            found[record.query_name, record.is_read2].append(record)
    return found


def place(record: pysam.AlignedSegment) -> tuple[str | None, int, bool]:
    return record.reference_name, record.reference_start, record.is_reverse


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return Run(tmp_path_factory.mktemp("alternate"))


@pytest.mark.skipif(shutil.which("bwa") is None, reason="compares with bwa")
def test_primary_places_and_qualities_are_bwas(run):
    peer = run.folder / "bwa.sam"
    subprocess.run(f"bwa index {run.fasta} 2> /dev/null", shell=True, check=True)
    files = " ".join(map(str, run.mates))
    subprocess.run(f"bwa mem {run.fasta} {files} > {peer} 2> /dev/null", shell=True, check=True)
    ours, theirs = by_read(run.with_list), by_read(peer)
    assert set(ours) == set(theirs)
    same: Counter[str] = Counter()
    for read, records in theirs.items():
        own = ours[read]
        same["place"] += place(own[0]) == place(records[0])
        same["quality"] += abs(own[0].mapping_quality - records[0].mapping_quality) <= 3
        same["supplementary"] += {place(r) for r in own[1:]} == {place(r) for r in records[1:]}
        same["pa"] += own[0].has_tag("pa") == records[0].has_tag("pa")
    assert min(same["place"], same["quality"], same["supplementary"], same["pa"]) >= 0.985 * len(theirs)
    assert sum(records[0].has_tag("pa") for records in ours.values()) > 200


def test_alternate_hits_take_no_quality_and_are_whole(run):
    listed, plain = by_read(run.with_list), by_read(run.without)
    certain = {
        name: sum(r[0].mapping_quality >= 20 for r in reads.values())
        for name, reads in (("listed", listed), ("plain", plain))
    }
    assert certain["listed"] > 1.15 * certain["plain"]
    supplementary = 0
    for records in listed.values():
        primary = records[0]
        for record in records[1:]:
            supplementary += 1
            assert record.is_supplementary
            assert record.has_tag("SA")
            if record.reference_name in ALTERNATE:
                assert record.query_length == LENGTH or "H" not in record.cigarstring
                assert record.get_tag("AS") > primary.get_tag("AS") or primary.reference_name in ALTERNATE
        if primary.has_tag("pa"):
            best = max(r.get_tag("AS") for r in records[1:] if r.reference_name in ALTERNATE)
            assert primary.get_tag("pa") == pytest.approx(primary.get_tag("AS") / best, abs=0.0006)
            assert primary.reference_name not in ALTERNATE
    assert supplementary > 200
    assert not any(record.has_tag("pa") for records in plain.values() for record in records)


def test_the_header_says_which_contigs_are_alternate(run):
    with pysam.AlignmentFile(str(run.with_list)) as stream:
        listed = {line["SN"]: line.get("AH") for line in stream.header.to_dict()["SQ"]}
    assert {name for name, value in listed.items() if value == "*"} == set(ALTERNATE)
    assert list(listed) == list(DRAWN)
    with pysam.AlignmentFile(str(run.without)) as stream:
        assert not any("AH" in line for line in stream.header.to_dict()["SQ"])


def test_batches_change_nothing(run):
    again = run.mapped("again", run.listed, batch=70)
    lines = [pysam.samtools.view("--no-PG", str(path)) for path in (run.with_list, again)]
    assert lines[0] == lines[1]


def test_more_versions_than_candidates_leave_the_chromosomes_place(tmp_path):
    """More versions of one ancestor exist than candidates are kept, all closer to the read than the chromosome."""
    generator = random.Random(3)
    chromosome = random_bases(generator, 20_000)
    ancestor = mutated(generator, chromosome[8000:12_000], 0.04)
    versions = {f"HLA-A*{i:02d}:01": mutated(generator, ancestor, 0.005) for i in range(MOST_CANDIDATES + 4)}
    listed = tmp_path / "genome.fa.alt"
    listed.write_text("".join(f"{name}\n" for name in versions))
    pairs = []
    for number in range(100):
        source = versions[generator.choice(list(versions))]
        start = generator.randrange(len(source) - 350)
        ends = (source[start : start + 150], reverse_complement(source[start + 200 : start + 350]))
        pairs.append(tuple(named(generator, f"r{number}", end) for end in ends))
    folder = tmp_path / "mapped"
    folder.mkdir()
    indexed = build_index(folder, write_fasta(tmp_path / "genome.fa", {"chr1": chromosome, **versions}))
    records = map_files(folder, indexed, write_pairs(tmp_path, pairs), alternate=listed).records()
    primary = [record for record in records if not record.is_secondary and not record.is_supplementary]
    assert len(primary) == 200
    assert {record.reference_name for record in primary} == {"chr1"}


@pytest.mark.parametrize("content", [b"HLA-\xe9\n", None], ids=["not UTF-8", "a folder"])
def test_a_list_that_cannot_be_read_is_said_by_mapping_and_not_by_the_origin(run, tmp_path, content):
    listed = tmp_path / "genome.fa.alt"
    if content is None:
        listed.mkdir()
    else:
        listed.write_bytes(content)
    inputs = UnitInputs(
        run.indexed.directory, run.indexed.pages, ReadFiles(run.mates[:1], run.mates[1:]), alternate=listed
    )
    of_none = origin_of(replace(inputs, alternate=None), READ_GROUP, Clipping(), "", "program")
    assert origin_of(inputs, READ_GROUP, Clipping(), "", "program") != of_none
    outputs = UnitFiles(tmp_path / "out.bam", tmp_path / "ledger.json", tmp_path / "insert_size.json")
    with pytest.raises(InputError, match="the list of alternate contigs cannot be read"):
        map_unit(inputs, outputs, READ_GROUP, MappingSettings(1, backend="cpu"))
    assert not outputs.records.exists()

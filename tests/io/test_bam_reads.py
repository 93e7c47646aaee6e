"""Reads of BAM and CRAM files equal those of `samtools fastq`; errors are one sentence."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import InputError
from quire.io.alignment_reads import first_name, read_alignments
from quire.io.bam.reads_cpu import RecordCounts
from quire.reads import PairBatch, ReadBatch

from tests.support.builders import random_bases, write_fasta

CONTIGS = {"one": 3000, "two": 500}


@pytest.fixture(scope="module")
def genome(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = random.Random(3)
    return write_fasta(
        tmp_path_factory.mktemp("genome") / "genome.fa", {n: random_bases(generator, x) for n, x in CONTIGS.items()}
    )


def segment(generator: random.Random, name: str, flag: int, header: pysam.AlignmentHeader) -> pysam.AlignedSegment:
    """Return a record with random bases, mapped unless flag 4 is set."""
    record = pysam.AlignedSegment(header)
    length = generator.randrange(1, 70)
    record.query_name, record.flag = name, flag
    record.query_sequence = random_bases(generator, length, "ACGTN")
    letters = "".join(chr(33 + generator.randrange(60)) for _ in range(length))
    record.query_qualities = pysam.qualitystring_to_array(letters)
    if not flag & 4:
        record.reference_id, record.reference_start, record.mapping_quality = 0, generator.randrange(2900), 60
        record.cigarstring = f"{length}M"
    return record


def write_bam(
    path: Path, names: Sequence[str], paired: bool = True, generator: random.Random | None = None, **header: object
) -> Path:
    """Write mapped and unmapped reads of both strands, with secondary and supplementary records between them."""
    generator = generator or random.Random(5)
    text = {"HD": {"VN": "1.6"}, "SQ": [{"SN": n, "LN": x} for n, x in CONTIGS.items()], **header}
    with pysam.AlignmentFile(str(path), "wb", header=text) as out:
        for name in names:
            mates = [0x41, 0x81] if paired else [0]
            for mate in mates if generator.random() < 0.8 else mates[::-1]:
                out.write(segment(generator, name, mate | generator.choice([0, 4, 0x10]), out.header))
                for more in (0x100, 0x800, 0x900):
                    if generator.random() < 0.3:
                        out.write(segment(generator, name, mate | more, out.header))
    return path


def reads_of(
    path: Path, folder: Path, size: int = 7, fasta: Path | None = None
) -> tuple[list[PairBatch], RecordCounts]:
    counts = RecordCounts()
    batches = list(read_alignments(path, size, counts, fasta, folder, 2))
    assert not [left for left in folder.iterdir() if left.name.endswith(".tmp")]
    return batches, counts


def as_text(batches: Sequence[ReadBatch | None]) -> list[tuple[str, str, str]]:
    """Return name, bases and qualities of all reads."""
    found = []
    for batch in batches:
        assert batch is not None
        for i in range(len(batch)):
            part = slice(batch.offsets[i], batch.offsets[i + 1])
            bases = np.frombuffer(b"ACGTN", np.uint8)[batch.bases[part]].tobytes().decode()
            found.append((batch.name(i), bases, (batch.qualities[part] + 33).tobytes().decode()))
    return found


def samtools_fastq(path: Path, folder: Path) -> tuple[list[tuple[str, str, str]], list[tuple[str, str, str]]]:
    """Return first (or single) and second mates of `samtools fastq`."""
    files = [folder / f"{name}.fq" for name in ("first", "second", "single")]
    pysam.fastq("-n", "-1", str(files[0]), "-2", str(files[1]), "-0", str(files[2]), "-s", str(files[2]), str(path))
    found = []
    for file in files:
        with pysam.FastxFile(str(file)) as stream:
            found.append([(read.name, read.sequence, read.quality) for read in stream])
    return found[0] or found[2], found[1]


@pytest.mark.parametrize(
    ("paired", "size"),
    [(True, 7), (False, 1000)]
    + [pytest.param(*case, marks=pytest.mark.full) for case in [(True, 1), (True, 1000), (False, 1), (False, 7)]],
)
def test_reads_are_those_of_samtools_fastq(paired: bool, size: int, tmp_path: Path, genome: Path) -> None:
    names = [f"r{i}" for i in range(60)]
    bam = write_bam(tmp_path / "in.bam", names, paired)
    batches, counts = reads_of(bam, tmp_path, size)
    assert {len(batch) for batch in batches[:-1]} <= {size}
    assert [batch.mate1.first_ordinal for batch in batches] == list(range(0, 60, size))
    expected = samtools_fastq(bam, tmp_path)
    assert as_text([batch.mate1 for batch in batches]) == expected[0]
    if paired:
        assert as_text([batch.mate2 for batch in batches]) == expected[1]
    with pysam.AlignmentFile(str(bam)) as stream:
        flags = [record.flag for record in stream.fetch(until_eof=True)]
    assert counts.records == len(flags) == 60 * (2 if paired else 1) + counts.secondary + counts.supplementary
    assert counts.secondary == sum(bool(flag & 0x100) for flag in flags)

    # The same records as CRAM, and sorted by coordinate, which collating undoes.
    pysam.faidx(str(genome))
    cram, by_place = tmp_path / "in.cram", tmp_path / "sorted.bam"
    pysam.view("-C", "-T", str(genome), "-o", str(cram), str(bam), catch_stdout=False)
    pysam.sort("-o", str(by_place), str(bam))
    sorted_cram = tmp_path / "sorted.cram"
    pysam.view("-C", "-T", str(genome), "-o", str(sorted_cram), str(by_place), catch_stdout=False)
    for other in (cram, by_place, sorted_cram):
        again, other_counts = reads_of(other, tmp_path, size, genome)
        assert other_counts == counts
        assert sorted(as_text([batch.mate1 for batch in again])) == sorted(expected[0])
        if paired:
            firsts, seconds = ([mate for mate, _, _ in as_text(mates)] for mates in (
                [batch.mate1 for batch in again], [batch.mate2 for batch in again]))  # fmt: skip
            assert firsts == seconds
            assert sorted(as_text([batch.mate2 for batch in again])) == sorted(expected[1])


def test_many_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mates of a pair are in different stretches of the file."""
    monkeypatch.setattr("quire.io.bam.reads_cpu.STRETCH_BYTES", 1 << 16)
    bam = write_bam(tmp_path / "in.bam", [f"r{i}" for i in range(4000)])
    batches, counts = reads_of(bam, tmp_path, 100)
    expected = samtools_fastq(bam, tmp_path)
    assert as_text([batch.mate1 for batch in batches]) == expected[0]
    assert as_text([batch.mate2 for batch in batches]) == expected[1]
    assert counts.records - counts.secondary - counts.supplementary == 8000


def edited(source: Path, target: Path, edit: object) -> Path:
    """Write a copy with the records that `edit` returns."""
    with pysam.AlignmentFile(str(source), check_sq=False) as stream:
        records = [record for record in stream.fetch(until_eof=True) if not record.flag & 0x900]
        with pysam.AlignmentFile(str(target), "wb", header=stream.header) as out:
            for record in edit(records):  # type: ignore[operator]
                out.write(record)
    return target


def without_qualities(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    records[4].query_qualities = None
    return records


def both_first(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    records[2].flag = records[3].flag = 0x4D
    return records


def one_single(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    records[6].flag = 4
    return records


def with_equal_signs(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    qualities = records[5].query_qualities
    records[5].query_sequence = "=" * len(qualities)
    records[5].query_qualities = qualities
    return records


def too_long(records: list[pysam.AlignedSegment]) -> list[pysam.AlignedSegment]:
    records[0].cigarstring, records[0].flag = None, records[0].flag | 4
    records[0].query_sequence = "A" * 1025
    records[0].query_qualities = pysam.qualitystring_to_array("I" * 1025)
    return records


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda records: records[:3] + records[4:], r"the mate of r1 does not follow it; make .*samtools collate"),
        (lambda records: records[:-1], "the mate of r9 does not follow it"),
        (lambda records: [*records[::2], *records[1::2]], "the mate of r0 does not follow it"),
        (lambda records: [], "holds no reads"),
        (one_single, "the read r3 is single, unlike the reads before it"),
        (both_first, "two records named r1 follow each other and are not the first and the second mate"),
        (without_qualities, "the read r2 has no base qualities"),
        (with_equal_signs, "the read r2 has '=' for bases"),
        (too_long, "the read r0 is 1025 bases long"),
    ],
)
def test_records_that_are_refused(edit: object, expected: str, tmp_path: Path) -> None:
    bam = edited(write_bam(tmp_path / "in.bam", [f"r{i}" for i in range(10)]), tmp_path / "bad.bam", edit)
    with pytest.raises(InputError, match=rf"bad.bam: .*{expected}|{expected}") as caught:
        reads_of(bam, tmp_path)
    assert "bad.bam" in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([{"ID": "1", "SM": "a"}, {"ID": "2", "SM": "b"}], r"several samples \(a, b\)"),
        ([{"ID": "1", "SM": "a", "LB": "x"}, {"ID": "2", "SM": "a", "LB": "y"}], r"several libraries \(x, y\)"),
    ],
)
def test_read_groups_that_a_unit_cannot_keep_apart(groups: list, expected: str, tmp_path: Path) -> None:
    bam = write_bam(tmp_path / "in.bam", ["r"], RG=groups)
    with pytest.raises(InputError, match=f"its read groups have {expected}.*samtools split"):
        reads_of(bam, tmp_path)


def test_damaged_files(tmp_path: Path, genome: Path) -> None:
    """A truncated BAM and a CRAM with another reference are refused."""
    bam = write_bam(tmp_path / "in.bam", [f"r{i}" for i in range(50)], generator=random.Random(9))
    (tmp_path / "cut.bam").write_bytes(bam.read_bytes()[:-28])
    said = r"cut\.bam: is not a complete BAM file \(its closing block is missing\); copy the file again"
    with pytest.raises(InputError, match=said):
        reads_of(tmp_path / "cut.bam", tmp_path)
    pysam.faidx(str(genome))
    pysam.view("-C", "-T", str(genome), "-o", str(tmp_path / "in.cram"), str(bam), catch_stdout=False)
    other = write_fasta(tmp_path / "other.fa", {name: "A" * length for name, length in CONTIGS.items()})
    with pytest.raises(InputError, match=r"in.cram: cannot be decoded with reference.fasta .*samtools view -b -T"):
        reads_of(tmp_path / "in.cram", tmp_path, fasta=other)
    (tmp_path / "cut.cram").write_bytes((tmp_path / "in.cram").read_bytes()[:-38])
    with pytest.raises(InputError, match=r"cut.cram: lacks the container that closes it"):
        reads_of(tmp_path / "cut.cram", tmp_path, fasta=genome)


def test_the_first_name(tmp_path: Path) -> None:
    assert first_name(write_bam(tmp_path / "reads.bam", ["first", "second"])) == "first"
    (tmp_path / "none.bam").write_bytes(b"no alignments")
    assert first_name(tmp_path / "none.bam") == ""

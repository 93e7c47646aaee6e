"""Sorting, merging, marking and indexing, compared with samtools; no record is lost."""

import gzip
import json
import os
import random
import resource
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.buckets.cpu import deal
from quire.buckets.file import BucketFile, open_buckets
from quire.errors import QuireError
from quire.finish.counts.outputs import CountsOutputs
from quire.finish.marking import Marking
from quire.finish.sample import SampleFormat, SampleOutputs, UnsortedUnit, convert_alignments, finish_sample
from quire.finish.sorting import Effort
from quire.io.bam.decode_cpu import records_of
from quire.reference import build

from tests.support.bucket_builders import buckets_of
from tests.support.builders import paired_lines, random_bases, write_bam, write_fasta

CONTIGS = {"chr1": 5000, "HLA:01,*x": 3000}


def group_line(unit: str, library: str) -> str:
    return f"@RG\tID:S.{unit}\tSM:S\tLB:{library}\tPL:ILLUMINA\tPU:{unit}\n@PG\tID:quire.S.{unit}\tPN:quire"


def unit_file(
    folder: Path, unit: str, library: str, lines: list[str], contigs: dict[str, int] = CONTIGS
) -> UnsortedUnit:
    """Write buckets, and a BAM of the same records, with tags MC and ms as in `samtools fixmate -m`."""
    plain = write_bam(folder / f"{unit}.plain.bam", contigs, lines, [group_line(unit, library)])
    path = folder / f"{unit}.bam"
    pysam.fixmate("--no-PG", "-m", str(plain), str(path), catch_stdout=False)
    plain.unlink()
    return UnsortedUnit(unit, library, buckets_of(path))


@cache
def reference_directory(folder: Path, contigs: tuple[tuple[str, int], ...]) -> Path:
    """Build a packed reference of contigs that are almost all N."""
    with gzip.open(folder / "unknown.fa.gz", "wb", compresslevel=1) as stream:
        for name, length in contigs:
            stream.write(f">{name}\n".encode() + b"ACGT" + b"N" * (length - 4) + b"\n")
    build(folder / "unknown.fa.gz", folder / "reference_of_counts", 1 << 20)
    return folder / "reference_of_counts"


def random_lines(seed: int, unit: str, pairs: int) -> list[str]:
    """Return pairs dense enough for duplicates and ties, some with one or both mates unmapped."""
    generator = random.Random(seed)
    lines = []
    for i in range(pairs):
        name, contig = f"{unit}.{i}", generator.choice(list(CONTIGS))
        first = generator.randrange(1, 60) * 40
        pair = paired_lines(
            name, contig, (first, first + 20 * generator.randrange(8)), 50, f"S.{unit}", generator.choice("5FI")
        )
        kind = generator.random()
        if kind < 0.05:
            pair = [f"{name}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\tRG:Z:S.{unit}" for flag in (77, 141)]
        elif kind < 0.1:
            pair[0] = "\t".join([name, "73", *pair[0].split("\t")[2:6], "=", str(first), "0", *pair[0].split("\t")[9:]])
            pair[1] = f"{name}\t133\t{contig}\t{first}\t0\t*\t=\t{first}\t0\tACGT\tIIII\tRG:Z:S.{unit}"
        lines += pair
    return lines


@pytest.fixture
def units(tmp_path: Path) -> list[UnsortedUnit]:
    """Write three units in two libraries."""
    libraries = {"lane1": "libA", "lane2": "libB", "lane3": "libA"}
    return [
        unit_file(tmp_path, unit, library, random_lines(seed, unit, 400))
        for seed, (unit, library) in enumerate(libraries.items())
    ]


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    generator = random.Random(4)
    return write_fasta(tmp_path / "ref.fa", {name: random_bases(generator, n) for name, n in CONTIGS.items()})


def finish(
    folder: Path,
    units: list[UnsortedUnit],
    fasta: Path | None = None,
    contigs: dict[str, int] = CONTIGS,
    **changed: object,
) -> Path:
    """Run `finish_sample` with defaults and return the output."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    arguments: dict = {
        "output": out / "S.bam", "format": "bam", "index": "bai", "threads": 1, "memory_mb": 500,
        "optical_distance": None, "umis": False, "is_wanted": True, "assembly": "",
    } | changed  # fmt: skip
    counts = CountsOutputs(out / "S.counts.json", out / "S.coverage.bed.gz", out / "S.low_coverage.bed.gz", 10)
    finish_sample(
        "S",
        units,
        reference_directory(folder, tuple(contigs.items())),
        SampleOutputs(Path(arguments["output"]), counts, out / "S.duplicates.tsv", out / "S.json"),
        SampleFormat(arguments["format"], arguments["index"], fasta or folder / "none.fa", arguments["assembly"]),
        Marking(arguments["optical_distance"], arguments["umis"], arguments["is_wanted"]),
        Effort(arguments["threads"], arguments["memory_mb"]),
    )
    return arguments["output"]


def records(path: Path, **options: object) -> list[str]:
    with pysam.AlignmentFile(str(path), **options) as stream:
        return [record.to_string() for record in stream]


def duplicates(path: Path) -> set[tuple[str, bool]]:
    with pysam.AlignmentFile(str(path)) as stream:
        return {(record.query_name, record.is_read1) for record in stream if record.is_duplicate}


def test_no_marks_on_request(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    """Without marking, no record has the flag, nothing is counted, and all else is the same."""
    marked = finish(tmp_path, units)
    assert duplicates(marked)
    plain = [record.split("\t", 2) for record in records(marked)]
    expected = [(name, str(int(flag) & ~1024), rest) for name, flag, rest in plain]
    unmarked = finish(tmp_path, units, is_wanted=False)
    assert [tuple(record.split("\t", 2)) for record in records(unmarked)] == expected
    table = [line.split("\t") for line in (tmp_path / "out" / "S.duplicates.tsv").read_text().splitlines()]
    assert [row[3] for row in table] == ["duplicates", "0", "0"]


def test_like_plain_samtools(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    output = finish(tmp_path, units)
    expected = set()
    for members in (units[::2], units[1:2]):
        joined, ordered, marked = (str(tmp_path / name) for name in ("joined.bam", "ordered.bam", "marked.bam"))
        pysam.cat("-o", joined, *[str(unit.path.with_suffix(".bam")) for unit in members], catch_stdout=False)
        pysam.sort("-o", ordered, joined, catch_stdout=False)
        pysam.markdup(ordered, marked, catch_stdout=False)
        expected |= duplicates(Path(marked))
    assert duplicates(output) == expected
    assert len(expected) > 200
    pysam.quickcheck(str(output))
    with pysam.AlignmentFile(str(output)) as stream:
        header = stream.header.to_dict()
        assert stream.has_index()
        assert stream.mapped + stream.unmapped == 2400
    assert header["HD"]["SO"] == "coordinate"
    assert {group["ID"] for group in header["RG"]} == {"S.lane1", "S.lane2", "S.lane3"}
    mapped = {"quire.S.lane1", "quire.S.lane2", "quire.S.lane3"}
    assert {program["ID"] for program in header["PG"]} == mapped | {f"finish.{name}" for name in mapped}
    assert {program["ID"]: program["PP"] for program in header["PG"] if "PP" in program} == {
        f"finish.{name}": name for name in mapped
    }
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        *("S.bam", "S.bam.bai", "S.counts.json", "S.coverage.bed.gz", "S.duplicates.tsv", "S.json"),
        "S.low_coverage.bed.gz",
    ]


def test_twenty_lanes_and_an_empty_one(tmp_path: Path) -> None:
    """Marks and order equal those of all lanes in one file, and of samtools."""
    lines = random_lines(21, "u", 500)
    pairs = [lines[i : i + 2] for i in range(0, len(lines), 2)]
    lanes = [[line for pair in pairs[lane::20] for line in pair] for lane in range(20)]
    named = [[line.replace("S.u", f"S.{lane}") for line in rows] for lane, rows in enumerate([*lanes, []])]
    units = [unit_file(tmp_path, str(lane), "lib", rows) for lane, rows in enumerate(named)]
    many = [line.split("\t")[:9] for line in records(finish(tmp_path, units))]
    one = unit_file(tmp_path, "u", "lib", [line for rows in lanes for line in rows])
    assert many == [line.split("\t")[:9] for line in records(finish(tmp_path, [one]))]
    ordered, marked = str(tmp_path / "ordered.bam"), str(tmp_path / "marked.bam")
    pysam.sort("-o", ordered, str(one.path.with_suffix(".bam")), catch_stdout=False)
    pysam.markdup(ordered, marked, catch_stdout=False)
    assert duplicates(tmp_path / "out" / "S.bam") == duplicates(Path(marked))


def test_all_but_one_are_duplicates(tmp_path: Path) -> None:
    lines = [line for i in range(700) for line in paired_lines(f"r{i}", "chr1", (100, 300), 50, "S.a", "I")]
    output = finish(tmp_path, [unit_file(tmp_path, "a", "lib", lines)])
    assert duplicates(output) == {(f"r{i}", first) for i in range(1, 700) for first in (True, False)}


def test_nothing_lost_and_order(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    """Records differ from the input in the duplicate flag only; ties are sorted by library, unit and record."""
    inputs = [
        line.split("\t")
        for unit in (units[0], units[2], units[1])
        for line in records(unit.path.with_suffix(".bam"), check_sq=False)
    ]
    place = {name: number for number, name in enumerate([*CONTIGS, "*"])}
    inputs.sort(key=lambda fields: (place[fields[2]], int(fields[3]), int(fields[1]) & 16))
    outputs = [line.split("\t") for line in records(finish(tmp_path, units))]
    for fields in outputs:
        fields[1] = str(int(fields[1]) & ~1024)
    for fields in [*inputs, *outputs]:
        fields[11:] = sorted(fields[11:])  # samtools merge puts RG last
    assert outputs == inputs


def test_table_and_ledger(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    output = finish(tmp_path, units)
    marked = Counter(line.split("\t")[0].split(".")[0] for line in records(output) if int(line.split("\t")[1]) & 1024)
    mapped = Counter(line.split("\t")[0].split(".")[0] for line in records(output) if not int(line.split("\t")[1]) & 4)
    rows = [line.split("\t") for line in (tmp_path / "out" / "S.duplicates.tsv").read_text().splitlines()]
    assert rows[0] == ["library", "reads", "mapped", "duplicates", "percent"]
    assert [row[:2] for row in rows[1:]] == [["libA", "1600"], ["libB", "800"]]
    assert int(rows[1][2]) == mapped["lane1"] + mapped["lane3"]
    assert int(rows[1][3]) == marked["lane1"] + marked["lane3"]
    assert float(rows[2][4]) == pytest.approx(100 * marked["lane2"] / mapped["lane2"], abs=1e-4)
    counts = json.loads((tmp_path / "out" / "S.json").read_text())["counts"]
    assert (
        counts["records_in"]
        == counts["records_out"]
        == counts["reads"]
        == counts["mapped"] + counts["unmapped"]
        == 2400
    )
    assert counts["duplicates"] == sum(marked.values())


def test_library_decides_what_is_a_duplicate(tmp_path: Path) -> None:
    """Find duplicates across lanes of a library but not across libraries, and keep the better qualities."""

    def one_pair(unit: str, library: str, quality: str) -> UnsortedUnit:
        lines = paired_lines(unit, "chr1", (100, 300), 50, f"S.{unit}", quality)
        return unit_file(tmp_path, unit, library, lines)

    units = [one_pair("a", "lib1", "5"), one_pair("b", "lib1", "I"), one_pair("c", "lib2", "5")]
    assert duplicates(finish(tmp_path, units)) == {("a", True), ("a", False)}


@pytest.mark.parametrize(("threads", "memory_mb"), [(2, 500), (3, 30), (1, 1)])
def test_threads_and_memory_change_nothing(
    tmp_path: Path, units: list[UnsortedUnit], threads: int, memory_mb: int
) -> None:
    expected = finish(tmp_path, units).read_bytes()
    assert finish(tmp_path, units, threads=threads, memory_mb=memory_mb).read_bytes() == expected


@pytest.mark.full
def test_csi(tmp_path: Path) -> None:
    long = {"huge": 600_000_000}
    units = [unit_file(tmp_path, "a", "lib", paired_lines("r", "huge", (599_000_000, 599_000_200), 50, "S.a"), long)]
    with pytest.raises(QuireError, match=r"contig huge has 600000000 bases .* set align\.index_format: csi"):
        finish(tmp_path, units, contigs=long)
    assert list((tmp_path / "out").iterdir()) == []
    output = finish(tmp_path, units, contigs=long, index="csi")
    with pysam.AlignmentFile(str(output), index_filename=f"{output}.csi") as stream:
        assert stream.count("huge", 598_999_000, 600_000_000) == 2


@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzip"])
def test_cram(tmp_path: Path, units: list[UnsortedUnit], compression: str) -> None:
    generator = random.Random(4)
    contigs = {name: random_bases(generator, n, "ACGTacgtN") for name, n in CONTIGS.items()}
    (tmp_path / "reference").mkdir()
    fasta = write_fasta(tmp_path / "reference" / "ref.fa", contigs, compression=compression)
    bam = finish(tmp_path, units)
    cram = finish(tmp_path, units, fasta, output=tmp_path / "out" / "S.cram", format="cram")
    assert list((tmp_path / "reference").iterdir()) == [fasta]
    assert cram.read_bytes()[4:6] == bytes((3, 0)), "htslib's own 3.1 is not read by Picard 2"
    with pysam.AlignmentFile(str(cram), reference_filename=str(tmp_path / "plain.fa")) as stream:
        assert {contig["UR"] for contig in stream.header.to_dict()["SQ"]} == {str(fasta)}
    write_fasta(tmp_path / "plain.fa", contigs)
    read = [line.split("\t")[:11] for line in records(cram, reference_filename=str(tmp_path / "plain.fa"))]
    assert read == [line.split("\t")[:11] for line in records(bam)]
    assert (tmp_path / "out" / "S.cram.crai").exists()
    # Each converted to the other format is as if the sample was finished in that format.
    (tmp_path / "converted").mkdir()
    for source, kind in ((bam, SampleFormat("cram", "bai", fasta)), (cram, SampleFormat("bam", "csi", fasta))):
        converted = tmp_path / "converted" / f"S.{kind.format}"
        convert_alignments(source, converted, kind, 2)
        finished = cram if kind.format == "cram" else bam
        # Without tags: htslib adds MD and NM, which these records lack.
        read = [line.split("\t")[:11] for line in records(converted, reference_filename=str(tmp_path / "plain.fa"))]
        assert read == [
            line.split("\t")[:11] for line in records(finished, reference_filename=str(tmp_path / "plain.fa"))
        ]
    assert {path.name for path in (tmp_path / "converted").iterdir()} == {
        *("S.bam", "S.bam.csi", "S.cram", "S.cram.crai"),
    }


def test_faults_leave_nothing(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    contents = units[1].path / "contents"
    content = contents.read_bytes()
    contents.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        QuireError, match=r"lane2\.buckets: is not a complete folder of buckets \(its table of contents is cut"
    ):
        finish(tmp_path, units)
    contents.write_bytes(content)
    with pytest.raises(QuireError, match=r"read group S\.lane1 is also in"):
        finish(tmp_path, [*units, units[0]])
    exchanged = [replace(unit, path=other.path) for unit, other in zip(units, units[::-1], strict=True)]
    with pytest.raises(QuireError, match=r"lane3\.buckets: has reads of S\.lane3 and not of S\.lane1; delete it"):
        finish(tmp_path, exchanged)
    with pytest.raises(QuireError, match=r"lane1\.buckets: its contigs are not those of"):
        finish(tmp_path, units, contigs=dict(reversed(CONTIGS.items())))
    shutil.rmtree(units[1].path)
    with pytest.raises(QuireError, match=r"lane2\.buckets: is not a complete folder of buckets \(No such file"):
        finish(tmp_path, units)
    assert list((tmp_path / "out").iterdir()) == []


def test_buckets_of_another_genome_are_refused(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    """Its contigs may have the same names and lengths; their checksums differ."""
    file = BucketFile(units[0].path)
    header = file.header_text.replace("\tLN:", "\tM5:0123456789abcdef0123456789abcdef\tLN:")
    with open_buckets(units[0].path, header, file.contig_names, file.contig_lengths):
        pass
    with pytest.raises(QuireError, match=r"lane1\.buckets: its contigs are not those of"):
        finish(tmp_path, units)


@pytest.mark.parametrize("planted", ["lost", "doubled"])
def test_a_record_lost_or_doubled_stops_the_job(tmp_path: Path, units: list[UnsortedUnit], planted: str) -> None:
    """Stop if a record is missing from a unit's buckets or there twice, even with valid checksums."""
    file = BucketFile(units[1].path)
    with open_buckets(units[1].path, file.header_text, file.contig_names, file.contig_lengths) as writer:
        records = file.read(file.pieces(0))
        first = records.data[: records.starts[1]]
        data = records.data[records.starts[1] :] if planted == "lost" else np.concatenate([first, records.data])
        unplaced = file.read(file.pieces(1)).data
        everything = records_of(np.concatenate([data, unplaced]))
        writer.write(deal(everything, writer.genome)._replace(records=800))
    with pytest.raises(QuireError, match=f"records in 2400 = 2400 is not records out {2399 + 2 * (planted != 'lost')}"):
        finish(tmp_path, units)
    assert list((tmp_path / "out").iterdir()) == []


def test_more_files_than_the_usual_limit(tmp_path: Path, units: list[UnsortedUnit]) -> None:
    """Raise the limit of open files, since a sample of many units has more files than the usual default."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 6, limits[1]))
    held = []
    try:
        with suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(4):  # fewer files than the units have
            os.close(held.pop())
        finish(tmp_path, units)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for number in held:
            os.close(number)
    assert (tmp_path / "out/S.bam").exists()

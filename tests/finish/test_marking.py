"""Duplicate marking: Numba compared with the reference implementation, and both with samtools markdup."""

import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import QuireError
from quire.finish.marking import DUPLICATE, OPTICAL, UNREADABLE_NAME, Marking
from quire.finish.marking.cpu import by_umi, mark
from quire.io.bam.decode_cpu import header_bytes, records_of

from tests.oracles import marking as oracle

CONTIGS = {"chr1": 3000, "chr2": 3000}
CIGARS = ("20M", "5S15M", "15M5S", "4S12M4S", "10M3D10M", "8M2I10M", "3H2S18M", "18M2H", "10=1X9=")


def crowded_lines(generator: random.Random, pairs: int) -> list[str]:
    """Return pairs of all orientations and single reads, with few positions and qualities, so that all cases occur."""
    lines = []
    for i in range(pairs):
        name = f"r{generator.randrange(10**6)}.{i}"
        kind = generator.random()
        ends = []
        for _ in range(2):
            cigar = generator.choice(CIGARS)
            bases = sum(int(n) for n in _numbers(cigar, "MIS=X"))
            quality = generator.choice(("I", "5", "/", "0")) * bases  # 40, 20, 14, 15
            contig = "chr1" if generator.random() < 0.8 else "chr2"
            ends.append((contig, 100 + generator.randrange(14), cigar, bases, quality, generator.random() < 0.5))
        if kind < 0.2:
            ends = ends[:1]
        for k, (contig, start, cigar, bases, quality, reverse) in enumerate(ends):
            flag = 16 * reverse
            other = ends[1 - k] if len(ends) == 2 else None
            mate = ("*", 0)
            if kind < 0.1:
                flag |= 1 | 8 | 64  # its mate is unmapped
            if other:
                flag |= 1 | (64 if k == 0 else 128) | 32 * other[5]
                mate = (other[0], other[1])
            flag |= generator.choice((0,) * 12 + (256, 2048, 512))
            lines.append(
                f"{name}\t{flag}\t{contig}\t{start}\t60\t{cigar}\t{mate[0]}\t{mate[1]}\t0\t{'A' * bases}\t{quality}"
                + (f"\tMC:Z:{other[2]}\tms:i:{sum(ord(q) - 33 for q in other[4] if ord(q) >= 48)}" if other else "")
            )
    return lines


def _numbers(cigar: str, letters: str) -> list[str]:
    ends = [i for i, letter in enumerate(cigar) if letter.isalpha() or letter == "="]
    begins = [0, *(i + 1 for i in ends[:-1])]
    return [cigar[a:b] for a, b in zip(begins, ends, strict=True) if cigar[b] in letters]


def sorted_file(folder: Path, lines: list[str]) -> Path:
    sam, bam = folder / "lines.sam", folder / "sorted.bam"
    head = "".join(f"@SQ\tSN:{name}\tLN:{length}\n" for name, length in CONTIGS.items())
    sam.write_text(f"@HD\tVN:1.6\n{head}" + "".join(line + "\n" for line in lines))
    pysam.sort("-o", str(bam), str(sam), catch_stdout=False)
    return bam


def marks_of(bam: Path, library: list[int], distance: int | None = None) -> np.ndarray:
    with pysam.BGZFile(str(bam)) as stream:
        content = stream.read()
    records = records_of(np.frombuffer(content, np.uint8)[header_bytes(content) :].copy())
    return mark(records, np.array(library, np.int32), "x.bam", Marking(distance))


def marked_by_us(bam: Path, library: list[int]) -> list[bool]:
    return (marks_of(bam, library) == DUPLICATE).tolist()


BEGINNINGS = {"new": ["M1:7:FC:1", "M1:7:FC:2"], "old": ["HWI_1:3", "HWI_1:4"], "three": ["HW_1", "HW_2"]}


def names_of_spots(generator: random.Random, lines: list[str], beginnings: list[str]) -> list[str]:
    """Rename the reads as on an Illumina instrument with two tiles; names without a prefix have no coordinates."""
    spots: dict[str, str] = {}
    for line in lines:
        beginning, tile = generator.choice(beginnings), generator.choice((1101, 1102))
        place = f"{tile}:{generator.randrange(40)}:{generator.randrange(1, 40)}"
        number = len(spots)
        end = f":{number:06d}" if beginning.startswith("M") else f"_{number:06d}"
        spots.setdefault(line.split("\t")[0], f"{beginning}:{place}{end}" if beginning else f"SRR1.{number}")
    return ["\t".join([spots[line.split("\t")[0]], *line.split("\t")[1:]]) for line in lines]


def optical_by_samtools(bam: Path, folder: Path, distance: int) -> list[bool]:
    """Return the paired reads that `samtools markdup -d` tags as optical duplicates."""
    marked = folder / f"optical{distance}.bam"
    pysam.markdup("-l", "1000", "-d", str(distance), str(bam), str(marked), catch_stdout=False)
    with pysam.AlignmentFile(str(marked)) as stream:
        return [
            record.has_tag("dt") and record.get_tag("dt") == "SQ" and record.is_paired and not record.mate_is_unmapped
            for record in stream
        ]


@pytest.mark.parametrize("seed", range(12))
def test_like_the_definition_and_samtools(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    bam = sorted_file(tmp_path, crowded_lines(generator, 250))
    with pysam.AlignmentFile(str(bam)) as stream:
        records = list(stream)
    one = [0] * len(records)
    expected = oracle.duplicates(records, one)
    assert marked_by_us(bam, one) == expected
    assert 40 < sum(expected) < len(records) - 50
    pysam.markdup("-l", "1000", str(bam), str(tmp_path / "marked.bam"), catch_stdout=False)
    with pysam.AlignmentFile(str(tmp_path / "marked.bam")) as stream:
        assert [record.is_duplicate for record in stream] == expected


@pytest.mark.parametrize("distance", [4, 9, 17, 60])
@pytest.mark.parametrize("kind", list(BEGINNINGS))
def test_optical_like_the_definition_and_samtools(tmp_path: Path, kind: str, distance: int) -> None:
    """Optical marking does not change the duplicates, and finds the same optical ones as samtools."""
    generator = random.Random(distance)
    bam = sorted_file(tmp_path, names_of_spots(generator, crowded_lines(generator, 1500), BEGINNINGS[kind]))
    with pysam.AlignmentFile(str(bam)) as stream:
        records = list(stream)
    one = [0] * len(records)
    marks = marks_of(bam, one, distance=distance)
    assert np.array_equal(marks & DUPLICATE, marks_of(bam, one))
    optical = (marks & OPTICAL != 0).tolist()
    assert optical == oracle.optical_duplicates(records, one, distance)
    assert optical == optical_by_samtools(bam, tmp_path, distance)
    assert sum(optical) > 2
    assert not (marks & UNREADABLE_NAME).any()


def test_names_of_several_kinds_and_of_none(tmp_path: Path) -> None:
    """Names in other formats are parsed, and names without coordinates are reported (samtools confuses them)."""
    generator = random.Random(3)
    beginnings = [*BEGINNINGS["new"], *BEGINNINGS["old"], ""]
    bam = sorted_file(tmp_path, names_of_spots(generator, crowded_lines(generator, 1500), beginnings))
    with pysam.AlignmentFile(str(bam)) as stream:
        records = list(stream)
    library = [ord(str(record.query_name)[-1]) % 2 for record in records]
    marks = marks_of(bam, library, distance=17)
    assert (marks & OPTICAL != 0).tolist() == oracle.optical_duplicates(records, library, 17)
    pairs = [r.is_paired and not r.mate_is_unmapped and ":" not in str(r.query_name) for r in records]
    assert (marks & UNREADABLE_NAME != 0).tolist() == [bool(m) and p for m, p in zip(marks, pairs, strict=True)]
    assert (marks & UNREADABLE_NAME).any()


def test_libraries_are_apart(tmp_path: Path) -> None:
    generator = random.Random(5)
    bam = sorted_file(tmp_path, crowded_lines(generator, 300))
    with pysam.AlignmentFile(str(bam)) as stream:
        records = list(stream)
        names = sorted({record.query_name for record in records})
    library = [names.index(record.query_name) % 3 for record in records]
    expected = oracle.duplicates(records, library)
    assert marked_by_us(bam, library) == expected
    assert sum(expected) < sum(oracle.duplicates(records, [0] * len(records)))


@pytest.mark.parametrize(("tag", "sentence"), [("MC:Z:20M", "has no MC tag"), ("ms:i:800", "has no ms tag")])
def test_records_that_cannot_be_compared(tmp_path: Path, tag: str, sentence: str) -> None:
    fields = ["read7", "99", "chr1", "100", "60", "20M", "=", "200", "120", "A" * 20, "I" * 20, "MC:Z:20M", "ms:i:800"]
    fields.remove(tag)
    bam = sorted_file(tmp_path, ["\t".join(fields)])
    with pytest.raises(QuireError, match=rf"x\.bam: record read7 {sentence}; align the unit again"):
        marked_by_us(bam, [0])


def test_tags_of_all_types_are_passed_over(tmp_path: Path) -> None:
    tags = "XA:A:c\tXB:B:s,1,2,3\tXC:B:f,0.5\tXF:f:0.25\tXH:H:1AE3\tXI:i:-70000\tXJ:i:300\tXK:i:-3\tMC:Z:20M\tms:i:{}"
    lines = [
        f"{name}\t99\tchr1\t100\t60\t20M\t=\t200\t120\t{'A' * 20}\t{'I' * 20}\t{tags.format(score)}"
        for name, score in (("a", 300), ("b", 70_000), ("c", 90))
    ]
    assert marked_by_us(sorted_file(tmp_path, lines), [0, 0, 0]) == [True, False, True]


@pytest.mark.parametrize("seed", range(4))
def test_umis_like_samtools(tmp_path: Path, seed: int) -> None:
    """Records with different UMIs are not duplicates; some records have no UMI, and mates share theirs."""
    generator = random.Random(seed)
    umis: dict[str, str] = {}
    lines = []
    for line in crowded_lines(generator, 250):
        umi = umis.setdefault(line.split("\t")[0], generator.choice(("AC", "AG", "AC-GT", "")))
        lines.append(line + (f"\tRX:Z:{umi}" if umi else ""))
    bam = sorted_file(tmp_path, lines)
    with pysam.BGZFile(str(bam)) as stream:
        content = stream.read()
    records = records_of(np.frombuffer(content, np.uint8)[header_bytes(content) :].copy())
    one = np.zeros(len(lines), np.int32)
    ours = mark(records, one, "x.bam", Marking(umis=True)) != 0
    marked = tmp_path / "marked.bam"
    pysam.samtools.markdup("--barcode-tag", "RX", str(bam), str(marked), catch_stdout=False)
    with pysam.AlignmentFile(str(marked)) as stream:
        assert ours.tolist() == [record.is_duplicate for record in stream]
    assert 0 < ours.sum() < (mark(records, one, "x.bam", Marking()) != 0).sum()

    # Libraries are kept apart as well.
    two = np.arange(len(lines), dtype=np.int32) % 2
    groups = by_umi(records, two)
    same = groups[:, None] == groups[None, :]
    text = np.array([line.partition("RX:Z:")[2] for line in pysam.samtools.view(str(bam)).splitlines()])
    assert (same == ((two[:, None] == two[None, :]) & (text[:, None] == text[None, :]))).all()

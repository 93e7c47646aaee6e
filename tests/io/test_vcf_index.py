"""The index of a VCF made from its lines: the same records as with htslib's, and lines that cannot be indexed."""

import random
from pathlib import Path

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray
from quire.io import vcf_parts
from quire.io.bam.index import open_index
from quire.io.vcf import Fields, header, write_part
from quire.io.vcf_index_cpu import BEGIN, BadLine, LineIndex, LinePlace
from quire.io.vcf_parts import join, write_indexed

# The last contig is too long for TBI. Its name begins with another's.
CONTIGS = [
    ("one", 3_000_000),
    ("without records", 5000),
    ("HLA:1*01", 900),
    ("two", 300_000),
    ("two.long", 600_000_000),
]
HEAD = header(CONTIGS, [], Fields({}, {}))


def lines_of(generator: random.Random, contigs: list[tuple[str, int]]) -> list[tuple[str, int, int, str]]:
    """Return contig, start, end and line of records of which some span many windows."""
    found = []
    for contig, length in contigs:
        if contig == "without records":
            continue
        for start in sorted(generator.randrange(length) for _ in range(400)):
            reference = "A" * generator.choice([1, 1, 1, 7, 200])
            end, info = start + len(reference), generator.choice([".", "DP=3", "XEND=9;LEND=7", "END"])
            if generator.random() < 0.3:
                end = start + generator.choice([1, 900, 40_000, 2_000_000])
                info = generator.choice([f"END={end}", f"DP=3;END={end}", f"END={end};X=END=4"])
            elif generator.random() < 0.1:
                info = "END=0"  # before the position, so REF counts
            line = f"{contig}\t{start + 1}\t.\t{reference}\tC\t.\t.\t{info}\n"
            found.append((contig, start, end, line))
    return found


@pytest.mark.parametrize("kind", ["tbi", "csi"])
@pytest.mark.parametrize("way", ["written", "joined"])
def test_the_same_records_as_with_htslib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, way: str) -> None:
    contigs = CONTIGS if kind == "csi" else CONTIGS[:-1]
    head, generator = header(contigs, [], Fields({}, {})), random.Random(3)
    records = lines_of(generator, contigs)
    path, index = tmp_path / "own.vcf.gz", tmp_path / f"own.vcf.gz.{kind}"
    cuts = sorted(generator.sample(range(len(records)), 6))
    parts = ["".join(line for *_, line in records[a:b]) for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True)]
    if way == "written":
        own = LineIndex(head.splitlines(), index)
        write_indexed(path, index, head, own, (own.packed(part.encode(), 1) for part in parts))
    else:
        monkeypatch.setattr(vcf_parts, "_WINDOW", 700)
        for number, part in enumerate(parts):
            write_part(tmp_path / f"{number}.vcf.gz", head, part.splitlines(keepends=True))
        assert join([tmp_path / f"{n}.vcf.gz" for n in range(len(parts))], path, index) == len(records)
    theirs = tmp_path / "theirs.vcf.gz"
    theirs.write_bytes(path.read_bytes())
    pysam.tabix_index(str(theirs), preset="vcf", csi=kind == "csi")
    with pysam.TabixFile(str(path), index=str(index)) as a, pysam.TabixFile(str(theirs), index=f"{theirs}.{kind}") as b:
        assert a.contigs == b.contigs == [name for name, _ in contigs if name != "without records"]
        for _ in range(300):
            name, length = generator.choice([one for one in contigs if one[0] in a.contigs])
            start = generator.randrange(length)
            end = start + generator.choice([1, 100, 20_000, 3_000_000])
            expected = [
                line[:-1] for contig, low, high, line in records if contig == name and low < end and start < high
            ]
            assert list(a.fetch(name, start, end)) == list(b.fetch(name, start, end)) == expected
    assert len(open_index(path, "tbi")) == len(contigs) - 1


@pytest.mark.parametrize("contigs", [[], CONTIGS[:-1]])
def test_a_file_without_records(tmp_path: Path, contigs: list[tuple[str, int]]) -> None:
    head, path = header(contigs, [], Fields({}, {})), tmp_path / "own.vcf.gz"
    write_indexed(path, f"{path}.tbi", head, LineIndex(head.splitlines(), f"{path}.tbi"), [])
    with pysam.TabixFile(str(path)) as file:
        assert file.contigs == []
    assert len(open_index(path, "tbi")) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"one\t5\n", "has a line that is no record"),
        (b"one\t5\t.\tA\tC\t.\tPASS\n", "has a line that is no record"),
        (b"\n", "has a line that is no record"),
        (b"one\n", "has a line that is no record"),
        (b"one\t\t.\tA\tC\t.\t.\t.\n", "has a line that is no record"),
        (b"one\t0\t.\tA\tC\t.\t.\t.\n", "has a line that is no record"),
        (b"one\t5x\t.\tA\tC\t.\t.\t.\n", "has a line that is no record"),
        (b"one\t99999999999999999999\t.\tA\tC\t.\t.\t.\n", "has a line that is no record"),
        (b"on\t5\t.\tA\tC\t.\t.\t.\n", "its header lacks the contig on of a record"),
        (b"two.\t5\t.\tA\tC\t.\t.\t.\n", "its header lacks the contig two. of a record"),
        (b"one\t3\t.\tA\tC\t.\t.\t.\n", "out of genome order at one:3;"),
        (b"two\t3\t.\tA\tC\t.\t.\t.\none\t9\t.\tA\tC\t.\t.\t.\n", "out of genome order at one:9;"),
    ],
)
def test_a_line_that_cannot_be_indexed(line: bytes, message: str) -> None:
    index = LineIndex(HEAD.splitlines(), "x.csi")
    first = b"one\t4\t.\tA\tC\t.\t.\t.\n"
    _, place = index.entries(first, BEGIN, *_one_block(first))
    assert place == LinePlace(0, 3)
    with pytest.raises(BadLine, match=message):
        index.entries(line, place, *_one_block(line))


def _one_block(lines: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return offsets and borders of lines in one block."""
    return np.array([0, 100]), np.array([0, len(lines)])

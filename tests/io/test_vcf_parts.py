"""Parts of a VCF joined block by block: lines, index and counts."""

import errno
import random
from pathlib import Path

import pysam
import pytest
from quire.errors import QuireError
from quire.io import files, vcf_parts
from quire.io.files import BGZF_END
from quire.io.vcf import (
    VariantRecord,
    contig_ranks,
    header,
    length_of_contig,
    name_of_contig,
    read_head,
    write_part,
)
from quire.io.vcf_index_cpu import LineIndex
from quire.io.vcf_parts import join
from quire.rescore import counting
from quire.rescore.counting import counting_pool
from quire.rescore.records import FIELDS
from quire.rescore.variant_counts import VariantCounter

CONTIGS = [("one", 3_000_000), ("HLA:1*01", 900), ("three", 40_000)]


def part(
    path: Path,
    places: list[tuple[str, int]],
    samples: tuple[str, ...] = ("s", "t"),
    contigs: list[tuple[str, int]] = CONTIGS,
) -> Path:
    """Write a part with records at places (contig, position) and random genotypes."""
    generator = random.Random(len(places))

    def line(contig: str, position: int) -> str:
        own = [
            {"GT": generator.choice(["0/1", "1/1", "0/0", "./."]), "AD": [3, n], "DP": 3 + n, "GQ": n}
            for n in generator.choices(range(90), k=len(samples))
        ]
        alternate = generator.choice(["C", "G", "CT"])
        return VariantRecord(contig, position - 1, ("A", alternate), 50.0, (), {"DP": 9}, own).line(FIELDS)

    assert write_part(path, header(contigs, samples, FIELDS), (line(*place) for place in places)) == len(places)
    return path


def some_parts(folder: Path) -> list[Path]:
    """Write a part of many blocks, an empty one and small ones."""
    return [
        part(folder / "0.vcf.gz", [("one", 7 * n + 1) for n in range(20_000)]),
        part(folder / "1.vcf.gz", []),
        part(folder / "2.vcf.gz", [("one", 200_000), ("HLA:1*01", 5), ("HLA:1*01", 5)]),
        part(folder / "3.vcf.gz", [("three", 30_000 + n) for n in range(900)]),
    ]


def content(path: Path) -> bytes:
    """Return the text of a bgzip file."""
    with pysam.BGZFile(str(path)) as stream:
        return bytes(stream.read())


@pytest.mark.full
@pytest.mark.parametrize("window", [1, 1000, 8 << 20])
@pytest.mark.parametrize("processes", [1, 3])
def test_lines_index_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int, processes: int) -> None:
    monkeypatch.setattr(vcf_parts, "_WINDOW", window if window > 1 else 100)
    monkeypatch.setattr(counting, "_LEAST_BYTES", 3000)
    parts = some_parts(tmp_path)
    joined, counter = tmp_path / "joined.vcf.gz", VariantCounter(read_head(parts[0]))
    head = b"".join(line.encode() for line in read_head(parts[0]))
    body = [line for one in parts for line in content(one).splitlines() if not line.startswith(b"#")]
    for line in body:
        counter.add(line)
    with counting_pool(read_head(parts[0]), processes) as own:
        assert join(parts, joined, f"{joined}.tbi", own.add) == len(body) == 20_903
    assert content(joined) == head + b"\n".join(body) + b"\n"
    assert joined.read_bytes().endswith(BGZF_END)
    assert joined.read_bytes().count(BGZF_END) == 1
    assert own.counter.content() == counter.content()
    with pysam.VariantFile(str(joined)) as file:
        assert [record.pos for record in file.fetch("three", 30_000, 30_010)] == list(range(30_001, 30_011))
        assert len(list(file.fetch("HLA:1*01"))) == 2


def test_each_process_sends_one_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter has figures for each pair of samples, so a process sends one in total, not one per stretch."""
    monkeypatch.setattr(counting, "_LEAST_BYTES", 1000)
    merged: list[VariantCounter] = []
    monkeypatch.setattr(VariantCounter, "merge", lambda _, other: merged.append(other))
    head = header(CONTIGS, ("s",), FIELDS).splitlines(keepends=True)
    with counting_pool(head, 3) as pool:
        pool.add(b"one\t5\t.\tA\tC\t50\tPASS\t.\tGT\t0/1\n" * 2000)
    assert len(merged) == 3
    assert sum(counter.content()["samples"]["s"]["counts"]["snvs"] for counter in merged) == 2000


def test_what_cannot_be_joined(tmp_path: Path) -> None:
    """Other samples or contigs, unsorted positions and damage give one sentence and no output."""
    first = part(tmp_path / "0.vcf.gz", [("HLA:1*01", 5)])
    late = part(tmp_path / "late.vcf.gz", [("HLA:1*01", 9), ("HLA:1*01", 3)])
    whole = part(tmp_path / "whole.vcf.gz", [("three", 7 * n + 1) for n in range(5000)]).read_bytes()
    cut, flipped, joined = (tmp_path / f"{name}.vcf.gz" for name in ("cut", "flipped", "one_stream"))
    cut.write_bytes(whole[: len(whole) - 500])
    flipped.write_bytes(whole[:-300] + bytes([whole[-300] ^ 1]) + whole[-299:])
    with pysam.BGZFile(str(joined), "wb") as stream:  # the header shares a block with records
        stream.write(content(first))
    few = part(tmp_path / "few.vcf.gz", [("three", 5)])
    headless, endless = tmp_path / "headless.vcf.gz", tmp_path / "endless.vcf.gz"
    header_only = few.read_bytes()
    headless.write_bytes(header_only[: int.from_bytes(header_only[16:18], "little") + 1])
    endless.write_bytes(header_only.removesuffix(BGZF_END))
    others = [("one", 3_000_000), ("HLA:1*01", 900), ("four", 40_000)]
    for second, message in (
        (part(tmp_path / "1.vcf.gz", [("one", 5)]), "out of genome order at one:5"),
        (late, r"late.vcf.gz: out of genome order at HLA:1\*01:3;"),
        (part(tmp_path / "3.vcf.gz", [("three", 7), ("HLA:1*01", 9)]), r"out of genome order at HLA:1\*01:9;"),
        (part(tmp_path / "4.vcf.gz", [("HLA:1*01", 3)]), r"4.vcf.gz: out of genome order at HLA:1\*01:3;"),
        (part(tmp_path / "5.vcf.gz", [("two", 5)]), "its header lacks the contig two of a record"),
        (part(tmp_path / "6.vcf.gz", [("four", 5)], contigs=others), "its contigs are not those of"),
        (headless, "cut off"),
        (endless, "cut off"),
        (part(tmp_path / "2.vcf.gz", [], samples=("s", "u")), "samples"),
        (cut, "cut off"),
        (flipped, "damaged"),
        (joined, "records in the header's blocks"),
    ):
        with pytest.raises(QuireError, match=message):
            join([first, second], tmp_path / "all.vcf.gz", tmp_path / "all.vcf.gz.tbi")
    empty, damaged = tmp_path / "empty.vcf.gz", tmp_path / "damaged.vcf.gz"
    empty.write_bytes(BGZF_END)
    tiny = tmp_path / "tiny.vcf.gz"  # the first block is smaller than its own header
    tiny.write_bytes(whole[:16] + b"\5\0" + whole[18:])
    damaged.write_bytes(whole[:100] + b"\0\1" + whole[102:])
    for first_part, message in (
        (tmp_path / "absent.vcf.gz", r"absent\.vcf\.gz: cannot be read \(No such file"),
        (empty, r"empty\.vcf\.gz: has no complete header; delete it"),
        (damaged, r"damaged\.vcf\.gz: the gzip stream is damaged"),
        (tiny, r"tiny\.vcf\.gz: has .* delete the parts"),
    ):
        with pytest.raises(QuireError, match=message):
            join([first_part], tmp_path / "all.vcf.gz", tmp_path / "all.vcf.gz.tbi")
    assert not list(tmp_path.glob("*all*"))


def test_a_part_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file cannot be opened; htslib's object would end the process by a signal."""
    monkeypatch.setattr(files, "_temporary_name", lambda final: tmp_path / "absent" / "part")
    with pytest.raises(QuireError, match=r"part\.vcf\.gz: cannot be written \(No such file or directory\)"):
        part(tmp_path / "part.vcf.gz", [("one", 5)])


def test_an_index_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LineIndex, "write", fail)
    with pytest.raises(QuireError, match=r"all\.vcf\.gz\.tbi: cannot be written \(No space left"):
        join(some_parts(tmp_path), tmp_path / "all.vcf.gz", tmp_path / "all.vcf.gz.tbi")
    assert not list(tmp_path.glob("*all*"))


@pytest.mark.parametrize(
    ("line", "name", "length"),
    [
        ("##contig=<ID=a,length=5>\n", "a", 5),
        ("##contig=<ID=-rf;$H%s:1-5!A0,x,length=40001,md5=abc>", "-rf;$H%s:1-5!A0,x", 40001),
        ("##contig=<ID=x=ID=y,length=3>", "x=ID=y", 3),
        ("##contig=<ID=1,assembly=b37,length=249250621>", "1", 249250621),
        ('##contig=<ID=1,length=24,species="Homo, sapiens">', "1", 24),
        ("##contig=<length=7,ID=q>", "q", 7),
        ("##contig=<ID=q>", "q", None),
        ("##contig=<q>", "##contig=<q>", None),
    ],
)
def test_names_of_contigs_in_a_header(line: str, name: str, length: int | None) -> None:
    assert (name_of_contig(line), length_of_contig(line)) == (name, length)
    if line.endswith(">"):
        assert contig_ranks([line]) == {name: 0}

"""FASTQ files that must be refused, with messages that name file, record, error and remedy."""

import os
import random
import threading
import time
from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io.fastq import read_batches

from tests.support.builders import Read, random_read, reverse_complement, write_bam, write_fastq, write_text

MALFORMED = Path(__file__).parents[1] / "data" / "malformed" / "biopython_fastq"
NAMES = {
    1: "SLXA-B3_649_FC8437_R1_1_1_610_79",
    3: "SLXA-B3_649_FC8437_R1_1_1_850_123",
    4: "SLXA-B3_649_FC8437_R1_1_1_362_549",
    5: "SLXA-B3_649_FC8437_R1_1_1_183_714",
}
REFUSED = {
    "diff_ids": (3, "has another name on its '+' line"),
    "double_qual": (4, "starts with '+SLXA-B3_649_FC8437_R1_1_1_850_123' instead of a title line with '@'"),
    "double_seq": (4, "has no line starting with '+' after its sequence"),
    "long_qual": (4, "has 25 bases but 26 qualities"),
    "no_qual": (1, "has 25 bases but 0 qualities"),
    "qual_del": (4, "has the byte 0x7f among its qualities"),
    "qual_escape": (5, "has the byte 0x1b among its qualities"),
    "qual_null": (1, "has a NUL byte among its qualities"),
    "qual_space": (4, "has a space among its qualities"),
    "qual_tab": (5, "has a tab among its qualities"),
    "qual_unit_sep": (3, "has the byte 0x1f among its qualities"),
    "qual_vtab": (1, "has the byte 0x0b among its qualities"),
    "short_qual": (3, "has 25 bases but 24 qualities"),
    "spaces": (1, "has a space in its sequence"),
    "tabs": (1, "has a tab in its sequence"),
    "trunc_at_plus": (5, "is incomplete at the end of the file"),
    "trunc_at_qual": (5, "is incomplete at the end of the file"),
    "trunc_at_seq": (5, "is incomplete at the end of the file"),
    "trunc_in_plus": (5, "has another name on its '+' line"),
    "trunc_in_qual": (5, "is incomplete at the end of the file"),
    "trunc_in_seq": (5, "is incomplete at the end of the file"),
    "trunc_in_title": (5, "is incomplete at the end of the file"),
}


def refusal(*files: Path | None, **options: int) -> str:
    """Return the message with which the files are refused; it must be one line."""
    fq1, fq2 = (*files, None)[:2]
    assert fq1 is not None
    with pytest.raises(InputError) as caught:
        for _ in read_batches(fq1, fq2, options.pop("reads_per_batch", 100), **options):
            pass
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def test_all_error_files_are_listed() -> None:
    assert {path.stem.removeprefix("error_") for path in MALFORMED.glob("error_*")} == set(REFUSED)


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("chunk_bytes", [50, 4096])
def test_error_files(name: str, chunk_bytes: int) -> None:
    record, words = REFUSED[name]
    path = MALFORMED / f"error_{name}.fastq"
    sentence = refusal(path, reads_per_batch=2, chunk_bytes=chunk_bytes)
    assert sentence.startswith(f"{path}: record {record} ")
    assert words in sentence
    if name not in ("double_qual", "qual_null", "trunc_in_title"):
        assert f"({NAMES[record]})" in sentence


@pytest.fixture
def reads() -> list[Read]:
    generator = random.Random(3)
    return [random_read(generator, f"r{i}", 50) for i in range(300)]


def mates(reads: list[Read]) -> list[Read]:
    """Return the reads' reverse complements under the same names."""
    return [Read(read.name, reverse_complement(read.bases), read.qualities[::-1]) for read in reads]


@pytest.mark.parametrize("compression", ["gzip", "bgzip"])
@pytest.mark.parametrize("part", [0.02, 0.5, 0.999])
def test_truncated_gzip(tmp_path: Path, reads: list[Read], compression: str, part: float) -> None:
    whole = write_fastq(tmp_path / "whole.gz", reads, compression).read_bytes()
    cut = write_text(tmp_path / "cut.gz", whole[: int(len(whole) * part) - (30 if part > 0.9 else 0)])
    assert "truncated" in refusal(cut)
    assert str(cut) in refusal(cut)


def test_truncated_between_blocks_is_told(tmp_path: Path, reads: list[Read], caplog) -> None:
    whole = write_fastq(tmp_path / "whole.gz", reads, "bgzip").read_bytes()
    cut = write_text(tmp_path / "cut.gz", whole[:-28])
    assert sum(map(len, read_batches(cut, None, 100))) == 300
    assert f"{cut}: the closing block of bgzip is missing" in caplog.text


def test_damaged_gzip(tmp_path: Path, reads: list[Read]) -> None:
    whole = bytearray(write_fastq(tmp_path / "whole.gz", reads, "gzip").read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    assert str(tmp_path / "bad.gz") in refusal(write_text(tmp_path / "bad.gz", bytes(whole)))


@pytest.mark.parametrize("reads_per_batch", [7, 50, 100, 1000])
@pytest.mark.parametrize("short", [1, 2])
def test_different_numbers_of_reads(tmp_path: Path, reads: list[Read], short: int, reads_per_batch: int) -> None:
    files = {1: reads, 2: mates(reads)}
    paths = [write_fastq(tmp_path / f"{k}.fq", files[k][: 100 if k == short else 300]) for k in (1, 2)]
    sentence = refusal(*paths, reads_per_batch=reads_per_batch)
    assert sentence.startswith(f"{paths[short - 1]}: ends after record 100 while {paths[2 - short]} has more reads")


def test_different_names(tmp_path: Path, reads: list[Read]) -> None:
    fq1, fq2 = write_fastq(tmp_path / "1.fq", reads), write_fastq(tmp_path / "2.fq", mates(reads[:41] + reads[42:]))
    sentence = refusal(fq1, fq2, reads_per_batch=17)
    assert sentence.startswith(f"{fq2}: record 42 is named r42 but its mate in {fq1} is named r41")


def test_same_file_twice(tmp_path: Path, reads: list[Read]) -> None:
    fq1 = write_fastq(tmp_path / "1.fq", reads)
    (tmp_path / "link.fq").symlink_to(fq1)
    assert refusal(fq1, tmp_path / "link.fq").startswith(f"{fq1}: the same file is given as R1 and as R2")
    copy = write_fastq(tmp_path / "copy.fq.gz", reads, "gzip")
    assert refusal(fq1, copy).startswith(f"{copy}: holds the same reads as {fq1}")


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\n"])
@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzip"])
def test_empty(tmp_path: Path, content: bytes, compression: str, reads: list[Read]) -> None:
    path = write_text(tmp_path / "empty.fq", content, compression)
    assert refusal(path).startswith(f"{path}: holds no reads")
    assert refusal(write_fastq(tmp_path / "1.fq", reads), path).startswith(f"{path}: holds no reads")


def test_other_formats(tmp_path: Path) -> None:
    line = "r\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII"
    bam = write_bam(tmp_path / "x.bam", {"c": 100}, [line])
    assert refusal(bam).startswith(f"{bam}: this is not FASTQ but a BAM file")
    fasta = MALFORMED / "example.fasta"
    assert refusal(fasta).startswith(f"{fasta}: this is not FASTQ but a FASTA file")
    assert "is compressed with bzip2" in refusal(write_text(tmp_path / "x.bz2", b"BZh91AY&SY")).replace("but", "is")
    twice = write_text(tmp_path / "x.gz.gz", write_text(tmp_path / "x.gz", "@a\n", "gzip").read_bytes(), "gzip")
    assert "compressed twice" in refusal(twice)
    binary = write_text(tmp_path / "noise.fq", random.Random(1).randbytes(5000).replace(b"@", b"A"))
    assert "instead of a title line with '@'" in refusal(binary)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.fq").startswith(f"{tmp_path / 'no.fq'}: cannot be read (No such file")
    assert refusal(tmp_path).startswith(f"{tmp_path}: cannot be read (Is a directory")


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (Read("long", "A" * 1025, "I" * 1025), "(long) is 1025 bases long, and the longest read accepted is 1024"),
        (Read("", "A", "I"), "record 301 has no name after its '@'"),
        (Read("n" * 255, "A", "I"), "has a name longer than the 254 characters that BAM allows"),
        (Read("n@m", "A", "I"), "record 301 (n@m) has a character in its name that SAM does not allow"),
        (Read("n\x01m", "A", "I"), "has a character in its name that SAM does not allow"),
        (Read("x", "A*", "II"), "record 301 (x) has '*' in its sequence"),
        (Read("x", "MKLE", "IIII"), "record 301 (x) has 'L' in its sequence"),
    ],
)  # fmt: skip
def test_single_records(tmp_path: Path, reads: list[Read], read: Read, words: str) -> None:
    assert words in refusal(write_fastq(tmp_path / "x.fq", [*reads, read, *reads]), reads_per_batch=64)
    assert words in refusal(write_fastq(tmp_path / "x.fq", [*reads, read], width=60), reads_per_batch=64)


def test_fault_in_one_file_ends_both_threads(tmp_path: Path, reads: list[Read]) -> None:
    bad = [*mates(reads[:250]), Read("r250", "A A", "III"), *mates(reads[251:])]
    fq1, fq2 = write_fastq(tmp_path / "1.fq", reads), write_fastq(tmp_path / "2.fq", bad)
    assert refusal(fq1, fq2, reads_per_batch=3).startswith(f"{fq2}: record 251 (r250) has a space in its sequence")
    assert_no_threads()


def test_threads_end_when_the_consumer_stops(tmp_path: Path, reads: list[Read]) -> None:
    fq1, fq2 = write_fastq(tmp_path / "1.fq", reads), write_fastq(tmp_path / "2.fq", mates(reads), "gzip")
    batches = read_batches(fq1, fq2, 1)
    assert next(batches).mate1.name(0) == "r0"
    batches.close()  # type: ignore[attr-defined]
    assert_no_threads()


def assert_no_threads() -> None:
    """Assert that no helper thread remains."""
    deadline = time.monotonic() + 5
    while any(thread.name == "quire-ahead" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_pipe(tmp_path: Path) -> None:
    """A pipe, such as a shell's `<(zcat x.gz)`, is refused."""
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe").startswith(f"{tmp_path / 'pipe'}: is a pipe")

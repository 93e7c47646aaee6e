"""A BAM file read in stretches, and incomplete files."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import QuireError
from quire.io.bam.decode_cpu import header_bytes
from quire.io.bam.stream_cpu import BamStream
from quire.io.bgzf_cpu import LARGEST_BLOCK, compress_blocks
from quire.io.files import BGZF_END

from tests.support.builders import write_bam
from tests.support.open_files import open_files

CONTIGS = {"chr1": 100_000}


@pytest.fixture(scope="module")
def bam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = random.Random(1)
    lines = []
    for i in range(9000):  # incompressible, so that the file needs several reads
        bases, qualities = "".join(generator.choices("ACGT", k=100)), "".join(generator.choices("5:?DI", k=100))
        lines.append(f"r{i}\t0\tchr1\t{1 + i}\t60\t100M\t*\t0\t0\t{bases}\t{qualities}")
    return write_bam(tmp_path_factory.mktemp("stream") / "reads.bam", CONTIGS, lines, ["@RG\tID:S\tSM:S"])


def inflated(bam: Path) -> np.ndarray:
    with pysam.BGZFile(str(bam)) as stream:
        return np.frombuffer(stream.read(), np.uint8)


def records(bam: Path, size: int = LARGEST_BLOCK, ahead: int = 2) -> list[bytes]:
    with ThreadPoolExecutor(2) as executor:
        return [stretch.bytes().tobytes() for stretch in BamStream(bam).stretches(executor, size, ahead)]


@pytest.mark.parametrize(("size", "ahead"), [(LARGEST_BLOCK, 1), (LARGEST_BLOCK, 5), (100_000, 3), (1 << 24, 2)])
def test_all_records_in_order(bam: Path, size: int, ahead: int) -> None:
    content = inflated(bam)
    found = records(bam, size, ahead)
    assert b"".join(found) == content[header_bytes(content) :].tobytes()
    assert len(found) > 2 or size > 1 << 20
    for stretch in found:  # each stretch holds whole records
        at = 0
        while at < len(stretch):
            at += 4 + int.from_bytes(stretch[at : at + 4], "little")
        assert at == len(stretch)


def test_header(tmp_path: Path) -> None:
    """Headers are read whole, also if longer than the first read."""
    contigs = {f"a_contig_with_a_long_name_{i * i}": 1000 + i for i in range(40_000)}
    stream = BamStream(write_bam(tmp_path / "many.bam", contigs, []))
    assert dict(zip(stream.contig_names, stream.contig_lengths, strict=True)) == contigs
    assert "SN:a_contig_with_a_long_name_4\t" in stream.header_text
    assert records(tmp_path / "many.bam") == []


def test_cut_at_every_block(bam: Path, tmp_path: Path) -> None:
    """A truncated file is refused, whether or not a record ends with the block."""
    content = bam.read_bytes()
    cut, at = tmp_path / "cut.bam", 0
    borders = []
    while at < len(content):
        borders.append(at)
        at += int.from_bytes(content[at + 16 : at + 18], "little") + 1
    assert len(borders) > 5
    for border in borders:
        cut.write_bytes(content[:border])
        with pytest.raises(QuireError, match=r"cut\.bam: is not a complete BAM file \(.+\); align the unit again"):
            records(cut)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: text[:-5], "it ends in the middle of a record"),
        (lambda text: b"SAM\1" + text[4:], "it does not begin like one"),
        (lambda text: text[:30], "it ends in its header"),
        (lambda text: text[: header_bytes(text)] + b"\7\0\0\0" + text[4:], "a record has an impossible size"),
    ],
)
def test_not_a_whole_file(bam: Path, tmp_path: Path, change, sentence: str) -> None:
    wrong = tmp_path / "wrong.bam"
    wrong.write_bytes(compress_blocks(change(inflated(bam).tobytes())).tobytes() + BGZF_END)
    with pytest.raises(QuireError, match=rf"wrong\.bam: is not a complete BAM file \({sentence}\)"):
        records(wrong)


def test_a_damaged_block(bam: Path, tmp_path: Path) -> None:
    content = bytearray(bam.read_bytes())
    content[len(content) // 2] ^= 255
    (tmp_path / "damaged.bam").write_bytes(content)
    with pytest.raises(
        QuireError, match=r"damaged\.bam: is not a complete BAM file \((the block at byte \d+ is damaged|it ends)"
    ):
        records(tmp_path / "damaged.bam")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(QuireError, match=r"none\.bam: is not a complete BAM file \(No such file or directory\)"):
        BamStream(tmp_path / "none.bam")


def test_the_file_is_open_only_while_it_is_read(bam: Path) -> None:
    stream = BamStream(bam)
    assert not open_files(bam.parent)
    with ThreadPoolExecutor(2) as executor:
        stretches = stream.stretches(executor, LARGEST_BLOCK, 2)
        next(stretches)
        assert open_files(bam.parent) == [str(bam)]
        assert list(stretches)
        assert not open_files(bam.parent)

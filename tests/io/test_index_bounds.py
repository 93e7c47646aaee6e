"""Indexes that lie are refused by one sentence, lost offsets lose no records, and htslib reads no damaged index."""

import gzip
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest
from quire.errors import InputError
from quire.io.alignment_reads import first_name
from quire.io.bam.index import open_index
from quire.io.bam.regions import IndexedAlignments
from quire.io.inflate_cpu import NoBlock, whole_blocks
from quire.io.samtools import open_alignments

from tests.fuzz.mutations import BGZF_END, bgzf, bgzf_block
from tests.fuzz.targets import TARGETS
from tests.support.builders import write_bam

CONTIGS = {"one": 200_000, "two": 50_000}


@pytest.fixture
def bam(tmp_path: Path) -> Path:
    """Write a read every 500 bases of the first contig, and index the file as BAI and as CSI."""
    lines = [f"r{i}\t0\tone\t{1 + 500 * i}\t60\t20M\t*\t0\t0\t{'ACGTC' * 4}\t{'I' * 20}" for i in range(380)]
    path = write_bam(tmp_path / "x.bam", CONTIGS, lines, order="coordinate")
    pysam.index("-o", f"{path}.bai", str(path))
    pysam.index("-c", "-o", f"{path}.made", str(path))
    return path


def put(at: int, layout: str, value: int) -> Callable[[bytes], bytes]:
    """Return a change of the number at a place."""

    def change(data: bytes) -> bytes:
        changed = bytearray(data)
        struct.pack_into(layout, changed, at, value)
        return bytes(changed)

    return change


def linear_of(data: bytes) -> tuple[int, int]:
    """Return where the linear index of the first contig begins in a BAI, and its number of windows."""
    (bins,) = struct.unpack_from("<i", data, 8)
    at = 12
    for _ in range(bins):
        at += 8 + 16 * struct.unpack_from("<i", data, at + 4)[0]
    return at + 4, struct.unpack_from("<i", data, at)[0]


def place_of_bin(data: bytes, wanted: int) -> int:
    """Return where a bin of the first contig begins in a BAI."""
    at = 12
    while struct.unpack_from("<I", data, at)[0] != wanted:
        at += 8 + 16 * struct.unpack_from("<i", data, at + 4)[0]
    return at


def without_windows(data: bytes) -> bytes:
    """Remove the linear index of the first contig from a BAI."""
    at, windows = linear_of(data)
    return data[: at - 4] + bytes(4) + data[at + 8 * windows :]


METADATA = 37450  # number of the bin with the place of the first record
LIES = {
    "contigs_negative": put(4, "<i", -1),
    "contigs": put(4, "<i", 2**31 - 1),
    "fewer_contigs": put(4, "<i", 1),
    "bins_negative": put(8, "<i", -1),
    "bins": put(8, "<i", 2**30),
    "bin": put(12, "<I", 37451),
    "chunks_negative": put(16, "<i", -1),
    "chunks_backwards": put(16, "<i", -2),
    "chunks": put(16, "<i", 2**27),
    "windows_negative": lambda data: put(linear_of(data)[0] - 4, "<i", -1)(data),
    "windows": lambda data: put(linear_of(data)[0] - 4, "<i", 2**28)(data),
    "windows_none": without_windows,
    "first_record": lambda data: put(place_of_bin(data, METADATA) + 8, "<Q", 1)(data),
    "first_bin": lambda data: put(linear_of(data)[0], "<Q", 0)(put(20, "<Q", 0)(data)),
    "order": lambda data: put(linear_of(data)[0] + 16, "<Q", 2**40)(data),
    "cut": lambda data: data[:-9],
    "longer": lambda data: data + b"\0",
}


@pytest.mark.parametrize("lie", LIES)
def test_a_bai_that_lies_is_one_sentence(lie: str, bam: Path) -> None:
    index = Path(f"{bam}.bai")
    index.write_bytes(LIES[lie](index.read_bytes()))
    with pytest.raises(
        InputError, match=r"x\.bam(\.bai: is not a whole BAI or CSI index|: has 2 contigs and its index)"
    ):
        IndexedAlignments(bam)


@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [(4, "<i", -3), (4, "<i", 60), (8, "<i", 2**31 - 1), (8, "<i", 11), (12, "<i", -1), (12, "<i", 2**30),
     (16, "<i", -1), (20, "<i", -1), (24, "<I", 2**31), (36, "<i", -5)],
)  # fmt: skip
def test_a_csi_that_lies_is_one_sentence(at: int, layout: str, value: int, bam: Path) -> None:
    whole = gzip.decompress(Path(f"{bam}.made").read_bytes())
    index = Path(f"{bam}.csi")
    index.write_bytes(bgzf(whole))
    assert len(open_index(bam)) == 2
    index.write_bytes(bgzf(put(at, layout, value)(whole)))
    with pytest.raises(InputError, match=r"x\.bam\.csi: is not a whole BAI or CSI index; run samtools index on"):
        IndexedAlignments(bam)


def test_a_csi_whose_bins_begin_after_the_first_record_is_one_sentence(bam: Path) -> None:
    whole = gzip.decompress(Path(f"{bam}.made").read_bytes())
    (depth,) = struct.unpack_from("<I", whole, 8)
    at = whole.index(struct.pack("<IQI", ((1 << 3 * depth + 3) - 1) // 7 + 1, 0, 2))  # the bin of metadata
    Path(f"{bam}.csi").write_bytes(bgzf(put(at + 16, "<Q", 1)(whole)))
    with pytest.raises(InputError, match=r"x\.bam\.csi: is not a whole BAI or CSI index; run samtools index on"):
        IndexedAlignments(bam)


def test_lost_offsets_lose_no_records(bam: Path) -> None:
    """A disk that lost a part gives zeros, which mean "no record" in a linear index."""
    index = Path(f"{bam}.bai")
    whole = index.read_bytes()
    at, windows = linear_of(whole)
    for first, end in ((0, 3), (4, 9), (0, windows)):
        index.write_bytes(whole[: at + 8 * first] + bytes(8 * (end - first)) + whole[at + 8 * end :])
        for start in range(0, 190_000, 9_500):
            found = IndexedAlignments(bam).records("one", start, start + 1000)
            assert found.fixed["position"].tolist() == list(range(start, start + 1000, 500))


@pytest.mark.parametrize("version", ["2.1", "3.0", "3.1"])
def test_a_crai_that_lacks_a_slice_is_one_sentence(version: str, tmp_path: Path) -> None:
    """Samtools finds none of the records of a lost slice, and says nothing."""
    target = TARGETS["cram_regions"]
    target.valid(tmp_path)
    cram = tmp_path / "case.cram"
    cram.write_bytes((tmp_path / version).read_bytes())
    pysam.index(str(cram))
    index = Path(f"{cram}.crai")
    whole = gzip.decompress(index.read_bytes())
    assert len(IndexedAlignments(cram, tmp_path / "genome.fa").contigs) == 4
    lines = whole.splitlines(keepends=True)
    assert len(lines) > 6
    lost = [lines[:number] + lines[number + 1 :] for number in range(len(lines))]
    wrong = [[line.replace(b"\t", b"\tx", 1) for line in lines], [b"\n", *lines], []]
    packed = [index.read_bytes()[:-9], *(gzip.compress(b"".join(some)) for some in (*lost, *wrong))]
    for content in packed:
        index.write_bytes(content)
        with pytest.raises(
            InputError,
            match=r"case\.cram\.crai: (is not a whole CRAI index of this file|the gzip stream ends too early)",
        ):
            IndexedAlignments(cram, tmp_path / "genome.fa")


def test_htslib_does_not_read_a_damaged_index(bam: Path) -> None:
    """Its own reader ends the process by a signal."""
    index = Path(f"{bam}.bai")
    index.write_bytes(put(12, "<I", 2**31)(put(16, "<I", 1)(index.read_bytes())))
    crash = f"import pysam; pysam.AlignmentFile({str(bam)!r})"
    done = subprocess.run([sys.executable, "-c", crash], capture_output=True, check=False)
    assert done.returncode <= 0
    assert first_name(bam) == "r0"
    with open_alignments(bam) as file:
        assert not file.has_index()


@pytest.mark.parametrize(
    ("fields", "is_whole"),
    [
        (b"BC\2\0SS", True),
        (b"XX\1\0aBC\2\0SS", True),
        (b"BC\2\0SSXX\1\0a", True),
        (b"BC\2\0SSBC\2\0SS", False),
        (b"BC\2\0SSXX\2\0a", False),
        (b"BC\2\0SSXX", False),
        (b"BC\2\0", False),
        (b"BC\3\0SS\0", False),
        (b"XX\1\0a", False),
        (b"", False),
    ],
)
def test_subfields_of_a_block_fill_its_extra_field(fields: bytes, is_whole: bool) -> None:
    plain = bgzf_block(b"some text " * 20)
    size = struct.pack("<H", len(plain) - 6 + len(fields) - 1)
    block = plain[:10] + struct.pack("<H", len(fields)) + fields.replace(b"SS", size) + plain[18:]
    content = np.frombuffer(bytearray(block + BGZF_END), np.uint8)
    if is_whole:
        assert whole_blocks(content) == len(content)
    else:
        with pytest.raises(NoBlock):
            whole_blocks(content)


@pytest.mark.parametrize("flags", [4, 5, 6, 12, 20, 36])
def test_a_block_has_no_other_fields_than_the_extra_one(flags: int) -> None:
    """Samtools refuses a file whose first block announces a name, a comment or a checksum of its header."""
    block = bytearray(bgzf_block(b"some text " * 20))
    block[3] = flags
    content = np.frombuffer(block + BGZF_END, np.uint8)
    if flags <= 5:
        assert whole_blocks(content) == len(content)
    else:
        with pytest.raises(NoBlock):
            whole_blocks(content)

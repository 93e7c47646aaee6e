"""BAM read by spans: the records and the order of samtools, and detection of damage."""

import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.errors import InputError
from quire.io.bam.reader_cpu import BamReader
from quire.io.files import BGZF_END
from quire.io.inflate_cpu import DamagedBlock, NoBlock, inflate_blocks
from quire.io.sniff import BGZF_HEADER

from tests.support.examples import examples

REAL = Path(__file__).resolve().parents[1] / "data" / "gvcf_chr22_8kb" / "A.bam"
CONTIGS = {"one": 300_000, "HLA:2*01": 500, "empty": 1000, "last": 100_000}


@pytest.fixture(scope="module")
def bam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write sorted reads of several contigs: spliced, clipped, unmapped with a mapped mate, and without a position."""
    path = tmp_path_factory.mktemp("bam") / "reads.bam"
    generator = random.Random(3)
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": size} for n, size in CONTIGS.items()]}
    with pysam.AlignmentFile(str(path), "wb", header=header) as stream:
        for number, (contig, size) in enumerate(CONTIGS.items()):
            if contig == "empty":
                continue
            for start in sorted(generator.randrange(size - 200) for _ in range(size // 20)):
                stream.write(_record(stream.header, number, start, generator))
        for _ in range(50):
            record = pysam.AlignedSegment(stream.header)
            record.query_name, record.flag, record.query_sequence = "nowhere", 4, "ACGT"
            stream.write(record)
    return path


def _record(header: pysam.AlignmentHeader, contig: int, start: int, generator: random.Random) -> pysam.AlignedSegment:
    record = pysam.AlignedSegment(header)
    record.query_name = f"r{generator.randrange(10**9)}"
    record.reference_id, record.reference_start = contig, start
    kind = generator.randrange(20)
    cigars = {0: "5S30M10D20M", 1: "20M5000N20M" if contig == 0 and start < 290_000 else "40M", 2: "10M5I30M3H"}
    if kind == 3:
        record.flag, record.query_sequence = 4, "ACGTN" * 4
    else:
        record.cigarstring = cigars.get(kind, "50M")
        record.query_sequence = "".join(generator.choices("ACGTN", k=record.infer_query_length()))
    return record


def indexed(bam: Path, kind: str) -> Path:
    """Copy the file to a new folder and index it."""
    folder = bam.parent / kind
    if not folder.exists():
        folder.mkdir()
        (folder / bam.name).symlink_to(bam)
        pysam.index("-c" if kind == "csi" else "-b", "-o", f"{folder / bam.name}.{kind}", str(folder / bam.name))
    return folder / bam.name


def names_of_bytes(records: np.ndarray) -> list[tuple[str, int, int]]:
    """Return name, contig and position of each record."""
    found, at, data = [], 0, records.tobytes()
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        contig, position = (int.from_bytes(data[at + i : at + i + 4], "little", signed=True) for i in (4, 8))
        found.append((data[at + 36 : at + 35 + data[at + 12]].decode(), contig, position))
        at += 4 + size
    return found


@pytest.mark.parametrize("kind", ["bai", "csi"])
@settings(max_examples=examples(60), deadline=None)
@given(contig=st.integers(0, 3), place=st.floats(0, 1), span=st.sampled_from([1, 30, 900, 20_000, 400_000]))
def test_the_records_of_a_span_are_samtools(bam: Path, kind: str, contig: int, place: float, span: int) -> None:
    path = indexed(bam, kind)
    name, size = list(CONTIGS.items())[contig]
    start = int(place * (size - 1))
    with pysam.AlignmentFile(str(path)) as stream:
        wanted = [
            (r.query_name, r.reference_id, r.reference_start)
            for r in stream.fetch(name, start, min(start + span, size))
        ]
    assert names_of_bytes(BamReader(path).records(contig, start, start + span)) == wanted


def test_a_contig_that_the_index_does_not_have(bam: Path) -> None:
    assert len(BamReader(indexed(bam, "bai")).records(9, 0, 100)) == 0


def _borders(data: bytes | bytearray) -> list[int]:
    """Return the offsets of the blocks of a BGZF file; bytes 16 and 17 of each block hold its size less one."""
    borders = [0]
    while borders[-1] < len(data):
        borders.append(borders[-1] + int.from_bytes(data[borders[-1] + 16 : borders[-1] + 18], "little") + 1)
    return borders


def test_a_real_bam_cut_between_two_blocks_is_refused(tmp_path: Path) -> None:
    """Any cut is found, also after a block that ends with a whole record."""
    data = REAL.read_bytes()
    path = tmp_path / "cut.bam"
    path.write_bytes(data)
    pysam.index(str(path))
    assert len(BamReader(path).records(0, 0, 8000))
    cuts = _borders(data)[1:-1]
    assert len(cuts) > 3
    for cut in cuts:
        path.write_bytes(data[:cut])
        with pytest.raises(InputError, match=r"cut\.bam: lacks the empty block that closes it; it is truncated"):
            BamReader(path)


def _within_a_record(data: bytearray) -> bytes:
    """Cut a file within a block, and end it like a complete file."""
    begin, end = _borders(data)[4:6]
    raw = zlib.decompress(data[begin + 18 : end - 8], wbits=-15)[:-10]
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(raw) + packer.flush()
    block = BGZF_HEADER + struct.pack("<H", len(packed) + 25) + packed + struct.pack("<II", zlib.crc32(raw), len(raw))
    return bytes(data[:begin]) + block + BGZF_END


def _flip(data: bytearray, place: int) -> bytearray:
    data[place] ^= 1
    return data


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda data: _within_a_record(data), "ends in the middle of a record"),
        (lambda data: data[: len(data) // 2] + BGZF_END, "ends in the middle of a record"),
        (lambda data: _flip(data, len(data) // 2), r"the block at byte \d+ is damaged"),
    ],
)
def test_damage_is_one_sentence(
    bam: Path, tmp_path: Path, damage: Callable[[bytearray], bytearray], sentence: str
) -> None:
    path = tmp_path / "damaged.bam"
    path.write_bytes(damage(bytearray(bam.read_bytes())))
    Path(f"{path}.bai").write_bytes(Path(f"{indexed(bam, 'bai')}.bai").read_bytes())
    reader = BamReader(path)

    def read_all() -> None:
        for contig, size in enumerate(CONTIGS.values()):
            reader.records(contig, 0, size)

    with pytest.raises(InputError, match=sentence):
        read_all()


def _with_offsets(index: bytes, added: int) -> bytes:
    """Add a number to every offset of a BAI's linear indexes."""
    changed, at = bytearray(index), 8
    for _ in range(struct.unpack_from("<i", index, 4)[0]):
        bins, at = struct.unpack_from("<i", index, at)[0], at + 4
        for _ in range(bins):
            at += 8 + 16 * struct.unpack_from("<i", index, at + 4)[0]
        windows, at = struct.unpack_from("<i", index, at)[0], at + 4
        for _ in range(windows):
            offset = struct.unpack_from("<Q", index, at)[0]
            struct.pack_into("<Q", changed, at, offset + added if offset else 0)
            at += 8
    return bytes(changed)


@pytest.mark.parametrize("added", [*range(1, 56), 1 << 15, 0xFFFF, 1 << 16, 1 << 18, 1 << 40])
def test_the_index_of_another_file_is_one_sentence(bam: Path, tmp_path: Path, added: int) -> None:
    """An index that points into a record or beyond the file gives an error, not wrong records or none."""
    path = tmp_path / "other.bam"
    path.symlink_to(bam)
    Path(f"{path}.bai").write_bytes(_with_offsets(Path(f"{indexed(bam, 'bai')}.bai").read_bytes(), added))
    reader = BamReader(path)
    for contig, start, end in ((0, 0, 300_000), (0, 150_000, 150_100), (3, 0, 100_000)):
        with pytest.raises(InputError, match="the index belongs to another file"):
            reader.records(contig, start, end)


def test_a_record_without_a_mate_begins_nowhere_else(tmp_path: Path) -> None:
    """Fields read from within a record may look like a record of 300 MB on another contig."""
    contigs = {"one": 200_000, "two": 100_000}
    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": n, "LN": size} for n, size in contigs.items()]}
    path = tmp_path / "reads.bam"
    with pysam.AlignmentFile(str(path), "wb", header=header) as stream:
        for number, start in enumerate(range(100, 190_000, 3000)):
            record = pysam.AlignedSegment(stream.header)
            record.query_name, record.reference_id, record.reference_start = f"r{10**8 + number}", 0, start
            record.cigarstring, record.query_sequence = "100M", "ACGTN" * 20
            record.query_qualities = pysam.qualitystring_to_array("!" * 100)
            stream.write(record)
    pysam.index(str(path))
    index = Path(f"{path}.bai")
    whole = index.read_bytes()
    for added in range(1, 201):
        index.write_bytes(_with_offsets(whole, added))
        with pytest.raises(InputError, match="the index belongs to another file"):
            BamReader(path).records(0, 100_000, 180_000)


def test_no_index_and_no_whole_index(bam: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare.bam"
    path.symlink_to(bam)
    with pytest.raises(InputError, match=r"bare\.bam: has no index beside it"):
        BamReader(path)
    whole = Path(f"{indexed(bam, 'bai')}.bai").read_bytes()
    for content in (b"", b"BAI\x01", whole[:-30], b"nonsense"):
        Path(f"{path}.bai").write_bytes(content)
        with pytest.raises(InputError, match=r"bare\.bam\.bai: is not a whole BAI or CSI index"):
            BamReader(path)


def test_blocks_are_inflated_and_checked(bam: Path) -> None:
    data = bytearray(bam.read_bytes())
    with pysam.BGZFile(str(bam), "rb", None) as stream:
        wanted = stream.read()
    out, used = inflate_blocks(np.frombuffer(data, np.uint8))
    assert (out.tobytes(), used) == (wanted, len(data))
    out, used = inflate_blocks(np.frombuffer(data[:-30], np.uint8))
    assert wanted.startswith(out.tobytes())
    assert used < len(data) - 30
    with pytest.raises(DamagedBlock):
        inflate_blocks(np.frombuffer(_flip(data, 2000), np.uint8))
    with pytest.raises(DamagedBlock):
        inflate_blocks(np.frombuffer(b"no block at all, whatever it is", np.uint8))


@pytest.mark.parametrize("behind", [b"\0\0", b"\xff\xff"])
def test_a_block_whose_size_field_is_cut_is_no_block(behind: bytes) -> None:
    """The bytes after the given ones, where the size would be, are not read."""
    header = b"\x1f\x8b\x08\x04" + bytes(6) + b"\x08\0" + b"XX\0\0" + b"BC\2\0"
    data = np.frombuffer(header + behind, np.uint8)[: len(header)]
    with pytest.raises(NoBlock):
        inflate_blocks(data)


@pytest.mark.parametrize("kind", ["bai", "csi"])
def test_bytes_over_a_span(bam: Path, kind: str) -> None:
    """Estimates are as good as the index allows: about a contig's share of the file, and little for a small span."""
    path = indexed(bam, kind)
    reader, size = BamReader(path), path.stat().st_size
    whole = [reader.bytes_over(number, 0, length, length) for number, length in enumerate(CONTIGS.values())]
    assert whole[2] == 0
    assert reader.bytes_over(9, 0, 10, 10) == 0
    assert 0.65 * size < whole[0] < 0.8 * size
    assert 0.2 * size < whole[3] < 0.3 * size
    parts = [reader.bytes_over(0, start, start + 50_000, 300_000) for start in range(0, 300_000, 50_000)]
    assert 0.9 * whole[0] < sum(parts) < 1.6 * whole[0], parts

"""The text of bgzip and gzip files: every byte of every block and member, and every error."""

import gzip
import random
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pysam
import pytest
from quire.errors import InputError
from quire.io import text_chunks as module
from quire.io.fastq import read_batches
from quire.io.text_chunks import text_chunks

CLOSING_BLOCK = 28  # bytes
FORMS = [(0, 6), (2, 1), (4, 9), (8, 6), (16, 0), (30, 6)]  # flags of the header, and zlib's level


@pytest.fixture
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stretches hold few blocks, so that files have many."""
    monkeypatch.setattr(module, "STRETCH_BYTES", 100_000)


def text(size: int) -> bytes:
    return random.Random(size).randbytes(size // 2).hex().encode()


def bgzip(path: Path, content: bytes) -> bytes:
    with pysam.BGZFile(str(path), "w") as stream:
        stream.write(content)
    return path.read_bytes()


def pieces(path: Path, size: int) -> Iterator[bytes]:
    return (chunk.tobytes() for chunk in text_chunks(path, size))


def read(path: Path, size: int = 70_001) -> bytes:
    return b"".join(pieces(path, size))


@pytest.mark.parametrize("size", [0, 2, 65_280, 70_000, 3_000_000])
@pytest.mark.parametrize("buffer", [1000, 70_001, 1 << 22])
def test_text_is_that_of_gzip(tmp_path: Path, small_stretches: None, size: int, buffer: int) -> None:
    bgzip(tmp_path / "a.gz", text(size))
    assert read(tmp_path / "a.gz", buffer) == text(size)


def test_files_one_behind_the_other(tmp_path: Path, small_stretches: None) -> None:
    """Closing blocks within a file, and plain gzip members after a block, are read."""
    whole = bgzip(tmp_path / "a.gz", text(300_000)) + bgzip(tmp_path / "b.gz", text(100))
    (tmp_path / "c.gz").write_bytes(whole + gzip.compress(text(200_000)) + gzip.compress(text(10)))
    assert read(tmp_path / "c.gz") == text(300_000) + text(100) + text(200_000) + text(10)


def read_until(path: Path, error: type[Exception], words: str) -> int:
    """Return the bytes that were read before the error."""
    parts: list[bytes] = []
    with pytest.raises(error, match=words):
        parts.extend(pieces(path, 50_000))
    return sum(map(len, parts))


def test_a_damaged_block_is_told_behind_what_precedes_it(tmp_path: Path, small_stretches: None) -> None:
    whole = bytearray(bgzip(tmp_path / "a.gz", text(1_000_000)))
    whole[len(whole) * 3 // 4] ^= 4
    (tmp_path / "a.gz").write_bytes(whole)
    assert 400_000 < read_until(tmp_path / "a.gz", OSError, "a damaged block at byte [0-9]{6}") < 750_000


def test_other_bytes_after_blocks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(bgzip(tmp_path / "a.gz", text(100_000)) + b"no gzip at all")
    assert read_until(tmp_path / "a.gz", OSError, "Not a gzipped file") == 100_000


@pytest.mark.parametrize("missing", [1, 27, CLOSING_BLOCK + 5])
def test_a_cut_within_a_block_is_told_behind_what_precedes_it(tmp_path: Path, missing: int) -> None:
    whole = bgzip(tmp_path / "a.gz", text(200_000))
    (tmp_path / "a.gz").write_bytes(whole[:-missing])
    assert read_until(tmp_path / "a.gz", EOFError, "within a block") >= 65_280


def inflated(folder: Path, content: bytes, size: int = 1000) -> bytes:
    path = folder / "text.gz"
    path.write_bytes(content)
    return b"".join(pieces(path, size))


def member(text: bytes, flags: int = 0, level: int = 6) -> bytes:
    """Return a member with the header fields of `flags`."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + struct.pack("<IBB", 0, 0, 255)
    head += struct.pack("<H", 700) + random.Random(1).randbytes(700) if flags & 4 else b""
    head += b"name.fq\0" if flags & 8 else b""
    head += b"a comment\0" if flags & 16 else b""
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF) if flags & 2 else b""
    deflate = zlib.compressobj(level, wbits=-15)
    return head + deflate.compress(text) + deflate.flush() + struct.pack("<II", zlib.crc32(text), len(text))


def texts() -> list[bytes]:
    generator = random.Random(2)
    letters = "".join(generator.choices("ACGT", k=30_000)).encode()
    return [b"", b"a", letters, bytes(50_000), generator.randbytes(70_000), letters[:999]]


@pytest.mark.parametrize(("block_bytes", "size"), [(1 << 22, 1 << 22), (512, 4096), (700, 100), (500, 10)])
def test_members_of_all_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, size: int) -> None:
    """Header fields, stored blocks, empty members and padding are read, with any sizes of pieces and chunks."""
    monkeypatch.setattr(module, "GZIP_BYTES", block_bytes)
    parts = [member(text, flags, level) for text, (flags, level) in zip(texts(), FORMS, strict=True)]
    content = b"".join(parts[:3]) + bytes(1300) + b"".join(parts[3:]) + bytes(77)
    assert inflated(tmp_path, content, size) == b"".join(texts()) == gzip.decompress(content)


def test_a_cut_file_is_told_at_every_place(tmp_path: Path) -> None:
    content, text = member(b"@r\nACGT\n+\nIIII\n" * 40, 8) + member(b"more", 2), b"@r\nACGT\n+\nIIII\n" * 40 + b"more"
    first = len(member(text[:-4], 8))
    for size in range(2, len(content)):  # one byte is not known to be gzip
        if size == first:
            assert inflated(tmp_path, content[:size]) == text[:-4]
            continue
        with pytest.raises(EOFError):
            inflated(tmp_path, content[:size])


@pytest.mark.parametrize("place", [-1, -5, 100, "garbage"])
def test_damage_is_told(tmp_path: Path, place: int | str) -> None:
    """A wrong size, checksum or bit is found, and so are bytes after the members that are not gzip."""
    content = bytearray(member(texts()[2]))
    if place == "garbage":
        content += b"no gzip at all"
    else:
        content[int(place)] ^= 16
    with pytest.raises((gzip.BadGzipFile, EOFError)):
        inflated(tmp_path, bytes(content))


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    records = [f"@r{i}\n{'ACGT' * 10}\n+\n{'I' * 40}\n".encode() for i in range(3000)]
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(member(b"".join(records[:2000])) + member(b"".join(records[2000:]))[:-9])
    with pytest.raises(InputError, match=r"reads\.fq\.gz: the gzip stream ends too early \(truncated file\)"):
        list(read_batches(path, None, 100))

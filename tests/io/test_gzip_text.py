"""Plain gzip inflated by ISA-L: every byte of every member, and every error."""

import gzip
import io
import random
import struct
import zlib
from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io import gzip_text
from quire.io.fastq import read_batches
from quire.io.gzip_text import GzipText

FORMS = [(0, 6), (2, 1), (4, 9), (8, 6), (16, 0), (30, 6)]  # flags of the header, and zlib's level


def inflated(folder: Path, content: bytes) -> bytes:
    path = folder / "text.gz"
    path.write_bytes(content)
    with GzipText(path) as stream:
        return io.BufferedReader(stream, 1000).read()


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


@pytest.mark.parametrize(("read_bytes", "chunk_bytes"), [(1 << 22, 1 << 22), (1, 4096), (7, 100), (500, 1)])
def test_members_of_all_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_bytes: int, chunk_bytes: int
) -> None:
    """Header fields, stored blocks, empty members and padding are read, with any sizes of pieces and chunks."""
    monkeypatch.setattr(gzip_text, "READ_BYTES", read_bytes)
    monkeypatch.setattr(gzip_text, "CHUNK_BYTES", chunk_bytes)
    every = [text[: 3000 if min(read_bytes, chunk_bytes) < 50 else None] for text in texts()]
    parts = [member(text, flags, level) for text, (flags, level) in zip(every, FORMS, strict=True)]
    content = b"".join(parts[:3]) + bytes(1300) + b"".join(parts[3:]) + bytes(77)
    assert inflated(tmp_path, content) == b"".join(every) == gzip.decompress(content)


def test_a_cut_file_is_told_at_every_place(tmp_path: Path) -> None:
    """The text before the cut is returned first."""
    content, text = member(b"@r\nACGT\n+\nIIII\n" * 40, 8) + member(b"more", 2), b"@r\nACGT\n+\nIIII\n" * 40 + b"more"
    first = len(member(text[:-4], 8))
    for size in range(1, len(content)):
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


def test_batches_before_damage_are_given_and_it_is_one_sentence(tmp_path: Path) -> None:
    """2,000 records in batches of 100 are read before a member that is cut."""
    records = [f"@r{i}\n{'ACGT' * 10}\n+\n{'I' * 40}\n".encode() for i in range(3000)]
    path = tmp_path / "reads.fq.gz"
    path.write_bytes(member(b"".join(records[:2000])) + member(b"".join(records[2000:]))[:-9])
    sizes = []
    with pytest.raises(InputError, match=r"reads\.fq\.gz: the gzip stream ends too early \(truncated file\)"):
        sizes.extend(len(batch) for batch in read_batches(path, None, 100))
    assert sum(sizes) >= 2000


def test_a_reader_that_stops_early_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(member(bytes(100_000_000)))
    stream = GzipText(path)
    assert len(stream.read(10)) == 10
    stream.close()
    assert stream.closed
    assert stream._file.closed

"""The text of bgzip files equals that of gzip, with the same errors after it."""

import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pysam
import pytest
from quire.io import bgzf_text
from quire.io.bgzf_text import BgzfText

CLOSING_BLOCK = 28  # bytes


@pytest.fixture
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stretches hold few blocks, so that files have many."""
    monkeypatch.setattr(bgzf_text, "STRETCH_BYTES", 100_000)


def text(size: int) -> bytes:
    return random.Random(size).randbytes(size // 2).hex().encode()


def bgzip(path: Path, content: bytes) -> bytes:
    with pysam.BGZFile(str(path), "w") as stream:
        stream.write(content)
    return path.read_bytes()


def pieces(path: Path, size: int) -> Iterator[bytes]:
    buffer = bytearray(size)
    with BgzfText(path, threads=3) as stream:
        while count := stream.readinto(buffer):
            yield bytes(buffer[:count])


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

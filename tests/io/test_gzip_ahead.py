"""Plain gzip inflated by several threads: the text of zlib for every compressor, and every error of one thread."""

import gzip
import random
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from isal import igzip
from isal.igzip_lib import IsalError
from quire.errors import InputError
from quire.io import gzip_ahead
from quire.io.bytes_read import CountedFile
from quire.io.deflate_cpu import (
    ENDED,
    FILE_END,
    IN_TAIL,
    NO_BLOCK,
    PADDING,
    UNKNOWN,
    WINDOW,
    Inflater,
    closing_tail,
    find_block,
    resolve,
)
from quire.io.fastq import read_batches
from quire.io.gzip_ahead import Unsuited, inflate_gzip
from quire.io.text_chunks import text_chunks


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make files of a megabyte have many stretches."""
    monkeypatch.setattr(gzip_ahead, "STRETCH_BYTES", 20_000)


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    """Return the threads that inflate."""
    with ThreadPoolExecutor(2) as executor:
        yield executor


def reads(count: int) -> bytes:
    """Return FASTQ whose names and qualities repeat, as those of sequencers."""
    drawn = random.Random(count)
    return b"".join(
        b"@A00:%d:1101:%d/1\n%b\n+\n%b\n"
        % (read, drawn.randrange(9999), bytes(drawn.choices(b"ACGT", k=100)), bytes(drawn.choices(b"F:,#", k=100)))
        for read in range(count)
    )


TEXT = reads(5000)


def packed(text: bytes, level: int = 6, memory: int = 8, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    packer = zlib.compressobj(level, zlib.DEFLATED, 31, memory, strategy)
    return packer.compress(text) + packer.flush()


def in_parallel(path: Path, content: bytes, pool: Executor) -> bytes:
    path.write_bytes(content)
    with CountedFile(path) as file:
        return b"".join(text.tobytes() for text in inflate_gzip(file, pool, 4))


@pytest.mark.parametrize("level", range(1, 10))
@pytest.mark.parametrize("memory", [1, 4, 8])
def test_text_is_that_of_zlib(tmp_path: Path, pool: Executor, level: int, memory: int) -> None:
    """Blocks of 128 codes have many headers; those of 16,384 have few."""
    assert in_parallel(tmp_path / "a.gz", packed(TEXT, level, memory), pool) == TEXT


@pytest.mark.parametrize("program", ["gzip", "pigz", "libdeflate-gzip"])
def test_files_of_other_programs(tmp_path: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Pigz ends each 128 KiB with an empty stored block; libdeflate has blocks of up to 300,000 bytes of text."""
    monkeypatch.setattr(gzip_ahead, "STRETCH_BYTES", 100_000)
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([program, "-c"], input=TEXT, capture_output=True, check=True)
    assert in_parallel(tmp_path / "a.gz", done.stdout, pool) == TEXT


@pytest.mark.parametrize("level", [1, 2, 3])
def test_files_of_igzip(tmp_path: Path, pool: Executor, monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    monkeypatch.setattr(gzip_ahead, "STRETCH_BYTES", 100_000)
    assert in_parallel(tmp_path / "a.gz", igzip.compress(TEXT, level), pool) == TEXT


def test_members_with_names(tmp_path: Path, pool: Executor) -> None:
    """Members begin and end at any place of a stretch; some are empty, some stored, and some have header fields."""
    fields = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\3\0abcname\0a comment\0\0\0"
    parts = [reads(count) for count in (1, 700, 0, 3000, 2, 90)]
    members = [fields + packed(part, 1 + part.count(b"\n") % 9)[10:] for part in parts]
    content = b"".join(members) + gzip.compress(b"stored", 0)
    assert in_parallel(tmp_path / "a.gz", content, pool) == b"".join(parts) + b"stored" == gzip.decompress(content)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(packed(TEXT, strategy=zlib.Z_FIXED), id="fixed codes only"),
        pytest.param(gzip.compress(TEXT, 0), id="stored blocks only"),
        pytest.param(packed(bytes(50_000_000)), id="32 times as much text"),
        pytest.param(igzip.compress(TEXT * 20, 0), id="one block"),
        pytest.param(packed(TEXT) + b"no gzip", id="garbage behind"),
        pytest.param(packed(TEXT)[:-1], id="cut in the trailer"),
        pytest.param(packed(TEXT)[:-9], id="cut in a block"),
        pytest.param(packed(TEXT, 1, 1)[:300_001], id="cut in the middle"),
        pytest.param(packed(TEXT)[:-8] + bytes(8), id="wrong checksum"),
        pytest.param(b"\x1f\x8b\x08\x08\0\0\0\0\0\0name", id="cut in the header"),
    ],
)
def test_other_files_go_to_one_thread(tmp_path: Path, pool: Executor, content: bytes) -> None:
    """`text_chunks` then yields what one thread yields, or raises its error behind the same text."""
    with pytest.raises(Unsuited):
        in_parallel(tmp_path / "a.gz", content, pool)

    def outcome(threads: int) -> tuple[bytes, str]:
        parts, failure = [], ""
        try:
            parts.extend(text.tobytes() for text in text_chunks(tmp_path / "a.gz", 9999, threads))
        except (OSError, EOFError, IsalError) as error:
            failure = str(error)
        return b"".join(parts), failure

    alone, together = outcome(1), outcome(2)
    assert together[1] == alone[1]
    # One thread yields what it has before an error of its next 4 MB.
    assert together[0].startswith(alone[0])
    assert alone[1] or together[0] == alone[0]


@pytest.mark.parametrize("spoil", ["nothing", "cut", "bit", "fewer", "none", "fasta", "garbage"])
def test_reads_and_errors_are_those_of_one_thread(tmp_path: Path, spoil: str) -> None:
    """A user is told the same sentence, whatever the number of threads."""
    content, lines = packed(TEXT), TEXT.splitlines()
    lines[1::4] = [bases[::-1] for bases in lines[1::4]]
    spoiled = {
        "nothing": content,
        "cut": content[:-1000],
        "bit": content[:250_000] + bytes([content[250_000] ^ 8]) + content[250_001:],
        "fewer": packed(b"\n".join(TEXT.splitlines()[:16_000])),
        "none": packed(b""),
        "fasta": packed(b">x\nACGT\n" * 99_999),
        "garbage": content + b"xyz",
    }[spoil]
    (tmp_path / "1.fq.gz").write_bytes(packed(b"\n".join(lines)))
    (tmp_path / "2.fq.gz").write_bytes(spoiled)

    def outcome(threads: int) -> int | str:
        pairs = read_batches(tmp_path / "1.fq.gz", tmp_path / "2.fq.gz", 1000, gzip_threads=threads)
        try:
            return sum(len(batch.mate1) for batch in pairs)
        except InputError as error:
            return str(error)

    alone = outcome(1)
    assert (alone == 5000) == (spoil == "nothing")
    assert outcome(4) == alone


def test_each_damaged_bit_is_told(tmp_path: Path) -> None:
    """No damage gives another text without an error."""
    content = packed(TEXT, 6, 4)
    drawn = random.Random(5)
    for _ in range(60):
        damaged = bytearray(content)
        damaged[drawn.randrange(10, len(content))] ^= 1 << drawn.randrange(8)
        (tmp_path / "a.gz").write_bytes(damaged)
        with pytest.raises((OSError, EOFError, IsalError)):
            list(text_chunks(tmp_path / "a.gz", 1 << 20, 2))


def test_every_block_is_found() -> None:
    """The blocks are those at which zlib starts a new one, told by inflating up to each bit."""
    text = TEXT[:60_000]
    raw = packed(text, 6, 2)[10:-8]
    data = np.frombuffer(raw + bytes(PADDING), np.uint8)
    found, place = [], -1
    while (place := find_block(data, place + 1, 8 * len(raw))) != NO_BLOCK:
        found.append(place)
    assert len(found) > 20
    spans = zip([0, *found[1:]], found[1:], strict=False)
    parts = [Inflater().inflate(data, (first, last // 8), closing_tail(data, last)) for first, last in spans]
    assert all(part.end == IN_TAIL for part in parts)
    # From the last block found on, which is the last but one of all, there are no more than two.
    rest = Inflater().inflate(data, (found[-1], len(raw)), FILE_END)
    assert (rest.status, rest.end) == (ENDED, len(raw))
    assert sum(len(part.text) for part in [*parts, rest]) == len(text)


def test_unknown_bytes_are_filled_in() -> None:
    """Two inflations after unknown texts, resolved, are the inflation after the known text."""
    pairs = set(map(tuple, UNKNOWN.T.tolist()))
    assert len(pairs) == WINDOW
    assert all(one != two for one, two in pairs)
    before, text = TEXT[:WINDOW], TEXT[WINDOW : 3 * WINDOW]
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=before)
    raw = packer.compress(text) + packer.flush()
    data = np.frombuffer(raw + bytes(PADDING), np.uint8)
    window = np.frombuffer(before, np.uint8)
    whole = 0, len(raw)
    first, second = (Inflater().inflate(data, whole, FILE_END, unknown).text for unknown in UNKNOWN)
    assert (first != second).sum() > 1000
    assert resolve(first, second, window).tobytes() == text
    assert Inflater().inflate(data, whole, FILE_END, window).text.tobytes() == text

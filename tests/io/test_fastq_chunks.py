"""FASTQ read in chunks of any size: the same batches and messages."""

import gzip
import random
import re
from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io.fastq import one_file

from tests.support.builders import random_read, write_fastq

ALPHABETS = ("ACGT", "ACGT", "ACGTN", "acgtACGT", "ACGTURYSWKMBDHVN.acgtn")


def random_text(generator: random.Random) -> bytes:
    """Draw records of many dialects, some wrapped, with or without one error."""
    text = "".join(random_record(generator) for _ in range(generator.choice([0, 1, 2, 5, 40, 120]))).encode("latin1")
    if text and generator.random() < 0.4:
        place, data = generator.randrange(len(text)), bytearray(text)
        how = generator.randrange(4)
        if how == 0:
            data[place] = generator.choice([0, 9, 10, 13, 32, 43, 64, 127, 128, 255])
        elif how == 1:
            del data[place : place + generator.choice([1, 100])]
        elif how == 2:
            data[place:place] = generator.choice([b"\n", b"\r\n", b"\n\n", b"@", b"+", b"\xff" * 9])
        else:
            del data[place:]
        text = bytes(data)
    return (
        text.rstrip(b"\n")
        if generator.random() < 0.2
        else text + generator.choice([b"", b"", b"\n\n", b"\r\n", b" \n"])
    )


def random_record(generator: random.Random) -> str:
    length = generator.choice([0, 1, 7, 8, 9, 16, 100, 100, 100, 250])
    bases = "".join(generator.choices(generator.choice(ALPHABETS), k=length))
    qualities = "".join(chr(generator.randint(33, 126)) for _ in range(length))
    name = "".join(generator.choices("abcXYZ019:_", k=generator.choice([1, 7, 8, 9, 20, 254, 255])))
    title = name + generator.choice(["", "", "/1", " 1:N:0", "\tx"])
    end = "\r\n" if generator.random() < 0.1 else "\n"
    if length > 1 and generator.random() < 0.02:
        cut = generator.randrange(1, length)
        bases, qualities = (end.join([line[:cut], line[cut:]]) for line in (bases, qualities))
    return f"@{title}{end}{bases}{end}+{generator.choice(['', '', name, title])}{end}{qualities}{end}"


def parsed(path: Path, wanted: int, chunk: int) -> list[tuple]:
    """Return the batches of a file, and the message if it is refused."""
    found: list[tuple] = []
    try:
        for batch in one_file.file_batches(path, wanted, 200, chunk):
            arrays = (batch.names, batch.name_offsets, batch.bases, batch.qualities, batch.offsets)
            found.append((batch.first_ordinal, *(array.tolist() for array in arrays)))
    except InputError as error:
        # The quoted part of a wrong line depends on where chunks end.
        found.append((re.sub(r"starts with .* where", "starts with this where", str(error), flags=re.DOTALL),))
    return found


@pytest.mark.parametrize("seed", range(150))
def test_chunks_change_nothing(seed: int, tmp_path: Path) -> None:
    generator = random.Random(seed)
    text = random_text(generator)
    path = tmp_path / "x.fq"
    path.write_bytes(text)
    kind = generator.choice(["plain", "gzip", "truncated"])
    if kind != "plain":
        data = gzip.compress(text)
        path.write_bytes(data if kind == "gzip" else data[: generator.randint(1, len(data))])
    wanted = generator.choice([1, 3, 16, 1000])
    chunks = [1000, 1 << 16] if kind == "truncated" else [1, 64, 1000, 1 << 16]
    first, *others = [parsed(path, wanted, chunk) for chunk in chunks]
    assert all(found == first for found in others)


def test_an_error_after_other_batches(tmp_path: Path) -> None:
    """The batches before the wrong record are returned, and the message names it."""
    generator = random.Random(4)
    reads = [random_read(generator, f"r{i}", 60) for i in range(400)]
    path = write_fastq(tmp_path / "x.fq", reads)
    lines = path.read_bytes().split(b"\n")
    lines[4 * 333 + 1] = b"!" + lines[4 * 333 + 1][1:]
    path.write_bytes(b"\n".join(lines))
    found = parsed(path, 50, 1000)
    assert [batch[0] for batch in found[:-1]] == [0, 50, 100, 150, 200, 250]
    assert f"{path}: record 334 (r333) has '!' in its sequence" in found[-1][0]

"""The FASTQ reader against a slow reader, for every dialect, length, chunk boundary and batch size."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quire.io.fastq import read_batches
from quire.reads import PairBatch, ReadBatch

from tests.support.builders import Read, fastq_text, random_read, read_batch, write_fastq, write_text
from tests.support.examples import examples
from tests.support.ragged import unpack_bytes

MALFORMED = Path(__file__).parents[1] / "data" / "malformed" / "biopython_fastq"
GOOD = sorted(p.name for p in MALFORMED.glob("*.fastq*") if not p.name.startswith("error_"))


def slow_reader(path: Path) -> Iterator[Read]:
    """Yield the records of a plain FASTQ file, read line by line (the oracle)."""
    lines = path.read_bytes().decode().replace("\r\n", "\n").removesuffix("\n").split("\n")
    i = 0
    while i < len(lines):
        title, i = lines[i], i + 1
        assert title[0] == "@"
        bases = qualities = ""
        while not lines[i].startswith("+"):
            bases, i = bases + lines[i], i + 1
        i += 1
        while len(qualities) < len(bases) or (not bases and i < len(lines) and not lines[i]):
            qualities, i = qualities + lines[i], i + 1
        assert len(bases) == len(qualities)
        yield Read(title[1:], bases, qualities)


def joined(batches: list[ReadBatch]) -> ReadBatch:
    """Check that ordinals are consecutive, and concatenate the batches."""
    ordinal = 0
    for batch in batches:
        assert batch.first_ordinal == ordinal
        ordinal += len(batch)
    names = [name for batch in batches for name in unpack_bytes(batch.names, batch.name_offsets)]
    bases = [read for batch in batches for read in unpack_bytes(batch.bases, batch.offsets)]
    qualities = [read for batch in batches for read in unpack_bytes(batch.qualities, batch.offsets)]
    flat = [np.frombuffer(b"".join(items), np.uint8) for items in (names, bases, qualities)]
    ends = [np.cumsum([0, *map(len, items)]) for items in (names, bases)]
    return ReadBatch(flat[0], ends[0], flat[1], flat[2], ends[1], 0)


def assert_same(actual: ReadBatch, expected: ReadBatch) -> None:
    """Assert that all arrays are equal."""
    for field in ("name_offsets", "names", "offsets", "bases", "qualities"):
        np.testing.assert_array_equal(getattr(actual, field), getattr(expected, field), err_msg=field)


def mate1(batches: Iterator[PairBatch]) -> ReadBatch:
    """Return all reads of the first file."""
    return joined([batch.mate1 for batch in batches])


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("chunk_bytes", [37, 4096])
def test_good_dialects(name: str, chunk_bytes: int) -> None:
    plain = MALFORMED / name.removesuffix(".gz").removesuffix(".bgz")
    expected = list(slow_reader(plain))
    actual = mate1(read_batches(MALFORMED / name, None, 2, maximum_length=5000, chunk_bytes=chunk_bytes))
    assert_same(actual, read_batch(expected))
    if name not in ("zero_length.fastq", "tricky.fastq"):  # htslib's reader is a second witness
        with pysam.FastxFile(str(MALFORMED / name)) as stream:
            assert [(r.name, r.sequence, r.quality) for r in stream] == [
                (read.name.split()[0], read.bases, read.qualities) for read in expected
            ]


reads_strategy = st.lists(
    st.tuples(
        st.text("abXYZ:_-0129./", min_size=1, max_size=12),
        st.sampled_from(["", " comment 1:N:0", "\tx", "/1", "/2 y", "/1\tz"]),
        st.one_of(st.integers(0, 40), st.just(20)).flatmap(
            lambda n: st.tuples(
                st.text("ACGTacgtNn.RU", min_size=n, max_size=n),
                st.text("!+@IJ~5", min_size=n, max_size=n),
            )
        ),
    ),
    min_size=1,
    max_size=8,
)


@given(
    drawn=reads_strategy,
    line_end=st.sampled_from(["\n", "\r\n"]),
    repeat_name=st.booleans(),
    width=st.sampled_from([0, 0, 7, 13]),
    ending=st.sampled_from(["whole", "no last newline", "blank lines"]),
    chunk_bytes=st.integers(1, 80),
    reads_per_batch=st.integers(1, 9),
)
@settings(max_examples=examples(200), deadline=None)
def test_any_reads(tmp_path_factory, drawn, line_end, repeat_name, width, ending, chunk_bytes, reads_per_batch) -> None:
    reads = [Read(name + comment, bases, qualities) for name, comment, (bases, qualities) in drawn]
    text = fastq_text(reads, line_end, repeat_name, width)
    if ending == "no last newline" and reads[-1].bases:
        text = text.removesuffix(line_end)
    elif ending == "blank lines":
        text += 3 * line_end
    path = write_text(tmp_path_factory.mktemp("fastq") / "x.fq", text)
    batches = [batch.mate1 for batch in read_batches(path, None, reads_per_batch, chunk_bytes=chunk_bytes)]
    assert [len(batch) for batch in batches[:-1]] == [reads_per_batch] * (len(batches) - 1)
    assert_same(joined(batches), read_batch(reads))


@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzip"])
def test_pairs_of_mixed_length(tmp_path: Path, compression: str) -> None:
    generator = random.Random(7)
    first = [random_read(generator, f"r{i}/1 x", generator.randrange(20, 1024), "ACGTN") for i in range(500)]
    second = [random_read(generator, f"r{i}/2 y", generator.randrange(20, 1024), "acgtn") for i in range(500)]
    fq1 = write_fastq(tmp_path / "1.fq", first, compression)
    fq2 = write_fastq(tmp_path / "2.fq", second, compression, line_end="\r\n")
    batches = list(read_batches(fq1, fq2, 64))
    assert [len(batch) for batch in batches] == [64] * 7 + [52]
    assert_same(joined([batch.mate1 for batch in batches]), read_batch(first))
    assert_same(joined([batch.mate2 for batch in batches]), read_batch(second))
    assert batches[3].mate1.name(1) == "r193"


def test_gzip_of_several_members(tmp_path: Path) -> None:
    generator = random.Random(8)
    reads = [random_read(generator, f"r{i}", 50) for i in range(20)]
    parts = [write_fastq(tmp_path / f"{i}.gz", reads[i : i + 10], "gzip").read_bytes() for i in (0, 10)]
    assert_same(mate1(read_batches(write_text(tmp_path / "both.gz", b"".join(parts)), None, 7)), read_batch(reads))


def test_longest_read_and_name(tmp_path: Path) -> None:
    generator = random.Random(9)
    reads = [random_read(generator, "n" * 254, 1024), random_read(generator, "m" * 254 + "/2", 20)]
    assert_same(mate1(read_batches(write_fastq(tmp_path / "x.fq", reads), None, 7)), read_batch(reads))

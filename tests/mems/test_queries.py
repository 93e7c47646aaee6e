"""Check the parser of queries: pieces of text that end anywhere, and errors of one sentence."""

import gzip
import random

import numpy as np
import pytest
from quire.algorithms.mems import Queries
from quire.errors import InputError
from quire.mems import queries_cpu
from quire.mems.queries_cpu import read_queries, turned

from tests.support.mems_text import codes_of

PLAIN = ">one comment\nACGTN\nacgun\n\n>two\tx\r\nRYAC GT\r\n>two\n>four >x>y\nA\n"
PARSED = [("one", "ACGTNACGTN"), ("two", "NNACGT"), ("two", ""), ("four", "A")]


def parsed(batches) -> list[tuple[str, list[int]]]:
    """Return (name, codes) of each query."""
    found = []
    for batch in batches:
        assert batch.queries.offsets[0] == batch.name_offsets[0] == 0
        for i in range(len(batch)):
            name = batch.names[batch.name_offsets[i] : batch.name_offsets[i + 1]].tobytes().decode()
            found.append((name, batch.queries.codes[batch.queries.offsets[i] : batch.queries.offsets[i + 1]].tolist()))
    return found


@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("batch_bases", [1, 8, 1000])
def test_records_of_fasta(tmp_path, chunk_bytes, batch_bases, monkeypatch):
    """Records are wrapped, have blanks and carriage returns, are empty or share a name, for any size of pieces."""
    path = tmp_path / "queries.fa"
    path.write_bytes(PLAIN.encode())
    wanted = [(name, codes_of(letters).tolist()) for name, letters in PARSED]
    monkeypatch.setattr(queries_cpu, "BATCH_BASES", batch_bases)
    monkeypatch.setattr(queries_cpu, "CHUNK_BYTES", chunk_bytes)
    assert parsed(read_queries(path)) == wanted
    path.write_bytes(gzip.compress(b"\n" + PLAIN.rstrip().encode()))
    assert parsed(read_queries(path)) == wanted


def test_batches_end_with_queries(tmp_path, monkeypatch):
    """Batches have about the requested number of bases."""
    rng = random.Random(1)
    records = [(f"r{i}", "".join(rng.choices("ACGT", k=rng.randrange(60)))) for i in range(200)]
    path = tmp_path / "queries.fa"
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in records))
    monkeypatch.setattr(queries_cpu, "BATCH_BASES", 500)
    monkeypatch.setattr(queries_cpu, "CHUNK_BYTES", 64)
    batches = list(read_queries(path))
    assert parsed(batches) == [(name, codes_of(letters).tolist()) for name, letters in records]
    assert len(batches) > 5
    fastq = tmp_path / "queries.fq"
    fastq.write_text("".join(f"@{name}\n{letters}\n+\n{'I' * len(letters)}\n" for name, letters in records))
    assert parsed(read_queries(fastq)) == parsed(batches)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "contains no sequence"),
        (b"\n\n", "contains no sequence"),
        (b">one\n>two\n\n", "contains no bases, only names"),
        (b"ACGT\n", "is neither FASTA nor FASTQ"),
        (b"BAM\1", "is a BAM file; give FASTA or FASTQ"),
        (b">one\nACGT\n> two\nACGT\n", "line 3: a record has no name"),
        (b">one\nACGT\n>\nACGT\n", "line 3: a record has no name"),
        (b">one\nACGT\n>", "line 3: a record has no name"),
        (b">one\nACGT\n>two x\nACGT\nACMKLVF\n", r"line 5: the record 'two' \(2\) looks like protein: 'L'"),
        (b">one\nAC-GT\n", r"line 2: the record 'one' \(1\) is not a nucleotide sequence: '-'"),
        (b">one\nMKVHDSSARGMKVHDSSARGMKVWDSSARG\n>two\nACGT\n", "'one' .1. looks like protein .most of its letters"),
        (b"@one\nACGT\n+\nIII\n", "record 1 .one. is incomplete"),
        (b"BZh9", "is compressed with bzip2; give FASTA or FASTQ"),
    ],
)
def test_what_is_wrong(tmp_path, content, words):
    path = tmp_path / "queries"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as error:
        list(read_queries(path))
    assert str(error.value).startswith(str(path))


def test_damaged_files(tmp_path):
    whole = gzip.compress(b">one\n" + b"ACGTTGCA" * 500)
    for name, content, words in (
        ("cut", whole[:-9], "ends too early"),
        ("flipped", whole[:20] + bytes([whole[20] ^ 255]) + whole[21:], "is damaged|ends too early"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=words):
            list(read_queries(path))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_queries(tmp_path / "missing"))


def test_reverse_complements():
    """Each query is reversed separately."""
    queries = Queries(codes_of("AACGNTTTG"), np.array([0, 5, 5, 9]))
    back = turned(queries)
    assert back.codes.tolist() == codes_of("NCGTTCAAA").tolist()
    assert back.offsets.tolist() == queries.offsets.tolist()

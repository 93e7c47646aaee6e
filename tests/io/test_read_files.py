"""Files of a unit that may hold no reads."""

import gzip
from pathlib import Path

import pytest
from quire.errors import InputError
from quire.io.bam.reads_cpu import RecordCounts
from quire.io.read_files import ReadFiles

READ, MATE = b"@r\nACGT\n+\nIIII\n", b"@r\nCCGT\n+\nIIII\n"


def names(tmp_path: Path, fq1: list[bytes], fq2: list[bytes], **given: bool) -> list[str]:
    """Return the names of the reads of a unit whose gzip files have these texts."""
    files: dict[str, list[Path]] = {"fq1": [], "fq2": []}
    for column, texts in (("fq1", fq1), ("fq2", fq2)):
        for number, text in enumerate(texts):
            files[column].append(tmp_path / f"{column}.{number}.gz")
            files[column][-1].write_bytes(gzip.compress(text))
    batches = ReadFiles(**files, **given).batches(10, RecordCounts(), None, tmp_path, 1)
    return [pair.mate1.name(read) for pair in batches for read in range(len(pair.mate1))]


def test_files_without_reads(tmp_path: Path) -> None:
    """Files without reads add none, beside files with reads or alone."""
    assert names(tmp_path, [b"", READ, b"\n"], [], may_be_empty=True) == ["r"]
    assert names(tmp_path, [b"", READ], [b"", MATE], may_be_empty=True) == ["r"]
    assert names(tmp_path, [b""], [b""], may_be_empty=True) == []
    with pytest.raises(InputError, match="holds no reads"):
        names(tmp_path, [b""], [b""])


@pytest.mark.parametrize(("first", "second"), [(b"", READ), (READ, b"")])
def test_mates_of_nothing(first: bytes, second: bytes, tmp_path: Path) -> None:
    """A file without reads is no mate of a file with reads."""
    with pytest.raises(InputError, match="holds no reads"):
        names(tmp_path, [first], [second], may_be_empty=True)


def test_no_fastq_is_not_empty(tmp_path: Path) -> None:
    """Text that is no FASTQ is refused as elsewhere."""
    with pytest.raises(InputError, match="this is not FASTQ but a FASTA file"):
        names(tmp_path, [b">r\nACGT\n"], [], may_be_empty=True)

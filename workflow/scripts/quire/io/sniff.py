"""Checks that the first bytes of inputs are those of the configured file type.

All magic numbers of file types are defined here. These checks are fast enough for thousands of files while Snakemake
parses the workflow; the stages check every record.
"""

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from quire.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
BAM_MAGIC = b"BAM\x01"  # first bytes of the uncompressed content
CRAM_MAGIC = b"CRAM"
# The first bytes of each bgzip block, up to its size: a gzip header with an extra field "BC" of two bytes, without time
# and operating system (SAM specification, section 4.1).
BGZF_HEADER = bytes.fromhex("1f8b08040000000000ff060042430200")
_BGZF_EXTRA = slice(12, 16)  # the extra field's name and length
_SNIFFED_BYTES = 64
_GFF3_COLUMNS = 9


class FileType(NamedTuple):
    """A file type that users easily give by mistake.

    Attributes:
        magic: first bytes of its files.
        description: phrase that completes "this is ...".
        remedy: advice to the user.
    """

    magic: bytes
    description: str
    remedy: str


_COMPRESS = "compress it with gzip or bgzip instead"
_CONVERT = "name it in the column bam of the sheet of units, or convert it with `samtools fastq`"
COMPRESSIONS = (
    FileType(b"BZh", "compressed with bzip2", _COMPRESS),
    FileType(b"\xfd7zXZ", "compressed with xz", _COMPRESS),
    FileType(b"\x28\xb5\x2f\xfd", "compressed with zstd", _COMPRESS),
    FileType(b"PK\x03\x04", "a zip archive", _COMPRESS),
)
"""Compressions that Quire does not read."""
FORMATS = (
    FileType(BAM_MAGIC, "a BAM file", _CONVERT),
    FileType(CRAM_MAGIC, "a CRAM file", _CONVERT),
    FileType(b"NCBI.sra", "an SRA file", "convert it with `fasterq-dump`"),
    FileType(b">", "a FASTA file", "FASTQ with qualities is needed here"),
)
"""Sequence formats that are not FASTQ."""
LONGEST_MAGIC = max(len(GZIP_MAGIC), *(len(known.magic) for known in (*COMPRESSIONS, *FORMATS)))


def file_type(start: bytes, known: Iterable[FileType] = (*COMPRESSIONS, *FORMATS)) -> FileType | None:
    """Return the known type of a file that begins with these bytes (at least LONGEST_MAGIC), or None."""
    return next((kind for kind in known if start.startswith(kind.magic)), None)


def require_fastq(path: str, what: str) -> None:
    """Raise InputError unless the file starts as a FASTQ, plain, gzip or bgzip; `what` names it in the message."""
    start = _first_bytes(path, what)
    other = file_type(start)
    if other is not None:
        raise InputError(f"{what}: {path} is {other.description}, not a FASTQ; {other.remedy}.")
    if not start:
        raise InputError(
            f"{what}: {path} holds no reads; leave its line out of the sheet, or say yes in a column may_be_empty, as "
            "for a negative control."
        )
    if not start.startswith(b"@"):
        raise InputError(f"{what}: {path} is not a FASTQ: it starts with {_show(start)} and not with '@'.")


def require_fasta(path: str, what: str, random_access: bool) -> None:
    """Raise InputError unless the file starts as a FASTA, plain, gzip or bgzip; random access excludes plain gzip."""
    start = _first_bytes(path, what)
    if not start.startswith(b">"):
        raise InputError(f"{what}: {path} is not a FASTA: it starts with {_show(start)} and not with '>'.")
    if random_access and is_gzip(path) and not is_bgzip(path):
        raise InputError(
            f"{what}: {path} is plain gzip, which CRAM cannot use; "
            "decompress it or compress it with bgzip, or set align.format to bam."
        )


def require_sequences(path: str, what: str) -> None:
    """Raise InputError unless the file starts as a FASTA or a FASTQ, plain, gzip or bgzip."""
    start = _first_bytes(path, what)
    if not start:
        raise InputError(f"{what}: {path} holds no sequences.")
    if not start.startswith((b">", b"@")):
        raise InputError(
            f"{what}: {path} is neither a FASTA nor a FASTQ: it starts with {_show(start)} and not with '>' or '@'."
        )


def require_variants(path: str, what: str) -> None:
    """Raise InputError unless the file starts as a VCF, plain, gzip or bgzip."""
    start = _first_bytes(path, what)
    if not start.startswith(b"##fileformat=VCF"):
        raise InputError(f"{what}: {path} is not a VCF: it starts with {_show(start)} and not with '##fileformat=VCF'.")


def require_features(path: str, what: str) -> None:
    """Raise InputError unless the file, plain, gzip or bgzip, has the columns of a GFF3 in its first line of data."""
    _first_bytes(path, what)
    try:
        with gzip.open(path, "rb") if is_gzip(path) else open(path, "rb") as stream:
            line = next((line for line in stream if line.strip() and not line.startswith(b"#")), b"")
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{what}: {path} is a damaged gzip file ({error}); copy or download it again.") from None
    columns = len(line.split(b"\t")) if line else 0
    if columns != _GFF3_COLUMNS:
        raise InputError(
            f"{what}: {path} is not a GFF3: its first line of data has {columns} columns "
            f"between tabs and not {_GFF3_COLUMNS}; give the genes as Ensembl writes them."
        )


def require_alignments(path: str, what: str) -> None:
    """Raise InputError unless the file starts as a BAM or a CRAM."""
    if is_cram(path):
        return
    start = _first_bytes(path, what)
    if not start.startswith(BAM_MAGIC):
        hint = "; make a BAM of SAM text with `samtools view -b`" if start.startswith(b"@") else ""
        raise InputError(f"{what}: {path} is neither a BAM nor a CRAM file: it starts with {_show(start)}{hint}.")


def holds_nothing(path: str | Path) -> bool:
    """Return True if a text file, plain, gzip or bgzip, holds nothing but empty lines at its beginning."""
    return not _first_bytes(str(path), "reads")


def is_cram(path: str | Path) -> bool:
    """Return True if the file starts as a CRAM file."""
    return _raw_bytes(path).startswith(CRAM_MAGIC)


def is_gzip(path: str | Path) -> bool:
    """Return True if the file starts as gzip, which includes bgzip."""
    return _raw_bytes(path).startswith(GZIP_MAGIC)


def is_bgzip(path: str | Path) -> bool:
    """Return True if the file starts with a bgzip block."""
    start = _raw_bytes(path)
    return start[:4] == BGZF_HEADER[:4] and start[_BGZF_EXTRA] == BGZF_HEADER[_BGZF_EXTRA]


def _raw_bytes(path: str | Path) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(_SNIFFED_BYTES)


def _first_bytes(path: str, what: str) -> bytes:
    """Return the first decompressed bytes after a byte order mark and empty lines."""
    start = _raw_bytes(path)
    other = file_type(start, COMPRESSIONS)
    if other is not None:
        raise InputError(f"{what}: {path} is {other.description}; {other.remedy}.")
    if start.startswith(GZIP_MAGIC):
        try:
            with gzip.open(path, "rb") as stream:
                start = stream.read(_SNIFFED_BYTES)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{what}: {path} is a damaged gzip file ({error}); copy or download it again.") from None
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")


def _show(start: bytes) -> str:
    return repr(start[:12].split(b"\n")[0].decode("ascii", "replace"))

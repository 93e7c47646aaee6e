"""A look at the first bytes of an input: is the file what the configuration says it is?

Cheap enough for thousands of files while Snakemake parses the workflow; the stages themselves check every record.
"""

import gzip
import zlib

from quire.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
# The extra field "BC" of length 2 that bgzip writes in the header of each block (SAM specification, section 4.1).
BGZIP_EXTRA = b"BC\x02\x00"
FOREIGN = {
    b"CRAM": "CRAM",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"NCBI.sra": "SRA",
}
PEEK_BYTES = 64


def require_fastq(path: str, what: str) -> None:
    """Raise InputError unless the file starts as a FASTQ, plain, gzip or bgzip."""
    start = _first_bytes(path, what)
    if start.startswith(b"BAM\x01"):
        raise InputError(f"{what}: {path} is a BAM, not a FASTQ; convert it with samtools fastq.")
    if start.startswith(b">"):
        raise InputError(f"{what}: {path} is a FASTA, not a FASTQ; reads need qualities.")
    if not start:
        raise InputError(f"{what}: {path} holds no reads.")
    if not start.startswith(b"@"):
        raise InputError(f"{what}: {path} is not a FASTQ: it starts with {_show(start)} and not with '@'.")


def require_fasta(path: str, what: str, random_access: bool) -> None:
    """Raise InputError unless the file starts as a FASTA, plain, gzip or bgzip (no plain gzip for random access)."""
    start = _first_bytes(path, what)
    if not start.startswith(b">"):
        raise InputError(f"{what}: {path} is not a FASTA: it starts with {_show(start)} and not with '>'.")
    if random_access and _raw_bytes(path).startswith(GZIP_MAGIC) and not is_bgzip(path):
        raise InputError(
            f"{what}: {path} is plain gzip, which CRAM cannot use; "
            "decompress it or compress it with bgzip, or set align.format to bam."
        )


def require_variants(path: str, what: str) -> None:
    """Raise InputError unless the file starts as a VCF."""
    start = _first_bytes(path, what)
    if not start.startswith(b"##fileformat=VCF"):
        raise InputError(f"{what}: {path} is not a VCF: it starts with {_show(start)} and not with '##fileformat=VCF'.")


def is_bgzip(path: str) -> bool:
    """Whether a gzip file is made of bgzip blocks."""
    return BGZIP_EXTRA in _raw_bytes(path)[:PEEK_BYTES]


def _raw_bytes(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read(PEEK_BYTES)


def _first_bytes(path: str, what: str) -> bytes:
    """The first decompressed bytes after empty lines and a byte order mark."""
    start = _raw_bytes(path)
    for magic, name in FOREIGN.items():
        if start.startswith(magic):
            raise InputError(f"{what}: {path} is {name}-compressed or a {name} file; use plain text, gzip or bgzip.")
    if start.startswith(GZIP_MAGIC):
        try:
            with gzip.open(path, "rb") as stream:
                start = stream.read(PEEK_BYTES)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"{what}: {path} is a damaged gzip file ({error}); copy or download it again.") from None
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")


def _show(start: bytes) -> str:
    return repr(start[:12].split(b"\n")[0].decode("ascii", "replace"))

"""Indexed FASTA files, which htslib needs for CRAM, without writing to the user's folders."""

import shutil
from pathlib import Path

import pysam
from pysam.utils import SamtoolsError

from quire.errors import InputError
from quire.io.files import open_input, read_errors
from quire.io.sniff import is_bgzip, is_gzip


def indexed_fasta(fasta: str | Path, scratch: Path) -> Path:
    """Return a FASTA with .fai beside it: `fasta` itself, or a link or decompressed copy in `scratch`.

    Raises:
        InputError: the file cannot be indexed.
    """
    fasta = Path(fasta)
    has_index = fasta.with_name(fasta.name + ".fai").exists()
    if has_index and (not is_gzip(fasta) or fasta.with_name(fasta.name + ".gzi").exists()):
        return fasta
    target = scratch / fasta.name
    if is_gzip(fasta) and not is_bgzip(fasta):
        target = scratch / (fasta.name + ".plain.fa")
        with read_errors(fasta), open_input(fasta) as source, open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 22)
    else:
        target.symlink_to(fasta.resolve())
    try:
        pysam.faidx(str(target))
    except SamtoolsError as error:
        raise InputError(
            f"{fasta}: cannot be indexed ({' '.join(str(error).split())}); check the FASTA file."
        ) from error
    return target

"""Indexed FASTA files, which htslib needs for CRAM, without writing to the user's folders."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pysam
from pysam.utils import SamtoolsError

from quire.errors import InputError
from quire.io.files import htslib_path, open_input, read_errors, scratch_directory
from quire.io.sniff import is_bgzip, is_gzip


def indexed_fasta(fasta: str | Path, scratch: Path) -> Path:
    """Return a FASTA with .fai beside it: `fasta` itself, or a link or decompressed copy in `scratch`.

    An index that does not describe the file is ignored, since htslib reads other bases with it, or crashes. The indexes
    of compressed files are not checked and never used.

    Raises:
        InputError: the file cannot be indexed.
    """
    fasta = Path(fasta)
    if not is_gzip(fasta) and _is_its_index(fasta, fasta.with_name(fasta.name + ".fai")):
        return fasta
    target = scratch / fasta.name
    if is_gzip(fasta) and not is_bgzip(fasta):
        target = scratch / (fasta.name + ".plain.fa")
        with read_errors(fasta), open_input(fasta) as source, open(target, "wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 22)
    else:
        target.symlink_to(fasta.resolve())
    try:
        pysam.faidx(htslib_path(target))
    except SamtoolsError as error:
        raise InputError(
            f"{fasta}: cannot be indexed ({' '.join(str(error).split())}); check the FASTA file."
        ) from error
    return target


@contextmanager
def fasta_to_decode(
    alignments: Iterable[str | Path], fasta: str | Path | None, output: str | Path
) -> Iterator[str | Path | None]:
    """Yield `fasta`, or if one of the alignments is a CRAM an indexed one, in a folder beside an output if needed.

    htslib would write the index of a FASTA without one beside it, from several jobs at once.
    """
    if fasta is None or not any(str(path).endswith(".cram") for path in alignments):
        yield fasta
        return
    with scratch_directory(Path(output).parent, f"{Path(output).name}.fasta") as scratch:
        yield indexed_fasta(fasta, scratch)


def _is_its_index(fasta: Path, index: Path) -> bool:
    """Return True if each line of a .fai names the next record of a plain FASTA and its exact extent."""
    try:
        with open(fasta, "rb") as stream, open(index, "rb") as lines:
            end, ending = 0, b""
            for line in lines:
                name, *numbers = line.rstrip(b"\n").split(b"\t")
                bases, begin, line_bases, line_bytes = map(int, numbers)
                whole_lines, rest = divmod(bases, line_bases)
                ending = {1: b"\n", 2: b"\r\n"}[line_bytes - line_bases]
                stream.seek(end)
                if stream.readline()[1:].split(maxsplit=1)[:1] != [name] or stream.tell() != begin:
                    return False
                stream.seek(begin + line_bases)
                if whole_lines and stream.read(len(ending)) != ending:
                    return False
                end = begin + whole_lines * line_bytes + (rest + len(ending) if rest else 0)
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 1))
            return size == end - (0 if stream.read() == b"\n" else len(ending))
    except (OSError, ValueError, LookupError, ArithmeticError):
        return False

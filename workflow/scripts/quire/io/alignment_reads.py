"""The reads of a unit that is given as BAM or CRAM: unmapped, or mapped by another program.

Mates must follow each other to be mapped as pairs. A file of pairs that is sorted by coordinate is put in that order
first, by `samtools collate`: in little memory, with temporary files of about its size. CRAM is decoded by samtools.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pysam

from quire.errors import InputError, QuireError
from quire.io import samtools
from quire.io.bam.reads import RecordCounts, bam_batches
from quire.io.fasta_index import indexed_fasta
from quire.io.files import lacks_cram_end, scratch_directory
from quire.io.sniff import is_cram
from quire.reads import PairBatch


def read_alignments(
    path: Path, reads_per_batch: int, counts: RecordCounts, fasta: Path | None, temporary: Path, threads: int
) -> Iterator[PairBatch]:
    """The reads, or pairs, of a BAM or CRAM file in batches; see `quire.io.bam.reads.bam_batches`.

    Args:
        path: of the file.
        reads_per_batch: reads, or pairs, in a batch.
        counts: what is read is added to it.
        fasta: what a CRAM file is decoded with, if it needs a reference.
        temporary: folder for temporary files.
        threads: of samtools.

    Raises:
        InputError: a file that is damaged, that holds several samples or libraries, or pairs beside single reads; a
            CRAM file of another reference; mates that do not follow each other.
    """
    with scratch_directory(temporary, f"{path.name}.reads") as scratch:
        yield from bam_batches(_in_order(path, fasta, scratch, threads), reads_per_batch, counts, path)


# For names alone CRAM needs no reference. pysam's stubs ask for text, its code for bytes.
NAMES_ALONE: list[Any] = [b"required_fields=0x1"]


def first_name(path: Path) -> str:
    """The name of the first record of a BAM or CRAM file; empty where none can be had."""
    return next(iter(first_names(path, 1)), "")


def first_names(path: Path, most: int) -> list[str]:
    """The names of the first records of a BAM or CRAM file, as far as they can be had."""
    names: list[str] = []
    with (
        suppress(OSError, ValueError),
        pysam.AlignmentFile(str(path), check_sq=False, format_options=NAMES_ALONE) as stream,
    ):
        names += (str(record.query_name) for record in islice(stream.fetch(until_eof=True), most))
    return names


def _in_order(path: Path, fasta: Path | None, scratch: Path, threads: int) -> Path:
    """A BAM of the same records whose mates follow each other: the file itself, or one in `scratch`."""
    reads = scratch / "reads.bam"
    if not is_cram(path):
        if not _is_sorted_by_coordinate(path, None):
            return path
        samtools.collate(path, reads, None, threads)
        return reads
    if lacks_cram_end(path):
        raise InputError(f"{path}: lacks the container that closes it; it is truncated, copy it again.")
    reference = None if fasta is None else indexed_fasta(fasta, scratch)
    try:
        step = samtools.collate if _is_sorted_by_coordinate(path, reference) else samtools.to_bam
        step(path, reads, reference, threads)
    except QuireError as error:
        raise InputError(
            f"{path}: cannot be decoded with reference.fasta ({error}); a CRAM file needs the reference that it was "
            "made with: make a BAM of it with `samtools view -b -T THAT.fa`, and give that."
        ) from error
    return reads


def _is_sorted_by_coordinate(path: Path, reference: Path | None) -> bool:
    """Whether the header says so.

    Raises:
        InputError: the header cannot be read, or names several samples or libraries, which a unit cannot keep apart.
    """
    try:
        given = None if reference is None else str(reference)
        with pysam.AlignmentFile(str(path), check_sq=False, reference_filename=given) as stream:
            header = stream.header.to_dict()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: its header cannot be read ({error}); copy the file again.") from None
    for tag, what in (("SM", "samples"), ("LB", "libraries")):
        names = sorted({group[tag] for group in header.get("RG", []) if tag in group})
        if len(names) > 1:
            raise InputError(
                f"{path}: its read groups are of several {what} ({', '.join(names)}), and a unit is of one; part them "
                "with `samtools split` and give a unit for each."
            )
    return bool(header.get("HD", {}).get("SO") == "coordinate")

"""The reads of a unit that is given as BAM or CRAM, unmapped or mapped by another program.

Mates must be adjacent to be mapped as pairs. `samtools collate` first reorders files that are sorted by coordinate, in
little memory and with temporary files of about their size. samtools decodes CRAM.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pysam

from quire.errors import InputError, QuireError
from quire.io import samtools
from quire.io.bam.reads_cpu import RecordCounts, bam_batches
from quire.io.bam.stream_cpu import BamStream
from quire.io.fasta_index import indexed_fasta
from quire.io.files import lacks_cram_end, scratch_directory
from quire.io.sniff import is_cram
from quire.reads import PairBatch


def read_alignments(
    path: Path, reads_per_batch: int, counts: RecordCounts, fasta: Path | None, temporary: Path, threads: int
) -> Iterator[PairBatch]:
    """Yield the reads or pairs of a BAM or CRAM file in batches; see `quire.io.bam.reads_cpu.bam_batches`.

    Raises:
        InputError: the file is damaged, has several samples or libraries, mixes pairs and single reads, or is a CRAM
            made with another reference.
    """
    with scratch_directory(temporary, f"{path.name}.reads") as scratch:
        yield from bam_batches(_in_order(path, fasta, scratch, threads), reads_per_batch, counts, path)


def first_name(path: Path) -> str:
    """Return the name of the first record of a BAM or CRAM file; empty if it cannot be read."""
    return next((row[0] for row in samtools.first_rows(path, 1)), "")


def _in_order(path: Path, fasta: Path | None, scratch: Path, threads: int) -> Path:
    """Return a BAM of the same records with adjacent mates: the file itself, or one in `scratch`."""
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
    """Return True if the header says that the file is sorted by coordinate; raise InputError for several libraries."""
    header = _header(path, reference)
    for tag, what in (("SM", "samples"), ("LB", "libraries")):
        names = _names(header, tag)
        if len(names) > 1:
            raise InputError(
                f"{path}: its read groups have several {what} ({', '.join(names)}), but a unit has one; split the file "
                "with `samtools split` and give a unit for each."
            )
    return bool(header.get("HD", {}).get("SO") == "coordinate")


def sample_of(path: Path) -> str:
    """Return the sample that the read groups of a BAM or CRAM file name; empty if they name none, or several."""
    names = _names(_header(path, None), "SM")
    return names[0] if len(names) == 1 else ""


def _names(header: Mapping[str, Any], tag: str) -> list[str]:
    return sorted({group[tag] for group in header.get("RG", []) if tag in group})


def _header(path: Path, reference: Path | None) -> Mapping[str, Any]:
    """Return the header of a BAM or CRAM file, as pysam parses it; raise InputError if it cannot be read."""
    try:
        text = (
            samtools.header_text(path, reference)
            if is_cram(path)
            else BamStream(path, InputError, "copy the file again").header_text
        )
        header: dict[str, Any] = pysam.AlignmentHeader.from_text(text).to_dict()
    except InputError:
        raise
    except (QuireError, ValueError, AssertionError, KeyError) as error:  # pysam raises three of these for a header
        raise InputError(f"{path}: its header cannot be read ({error}); copy the file again.") from None
    return header

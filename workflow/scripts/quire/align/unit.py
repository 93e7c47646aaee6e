"""One unit (lane) from FASTQ to an unsorted BAM, with its ledger and insert size."""

import logging
from pathlib import Path

from quire.algorithms.seeding import SeedingParameters
from quire.algorithms.seeding.cpu import page_arrays
from quire.align.mapper import Mapper
from quire.index import PageIndex
from quire.io.bam import BamWriter, ReadGroup, header_text
from quire.io.fastq import read_batches
from quire.io.files import write_json_atomic
from quire.ledger import require_balance, write_ledger
from quire.reference import Reference
from quire.version import VERSION

log = logging.getLogger("quire.align")


def map_unit(
    reference_directory: str | Path,
    page_directories: list[str | Path],
    fq1: str | Path,
    fq2: str | Path | None,
    read_group: ReadGroup,
    output: str | Path,
    ledger: str | Path,
    insert_size: str | Path,
    parameters: dict,
    threads: int,
    fasta: str | Path | None = None,
) -> None:
    """Map the reads of a unit.

    Args:
        reference_directory: what `quire.reference.build` wrote.
        page_directories: the indexes of all its pages, in order.
        fq1, fq2: FASTQ files; fq2 is None for single-end reads.
        read_group: the unit's read group.
        output: unsorted BAM, records in the order of the reads.
        ledger, insert_size: JSON files.
        parameters: batch_pairs (pairs or single reads at a time), seed_stride, seed_maximum_hits,
            longest_read.
        threads: worker threads; they never change a record.
        fasta: the FASTA that the reference must still be of; None skips the check.

    Raises:
        InputError: bad FASTQ, or an index that does not fit.
        QuireError: an output cannot be written, or the ledger does not balance.
    """
    reference = Reference.open(reference_directory, fasta)
    indexes = [PageIndex.open(directory, reference) for directory in page_directories]
    log.info("%s: %d pages, %d bases", reference_directory, len(indexes), reference.axis_length)
    seeding = SeedingParameters(parameters["seed_stride"], parameters["seed_maximum_hits"])
    mapper = Mapper(reference, [page_arrays(index, index) for index in indexes], read_group.identifier, seeding)
    command = f"quire align {Path(fq1).name}" + (f" {Path(fq2).name}" if fq2 else "") + " (backend cpu)"
    text = header_text(reference.contig_names, reference.contig_lengths, [read_group], VERSION, command)
    batches = read_batches(fq1, fq2, parameters["batch_pairs"], parameters["longest_read"])
    with BamWriter(output, text, reference.contig_names, reference.contig_lengths) as bam:
        for blocks in mapper.map(batches, threads):
            bam.write_blocks(blocks)
        counts = mapper.counts
        name = read_group.identifier
        require_balance("align", name, {"reads": counts.reads}, {"mapped": counts.mapped, "unmapped": counts.unmapped})
    write_json_atomic(insert_size, mapper.insert_size.to_json())
    write_ledger(ledger, "align", name, vars(counts))

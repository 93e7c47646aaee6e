"""One unit (lane) from FASTQ to an unsorted BAM, with its ledger and insert size."""

import logging
from collections.abc import Callable
from pathlib import Path

from quire.algorithms.seeding.cpu import page_arrays
from quire.align.engine_cpu import CpuEngine
from quire.align.mapper import Engine, Mapper
from quire.device.card import Card
from quire.device.choice_gpu import use_backend
from quire.index import PageIndex
from quire.io.ahead import ahead
from quire.io.bam import BamWriter, ReadGroup, header_text
from quire.io.fastq import read_batches
from quire.io.files import lacks_bgzip_end, write_json_atomic
from quire.io.samtools import require_bai_fits
from quire.ledger import require_balance, write_ledger
from quire.reference import Reference
from quire.version import VERSION

log = logging.getLogger("quire.align")
WRITES_AHEAD = 4  # pieces of batches that wait for the file


def map_unit(
    reference_directory: str | Path,
    page_directories: list[str | Path],
    fq1: str | Path,
    fq2: str | Path | None,
    read_group: dict[str, str],
    output_bam: str | Path,
    ledger: str | Path,
    insert_size_json: str | Path,
    parameters: dict,
    threads: int,
    backend: str = "auto",
    memory: str = "auto",
    fasta: str | Path | None = None,
) -> None:
    """Map the reads of a unit.

    Args:
        reference_directory: what `quire.reference.build` wrote.
        page_directories: the indexes of all its pages, in order.
        fq1, fq2: FASTQ files; fq2 is None for single-end reads.
        read_group: sample, unit, library and platform of the unit.
        output_bam: unsorted BAM, records in the order of the reads.
        ledger, insert_size_json: JSON files.
        parameters: the configuration's `align` block; reads_per_batch ("auto": the engine's) is used, and format
            and index (where given) are checked against the lengths of the contigs.
        threads: worker threads; they never change a record.
        backend, memory: the configuration's block `device`; they never change a record.
        fasta: the FASTA that the reference must still be of; None skips the check.

    Raises:
        InputError: bad FASTQ, an index that does not fit, or no card where the backend is "gpu".
        QuireError: an output cannot be written, or the ledger does not balance.
    """
    reference = Reference.open(reference_directory, fasta)
    indexes = [PageIndex.open(directory, reference) for directory in page_directories]
    log.info("%s: %d pages, %d bases", reference_directory, len(indexes), reference.axis_length)
    if parameters.get("format") == "bam" and parameters.get("index") == "bai":
        # Long before the index is made: a refusal after the mapping would come too late.
        require_bai_fits(reference.contig_names, reference.contig_lengths.tolist())
    group = ReadGroup(**read_group)
    with use_backend(backend, memory) as (chosen, open_card):
        engine = _engine(open_card, reference, indexes, group.identifier)
        mapper = Mapper(engine)
        command = f"align --backend {chosen.name} {Path(fq1).name}" + (f" {Path(fq2).name}" if fq2 else "")
        text = header_text(reference.contig_names, reference.contig_lengths, [group], VERSION, command,
                           f"backend {chosen.name}: {chosen.reason}")  # fmt: skip
        chosen_size = parameters.get("reads_per_batch", "auto")
        batches = read_batches(fq1, fq2, engine.reads_per_batch if chosen_size == "auto" else chosen_size)
        with BamWriter(output_bam, text, reference.contig_names, reference.contig_lengths) as bam:
            # In this thread nothing but writing: a disk, or memory for a file, takes its time.
            for blocks in ahead(lambda: mapper.map(batches, threads), WRITES_AHEAD):
                bam.write_blocks(blocks)
            counts = mapper.counts
            placed = {"mapped": counts.mapped, "unmapped": counts.unmapped}
            require_balance("align", group.identifier, {"reads": mapper.reads_in}, placed)
    write_json_atomic(insert_size_json, mapper.insert_size.to_json())
    # Some sequencers' software leaves the closing block out, so that this cannot be an error.
    warnings = [
        f"{path} has no closing bgzip block: if it was cut there, reads are missing."
        for path in (fq1, fq2)
        if path is not None and lacks_bgzip_end(path)
    ]
    write_ledger(ledger, "align", group.identifier, vars(counts), warnings, chosen.to_json())


def _engine(
    open_card: Callable[[], Card] | None, reference: Reference, indexes: list[PageIndex], read_group: str
) -> Engine:
    """What maps batches: a card where there is one, else the CPU."""
    if open_card is None:
        return CpuEngine(reference, [page_arrays(index, index) for index in indexes], read_group)
    from quire.align.engine_gpu import CardEngine

    return CardEngine(open_card, reference, indexes, read_group)

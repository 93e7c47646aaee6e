"""From the unsorted BAM files of a sample's units to the sample's one file: sorted, merged, duplicates marked, indexed.

    unit BAM -> sort -\\
    unit BAM -> sort --> merge a library -> mark duplicates -\\
    unit BAM -> sort --> ...             -> mark duplicates --> merge the libraries -> BAM or CRAM, index, table

Every step is samtools' (through pysam). Order is decided by coordinate, strand, the order of the units and the order in
the unit's BAM file, which is that of its reads; so the records do not depend on threads or memory.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pysam

from quire.errors import QuireError
from quire.finish.duplicates import LibraryCounts, write_duplicates_table
from quire.io import samtools
from quire.io.bai import require_index_fits
from quire.io.fasta_index import indexed_fasta
from quire.io.files import atomic_path, scratch_directory
from quire.ledger import require_balance, write_ledger

INTERMEDIATE_LEVEL = 1
SHARE_FOR_SORTING = 0.7  # of the memory; the rest is for buffers of threads and of htslib
log = logging.getLogger("quire.align")


@dataclass(frozen=True)
class UnsortedUnit:
    """One unit's unsorted BAM; its @RG line must carry an ID that no other unit has."""

    unit: str
    library: str
    path: Path


@dataclass(frozen=True)
class Effort:
    """What the steps may use: all threads of the job, memory for sorting, and a folder for temporary files."""

    threads: int
    sort_memory_mb: int
    scratch: Path


def finish_sample(
    sample: str,
    units: Sequence[UnsortedUnit],
    output: str | Path,
    format: str,
    index: str,
    reference_fasta: str | Path,
    duplicates_table: str | Path,
    ledger: str | Path,
    threads: int,
    memory_mb: int,
    temporary: str | Path,
) -> None:
    """Write a sample's alignments, their index, the table of duplicates and the ledger.

    Args:
        sample: name, for the ledger.
        units: in the order of the sheet.
        output: the BAM or CRAM; the index is `output` with `.bai`, `.csi` or (CRAM always) `.crai` appended.
        format: "bam" or "cram".
        index: "bai" or "csi", for BAM.
        reference_fasta: plain, gzip or bgzip; needed for CRAM only.
        duplicates_table: TSV, one line a library.
        ledger: JSON.
        threads: for each step.
        memory_mb: of the whole job.
        temporary: folder for temporary files; about twice the size of the unsorted files is needed there.

    Raises:
        QuireError: a contig too long for BAI, a read group used twice, a step that failed, records lost. Nothing stands
            under the final names then.
    """
    output = Path(output)
    kind = index if format == "bam" else "crai"
    _require_sound_headers(units, format, index)
    with (
        scratch_directory(temporary, f"{output.name}.sorting") as scratch,
        atomic_path(output) as whole,
        atomic_path(output.with_name(f"{output.name}.{kind}")) as whole_index,
    ):
        effort = Effort(threads, int(memory_mb * SHARE_FOR_SORTING), scratch)
        records_in = sum(samtools.count(unit.path, threads) for unit in units)
        merged = whole if format == "bam" else scratch / "whole.bam"
        counts = _sort_and_mark(sample, units, merged, effort)
        if format == "cram":
            _write_cram(merged, whole, Path(reference_fasta), effort)
        samtools.index(whole, whole_index, kind, threads)
        records_out = samtools.count(whole, threads)
        require_balance("align (sorting)", sample, {"records in": records_in}, {"records out": records_out})
        write_duplicates_table(duplicates_table, counts)
        write_ledger(ledger, "sort", sample, _ledger_counts(records_in, records_out, counts))


def _write_cram(bam: Path, output: Path, fasta: Path, effort: Effort) -> None:
    """Write `bam` as CRAM; a FASTA without index beside it is indexed among the temporary files."""
    indexed = indexed_fasta(fasta, effort.scratch)
    if indexed == fasta:
        samtools.to_cram(bam, output, indexed, effort.threads)
        return
    cram = effort.scratch / "whole.cram"
    samtools.to_cram(bam, cram, indexed, effort.threads)
    samtools.rename_reference(cram, output, fasta.absolute(), effort.scratch / "header.sam")


def _ledger_counts(records_in: int, records_out: int, counts: Sequence[LibraryCounts]) -> dict[str, int]:
    reads, mapped = sum(c.reads for c in counts), sum(c.mapped for c in counts)
    return {
        "records_in": records_in,
        "records_out": records_out,
        "reads": reads,
        "mapped": mapped,
        "unmapped": reads - mapped,
        "duplicates": sum(c.duplicates for c in counts),
    }


def _require_sound_headers(units: Sequence[UnsortedUnit], format: str, index: str) -> None:
    """Refuse read groups that stand in two units, and contigs that the index cannot hold."""
    seen: dict[str, Path] = {}
    for unit in units:
        try:
            with pysam.AlignmentFile(str(unit.path), check_sq=False) as stream:
                header = stream.header
        except (OSError, ValueError) as error:
            raise QuireError(f"{unit.path}: is no whole BAM file ({error}); align the unit again.") from error
        require_index_fits(format, index, header.references, header.lengths)
        for group in header.to_dict().get("RG", []):
            identifier = group["ID"]
            if identifier in seen:
                raise QuireError(
                    f"{unit.path}: read group {identifier} is also in {seen[identifier]}; "
                    "each unit of a sample needs its own name."
                )
            seen[identifier] = unit.path


def _sort_and_mark(sample: str, units: Sequence[UnsortedUnit], output: Path, effort: Effort) -> list[LibraryCounts]:
    """Write the sorted and marked records of all units; return the counts of the libraries in order of first unit."""
    libraries: dict[str, list[UnsortedUnit]] = {}
    for unit in units:
        libraries.setdefault(unit.library, []).append(unit)
    counts = []
    marked = []
    for number, (library, members) in enumerate(libraries.items()):
        only = len(libraries) == 1
        target = output if only else effort.scratch / f"marked.{number}.bam"
        ordered = _sorted_library(sample, members, number, effort)
        samtools.markdup(
            ordered, target, effort.threads, effort.scratch / "markdup", None if only else INTERMEDIATE_LEVEL
        )
        ordered.unlink()
        flags = samtools.flagstat(target, effort.threads)
        counts.append(LibraryCounts(library, flags["primary"], flags["primary mapped"], flags["primary duplicates"]))
        log.info("%s library %s: %d reads, %.2f %% duplicates", sample, library, flags["primary"], counts[-1].percent)
        marked.append(target)
    if len(marked) > 1:
        samtools.merge(marked, output, effort.threads)
    return counts


def _sorted_library(sample: str, members: Sequence[UnsortedUnit], number: int, effort: Effort) -> Path:
    """Sort the units of a library and merge them; return the file."""
    parts = []
    for position, unit in enumerate(members):
        part = effort.scratch / f"sorted.{number}.{position}.bam"
        samtools.sort(unit.path, part, effort.threads, effort.sort_memory_mb, effort.scratch / part.stem)
        log.info("%s unit %s: sorted", sample, unit.unit)
        parts.append(part)
    if len(parts) == 1:
        return parts[0]
    library = effort.scratch / f"library.{number}.bam"
    samtools.merge(parts, library, effort.threads, INTERMEDIATE_LEVEL)
    for part in parts:
        part.unlink()
    return library

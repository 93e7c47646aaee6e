"""From the unsorted BAM files of a sample's units to the sample's one file: sorted, merged, marked, indexed, counted.

    unit BAM -> sort -\\
    unit BAM -> sort --> merge a library -> mark duplicates -\\
    unit BAM -> sort --> ...             -> mark duplicates --> merge the libraries -> BAM or CRAM, index, table

These steps are samtools' (through pysam); the counts are our own, in one pass over the marked file. Order is decided
by coordinate, strand, the order of the units and the order in the unit's BAM file, which is that of its reads; so the
records do not depend on threads or memory.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pysam

from quire.errors import QuireError
from quire.finish.counts.outputs import CountsOutputs, atomic_outputs, write_counts
from quire.finish.duplicates import LibraryCounts, write_duplicates_table
from quire.io import samtools
from quire.io.bai import require_index_fits
from quire.io.fasta_index import indexed_fasta
from quire.io.files import atomic_path, scratch_directory
from quire.ledger import require_balance, write_ledger
from quire.reference import Reference

INTERMEDIATE_LEVEL = 1
SHARE_FOR_SORTING = 0.7  # of the memory; the rest is for buffers of threads and of htslib
log = logging.getLogger("quire.align")


@dataclass(frozen=True)
class UnsortedUnit:
    """One unit's unsorted BAM; its @RG line must carry an ID that no other unit has.

    Attributes:
        unit, library: as in the sheet.
        path: the BAM.
        ledger: what mapping the unit counted (JSON), which the records are held against.
    """

    unit: str
    library: str
    path: Path
    ledger: Path


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
    reference_directory: str | Path,
    counts: CountsOutputs,
    duplicates_table: str | Path,
    ledger: str | Path,
    threads: int,
    memory_mb: int,
    temporary: str | Path,
) -> None:
    """Write a sample's alignments, their index, its counts, the table of duplicates and the ledger.

    Args:
        sample: name, for the ledger.
        units: in the order of the sheet.
        output: the BAM or CRAM; the index is `output` with `.bai`, `.csi` or (CRAM always) `.crai` appended.
        format: "bam" or "cram".
        index: "bai" or "csi", for BAM.
        reference_fasta: plain, gzip or bgzip; needed for CRAM only.
        reference_directory: what `quire.reference.build` wrote of it.
        counts: where the counts go.
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
        atomic_outputs(counts) as whole_counts,
    ):
        effort = Effort(threads, int(memory_mb * SHARE_FOR_SORTING), scratch)
        merged = whole if format == "bam" else scratch / "whole.bam"
        _sort_and_mark(sample, units, merged, effort)
        reference = Reference.open(reference_directory)
        figures = write_counts(sample, merged, reference, threads, whole_counts)
        balance = _balance(figures, units)
        require_balance(
            "align (sorting)", sample, {"records in": balance["records_in"]}, {"records out": balance["records_out"]}
        )
        if format == "cram":
            _write_cram(merged, whole, Path(reference_fasta), effort)
        samtools.index(whole, whole_index, kind, threads)
        write_duplicates_table(duplicates_table, _libraries(figures, units))
        write_ledger(ledger, "sort", sample, balance)


def _write_cram(bam: Path, output: Path, fasta: Path, effort: Effort) -> None:
    """Write `bam` as CRAM; a FASTA without index beside it is indexed among the temporary files."""
    indexed = indexed_fasta(fasta, effort.scratch)
    if indexed == fasta:
        samtools.to_cram(bam, output, indexed, effort.threads)
        return
    cram = effort.scratch / "whole.cram"
    samtools.to_cram(bam, cram, indexed, effort.threads)
    samtools.rename_reference(cram, output, fasta.absolute(), effort.scratch / "header.sam")


def _balance(figures: Mapping[str, Any], units: Sequence[UnsortedUnit]) -> dict[str, int]:
    """The counts of the ledger: what the units' own ledgers say went in, and what the counted file holds."""
    both = figures["flagstat"].values()
    reads, mapped = (sum(counts[name] for counts in both) for name in ("primary", "primary mapped"))
    return {
        "records_in": sum(_records_of(unit.ledger) for unit in units),
        "records_out": sum(counts["total"] for counts in both),
        "reads": reads,
        "mapped": mapped,
        "unmapped": reads - mapped,
        "duplicates": sum(counts["primary duplicates"] for counts in both),
    }


def _records_of(ledger: Path) -> int:
    """Records that mapping a unit wrote: one for each read, and the supplementary ones."""
    try:
        counts = json.loads(ledger.read_text())["counts"]
        return int(counts["reads"]) + int(counts["supplementary"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QuireError(f"{ledger}: is not the ledger of a unit ({error!r}); align the unit again.") from None


def _libraries(figures: Mapping[str, Any], units: Sequence[UnsortedUnit]) -> list[LibraryCounts]:
    """The rows of the table of duplicates, in the order of the libraries' first units."""
    counted = {row["library"]: row for row in figures["libraries"]}
    rows = (counted[name] for name in dict.fromkeys(unit.library for unit in units))
    return [LibraryCounts(row["library"], row["reads"], row["mapped"], row["duplicates"]) for row in rows]


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


def _sort_and_mark(sample: str, units: Sequence[UnsortedUnit], output: Path, effort: Effort) -> None:
    """Write the sorted and marked records of all units."""
    libraries: dict[str, list[UnsortedUnit]] = {}
    for unit in units:
        libraries.setdefault(unit.library, []).append(unit)
    marked = []
    for number, members in enumerate(libraries.values()):
        only = len(libraries) == 1
        target = output if only else effort.scratch / f"marked.{number}.bam"
        ordered = _sorted_library(sample, members, number, effort)
        samtools.markdup(
            ordered, target, effort.threads, effort.scratch / "markdup", None if only else INTERMEDIATE_LEVEL
        )
        ordered.unlink()
        marked.append(target)
    if len(marked) > 1:
        samtools.merge(marked, output, effort.threads)


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

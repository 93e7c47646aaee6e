"""Finishing of a sample: one sorted, marked, indexed and counted file from the buckets of its units.

Sorting, marking, indexing and counting are done in one pass (`quire.finish.sorting`, `quire.finish.counts`). CRAM is
written by samtools, through pysam.
"""

import logging
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quire.buckets.file import BucketFile
from quire.errors import QuireError
from quire.finish.counts.outputs import CountsOutputs, CountsWriter
from quire.finish.counts.sample import read_groups
from quire.finish.evidence_cpu import EvidenceCollector, EvidenceOutput, usual_of_units, write_evidence
from quire.finish.marking import Marking
from quire.finish.sorting import Effort, SortedFile, sort_and_mark, sorted_header
from quire.io import samtools
from quire.io.bai import require_index_fits
from quire.io.bam.stream_cpu import BamStream
from quire.io.bam.writer import with_assembly
from quire.io.fasta_index import indexed_fasta
from quire.io.files import atomic_path, scratch_directory
from quire.io.open_files import allow_open_files
from quire.ledger import write_ledger
from quire.reference import Reference

LEVEL_OF_RESULTS = 6  # of compression, as samtools chooses
SHARE_FOR_SORTING = 0.7  # share of the memory; the rest is for the interpreter and compiled kernels
log = logging.getLogger("quire.align")


@dataclass(frozen=True)
class UnsortedUnit:
    """Buckets of one unit, whose read group has the ID sample.unit."""

    unit: str
    library: str
    path: Path


@dataclass(frozen=True)
class SampleOutputs:
    """Output files of a finished sample: BAM or CRAM, counts, TSV of the libraries, JSON of the ledger, and evidence.

    The index has the path of the alignments with `.bai`, `.csi` or, for CRAM, `.crai` appended.
    """

    alignments: Path
    counts: CountsOutputs
    duplicates: Path
    ledger: Path
    evidence: EvidenceOutput | None = None


class LibraryCounts(NamedTuple):
    """Counts of a library over its primary records, by `quire.finish.ranges_cpu.count_marked`.

    Attributes:
        library: name of the library.
        reads: all reads.
        mapped: mapped reads.
        duplicates: reads marked as duplicates.
        optical: reads of optical duplicate pairs; 0 if optical duplicates are not searched for.
        unreadable: duplicates whose names have no tile and coordinates.
    """

    library: str
    reads: int
    mapped: int
    duplicates: int
    optical: int
    unreadable: int

    @property
    def percent(self) -> float:
        """Percentage of mapped reads that are duplicates; 0 without mapped reads."""
        return 100 * self.duplicates / self.mapped if self.mapped else 0.0


@dataclass(frozen=True)
class SampleFormat:
    """Format of a sample's alignments: "bam" or "cram", index of a BAM ("bai" or "csi"), reference of a CRAM.

    The header names the assembly, if one is given.
    """

    format: str
    index: str
    fasta: Path
    assembly: str = ""

    def index_path(self, alignments: Path) -> Path:
        """Return the path of the index of alignments in this format."""
        return alignments.with_name(f"{alignments.name}.{self.index if self.format == 'bam' else 'crai'}")


def finish_sample(
    sample: str,
    units: Sequence[UnsortedUnit],
    reference_directory: str | Path,
    outputs: SampleOutputs,
    kind: SampleFormat,
    marking: Marking,
    effort: Effort,
) -> None:
    """Write a sample's alignments, their index, its counts, the table of duplicates and the ledger.

    CRAM output needs temporary files in the folder of the alignments, 1.5 times the size of the BAM; BAM needs none.
    The units are in the order of the sheet. `effort` has the threads of each step, and the memory of the whole job.

    Raises:
        QuireError: if a unit's file is incomplete, a contig is too long for BAI, a read group is used twice, a step
            failed, or records were lost. No output gets its final name in this case.
    """
    output = outputs.alignments
    reference = Reference.open(reference_directory)
    libraries = {library: number for number, library in enumerate(dict.fromkeys(unit.library for unit in units))}
    numbers = [libraries[unit.library] for unit in units]
    allow_open_files()
    with ExitStack() as stack:
        files = [stack.enter_context(BucketFile(unit.path)) for unit in units]
        _require_sound_headers(sample, units, files, reference, kind)
        ordered = sorted(zip(files, numbers, strict=True), key=lambda member: member[1])
        header = sorted_header([file.header_text for file, _ in ordered])
        scratch = stack.enter_context(scratch_directory(output.parent, f"{output.name}.sorting"))
        counts = outputs.counts
        paths = (counts.counts, counts.windows, counts.low_coverage)
        whole, windows, low = (stack.enter_context(atomic_path(path)) for path in paths)
        whole_counts = CountsOutputs(whole, windows, low, counts.low_depth)
        whole_index = stack.enter_context(atomic_path(kind.index_path(output)))
        counting = stack.enter_context(CountsWriter(sample, header, reference, effort.threads, whole_counts))
        sorting = Effort(effort.threads, int(effort.memory_mb * SHARE_FOR_SORTING))
        file = SortedFile(output, whole_index, kind.index, kind.assembly)
        if kind.format == "cram":
            file = SortedFile(scratch / "whole.bam", None, assembly=kind.assembly)
        collector, wanted = None, outputs.evidence
        if wanted:
            whole_evidence, usual = stack.enter_context(atomic_path(wanted.path)), usual_of_units(wanted.insert_sizes)
            collector = EvidenceCollector(reference, usual) if wanted.is_wanted else None
        done = sort_and_mark(sample, ordered, file, sorting, counting, marking, collector)
        if wanted:
            write_evidence(whole_evidence, usual, collector)
        if kind.format == "cram":
            _write_cram(file.bam, output, whole_index, kind.fasta, scratch, effort.threads)
        log.info("%s: %d records written, with their index", sample, done.records_out)
        by_library = [LibraryCounts(name, *row) for name, row in zip(libraries, done.counts.tolist(), strict=True)]
        pairs = {library.library: library.optical // 2 for library in by_library}
        counting.write(counts.counts, None if marking.optical_distance is None else pairs)
        for library in by_library:
            log.info(
                "%s library %s: %d reads, %.2f %% duplicates", sample, library.library, library.reads, library.percent
            )
        _write_duplicates(outputs.duplicates, by_library, marking.optical_distance is not None)
        reads, mapped = sum(c.reads for c in by_library), sum(c.mapped for c in by_library)
        counted = {
            "records_in": done.records_in,
            "records_out": done.records_out,
            "reads": reads,
            "mapped": mapped,
            "unmapped": reads - mapped,
            "duplicates": sum(c.duplicates for c in by_library),
        }
        write_ledger(outputs.ledger, "sort", sample, counted, _warnings(by_library))


def _write_duplicates(path: Path, libraries: Sequence[LibraryCounts], optical: bool) -> None:
    """Write the tab-separated table with a header line and a row per library, atomically."""
    rows: list[tuple[object, ...]] = [("library", "reads", "mapped", "duplicates", "percent", "optical_duplicates")]
    rows += [(c.library, c.reads, c.mapped, c.duplicates, f"{c.percent:.4f}", c.optical) for c in libraries]
    with atomic_path(path) as temporary:
        temporary.write_text("".join("\t".join(map(str, row if optical else row[:-1])) + "\n" for row in rows))


def convert_alignments(alignments: Path, output: Path, kind: SampleFormat, threads: int) -> None:
    """Write a finished sample's alignments in the other format, and their index; `kind` is the format of the output.

    The records of a BAM are those of the CRAM, as samtools decodes them. If `output` exists and is the alignments
    themselves, only the index is written.

    Raises:
        QuireError: if a step failed. No output gets its final name in this case.
    """
    with (
        scratch_directory(output.parent, f"{output.name}.converting") as scratch,
        atomic_path(kind.index_path(output)) as index,
    ):
        if alignments == output:
            samtools.index(output, index, kind.index, threads)
            return
        if kind.format == "cram":
            _write_cram(alignments, output, index, kind.fasta, scratch, threads)
            return
        with atomic_path(output) as bam:
            samtools.to_bam(alignments, bam, indexed_fasta(kind.fasta, scratch), threads, LEVEL_OF_RESULTS)
            samtools.index(bam, index, kind.index, threads)


def name_assembly(alignments: Path, assembly: str, threads: int) -> None:
    """Write the name of the assembly to the header of a finished BAM or CRAM, and the indexes beside it again.

    The files keep their time stamps, so that no job runs again that reads them; none may read them meanwhile.
    """
    indexes = {kind: Path(f"{alignments}.{kind}") for kind in ("bai", "csi", "crai")}
    indexes = {kind: path for kind, path in indexes.items() if path.exists()}
    with scratch_directory(alignments.parent, f"{alignments.name}.header") as scratch:
        new = scratch / alignments.name
        if alignments.suffix == ".cram":
            text = with_assembly(samtools.header_text(alignments, None), assembly)
            samtools.replace_header(alignments, new, text, scratch / "header.sam")
        else:
            stream = BamStream(alignments)
            stream.copy(new, with_assembly(stream.header_text, assembly))
        for kind, path in indexes.items():
            samtools.index(new, scratch / path.name, kind, threads)
        for path in (alignments, *indexes.values()):
            status = path.stat()
            os.utime(scratch / path.name, ns=(status.st_atime_ns, status.st_mtime_ns))
        # An index that does not belong to its file is never there, not even if this process is killed here.
        for path in indexes.values():
            path.unlink()
        for path in (alignments, *indexes.values()):
            os.replace(scratch / path.name, path)


def _write_cram(bam: Path, output: Path, index: Path, fasta: Path, scratch: Path, threads: int) -> None:
    """Write `bam` as CRAM with its index; a FASTA without an index is linked or copied to `scratch` and indexed."""
    indexed = indexed_fasta(fasta, scratch)
    with atomic_path(output) as whole:
        cram = whole if indexed == fasta else scratch / "whole.cram"
        samtools.to_cram(bam, cram, indexed, threads)
        if cram != whole:
            text, place = samtools.header_text(cram, None), fasta.absolute()
            text = re.sub(r"(?m)^(@SQ\t.*?)\tUR:[^\t\n]*", lambda line: f"{line[1]}\tUR:{place}", text)
            samtools.replace_header(cram, whole, text, scratch / "header.sam")
        samtools.index(whole, index, "crai", threads)


def _warnings(counts: Sequence[LibraryCounts]) -> list[str]:
    """Return the warnings of the ledger, which the report shows at its top."""
    return [
        f"library {c.library}: {c.unreadable} duplicates have names without tile and coordinates and are not counted "
        "as optical; leave align.optical_distance empty for reads with other names."
        for c in counts
        if c.unreadable
    ]


def _require_sound_headers(
    sample: str, units: Sequence[UnsortedUnit], files: Sequence[BucketFile], reference: Reference, kind: SampleFormat
) -> None:
    """Raise QuireError if contigs differ from the reference or do not fit the index, or a file is of another unit."""
    names, lengths = reference.contig_names, reference.contig_lengths.tolist()
    require_index_fits(kind.format, kind.index, names, lengths)
    seen: dict[str, Path] = {}
    for unit, file in zip(units, files, strict=True):
        checksums = re.findall(r"\tM5:(\w+)", file.header_text)
        of_another = bool(checksums) and checksums != reference.contig_checksums
        if of_another or (file.contig_names, file.contig_lengths) != (names, lengths):
            raise QuireError(f"{file.path}: its contigs are not those of {reference.directory}; align the unit again.")
        own = f"{sample}.{unit.unit}"
        if own in seen:
            raise QuireError(
                f"{file.path}: read group {own} is also in {seen[own]}; each unit of a sample needs its own name."
            )
        seen[own] = file.path
        if (groups := [identifier for identifier, _ in read_groups(file.header_text)]) != [own]:
            raise QuireError(
                f"{file.path}: has reads of {', '.join(groups)} and not of {own}; delete it and run again."
            )

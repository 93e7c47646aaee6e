"""Reads of a stretch of genome as flat arrays: fetched from the BAM in bulk, filtered, adaptors and clips worked out.

Filters are those of HaplotypeCallerEngine.makeStandardHCReadFilters. What a read looks like to the assembler is worked
out once: soft clips become bases again where the fragment's size is known (AssemblyBasedCallerUtils.finalizeRegion),
and the bases beyond the mate, which are adaptor, are outside [keep_from, keep_to) (ReadUtils.getAdaptorBoundary).
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from isal import igzip

from quire.batch import offsets_from_lengths
from quire.errors import InputError
from quire.rescore.parameters import Parameters
from quire.rescore.reads_kernel import FILTERS, THINNED, USED, parse_records

# Reads are fetched this far left of what is asked, so that positions thinned by coverage always see all their reads.
FETCH_MARGIN = 1280


class Reads(NamedTuple):
    """Reads of one sample in coordinate order; positions are 0-based, spans half-open.

    Attributes:
        aligned_start, aligned_end: int64[n], span of the alignment in the BAM.
        start, end: int64[n], span once soft clips that are reverted count as aligned.
        keep_from, keep_to: int64[n], reference positions outside are adaptor.
        mate_start: int64[n], -1 when the mate is absent, unmapped or on another contig.
        usable: uint8[n], 0 for reads that are assembled but not genotyped (mate on another contig).
        reverse, mapping_quality: uint8[n].
        soft_clips: int32[n], bases of quality > 28 in soft clips.
        name_hash: uint64[n].
        base_offsets: int64[n + 1] into bases (uint8 codes A0 C1 G2 T3 N4) and qualities (uint8 phred).
        cigar_offsets: int64[n + 1] into cigar (uint32, as in BAM).
        effective_offsets: int64[n + 1] into effective (uint32, M, I and D only, from query base effective_first[i] on).
        effective_first: int32[n].
    """

    aligned_start: np.ndarray
    aligned_end: np.ndarray
    start: np.ndarray
    end: np.ndarray
    keep_from: np.ndarray
    keep_to: np.ndarray
    mate_start: np.ndarray
    usable: np.ndarray
    reverse: np.ndarray
    mapping_quality: np.ndarray
    soft_clips: np.ndarray
    name_hash: np.ndarray
    base_offsets: np.ndarray
    bases: np.ndarray
    qualities: np.ndarray
    cigar_offsets: np.ndarray
    cigar: np.ndarray
    effective_offsets: np.ndarray
    effective: np.ndarray
    effective_first: np.ndarray


class ReadSource:
    """An indexed BAM or CRAM of one sample."""

    def __init__(self, path: str | Path, fasta: str | Path | None = None) -> None:
        """Open the file and learn its contigs.

        Args:
            path: coordinate-sorted and indexed.
            fasta: the reference, needed for CRAM only.

        Raises:
            InputError: no such file, no index, or not a BAM or CRAM.
        """
        self.path = str(path)
        self.fasta = fasta
        try:
            with pysam.AlignmentFile(self.path, reference_filename=None if fasta is None else str(fasta)) as file:
                self.contigs: Mapping[str, int] = dict(zip(file.references, file.lengths, strict=True))
                indexed = file.has_index()
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read as BAM or CRAM ({error}); make the alignment again.") from error
        if not indexed:
            raise InputError(f"{path}: has no index beside it; run samtools index on it.")

    def fetch(
        self, contig: str, start: int, end: int, owned: np.ndarray, settings: Parameters
    ) -> tuple[Reads, np.ndarray]:
        """Reads that overlap [start, end), filtered.

        Args:
            contig: name in the reference; a contig that the file does not have gives no reads.
            start, end: 0-based, half-open.
            owned: int64[n, 2], reads whose alignment starts in these spans, in order, are counted.
            settings: thresholds.

        Returns:
            The reads, and int64 counts per name of `FILTERS` of the owned ones.
        """
        start = max(0, start - FETCH_MARGIN)
        records = self._records(contig, start, end) if contig in self.contigs else np.frombuffer(b"", np.uint8)
        columns, counts = parse_records(records, owned, settings.minimum_mapping_quality)
        reads = Reads(*columns)
        dropped = thinned_out(reads.aligned_start, reads.name_hash, settings.maximum_reads_per_start)
        if len(dropped):
            position = reads.aligned_start[dropped]
            counted = sum(np.count_nonzero((start <= position) & (position < end)) for start, end in owned.tolist())
            counts[THINNED] += counted
            counts[USED] -= counted
            reads = _subset(reads, np.isin(np.arange(len(reads.start)), dropped, invert=True))
        return reads, counts

    def _records(self, contig: str, start: int, end: int) -> np.ndarray:
        """The BAM records overlapping a span as bytes (header dropped)."""
        # samtools does the region query and the CRAM decoding in C; one temporary file of uncompressed BAM is cheap.
        with tempfile.TemporaryDirectory() as folder:
            target = str(Path(folder) / "reads.bam")
            # In braces a name may hold colons and commas (HLA contigs).
            region = f"{{{contig}}}:{start + 1}-{end}"
            options = ["-u", "-o", target] + ([] if self.fasta is None else ["-T", str(self.fasta)])
            try:
                pysam.samtools.view(*options, self.path, region, catch_stdout=False)
                content = igzip.decompress(Path(target).read_bytes())
            except pysam.SamtoolsError as error:
                reason = str(error).splitlines()[-1]
                raise InputError(f"{self.path}: cannot be read at {region} ({reason}); is it damaged?") from error
        return np.frombuffer(content, np.uint8)[_header_length(content) :]


def thinned_out(aligned_start: np.ndarray, name_hash: np.ndarray, most: int) -> np.ndarray:
    """Indices of the reads beyond `most` that start at one position; those of smallest name hash stay.

    GATK's PositionalDownsampler draws them at random; a hash gives every job the same ones.
    """
    _, first, sizes = np.unique(aligned_start, return_index=True, return_counts=True)
    dropped = [np.zeros(0, np.int64)]
    for start, size in zip(first[sizes > most].tolist(), sizes[sizes > most].tolist(), strict=True):
        dropped.append(start + np.argsort(name_hash[start : start + size], kind="stable")[most:])
    return np.sort(np.concatenate(dropped))


def _header_length(content: bytes) -> int:
    """Bytes of a BAM's header: magic, text and contigs (SAM specification 4.2)."""
    at = 8 + int.from_bytes(content[4:8], "little")
    contigs = int.from_bytes(content[at : at + 4], "little")
    at += 4
    for _ in range(contigs):
        at += 8 + int.from_bytes(content[at : at + 4], "little")
    return at


def _subset(reads: Reads, keep: np.ndarray) -> Reads:
    """The reads with keep[i] true."""
    columns = {}
    for name, data in (("base", ("bases", "qualities")), ("cigar", ("cigar",)), ("effective", ("effective",))):
        offsets = getattr(reads, f"{name}_offsets")
        lengths = np.diff(offsets)
        mask = np.repeat(keep, lengths)
        for column in data:
            columns[column] = getattr(reads, column)[: offsets[-1]][mask]
        columns[f"{name}_offsets"] = offsets_from_lengths(lengths[keep])
    return Reads(
        *[columns.get(name, value[keep] if name not in columns else None) for name, value in reads._asdict().items()]
    )


__all__ = ["FILTERS", "ReadSource", "Reads"]

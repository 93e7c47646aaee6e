"""Records of indexed BAM and CRAM files by region: BAM with Quire's reader, CRAM through samtools."""

import errno
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from isal import igzip
from numpy.typing import NDArray
from pysam import AlignmentHeader

from quire.errors import InputError, QuireError
from quire.io.bam.bounds_cpu import WrongRecord, checked_records
from quire.io.bam.decode_cpu import Records, header_bytes, records_of
from quire.io.bam.index import find_index, read_crai, require_containers
from quire.io.bam.reader_cpu import BamReader
from quire.io.bed import Interval
from quire.io.files import htslib_path, lacks_bgzip_end, lacks_cram_end
from quire.io.samtools import StepFailed, header_text, open_alignments, run_apart
from quire.io.sniff import is_cram

_BAM_BYTES_OF_CRAM = 2  # assumed size of a BAM relative to a CRAM
# Contigs of a CRAM that are decoded together: samtools reads the header, and a container of many contigs, each time.
_BASES_TOGETHER, _BYTES_TOGETHER = 250_000, 1 << 20
_FULL = 1 << 20  # bytes; a disk with less free space is taken for a full one
_NO_BED_LINE = ("#", "track", "browser")  # names with which samtools takes a line of a BED file for something else


class IndexedAlignments:
    """A coordinate-sorted and indexed BAM or CRAM file.

    Attributes:
        path: path of the file.
        contigs: lengths in bases by name.
        samples: sample by read group; None for a group without a sample.
    """

    def __init__(self, path: str | Path, fasta: str | Path | None = None) -> None:
        """Open the file and read its header; `fasta` is needed only for CRAM.

        Raises:
            InputError: the file is missing, no BAM or CRAM, truncated, not sorted or not indexed, or the reference of a
                CRAM is missing.
        """
        self.path = str(path)
        self.fasta = fasta
        if os.path.isfile(path) and os.access(path, os.R_OK) and (lacks_bgzip_end(path) or lacks_cram_end(path)):
            raise InputError(f"{path}: lacks the empty block that closes it; it is truncated, copy it again.")
        try:
            if cram := is_cram(path):
                is_bam, parsed = False, AlignmentHeader.from_text(header_text(Path(path), None))
            else:
                with open_alignments(path) as file:
                    is_bam, parsed = file.is_bam, file.header
            self.contigs: Mapping[str, int] = dict(zip(parsed.references, parsed.lengths, strict=True))
            header = parsed.to_dict()
        except (QuireError, OSError, ValueError, AssertionError, KeyError) as error:  # pysam raises four for a header
            raise InputError(f"{path}: cannot be read as BAM or CRAM ({error}); make the alignment again.") from error
        order = header.get("HD", {}).get("SO", "unknown")
        indexed = find_index(path, "crai" if cram else "bai") is not None
        if order == "queryname" or (not indexed and order == "unsorted"):
            raise InputError(f"{path}: is not sorted by coordinate (SO:{order}); run samtools sort and samtools index.")
        if not indexed:
            raise InputError(f"{path}: has no index beside it; run samtools index on it.")
        if cram and fasta is None:
            raise InputError(f"{path}: is a CRAM, which is read with its reference; give the reference's FASTA too.")
        self._slices = read_crai(path) if cram else np.empty((0, 4), np.int64)
        self.samples: Mapping[str, str | None] = {group["ID"]: group.get("SM") for group in header.get("RG", ())}
        self._numbers = {name: number for number, name in enumerate(self.contigs)}
        self._reader = BamReader(path, len(self.contigs)) if is_bam else None
        self._bases = sum(self.contigs.values())
        self._decoded: dict[str, Records] = {}  # whole contigs of a CRAM that were not asked for yet

    def records(self, contig: str, start: int, end: int) -> Records:
        """Return the records that overlap [start, end) (0-based) of a contig; none for an unknown contig."""
        if contig not in self.contigs:
            return records_of(np.frombuffer(b"", np.uint8))
        if self._reader is None:
            return self._records_of_cram(contig, start, end)
        data = self._reader.records(self._numbers[contig], start, end)
        records = self._checked(data, f"{contig}:{start + 1}-{end}")
        if np.any(np.diff(records.fixed["position"]) < 0):
            raise InputError(
                f"{self.path}: its records at {contig}:{start + 1}-{end} are not sorted, though it has an index; "
                "run samtools sort and samtools index."
            )
        return records

    def bytes_over(self, contig: str, start: int, end: int) -> int:
        """Estimate the bytes of a span's records in a BAM file; for a CRAM, use the span's share of the reference."""
        if contig not in self.contigs:
            return 0
        if self._reader is not None:
            return self._reader.bytes_over(self._numbers[contig], start, end, self.contigs[contig])
        share = (end - start) / self._bases
        return int(_BAM_BYTES_OF_CRAM * share * Path(self.path).stat().st_size)

    def compressed_bytes(self, contig: str, start: int, end: int) -> int | None:
        """Estimate the compressed bytes of a span's records; None for a CRAM, or if the index does not suffice."""
        if contig not in self.contigs:
            return 0
        return None if self._reader is None else self._reader.compressed_bytes(self._numbers[contig], start, end)

    def _records_of_cram(self, contig: str, start: int, end: int) -> Records:
        """Return the records of a span of a CRAM; short contigs after a whole one are decoded with it."""
        if start > 0 or end < self.contigs[contig]:
            return self._decode([(contig, start, end)])
        if contig not in self._decoded:
            names = [contig] if contig.startswith(_NO_BED_LINE) else self._contigs_together(contig)
            records = self._decode([(name, 0, self.contigs[name]) for name in names])
            numbers = [self._numbers[name] for name in names]
            borders = np.searchsorted(records.fixed["contig"], [*numbers, numbers[-1] + 1]).tolist()
            self._decoded = {
                name: Records(records.data, records.starts[first:last], records.fixed[first:last])
                for name, (first, last) in zip(names, pairwise(borders), strict=True)
            }
        return self._decoded.pop(contig)

    def _contigs_together(self, contig: str) -> list[str]:
        """Return the names of a contig and of those after it that are decoded with it."""
        size = Path(self.path).stat().st_size
        left = min(_BASES_TOGETHER, _BYTES_TOGETHER * self._bases // size) - self.contigs[contig]
        names = [contig]
        for name, length in islice(self.contigs.items(), self._numbers[contig] + 1, None):
            left -= length
            if left < 0 or name.startswith(_NO_BED_LINE):
                break
            names.append(name)
        return names

    def _decode(self, spans: Sequence[Interval]) -> Records:
        """Return the records of sorted spans, decoded by samtools to a temporary file of uncompressed BAM."""
        where = f"{spans[0][0]}:{spans[0][1] + 1}-{spans[-1][2]}"
        contigs = range(self._numbers[spans[0][0]], self._numbers[spans[-1][0]] + 1)
        require_containers(self.path, self._slices, contigs, spans[0][1], max(end for _, _, end in spans))
        with tempfile.TemporaryDirectory() as folder:
            target, bed = str(Path(folder) / "reads.bam"), Path(folder) / "spans.bed"
            options = ["-u", "-o", target] + ([] if self.fasta is None else ["-T", htslib_path(self.fasta)])
            regions = [f"{{{name}}}:{start + 1}-{end}" for name, start, end in spans]  # braces: HLA names have colons
            if len(spans) > 1:
                bed.write_text("".join(f"{name}\t{start}\t{end}\n" for name, start, end in spans))
                options, regions = [*options, "-M", "-L", str(bed)], []
            try:
                run_apart("samtools.view", *options, Path(self.path), *regions)
                content = igzip.decompress(Path(target).read_bytes())
            except StepFailed as error:
                if shutil.disk_usage(folder).free < _FULL:  # samtools does not say why it could not write
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
                raise InputError(f"{self.path}: cannot be read at {where} ({error}); is it damaged?") from error
        return self._checked(np.frombuffer(content, np.uint8)[header_bytes(content) :], where)

    def _checked(self, data: NDArray[np.uint8], region: str) -> Records:
        """Return the records of a region after a check of their bounds."""
        try:
            return checked_records(data, len(self.contigs))
        except WrongRecord as error:
            name = f" ({error.name})" if error.name else ""
            raise InputError(
                f"{self.path}: record {error.index + 1}{name} of those at {region} {error}; copy the file again."
            ) from None

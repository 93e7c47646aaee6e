"""BAM out: the header's text, records from flat arrays to bytes in bulk, and BGZF blocks.

Layout and bins follow the SAM specification, section 4 (SAMv1.pdf).
"""

import struct
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from quire.io import bam_kernel as kernel
from quire.io.bgzf import BLOCK_PAYLOAD, compress_blocks
from quire.io.fastq import ReadBatch
from quire.io.files import BGZF_END, atomic_path

PIECE_BYTES = 1 << 22  # of records that are assembled before they are compressed; the caches hold them


@dataclass(frozen=True)
class ReadGroup:
    """A read group: one unit of a sample. Its ID is `sample.unit`."""

    sample: str
    unit: str
    library: str
    platform: str

    @property
    def identifier(self) -> str:
        """The ID of the @RG line and of every record's RG tag."""
        return f"{self.sample}.{self.unit}"


@dataclass(frozen=True)
class RecordBatch:
    """Alignment records in output order; n records, flat arrays. Positions are 0-based, -1 where there is none.

    Attributes:
        mate: uint8[n], 0 or 1: in which ReadBatch the read stands.
        read: int64[n], index in that batch.
        flag: uint16[n]; with 0x10 set the bases are written reverse-complemented.
        contig, position, mate_contig, mate_position, template_length: int32[n].
        mapping_quality: uint8[n].
        cigar: uint32, flat, packed as in BAM (length << 4 | operation); cigar_offsets: int64[n + 1]. Bases under H
            at the ends are left out of SEQ and QUAL, bases under S are kept.
        alignment_score, suboptimal_score, edit_distance: int32[n], tags AS, XS, NM; -1 for no tag.
        md: uint8, flat text of MD; md_offsets: int64[n + 1]; empty for no tag.
        mate_record: int64[n], index in this batch of the mate's primary record, whose CIGAR becomes MC (none where
            that is empty); -1 for none.
        sa: uint8, flat text of SA; sa_offsets: int64[n + 1]; empty for no tag.
    """

    mate: NDArray[np.uint8]
    read: NDArray[np.int64]
    flag: NDArray[np.uint16]
    contig: NDArray[np.int32]
    position: NDArray[np.int32]
    mapping_quality: NDArray[np.uint8]
    cigar: NDArray[np.uint32]
    cigar_offsets: NDArray[np.int64]
    mate_contig: NDArray[np.int32]
    mate_position: NDArray[np.int32]
    template_length: NDArray[np.int32]
    alignment_score: NDArray[np.int32]
    suboptimal_score: NDArray[np.int32]
    edit_distance: NDArray[np.int32]
    md: NDArray[np.uint8]
    md_offsets: NDArray[np.int64]
    mate_record: NDArray[np.int64]
    sa: NDArray[np.uint8]
    sa_offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.flag)


def header_text(
    contig_names: Sequence[str],
    contig_lengths: Sequence[int] | NDArray[np.int64],
    read_groups: Sequence[ReadGroup],
    version: str,
    command: str,
    description: str = "",
) -> str:
    """Text of the header: @HD (unsorted), @SQ, @RG and the @PG line of Quire.

    Args:
        contig_names, contig_lengths: the contigs in order.
        read_groups: one for each unit in the file.
        version, command, description: for the @PG line; tabs and line ends become spaces, no description leaves no DS.
    """
    lines = ["@HD\tVN:1.6\tSO:unsorted"]
    lines += [f"@SQ\tSN:{name}\tLN:{int(length)}" for name, length in zip(contig_names, contig_lengths, strict=True)]
    lines += [
        f"@RG\tID:{group.identifier}\tSM:{group.sample}\tLB:{group.library}\tPL:{group.platform}\tPU:{group.unit}"
        for group in read_groups
    ]
    identifier = ".".join(["quire", *(group.identifier for group in read_groups)])
    # CL last: pysam takes all that follows it for a part of the command.
    program = [f"@PG\tID:{identifier}", "PN:quire", f"VN:{version}"]
    program += [f"DS:{' '.join(description.split())}"] if description else []
    lines.append("\t".join([*program, f"CL:{' '.join(command.split())}"]))
    return "\n".join(lines) + "\n"


def assemble(records: RecordBatch, mate1: ReadBatch, mate2: ReadBatch | None, read_group: bytes) -> NDArray[np.uint8]:
    """The bytes of the records, without any BGZF: name, bin, bases, qualities and the tags NM MD MC ms AS XS SA RG.

    `ms` (sum of the mate's base qualities of at least 15, as `samtools fixmate -m` writes it) goes to paired records;
    `samtools markdup` chooses by it. Runs without the GIL, so several threads may assemble at once.

    Args:
        records: what to write, in this order.
        mate1, mate2: the batches that `records.mate` and `records.read` point into; mate2 is None for single-end.
        read_group: text of the RG tag.
    """
    assembly = _Assembly(records, mate1, mate2, read_group)
    out = np.empty(assembly.starts[-1], np.uint8)
    assembly.write(0, len(records), out)
    return out


def assemble_blocks(
    records: RecordBatch, mate1: ReadBatch, mate2: ReadBatch | None, read_group: bytes, level: int = 1
) -> list[NDArray[np.uint8]]:
    """`compress_blocks` of what `assemble` gives, in pieces: a few thousand records at a time stay in the caches."""
    assembly = _Assembly(records, mate1, mate2, read_group)
    starts, pieces = assembly.starts, []
    buffer = np.empty(0, np.uint8)
    held = first = 0  # bytes of the buffer that no block has taken yet; records written
    while first < len(records):
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + PIECE_BYTES, side="right")) - 1)
        size = int(starts[last] - starts[first])
        if held + size > len(buffer):
            buffer = np.concatenate([buffer[:held], np.empty(max(size, PIECE_BYTES) + BLOCK_PAYLOAD, np.uint8)])
        assembly.write(first, last, buffer[held:])
        end = held + size
        whole = end if last == len(records) else end - end % BLOCK_PAYLOAD
        pieces.append(compress_blocks(buffer[:whole], level))
        held, first = end - whole, last
        buffer[:held] = buffer[whole:end].copy()
    return pieces


class _Assembly:
    """The kernels' inputs for a batch, and where each record starts (`starts`, int64[n + 1])."""

    def __init__(self, records: RecordBatch, mate1: ReadBatch, mate2: ReadBatch | None, read_group: bytes) -> None:
        other = mate1 if mate2 is None else mate2
        group = np.frombuffer(read_group, np.uint8)
        self._clips = np.empty((len(records), 2), np.int64)
        self._mate_scores = np.full(len(records), -1, np.int32)
        self._records = records
        self._inputs = kernel.Inputs(
            records.mate, records.read, records.flag, records.cigar, records.cigar_offsets,
            records.alignment_score, records.suboptimal_score, records.edit_distance,
            records.md, records.md_offsets, records.mate_record, records.sa, records.sa_offsets, group,
            mate1.names, mate1.name_offsets, mate1.bases, mate1.qualities, mate1.offsets,
            other.bases, other.qualities, other.offsets,
        )  # fmt: skip
        self.starts = kernel.record_starts(self._inputs, mate2 is not None, self._clips, self._mate_scores)

    def write(self, first: int, last: int, out: NDArray[np.uint8]) -> None:
        """Write records [first, last) from the beginning of `out` on."""
        records = self._records
        kernel.write_records(
            self._inputs, self._clips, self._mate_scores, records.contig, records.position, records.mapping_quality,
            records.mate_contig, records.mate_position, records.template_length, self.starts, first, last, out,
        )  # fmt: skip


class BamWriter:
    """Writes a BAM file that appears under its final name when the `with` block ends without an error.

    Args:
        path: final name.
        header_text: from `header_text`.
        contig_names, contig_lengths: as in the header.
        level: isal's compression level, 0 to 3.

    Raises:
        QuireError: the folder cannot be written or the disk is full.
    """

    def __init__(
        self,
        path: str | Path,
        header_text: str,
        contig_names: Sequence[str],
        contig_lengths: Sequence[int] | NDArray[np.int64],
        level: int = 1,
    ) -> None:
        self.path = Path(path)
        self.level = level
        self._head = _binary_header(header_text, contig_names, contig_lengths)
        self._stack = ExitStack()
        self._stream: BinaryIO

    def __enter__(self) -> "BamWriter":
        with ExitStack() as stack:
            temporary = stack.enter_context(atomic_path(self.path))
            self._stream = stack.enter_context(open(temporary, "wb"))
            self.write(self._head)
            self._stack = stack.pop_all()
        return self

    def write(self, records: bytes | NDArray[np.uint8]) -> None:
        """Compress and append record bytes from `assemble`."""
        self.write_blocks([compress_blocks(records, self.level)])

    def write_blocks(self, pieces: Sequence[NDArray[np.uint8]]) -> None:
        """Append what `compress_blocks` made in other threads; the caller keeps the order."""
        self._stream.writelines(pieces)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None:
                raise error
            self._stream.write(BGZF_END)
            self._stream.flush()


def _binary_header(text: str, names: Sequence[str], lengths: Sequence[int] | NDArray[np.int64]) -> bytes:
    """Magic, header text and contig dictionary, as bytes before BGZF."""
    encoded = text.encode()
    parts = [b"BAM\x01", struct.pack("<i", len(encoded)), encoded, struct.pack("<i", len(names))]
    for name, length in zip(names, lengths, strict=True):
        parts.append(struct.pack("<i", len(name) + 1) + name.encode() + b"\0" + struct.pack("<i", int(length)))
    return b"".join(parts)

"""A BAM file: the header's text, then blocks of records, under the final name only when all is there."""

import struct
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from quire.io.bgzf import compress_blocks
from quire.io.files import BGZF_END, atomic_path
from quire.io.sniff import BAM_MAGIC


@dataclass(frozen=True)
class ReadGroup:
    """A read group: one unit of a sample. Its ID is `sample.unit`.

    Attributes:
        sample, unit, library, platform: as in the sheet.
        platform_unit: flowcell and lane (`HCLHLDSXX.2`), where they are known; PU is the unit's name where not.
    """

    sample: str
    unit: str
    library: str
    platform: str
    platform_unit: str = ""

    @property
    def identifier(self) -> str:
        """The ID of the @RG line and of every record's RG tag."""
        return f"{self.sample}.{self.unit}"


def header_text(
    contig_names: Sequence[str],
    contig_lengths: Sequence[int] | NDArray[np.int64],
    read_groups: Sequence[ReadGroup],
    version: str,
    command: str,
    description: str = "",
    tags: Sequence[str] = (),
) -> str:
    """Text of the header: @HD (unsorted), @SQ, @RG and the @PG line of Quire.

    Args:
        contig_names, contig_lengths: the contigs in order.
        read_groups: one for each unit in the file.
        version, command, description: for the @PG line; tabs and line ends become spaces, no description leaves no DS.
        tags: of each contig, more of its @SQ line, as `M5:...` or several with tabs between them; none for no more.
    """
    lines = ["@HD\tVN:1.6\tSO:unsorted"]
    for name, length, more in zip(contig_names, contig_lengths, tags or [""] * len(contig_names), strict=True):
        lines.append("\t".join([f"@SQ\tSN:{name}", f"LN:{int(length)}", *([more] if more else [])]))
    lines += [
        f"@RG\tID:{group.identifier}\tSM:{group.sample}\tLB:{group.library}\tPL:{group.platform}"
        f"\tPU:{group.platform_unit or group.unit}"
        for group in read_groups
    ]
    identifier = ".".join(["quire", *(group.identifier for group in read_groups)])
    # CL last: pysam takes all that follows it for a part of the command.
    program = [f"@PG\tID:{identifier}", "PN:quire", f"VN:{version}"]
    program += [f"DS:{' '.join(description.split())}"] if description else []
    lines.append("\t".join([*program, f"CL:{' '.join(command.split())}"]))
    return "\n".join(lines) + "\n"


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
        self._stream: BufferedWriter

    def __enter__(self) -> "BamWriter":
        with ExitStack() as stack:
            temporary = stack.enter_context(atomic_path(self.path))
            self._stream = stack.enter_context(open(temporary, "wb"))
            self.write(self._head)
            self._stack = stack.pop_all()
        return self

    @property
    def offset(self) -> int:
        """Byte of the file at which the next block begins."""
        return self._stream.tell()

    def write(self, records: bytes | NDArray[np.uint8]) -> None:
        """Compress and append record bytes from `assemble`."""
        self.write_blocks([compress_blocks(records, self.level)])

    def write_blocks(self, pieces: Sequence[NDArray[np.uint8]]) -> None:
        """Append what `compress_blocks` made in other threads; the caller keeps the order."""
        self._stream.writelines(piece.data for piece in pieces)

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
    parts = [BAM_MAGIC, struct.pack("<i", len(encoded)), encoded, struct.pack("<i", len(names))]
    for name, length in zip(names, lengths, strict=True):
        parts.append(struct.pack("<i", len(name) + 1) + name.encode() + b"\0" + struct.pack("<i", int(length)))
    return b"".join(parts)

"""Writing of BAM files: the header, then blocks of records; the file gets its final name when it is complete."""

import struct
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END, atomic_path
from quire.io.sniff import BAM_MAGIC


@dataclass(frozen=True)
class ReadGroup:
    """The read group of one unit of a sample, with the ID `sample.unit`.

    Attributes:
        sample, unit, library, platform: as in the sample sheets.
        platform_unit: flowcell and lane (`HCLHLDSXX.2`) if known; otherwise PU is the name of the unit.
    """

    sample: str
    unit: str
    library: str
    platform: str
    platform_unit: str = ""

    @property
    def identifier(self) -> str:
        """Return the ID of the @RG line and of every record's RG tag."""
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
    """Return the header's text: @HD (unsorted), @SQ, @RG and the @PG line of Quire.

    `tags` has further tags of each contig's @SQ line, such as `M5:...`, separated by tabs, or nothing. White space in
    `command` becomes single spaces; an empty `description` is left out.
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
    # CL is last: pysam takes everything after it as part of the command.
    program = [f"@PG\tID:{identifier}", "PN:quire", f"VN:{version}"]
    program += [f"DS:{' '.join(description.split())}"] if description else []
    lines.append("\t".join([*program, f"CL:{' '.join(command.split())}"]))
    return "\n".join(lines) + "\n"


class BamWriter:
    """Writer of a BAM file that appears under its final name when the `with` block ends without an error.

    `level` is that of ISA-L's compression, 0 to 3.
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
        """Return the offset of the next block in the file."""
        return self._stream.tell()

    def write(self, records: bytes | NDArray[np.uint8]) -> None:
        """Compress and append bytes of records."""
        self.write_blocks([compress_blocks(records, self.level)])

    def write_blocks(self, pieces: Sequence[NDArray[np.uint8]]) -> None:
        """Append blocks from `compress_blocks`, which any thread may have made; the caller keeps their order."""
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
    """Return the uncompressed header: magic, text and contig dictionary."""
    encoded = text.encode()
    parts = [BAM_MAGIC, struct.pack("<i", len(encoded)), encoded, struct.pack("<i", len(names))]
    for name, length in zip(names, lengths, strict=True):
        parts.append(struct.pack("<i", len(name) + 1) + name.encode() + b"\0" + struct.pack("<i", int(length)))
    return b"".join(parts)

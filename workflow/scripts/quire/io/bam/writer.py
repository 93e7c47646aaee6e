"""Writing of BAM files: the header, then blocks of records; the file gets its final name when it is complete."""

import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path

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


def with_assembly(header: str, assembly: str) -> str:
    """Return the text of a header with AS in all lines of contigs, before AH; without AS if there is no assembly."""
    tag = f"\tAS:{assembly}" if assembly else ""
    line = r"(?m)^(@SQ(?:\t(?!AS:|AH:)[^\t\n]*)*)(\tAS:[^\t\n]*)?"
    return re.sub(line, lambda found: found[1] + tag, header)


class BamWriter:
    """Writer of the blocks of a BAM file; see `open_bam`."""

    def __init__(self, stream: BufferedWriter) -> None:
        self._stream = stream

    @property
    def offset(self) -> int:
        """Return the offset of the next block in the file."""
        return self._stream.tell()

    def write(self, records: bytes | NDArray[np.uint8]) -> None:
        """Compress and append bytes of records."""
        self.write_blocks([compress_blocks(records)])

    def write_blocks(self, pieces: Sequence[NDArray[np.uint8]]) -> None:
        """Append blocks from `compress_blocks`, which any thread may have made; the caller keeps their order."""
        self._stream.writelines(piece.data for piece in pieces)


@contextmanager
def open_bam(
    path: str | Path, text: str, contig_names: Sequence[str], contig_lengths: Sequence[int] | NDArray[np.int64]
) -> Iterator[BamWriter]:
    """Yield the writer of a BAM file with this header, which gets its name when the block ends without an error."""
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        writer = BamWriter(stream)
        writer.write(binary_header(text, contig_names, contig_lengths))
        yield writer
        stream.write(BGZF_END)


def binary_header(text: str, names: Sequence[str], lengths: Sequence[int] | NDArray[np.int64]) -> bytes:
    """Return the uncompressed header: magic, text and contig dictionary."""
    encoded = text.encode()
    parts = [BAM_MAGIC, struct.pack("<i", len(encoded)), encoded, struct.pack("<i", len(names))]
    for name, length in zip(names, lengths, strict=True):
        parts.append(struct.pack("<i", len(name) + 1) + name.encode() + b"\0" + struct.pack("<i", int(length)))
    return b"".join(parts)

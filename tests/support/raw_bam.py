"""BAM files from raw fields, which may be wrong."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END

NAME = b"read_a"
_LENGTH = 20


class RawRecord(NamedTuple):
    """A record of 20 bases; fields that are None have the right value, also if the parts they describe are wrong."""

    contig: int = 0
    position: int = 10
    flag: int = 0
    mate_contig: int = -1
    mate_position: int = -1
    cigar: tuple[int, ...] = (_LENGTH << 4,)
    tags: bytes = b""
    name: bytes = NAME
    name_bytes_field: int | None = None
    operations_field: int | None = None
    bases_field: int | None = None

    def encoded(self) -> bytes:
        """Return the bytes of the record."""

        def given(field: int | None, right: int) -> int:
            return right if field is None else field

        fixed = struct.pack(
            "<iiBBHHHiiii",
            self.contig,
            self.position,
            given(self.name_bytes_field, len(self.name) + 1),
            60,
            4681,
            given(self.operations_field, len(self.cigar)),
            self.flag,
            given(self.bases_field, _LENGTH),
            self.mate_contig,
            self.mate_position,
            0,
        )
        parts = self.name + b"\0" + struct.pack(f"<{len(self.cigar)}I", *self.cigar)
        body = fixed + parts + bytes([0x12]) * (_LENGTH // 2) + bytes([30]) * _LENGTH + self.tags
        return struct.pack("<i", len(body)) + body


def raw_bam(
    path: Path,
    records: Sequence[RawRecord],
    text: bytes | None = None,
    text_bytes: int | None = None,
    contig_count: int = 1,
    name_bytes: int = 4,
    contig_bytes: int = 1000,
    sorted_by_coordinate: bool = False,
    contig: bytes = b"one\0",
) -> Path:
    """Write a BAM with one contig; the numbers of its header may be wrong."""
    if text is None:
        order = "coordinate" if sorted_by_coordinate else "unsorted"
        text = f"@HD\tVN:1.6\tSO:{order}\n@SQ\tSN:one\tLN:1000\n".encode()
    header = b"BAM\1" + struct.pack("<i", len(text) if text_bytes is None else text_bytes) + text
    header += struct.pack("<ii", contig_count, name_bytes) + contig + struct.pack("<i", contig_bytes)
    content = header + b"".join(record.encoded() for record in records)
    path.write_bytes(compress_blocks(content).tobytes() + BGZF_END)
    return path

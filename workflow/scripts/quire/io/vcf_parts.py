"""Parts of a VCF that `vcf.write_part` wrote, put together: their blocks are copied as they are, the whole is indexed.

A part's header stands in blocks of its own, so that the blocks behind it belong to records alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pysam

from quire.errors import QuireError
from quire.io.bgzf import HEADER_BYTES
from quire.io.files import BGZF_END, atomic_path
from quire.io.inflate import DamagedBlock, inflate_blocks
from quire.io.vcf import contig_ranks, is_long, read_head

_WINDOW = 8 << 20  # bytes of a part that are held at a time
_HEAD_END = re.compile(rb"^#CHROM.*\n", re.MULTILINE)

TakesLines = Callable[[bytes], None]
"""Is given whole lines with their ends, in order."""


def join(
    parts: Sequence[str | Path], output: str | Path, index: str | Path, takes_lines: TakesLines | None = None
) -> int:
    """Join parts, given in genome order, to one indexed bgzip VCF.

    Args:
        parts: what `write_part` wrote, at least one; the header is the first's.
        output: the VCF (.vcf.gz).
        index: its index; .csi or .tbi by its name, and CSI content where a contig is too long for TBI.
        takes_lines: is shown every record; None where nobody counts.

    Returns:
        The number of records.

    Raises:
        QuireError: parts of different samples, damaged, or not in genome order.
    """
    head = read_head(parts[0])
    ranks, records, last = contig_ranks(head), 0, (-1, -1)
    with atomic_path(output) as temporary, atomic_path(index) as temporary_index:
        with temporary.open("wb") as out:
            for number, part in enumerate(parts):
                if read_head(part)[-1] != head[-1]:
                    raise QuireError(
                        f"{part}: its samples are not those of {parts[0]}; delete the parts and run again."
                    )
                for blocks, lines in _windows(part, number == 0):
                    out.write(blocks)
                    if not lines:
                        continue
                    first, last_line = lines[: lines.index(b"\n")], lines[lines.rfind(b"\n", 0, -1) + 1 :]
                    here = _place(first, ranks)
                    if here < last:
                        contig, position = first.split(b"\t", 2)[:2]
                        raise QuireError(
                            f"{part}: out of genome order at {contig.decode()}:{int(position)}; run rescore again."
                        )
                    last = _place(last_line, ranks)
                    records += lines.count(b"\n")
                    if takes_lines is not None:
                        takes_lines(lines)
            out.write(BGZF_END)
        csi = str(index).endswith(".csi") or is_long(head)
        try:
            pysam.tabix_index(
                str(temporary), preset="vcf", force=True, csi=csi, index=str(temporary_index), keep_original=True
            )
        except OSError as error:  # htslib's check of the order within contigs
            raise QuireError(f"{output}: its records are out of genome order ({error}); run rescore again.") from None
    return records


def _place(line: bytes, ranks: dict[str, int]) -> tuple[int, int]:
    contig, position, _ = line.split(b"\t", 2)
    return ranks[contig.decode()], int(position)


def _windows(part: str | Path, with_head: bool) -> Iterator[tuple[bytes, bytes]]:
    """Runs of a part's blocks, and the lines of records that end in them; the header's blocks only if they are wanted.

    Raises:
        QuireError: a damaged part, or one whose records share a block with the header.
    """
    with Path(part).open("rb") as stream:
        head, text = b"", b""
        while not _HEAD_END.search(text):
            start = stream.read(HEADER_BYTES)
            block = start + stream.read(int.from_bytes(start[-2:], "little") + 1 - HEADER_BYTES)
            if not start or block == BGZF_END:
                raise QuireError(f"{part}: has no whole header; delete the parts and run again.")
            head, text = head + block, text + _inflated(part, block)[0]
        if not text.endswith(b"\n") or not text.rsplit(b"\n", 2)[-2].startswith(b"#CHROM"):
            raise QuireError(f"{part}: has records in the header's blocks; delete the parts and run again.")
        if with_head:
            yield head, b""
        held, unfinished = b"", b""  # the beginning of a block, and of a line
        while new := stream.read(_WINDOW):
            held += new
            text, used = _inflated(part, held)
            blocks, held = held[:used], held[used:]
            lines = unfinished + text
            end = lines.rfind(b"\n") + 1
            unfinished = lines[end:]
            yield blocks.removesuffix(BGZF_END), lines[:end]
    if held or unfinished:
        raise QuireError(f"{part}: is cut off; delete the parts and run again.")


def _inflated(part: str | Path, blocks: bytes) -> tuple[bytes, int]:
    """What the whole blocks at the beginning of some bytes hold, and how many bytes they are."""
    try:
        text, used = inflate_blocks(np.frombuffer(bytearray(blocks), np.uint8))
    except DamagedBlock as error:
        raise QuireError(f"{part}: has {error}; delete the parts and run again.") from None
    return text.tobytes(), used

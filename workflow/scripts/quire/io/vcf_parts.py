"""Join parts of a VCF from `vcf.write_part`: copy their blocks unchanged, and index the result.

A part's header has its own blocks, so the blocks after them hold only records.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pysam

from quire.errors import QuireError
from quire.io.bgzf_cpu import HEADER_BYTES
from quire.io.files import BGZF_END, atomic_path, htslib_path
from quire.io.inflate_cpu import DamagedBlock, inflate_blocks
from quire.io.vcf import contig_lines, contig_ranks, is_long, read_head

_WINDOW = 8 << 20  # bytes of a part in memory at a time
_HEAD_END = re.compile(rb"^#CHROM.*\n", re.MULTILINE)

TakesLines = Callable[[bytes], None]
"""Consumer of whole lines with line ends, in order."""


def join(
    parts: Sequence[str | Path],
    output: str | Path,
    index: str | Path,
    takes_lines: TakesLines | None = None,
    samples: Sequence[str] | None = None,
) -> int:
    """Join parts, in genome order, to one bgzip VCF with its index, and return the number of records.

    The header is that of the first part. `takes_lines` is called with the lines of all records. An index (.csi or .tbi)
    is CSI if a contig is too long for TBI. `samples` are those that the parts must have. QuireError is raised for parts
    of different samples or contigs, and for damaged ones or ones out of genome order.
    """
    head = read_head(parts[0])
    if samples is not None and (found := head[-1].split()[9:]) != list(samples):
        raise QuireError(f"{parts[0]}: has the samples {', '.join(found)}; delete the parts and run again.")
    ranks = {name.encode(): rank for name, rank in contig_ranks(head).items()}
    records, last = 0, (-1, 0)
    with atomic_path(output) as temporary, atomic_path(index) as temporary_index:
        with temporary.open("wb") as out:
            for number, part in enumerate(parts):
                _check_head(part, read_head(part), parts[0], head)
                for blocks, lines in _windows(part, number == 0):
                    out.write(blocks)
                    if not lines:
                        continue
                    last = _last_place(part, lines, ranks, last)
                    records += lines.count(b"\n")
                    if takes_lines is not None:
                        takes_lines(lines)
            out.write(BGZF_END)
        csi = str(index).endswith(".csi") or is_long(head)
        try:
            pysam.tabix_index(
                htslib_path(temporary),
                preset="vcf",
                force=True,
                csi=csi,
                index=htslib_path(temporary_index),
                keep_original=True,
            )
        except OSError as error:
            if error.errno is not None:
                raise
            # pysam hides the error number. The order of the records has been checked, so they are not the cause.
            raise QuireError(
                f"{index}: cannot be written ({error}); check permissions and the free space there."
            ) from error
    return records


def _check_head(part: str | Path, head: Sequence[str], first: str | Path, expected: Sequence[str]) -> None:
    """Refuse a part whose samples or contigs differ from the first part's."""
    if head[-1:] != expected[-1:]:
        raise QuireError(f"{part}: its samples are not those of {first}; delete the parts and run again.")
    if contig_lines(head) != contig_lines(expected):
        raise QuireError(f"{part}: its contigs are not those of {first}; delete the parts and run again.")


def _last_place(part: str | Path, lines: bytes, ranks: dict[bytes, int], last: tuple[int, int]) -> tuple[int, int]:
    """Check that lines are in genome order after the place `last` (contig's rank, position); return the last place."""
    for line in lines.splitlines():
        name, _, rest = line.partition(b"\t")
        if not rest:
            raise QuireError(f"{part}: has a line that is no record; delete the parts and run again.")
        if name not in ranks:
            raise QuireError(
                f"{part}: its header lacks the contig {name.decode()} of a record; delete the parts and run again."
            )
        place = ranks[name], int(rest[: rest.index(b"\t")])
        if place < last:
            raise QuireError(f"{part}: out of genome order at {name.decode()}:{place[1]}; run rescore again.")
        last = place
    return last


def _windows(part: str | Path, with_head: bool) -> Iterator[tuple[bytes, bytes]]:
    """Yield runs of a part's blocks with the record lines that end in them; first the header's if `with_head`."""
    # QuireError: the part is damaged or lacks its closing block, or records share a block with the header.
    with Path(part).open("rb") as stream:
        head, text = list[bytes](), b""  # text: from the start of the last line of the blocks before
        while not _HEAD_END.search(text):
            start = stream.read(HEADER_BYTES)
            block = start + stream.read(max(0, int.from_bytes(start[-2:], "little") + 1 - HEADER_BYTES))
            if not start or block == BGZF_END:
                raise QuireError(f"{part}: has no complete header; delete the parts and run again.")
            head.append(block)
            text = text[text.rfind(b"\n") + 1 :] + _inflated(part, block)[0]
        if not text.endswith(b"\n") or not text.rsplit(b"\n", 2)[-2].startswith(b"#CHROM"):
            raise QuireError(f"{part}: has records in the header's blocks; delete the parts and run again.")
        if with_head:
            yield b"".join(head), b""
        held, unfinished, closed = b"", b"", False  # held: the start of a block; unfinished: that of a line
        while new := stream.read(_WINDOW):
            held += new
            text, used = _inflated(part, held)
            blocks, held = held[:used], held[used:]
            closed = blocks.endswith(BGZF_END) if blocks else closed
            lines = unfinished + text
            end = lines.rfind(b"\n") + 1
            unfinished = lines[end:]
            yield blocks.removesuffix(BGZF_END), lines[:end]
    if held or unfinished or not closed:
        raise QuireError(f"{part}: is cut off; delete the parts and run again.")


def _inflated(part: str | Path, blocks: bytes) -> tuple[bytes, int]:
    """Return the text of the whole blocks at the beginning of some bytes, and their size."""
    try:
        text, used = inflate_blocks(np.frombuffer(bytearray(blocks), np.uint8))
    except DamagedBlock as error:
        raise QuireError(f"{part}: has {error}; delete the parts and run again.") from None
    return text.tobytes(), used

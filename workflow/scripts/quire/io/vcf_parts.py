"""Join parts of a VCF from `vcf.write_part`: copy their blocks unchanged, and index the result.

A part's header has its own blocks, so the blocks after them hold only records.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from isal import isal_zlib

from quire.errors import QuireError
from quire.io.bam.indexing_cpu import IndexEntries
from quire.io.bgzf_cpu import compress_blocks
from quire.io.files import BGZF_END, DAMAGE, atomic_path
from quire.io.sniff import BGZF_HEADER
from quire.io.vcf import contig_lines, read_head
from quire.io.vcf_index_cpu import BEGIN, BadLine, LineIndex

_HEADER_BYTES = len(BGZF_HEADER) + 2  # including the size of the block
_WINDOW = 8 << 20  # bytes of a part in memory at a time
_HEAD_END = re.compile(rb"^#CHROM.*\n", re.MULTILINE)

TakesLines = Callable[[bytes], None]
"""Consumer of whole lines with line ends, in order."""


def join(
    parts: Sequence[str | Path],
    output: str | Path,
    index: str | Path,
    takes_lines: TakesLines | None = None,
) -> int:
    """Join parts, in genome order, to one bgzip VCF with its index, and return the number of records.

    The header is that of the first part. `takes_lines` is called with the lines of all records. An index (.csi or .tbi)
    is CSI if a contig is too long for TBI. QuireError is raised for parts of different samples or contigs, and for
    damaged ones or ones out of genome order.
    """
    head = read_head(parts[0])
    made, records, last = LineIndex(head, index), 0, BEGIN
    with atomic_path(output) as temporary, atomic_path(index) as temporary_index:
        with temporary.open("wb") as out:
            for number, part in enumerate(parts):
                _check_head(part, read_head(part), parts[0], head)
                windows = _windows(part)
                header = next(windows)
                if number == 0:
                    out.write(header.blocks)
                # Of the blocks from that of the next line on: where they begin in the file, and where their text does,
                # counted from the part's first line.
                offsets, borders, line = [out.tell()], [0], 0
                for blocks, sizes, lines in windows:
                    out.write(blocks)
                    for size, letters in sizes:
                        offsets.append(offsets[-1] + size)
                        borders.append(borders[-1] + letters)
                    try:
                        entries, last = made.entries(lines, last, np.array(offsets), np.array(borders) - line)
                    except BadLine as error:
                        raise QuireError(f"{part}: {error}") from None
                    made.add(entries)
                    line += len(lines)
                    first = bisect_right(borders, line) - 1
                    del offsets[:first], borders[:first]
                    records += lines.count(b"\n")
                    if takes_lines is not None and lines:
                        takes_lines(lines)
            out.write(BGZF_END)
        made.write(temporary_index)
    return records


def write_indexed(
    output: str | Path, index: str | Path, head: str, made: LineIndex, parts: Iterable[tuple[bytes, IndexEntries]]
) -> None:
    """Write a VCF and its index from a header and from parts of `LineIndex.packed`, in genome order."""
    with atomic_path(output) as temporary, atomic_path(index) as temporary_index:
        with temporary.open("wb") as out:
            out.write(compress_blocks(head.encode()).tobytes())
            for blocks, entries in parts:
                made.add(entries, out.tell())
                out.write(blocks)
            out.write(BGZF_END)
        made.write(temporary_index)


def _check_head(part: str | Path, head: Sequence[str], first: str | Path, expected: Sequence[str]) -> None:
    """Refuse a part whose samples or contigs differ from the first part's."""
    if head[-1:] != expected[-1:]:
        raise QuireError(f"{part}: its samples are not those of {first}; delete the parts and run again.")
    if contig_lines(head) != contig_lines(expected):
        raise QuireError(f"{part}: its contigs are not those of {first}; delete the parts and run again.")


class _Window(NamedTuple):
    """A run of a part's blocks, the sizes of each and of its text, and the record lines that end in them."""

    blocks: bytes
    sizes: list[tuple[int, int]]
    lines: bytes


def _windows(part: str | Path) -> Iterator[_Window]:
    """Yield runs of a part's blocks; first those of the header, without lines."""
    # QuireError: the part is damaged or lacks its closing block, or records share a block with the header.
    blocks, head, text = _blocks(part), b"", b""  # text: from the start of the last line of the blocks before
    while not _HEAD_END.search(text):
        block, more = next(blocks, (b"", b""))
        if not more:
            raise QuireError(f"{part}: has no complete header; delete the parts and run again.")
        head, text = head + block, text[text.rfind(b"\n") + 1 :] + more
    if not text.endswith(b"\n") or not text.rsplit(b"\n", 2)[-2].startswith(b"#CHROM"):
        raise QuireError(f"{part}: has records in the header's blocks; delete the parts and run again.")
    yield _Window(head, [], b"")
    run, sizes, lines = bytearray(), list[tuple[int, int]](), bytearray()
    for block, more in blocks:
        if block != BGZF_END:
            run += block
            sizes.append((len(block), len(more)))
            lines += more
        if len(run) >= _WINDOW or block == BGZF_END:
            end = lines.rfind(b"\n") + 1
            yield _Window(bytes(run), sizes, bytes(lines[:end]))
            run.clear()
            sizes = []
            del lines[:end]
    if lines:
        raise QuireError(f"{part}: is cut off; delete the parts and run again.")


def _blocks(part: str | Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield each block of a part with its text; QuireError: a block is damaged, or the last is no closing block."""
    block = b""
    with Path(part).open("rb") as stream:
        while start := stream.read(_HEADER_BYTES):
            size = max(_HEADER_BYTES, int.from_bytes(start[16:], "little") + 1)
            block = start + stream.read(size - _HEADER_BYTES)
            if len(block) < size:
                break
            inflater, text = isal_zlib.decompressobj(wbits=31), b""
            with suppress(*DAMAGE):
                text = inflater.decompress(block)
            if not start.startswith(BGZF_HEADER) or not inflater.eof or inflater.unused_data:
                raise QuireError(f"{part}: has a damaged block; delete the parts and run again.")
            yield block, text
    if block != BGZF_END:
        raise QuireError(f"{part}: is cut off; delete the parts and run again.")

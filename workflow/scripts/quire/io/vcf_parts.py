"""Join parts of a VCF from `vcf.write_part`: copy their blocks unchanged, and index the result.

A part's header has its own blocks, so the blocks after them hold only records.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pysam
from isal import isal_zlib

from quire.errors import QuireError
from quire.io.files import BGZF_END, DAMAGE, atomic_path, htslib_path
from quire.io.sniff import BGZF_HEADER
from quire.io.vcf import contig_lines, contig_ranks, is_long, read_head

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
    blocks, head, text = _blocks(part), b"", b""  # text: from the start of the last line of the blocks before
    while not _HEAD_END.search(text):
        block, more = next(blocks, (b"", b""))
        if not more:
            raise QuireError(f"{part}: has no complete header; delete the parts and run again.")
        head, text = head + block, text[text.rfind(b"\n") + 1 :] + more
    if not text.endswith(b"\n") or not text.rsplit(b"\n", 2)[-2].startswith(b"#CHROM"):
        raise QuireError(f"{part}: has records in the header's blocks; delete the parts and run again.")
    if with_head:
        yield head, b""
    run, lines = bytearray(), bytearray()
    for block, more in blocks:
        run += block.removesuffix(BGZF_END)
        lines += more
        if len(run) >= _WINDOW or block == BGZF_END:
            end = lines.rfind(b"\n") + 1
            yield bytes(run), bytes(lines[:end])
            run.clear()
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

"""Join parts of a VCF from `vcf.write_part`: copy their blocks unchanged, and index the result.

A part's header has its own blocks, so the blocks after them hold only records.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pysam
from numpy.typing import NDArray

from quire.errors import QuireError
from quire.io.bgzf import HEADER_BYTES
from quire.io.files import BGZF_END, atomic_path
from quire.io.inflate import DamagedBlock, inflate_blocks
from quire.io.vcf import contig_lines, contig_ranks, is_long, read_head

_WINDOW = 8 << 20  # bytes of a part in memory at a time
_POSITION_BITS = 40
_TAB, _LINE_END = b"\t\n"
_HEAD_END = re.compile(rb"^#CHROM.*\n", re.MULTILINE)

TakesLines = Callable[[bytes], None]
"""Consumer of whole lines with line ends, in order."""


def join(
    parts: Sequence[str | Path], output: str | Path, index: str | Path, takes_lines: TakesLines | None = None
) -> int:
    """Join parts, in genome order, to one indexed bgzip VCF.

    Args:
        parts: files from `write_part`, at least one; the header is that of the first.
        output: the VCF (.vcf.gz).
        index: the index, .csi or .tbi; its content is CSI if a contig is too long for TBI.
        takes_lines: called with the lines of all records, or None.

    Returns:
        The number of records.

    Raises:
        QuireError: the parts have different samples or contigs, are damaged, truncated or not in genome order, or the
            disk is full.
    """
    head = read_head(parts[0])
    ranks, records, last = contig_ranks(head), 0, -1
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
                str(temporary), preset="vcf", force=True, csi=csi, index=str(temporary_index), keep_original=True
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


def _last_place(part: str | Path, lines: bytes, ranks: dict[str, int], last: int) -> int:
    """Check that lines are in genome order after the place `last`, and return the place of the last line.

    A place has the contig's rank in its upper bits and the position in its lower bits.
    """
    data = np.frombuffer(lines, np.uint8)
    begins = np.concatenate([[0], np.flatnonzero(data == _LINE_END)[:-1] + 1])
    ends = _ends_of_names(data, begins)
    if (data[ends] != _TAB).any():
        raise QuireError(f"{part}: has a line that is no record; delete the parts and run again.")
    # Names are looked up only where they change, which is rare.
    firsts = np.concatenate([[0], np.flatnonzero(_changes(data, begins, ends - begins)) + 1])
    own = []
    for begin, end in zip(begins[firsts].tolist(), ends[firsts].tolist(), strict=True):
        name = lines[begin:end].decode()
        if name not in ranks:
            raise QuireError(f"{part}: its header lacks the contig {name} of a record; delete the parts and run again.")
        own.append(ranks[name])
    rank = np.repeat(np.array(own, np.int64), np.diff(firsts, append=len(begins)))
    position = _numbers(data, ends + 1)
    places = np.concatenate([[last], rank << _POSITION_BITS | position])
    wrong = np.flatnonzero(places[1:] < places[:-1])
    if wrong.size:
        at = int(wrong[0])
        name = lines[int(begins[at]) : int(ends[at])].decode()
        raise QuireError(f"{part}: out of genome order at {name}:{int(position[at])}; run rescore again.")
    return int(places[-1])


def _ends_of_names(data: NDArray[np.uint8], begins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the first column of each line ends: at its tab, or at the end of a line without tabs."""
    ends, going = begins.copy(), np.arange(len(begins))
    while going.size:
        going = going[data[ends[going]] >= ord(" ")]
        ends[going] += 1
    return ends


def _changes(data: NDArray[np.uint8], begins: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for each line, from the second on, whose name differs from that of the previous line."""
    changes: NDArray[np.bool_] = lengths[1:] != lengths[:-1]
    for letter in range(int(lengths.max())):
        lines = np.flatnonzero(~changes & (lengths[1:] > letter))
        changes[lines] = data[begins[lines + 1] + letter] != data[begins[lines] + letter]
    return changes


def _numbers(data: NDArray[np.uint8], begins: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the decimal numbers that begin at the given bytes."""
    numbers, at, going = np.zeros(len(begins), np.int64), begins.copy(), np.arange(len(begins))
    while going.size:
        letters = data[at[going]].astype(np.int64) - ord("0")
        is_digit = (letters >= 0) & (letters <= 9)
        going = going[is_digit]
        numbers[going] = 10 * numbers[going] + letters[is_digit]
        at[going] += 1
    return numbers


def _windows(part: str | Path, with_head: bool) -> Iterator[tuple[bytes, bytes]]:
    """Yield runs of a part's blocks with the record lines that end in them; first the header's blocks if `with_head`.

    Raises:
        QuireError: the part is damaged or lacks its closing block, or records share a block with the header.
    """
    with Path(part).open("rb") as stream:
        head, text = b"", b""
        while not _HEAD_END.search(text):
            start = stream.read(HEADER_BYTES)
            block = start + stream.read(int.from_bytes(start[-2:], "little") + 1 - HEADER_BYTES)
            if not start or block == BGZF_END:
                raise QuireError(f"{part}: has no complete header; delete the parts and run again.")
            head, text = head + block, text + _inflated(part, block)[0]
        if not text.endswith(b"\n") or not text.rsplit(b"\n", 2)[-2].startswith(b"#CHROM"):
            raise QuireError(f"{part}: has records in the header's blocks; delete the parts and run again.")
        if with_head:
            yield head, b""
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

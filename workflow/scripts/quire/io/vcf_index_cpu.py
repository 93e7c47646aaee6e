"""The index of a VCF, TBI or CSI, made from its lines while they are written."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.bai import WINDOW_SHIFT
from quire.io.bam.decode_cpu import Records
from quire.io.bam.indexing_cpu import NO_ENTRIES, IndexBuilder, IndexEntries, block_offsets, entries_at
from quire.io.bgzf_cpu import BLOCK_PAYLOAD, compress_blocks
from quire.io.vcf import contig_lines, is_long, length_of_contig, name_of_contig
from quire.ragged import pack_bytes
from quire.simd.compiled import compiled, inlined

LINE = np.dtype([("contig", np.int64), ("position", np.int64), ("flag", np.int64)])
"""Contig by its place in the header, 0-based position, and 0, since every line has a position."""
_TAB, _LINE_END, _SEMICOLON, _ZERO, _NINE = b"\t\n;09"
_END = np.frombuffer(b"END=", np.uint8)
_WHOLE, _NO_RECORD, _UNKNOWN_CONTIG, _OUT_OF_ORDER = range(4)  # kinds of lines


class LinePlace(NamedTuple):
    """A place in a VCF: a contig by its place in the header, and a 0-based position."""

    contig: int
    position: int


BEGIN = LinePlace(-1, 0)
"""A place before all others."""


class BadLine(Exception):
    """A line that cannot be indexed; the message says why and what to do."""


class LineIndex:
    """The index of a VCF with this header: CSI if `path` ends so or a contig is too long for TBI, else TBI."""

    def __init__(self, head: Sequence[str], path: str | Path) -> None:
        contigs = contig_lines(head)
        names = [name_of_contig(line) for line in contigs]
        self._names = pack_bytes([name.encode() for name in names])
        lengths = [length_of_contig(line) or 0 for line in contigs]
        is_csi = str(path).endswith(".csi") or is_long(head)
        self._builder = IndexBuilder("csi" if is_csi else "tbi", lengths, names)

    def entries(
        self, lines: bytes, after: LinePlace, offsets: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> tuple[IndexEntries, LinePlace]:
        """Return the entries of whole lines, and the place of the last; raise BadLine.

        Args:
            lines: they begin in the first of the blocks.
            after: place of the line before them, or BEGIN.
            offsets: int64[blocks + 1], where each block begins in the file, and where the last one ends.
            borders: int64[blocks + 1], the same of the blocks' text, counted from the first line.
        """
        text, number = np.frombuffer(bytearray(lines), np.uint8), lines.count(b"\n")
        if not number:
            return NO_ENTRIES, after
        records, ends = Records(text, np.empty(number, np.int64), np.empty(number, LINE)), np.empty(number, np.int64)
        kind, line = _scan(records, ends, *self._names, *after)
        if kind != _WHOLE:
            raise BadLine(_words(kind, lines[line : lines.index(b"\n", line)]))
        contigs, positions = records.fixed["contig"], records.fixed["position"]
        windows = int(((ends - 1 >> WINDOW_SHIFT) - (positions >> WINDOW_SHIFT) + 1).sum())
        entries = entries_at(records, ends, windows, offsets, borders, self._builder.depth)
        return entries, LinePlace(int(contigs[-1]), int(positions[-1]))

    def packed(self, lines: bytes, level: int) -> tuple[bytes, IndexEntries]:
        """Return whole lines as BGZF blocks, and their entries, whose offsets count from the first block."""
        blocks = compress_blocks(lines, level)
        offsets = block_offsets(blocks, -(-len(lines) // BLOCK_PAYLOAD))
        entries, _ = self.entries(lines, BEGIN, offsets, np.arange(len(offsets)) * BLOCK_PAYLOAD)
        return blocks.tobytes(), entries

    def add(self, entries: IndexEntries, offset: int = 0) -> None:
        """Add the entries of the next stretch, whose offsets count from byte `offset` of the file."""
        self._builder.add(entries, offset)

    def write(self, path: Path) -> None:
        """Write the index."""
        self._builder.write(path, 0)


def _words(kind: int, line: bytes) -> str:
    """Return what is wrong with a line."""
    name, position, *_ = f"{line.decode(errors='replace')}\t\t".split("\t", 2)
    if kind == _OUT_OF_ORDER:
        return f"out of genome order at {name}:{position}; run rescore again."
    if kind == _UNKNOWN_CONTIG:
        return f"its header lacks the contig {name} of a record; delete the parts and run again."
    return "has a line that is no record; delete the parts and run again."


@compiled
def _scan(records, ends, letters, offsets, contig, position):
    """Fill begin, fields and end of each line; return the kind of the first bad line, else _WHOLE, and its begin."""
    # `records` are `Records` of the text with LINE[lines], `ends` int64[lines] the positions after the last bases, by
    # END or else by REF, `letters` and `offsets` the names of the contigs; contig and position are of the line before.
    text, starts, fixed = records
    at = np.int64(0)
    for i in range(len(starts)):
        start = starts[i] = at
        at = _column_end(text, start)
        if text[at] != _TAB:
            return _NO_RECORD, start
        own = contig
        if contig < 0 or not _is_name(text, start, at, letters, offsets, contig):
            own = _number_of(text, start, at, letters, offsets)
            if own < 0:
                return _UNKNOWN_CONTIG, start
        value, at = _number(text, at + 1)
        if value <= 0 or text[at] != _TAB:
            return _NO_RECORD, start
        if own < contig or (own == contig and value - 1 < position):
            return _OUT_OF_ORDER, start
        contig, position = own, value - 1
        fixed[i].contig, fixed[i].position, fixed[i].flag = contig, position, 0
        for column in range(5):  # ID, REF, ALT, QUAL, FILTER
            begin, at = at + 1, _column_end(text, at + 1)
            if text[at] != _TAB:
                return _NO_RECORD, start
            if column == 1:
                ends[i] = position + max(at - begin, 1)
        begin, at = at + 1, _column_end(text, at + 1)
        end = _end_of(text, begin, at)
        if end > position:
            ends[i] = end
        while text[at] != _LINE_END:
            at += 1
        at += 1
    return _WHOLE, at


@inlined
def _column_end(text, at):
    while text[at] != _TAB and text[at] != _LINE_END:
        at += 1
    return at


@inlined
def _number(text, at):
    """Return the number at a place, -1 without digits, and the place after it."""
    value = np.int64(-1)
    while _ZERO <= text[at] <= _NINE and value < 1 << 40:
        value = max(value, 0) * 10 + text[at] - _ZERO
        at += 1
    return value, at


@inlined
def _is_name(text, begin, end, letters, offsets, contig):
    first, size = offsets[contig], end - begin
    same, k = offsets[contig + 1] - first == size, 0
    while same and k < size:
        same = text[begin + k] == letters[first + k]
        k += 1
    return same


@inlined
def _number_of(text, begin, end, letters, offsets):
    """Return the contig of a name, -1 for an unknown one."""
    for contig in range(len(offsets) - 1):
        if _is_name(text, begin, end, letters, offsets, contig):
            return np.int64(contig)
    return np.int64(-1)


@inlined
def _end_of(text, begin, end):
    """Return the number of END in INFO, -1 without one."""
    at = begin
    while at + len(_END) < end:
        k = 0
        while k < len(_END) and text[at + k] == _END[k]:
            k += 1
        if k == len(_END):
            return _number(text, at + k)[0]
        while at < end and text[at] != _SEMICOLON:
            at += 1
        at += 1
    return np.int64(-1)

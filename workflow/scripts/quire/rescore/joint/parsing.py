"""The records of a gVCF, checked against the reference, from its text to columns."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.files import read_errors
from quire.io.text_chunks import text_chunks
from quire.io.vcf import NON_REFERENCE
from quire.ragged import offsets_from_lengths
from quire.reference import Reference
from quire.rescore.genotyping.rank_sums_cpu import RANK_SUMS
from quire.rescore.joint.columns import STRANDS, RecordColumns, RecordPart, join, part_of, take
from quire.rescore.joint.gvcf import MISSING, Head, RecordValues, parse_record
from quire.rescore.joint.parsing_cpu import BLOCK, Lines, new_lines, parse_lines

CHUNK_BYTES = 1 << 24
_LINE_END = b"\n"
_MOST_DIGITS, _SHOWN = 10, 40  # of a position, and letters of it in a message
_BASES = np.zeros(256, np.bool_)
_BASES[list(b"ACGT")] = True
_UPPER_CASE = ~np.uint8(0x20)


def parts_of(path: str | Path, head: Head, reference: Reference) -> Iterator[tuple[int, RecordPart]]:
    """Yield the number of a contig and some of its records, in the order of the file.

    Raises:
        InputError: a record cannot be used, differs from the reference, or is out of order.
    """
    done: set[int] = set()
    contig, position = -1, 0
    for text in _whole_lines(path):
        at = 0
        lines = new_lines(text)
        while at < len(text):
            name = _first_column(path, text, at)
            number = reference.contig_number.get(name, -1)
            if number < 0:
                raise InputError(f"{path}: has a record on {name!r}, which is not in the reference; make it again.")
            if number != contig:
                if number in done:
                    raise InputError(f"{path}: the records of {name} are not together; run bcftools sort on it.")
                done.add(number)
                contig, position = number, 0
            count, after = parse_lines(text, at, np.frombuffer(bytearray(name.encode()), np.uint8), lines)
            part = _part(path, text, count, after, lines, len(head.samples))
            _check(path, part.columns, position, reference, contig)
            _check_letters(path, part, reference, contig)
            yield contig, part
            position, at = int(part.columns.start[-1]), after


def _whole_lines(path: str | Path) -> Iterator[NDArray[np.uint8]]:
    """Yield the lines after the header as chunks of text that end with a line."""
    rest, is_head = np.empty(0, np.uint8), True
    with read_errors(path):
        for chunk in text_chunks(path, CHUNK_BYTES):
            text = np.concatenate([rest, chunk])
            content = text.tobytes()
            after, at = content.rfind(_LINE_END) + 1, 0
            while is_head and at < after and content.startswith(b"#", at):
                at = content.find(_LINE_END, at) + 1
            is_head = is_head and at == after
            if at < after:
                yield text[at:after]
            rest = text[after:].copy()
    if len(rest):
        raise InputError(f"{path}: its last line has no end; make or copy the file again.")


def _first_column(path: str | Path, text: NDArray[np.uint8], at: int) -> str:
    line = text[at : at + 1000].tobytes().split(b"\n", 1)[0]
    name, tab, _ = line.partition(b"\t")
    if not tab:
        raise InputError(f"{path}: has a line without columns ({line[:40]!r}); make or copy the file again.")
    return name.decode(errors="replace")


def _part(path: str | Path, text: NDArray[np.uint8], count: int, after: int, lines: Lines, samples: int) -> RecordPart:
    """Return the records of `count` lines, which end before `after`, in their order."""
    is_block = (lines.kind[:count] == BLOCK) & (samples == 1)
    blocks, others = np.flatnonzero(is_block), np.flatnonzero(~is_block)
    ends = np.append(lines.first[1:count], after) - 1
    records = [_record(path, text[lines.first[i] : ends[i]].tobytes(), samples) for i in others.tolist()]
    order = np.empty(count, np.int64)
    order[blocks] = np.arange(len(blocks))
    order[others] = len(blocks) + np.arange(len(others))
    joined = join([_of_blocks(lines, blocks), part_of(records)])
    return take(joined, order) if len(others) else joined


def _record(path: str | Path, line: bytes, samples: int) -> RecordValues:
    position = line.split(b"\t", 2)[1]
    if not position.isdigit() or len(position) > _MOST_DIGITS:
        shown = position[:_SHOWN].decode(errors="replace")
        raise InputError(f"{path}: has a record at position {shown!r}; make it again.")
    at = f"{path}: the record at position {int(position)}"
    try:
        return parse_record(line.decode().rstrip("\r"), at, samples)
    except UnicodeDecodeError as error:
        raise InputError(f"{at} is no text ({error}); make or copy the gVCF again.") from error


def _of_blocks(lines: Lines, rows: NDArray[np.int64]) -> RecordPart:
    """Return blocks as columns without details."""
    letters = np.unique(lines.letter[rows])
    n, nothing = len(rows), np.empty(0, np.int32)
    first = offsets_from_lengths(np.ones(n, np.int64))[:-1].astype(np.int32)
    columns = RecordColumns(
        lines.start[rows],
        lines.end[rows],
        np.searchsorted(letters, lines.letter[rows]).astype(np.int32),
        np.full(n, MISSING, np.int32),
        first,
        np.full(n, MISSING, np.int32),
        lines.ploidy[rows],
        lines.flags[rows],
        lines.quality[rows],
        lines.depth[rows],
        lines.phred_first[rows],
        lines.phred_count[rows],
        lines.phreds[: int(lines.phred_first[rows[-1]] + lines.phred_count[rows[-1]]) if n else 0],
        np.empty((0, 2), np.int64),
        np.empty((0, len(RANK_SUMS))),
        nothing,
        np.empty((0, STRANDS), np.int32),
        *[nothing] * 4,
    )
    return RecordPart(columns, [f"{chr(letter)}\t{NON_REFERENCE}" for letter in letters.tolist()], [])


def _check(path: str | Path, columns: RecordColumns, position: int, reference: Reference, contig: int) -> None:
    """Refuse records that are out of order or leave the contig; `position` is the start of the record before."""
    name, length = reference.contig_names[contig], int(reference.contig_lengths[contig])
    beyond = (columns.end > length) | (columns.start >= length) | (columns.start < 0)
    if beyond.any():
        at = int(columns.start[beyond.argmax()]) + 1
        raise InputError(f"{path}: the record at position {at} of {name} is beyond the contig; make the gVCF again.")
    steps = np.diff(columns.start, prepend=np.int32(position))
    if (steps < 0).any():
        at = int(columns.start[(steps < 0).argmax()]) + 1
        raise InputError(f"{path}: the record at position {at} of {name} is out of order; run bcftools sort on it.")
    if (columns.end <= columns.start).any():
        at = int(columns.start[(columns.end <= columns.start).argmax()]) + 1
        raise InputError(f"{path}: the record at position {at} of {name} ends before it begins; make it again.")


def _check_letters(path: str | Path, part: RecordPart, reference: Reference, contig: int) -> None:
    """Refuse records whose reference alleles differ from the letters of the reference."""
    starts, spelling = part.columns.start, part.columns.spelling
    alleles = [text.partition("\t")[0] for text in part.spellings]
    lengths = np.array([len(allele) for allele in alleles])
    first, end = int(starts[0]), int((starts + lengths[spelling]).max())
    own = np.frombuffer(reference.sequence(contig, first, min(end, int(reference.contig_lengths[contig]))), np.uint8)
    firsts = np.array([ord(allele[0]) for allele in alleles], np.uint8) & _UPPER_CASE
    here = own[starts - first]
    wrong = (firsts[spelling] != here) & _BASES[firsts[spelling]] & _BASES[here]
    for row in np.flatnonzero(wrong | (lengths[spelling] > 1)).tolist():
        start, text = int(starts[row]), alleles[spelling[row]].upper()
        there = own[start - first : start - first + len(text)].tobytes().decode()
        for place, (letter, other) in enumerate(zip(text, there, strict=False)):
            if letter != other and {letter, other} <= set("ACGT"):
                raise InputError(
                    f"{path}: says {letter} at {reference.contig_names[contig]}:{start + place + 1} where the "
                    f"reference has {other}; make the gVCF again with this reference."
                )

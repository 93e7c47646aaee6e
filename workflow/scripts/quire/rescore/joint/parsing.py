"""The records of a gVCF, checked against the reference, from its text to columns."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.files import read_errors
from quire.io.text_chunks import text_chunks
from quire.io.vcf import NON_REFERENCE
from quire.reference import Reference
from quire.rescore.joint.columns import RecordColumns, RecordPart
from quire.rescore.joint.gvcf import Head
from quire.rescore.joint.parsing_cpu import (
    NO_NON_REFERENCE,
    PLAIN_SPELLINGS,
    WRONG_ALLELE,
    WRONG_COLUMNS,
    WRONG_FORMAT,
    WRONG_PHREDS,
    WRONG_POSITION,
    Parsed,
    parse_lines,
    room_for,
)

CHUNK_BYTES = 1 << 24
_LINE_END = b"\n"
_LONGEST_HEAD = 10_000  # letters of a line in which its contig and position stand
_SHOWN = 40  # letters of a wrong text in a message
_PLAIN = [f"{chr(letter)}\t{NON_REFERENCE}" for letter in range(ord("A"), ord("A") + PLAIN_SPELLINGS)]
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
        parsed, columns = room_for(text, len(head.samples))
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
            after = parse_lines(
                text, at, np.frombuffer(bytearray(name.encode()), np.uint8), len(head.samples), parsed, columns
            )
            _require_right(path, text, after, parsed.fault.tolist())
            part = _part(text, parsed, columns, len(head.samples))
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
    line = text[at : at + _LONGEST_HEAD].tobytes().split(b"\n", 1)[0]
    name, tab, _ = line.partition(b"\t")
    if not tab:
        raise InputError(f"{path}: has a line without columns ({line[:40]!r}); make or copy the file again.")
    return name.decode(errors="replace")


def _part(text: NDArray[np.uint8], parsed: Parsed, room: RecordColumns, samples: int) -> RecordPart:
    """Return the records of a text that were parsed."""
    records, phreds, details, depths, spellings, phases = parsed.counts.tolist()
    n, d = records * samples, details * samples
    counts = [*[records] * 6, *[n] * 6, phreds, *[details] * 3, *[d] * 4, depths]
    arrays: list[Any] = [*room]
    columns = RecordColumns(*(array[:count].copy() for array, count in zip(arrays, counts, strict=True)))
    content = text.data
    numbers = {spelling: number for number, spelling in enumerate(_PLAIN)}
    own = [
        numbers.setdefault(bytes(content[first:stop]).decode().upper(), len(numbers))
        for first, stop in parsed.spelling_spans[:spellings].tolist()
    ]
    columns = columns._replace(spelling=np.array([*range(PLAIN_SPELLINGS), *own], np.int32)[columns.spelling])
    return RecordPart(columns, [*numbers], [_phase(content, spans) for spans in parsed.phase_spans[:phases].tolist()])


def _phase(content: memoryview, spans: Sequence[tuple[int, int]]) -> str:
    genotype, identifier, position = (bytes(content[first:stop]).decode() for first, stop in spans)
    return f"{genotype}:{identifier}:{int(position) if position.isdecimal() else '.'}"


def _require_right(path: str | Path, text: NDArray[np.uint8], at: int, fault: Sequence[int]) -> None:
    """Raise InputError for a fault of the line that begins at a place of the text."""
    kind, first, stop = fault
    if not kind:
        return
    line = text[at : at + _LONGEST_HEAD].tobytes().split(b"\n", 1)[0]
    position, wrong = _shown(line.split(b"\t", 2)[1]), _shown(text[first:stop].tobytes())
    record = f"{path}: the record at position {position}"
    if kind == WRONG_POSITION:
        raise InputError(f"{path}: has a record at position {wrong!r}; make it again.")
    if kind == WRONG_COLUMNS:
        raise InputError(f"{record} does not have the columns of the header; make or copy the gVCF again.")
    if kind == WRONG_ALLELE:
        raise InputError(f"{record} has the allele {wrong!r}, which is no bases; make the gVCF again.")
    if kind == NO_NON_REFERENCE:
        raise InputError(f"{record} has no allele {NON_REFERENCE}; make the gVCF again.")
    if kind == WRONG_FORMAT:
        raise InputError(f"{record} has no GT in FORMAT, or a key twice; make or copy the gVCF again.")
    if kind == WRONG_PHREDS:
        count = int((text[first:stop] == ord(",")).sum()) + 1
        raise InputError(f"{record} has {count} values in PL, not one per genotype; make it again.")
    raise InputError(f"{record} has a wrong value ({wrong!r}); make or copy the gVCF again.")


def _shown(text: bytes) -> str:
    return text[:_SHOWN].decode(errors="replace")


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

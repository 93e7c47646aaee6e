"""Alternate contigs of a reference: alternative sequences of parts of the primary assembly, and their alignments to it.

A file next to the FASTA lists them, as for bwa and bwa-postalt (bwa's README-alt): SAM lines that align them to the
primary assembly, or only names.
"""

import itertools
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.ragged import offsets_from_lengths
from quire.sam import FLAG_REVERSE, FLAG_UNMAPPED

logger = logging.getLogger("quire.reference")
SAM_COLUMNS = 11  # mandatory columns of a line
_ELEMENT = re.compile(r"(\d+)([MIDNSHP=X])")
_CIGAR = re.compile(r"(\d+[MIDNSHP=X])+")


class Lifts(NamedTuple):
    """The n alignments of alternate contigs to other contigs. Coordinates are 0-based and half-open.

    Attributes:
        offsets: int64[contigs + 1]; alignments [offsets[c], offsets[c + 1]), sorted by `begin`, are those of contig c.
        begin, end: int64[n], the aligned part of the alternate contig.
        length: int64[n], bases of the alternate contig.
        contig: int32[n], the contig to which it is aligned.
        position: int64[n], the first aligned base of that contig.
        reverse: uint8[n], 1 if the reverse complement is aligned.
        piece_offsets: int64[n + 1]; there is one piece for each CIGAR operation with bases of the alternate contig.
        piece_begin: int64[pieces], start on the alternate contig, counted from its end if `reverse`.
        piece_place: int64[pieces], start on the other contig, counted from `position`; for an insertion the place of
            the next base, for a clip -1.
        piece_step: uint8[pieces], 1 if each base has its own place; 0 in insertions and clips.
    """

    offsets: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    length: NDArray[np.int64]
    contig: NDArray[np.int32]
    position: NDArray[np.int64]
    reverse: NDArray[np.uint8]
    piece_offsets: NDArray[np.int64]
    piece_begin: NDArray[np.int64]
    piece_place: NDArray[np.int64]
    piece_step: NDArray[np.uint8]


def read_alternate(
    path: str | Path, contig_names: Sequence[str], contig_lengths: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], Lifts | None]:
    """Read a list of alternate contigs: a file of SAM lines (header lines are skipped), or of one name per line.

    Returns:
        uint8[contigs], 1 for alternate contigs, and their alignments to other contigs (None if it has only names).

    Raises:
        InputError: the file cannot be read; it names no contig of the reference, all contigs, or an unknown one; a line
            is neither SAM nor a name, or does not fit the reference.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}: the list of alternate contigs cannot be read ({error}); repair or remove it."
        ) from None
    lines = [
        (number, [column.strip() for column in line.rstrip().split("\t")])
        for number, line in enumerate(text, 1)
        if not line.startswith("@")
    ]
    lines = [(number, line) for number, line in lines if line[0]]
    contig_number = {name: number for number, name in enumerate(contig_names)}
    alternate = _named(path, lines, contig_number)
    sam = [(number, line) for number, line in lines if len(line) > 1]
    lifts = read_lifts(path, sam, contig_number, contig_lengths) if sam else None
    aligned = 0 if lifts is None else int((np.diff(lifts.offsets) > 0).sum())
    logger.info("%s: %d of %d contigs are alternate, %d of them aligned to others", path, alternate.sum(),
                len(alternate), aligned)  # fmt: skip
    return alternate, lifts


def _named(path: Path, lines: list[tuple[int, list[str]]], contig_number: dict[str, int]) -> NDArray[np.uint8]:
    names = {line[0] for _, line in lines}
    alternate = np.zeros(len(contig_number), np.uint8)
    alternate[[contig_number[name] for name in names if name in contig_number]] = 1
    if not alternate.any():
        raise InputError(
            f"{path}: none of its {len(names)} names is a contig of the reference; give the list of this reference's "
            "alternate contigs, or remove the file."
        )
    if alternate.all():
        raise InputError(f"{path}: names all contigs of the reference; remove those of the primary assembly.")
    for number, line in lines:
        name = line[0]
        if name not in contig_number:
            raise InputError(
                f"{path}: line {number} names {name}, which is not a contig of the reference; remove the line, or give "
                "the list of this reference's alternate contigs."
            )
        if 1 < len(line) < SAM_COLUMNS:
            raise InputError(
                f"{path}: line {number} is neither SAM nor a name: it has {len(line)} columns and not {SAM_COLUMNS}; "
                "give the alignment as an aligner writes it, or the name alone."
            )
    return alternate


class _Lift(NamedTuple):
    """One alignment: the number of the alternate contig, then fields as in `Lifts`; pieces are (begin, place, step)."""

    source: int
    begin: int
    end: int
    length: int
    contig: int
    position: int
    reverse: bool
    pieces: list[tuple[int, int, int]]


def read_lifts(
    path: Path,
    lines: Sequence[tuple[int, list[str]]],
    contig_number: Mapping[str, int],
    contig_lengths: NDArray[np.int64],
) -> Lifts:
    """Read the alignments of SAM lines (their numbers from 1, and columns); unmapped lines have none."""
    found = [_lift(f"{path}: line {number}", line, contig_number, contig_lengths) for number, line in lines]
    lifts = sorted((lift for lift in found if lift is not None), key=lambda lift: (lift.source, lift.begin))
    pieces = [piece for lift in lifts for piece in lift.pieces]
    places = np.array(pieces, np.int64).reshape(-1, 3)
    columns = list(zip(*lifts, strict=True)) if lifts else [()] * len(_Lift._fields)
    sources, begin, end, length, contig, position, reverse, _ = columns
    return Lifts(
        offsets=offsets_from_lengths(np.bincount(np.array(sources, np.int64), minlength=len(contig_lengths))),
        begin=np.array(begin, np.int64),
        end=np.array(end, np.int64),
        length=np.array(length, np.int64),
        contig=np.array(contig, np.int32),
        position=np.array(position, np.int64),
        reverse=np.array(reverse, np.uint8),
        piece_offsets=offsets_from_lengths([len(lift.pieces) for lift in lifts]),
        piece_begin=places[:, 0].copy(),
        piece_place=places[:, 1].copy(),
        piece_step=places[:, 2].astype(np.uint8),
    )


def _lift(
    where: str, line: list[str], contig_number: Mapping[str, int], contig_lengths: NDArray[np.int64]
) -> _Lift | None:
    name, flag_text, target, position_text, _, cigar = line[:6]
    if not flag_text.isdecimal() or not position_text.isdecimal():
        raise InputError(
            f"{where} is not SAM: its FLAG {flag_text!r} and POS {position_text!r} must be numbers; give the "
            "alignments as an aligner writes them."
        )
    flag, position = int(flag_text), int(position_text) - 1
    if flag & FLAG_UNMAPPED or target == "*":
        return None
    if target not in contig_number:
        raise InputError(
            f"{where} aligns {name} to {target}, which is not a contig of the reference; give the list of this "
            "reference's alternate contigs, or remove the line."
        )
    if not _CIGAR.fullmatch(cigar):
        raise InputError(
            f"{where} aligns {name} to {target} with {cigar!r}, which is not a CIGAR; give the alignment, or the name "
            "alone."
        )
    elements = [(int(length), operation) for length, operation in _ELEMENT.findall(cigar)]
    pieces, on_source, on_target, aligned = _pieces(elements)
    source, number = contig_number[name], contig_number[target]
    if on_source != contig_lengths[source]:
        raise InputError(
            f"{where}: the CIGAR has {on_source} bases of {name}, which has {contig_lengths[source]}; give the list "
            "of this reference's alternate contigs."
        )
    if position < 0 or position + on_target > contig_lengths[number]:
        raise InputError(
            f"{where} aligns {name} to {target}:{position + 1}-{position + on_target}, which is not within its "
            f"{contig_lengths[number]} bases; give the list of this reference's alternate contigs."
        )
    reverse = bool(flag & FLAG_REVERSE)
    clips = itertools.takewhile(lambda element: element[1] in "SHP", reversed(elements) if reverse else elements)
    begin = sum(length for length, operation in clips if operation != "P")
    return _Lift(source, begin, begin + aligned, on_source, number, position, reverse, pieces)


def _pieces(elements: list[tuple[int, str]]) -> tuple[list[tuple[int, int, int]], int, int, int]:
    """Return the pieces, and the bases of the alternate contig, the other contig, and the former's aligned part."""
    pieces, source, target, aligned = [], 0, 0, 0
    for length, operation in elements:
        if operation in "M=XISH" and length:
            place, step = (-1, 0) if operation in "SH" else (target, int(operation != "I"))
            pieces.append((source, place, step))
            source += length
            aligned += 0 if operation in "SH" else length
        if operation in "M=XDN":
            target += length
    return pieces, source, target, aligned

"""Alternate contigs of a reference: alternative sequences of parts of the primary assembly.

A file next to the FASTA lists them, as for bwa and bwa-postalt (bwa's README-alt): SAM lines that align them to the
primary assembly, or only names.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.reference.lifts import SAM_COLUMNS, Lifts, read_lifts

logger = logging.getLogger("quire.reference")


class AlternateContigs(NamedTuple):
    """A list of alternate contigs.

    Attributes:
        contigs: uint8[contigs], 1 for alternate contigs.
        lifts: their alignments to other contigs; None if the list has only names.
    """

    contigs: NDArray[np.uint8]
    lifts: Lifts | None


def read_alternate(
    path: str | Path, contig_names: Sequence[str], contig_lengths: NDArray[np.int64]
) -> AlternateContigs:
    """Read a list of alternate contigs: a file of SAM lines (header lines are skipped), or of one name per line.

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
    return AlternateContigs(alternate, lifts)


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

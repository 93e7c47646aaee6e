"""Reading of one sequence of a pair: a record of a FASTA or a region of the record."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.reference.fasta import read_fasta

_SPAN = re.compile(r"(?P<name>.+):(?P<start>[0-9][0-9,]*)-(?P<end>[0-9][0-9,]*)")
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class SequenceRegion:
    """A part of a FASTA record.

    Attributes:
        record_length: bases of the whole record.
        start: position of the first base, 0-based.
        codes: uint8[n], codes of the bases: 0..3 for A, C, G, T, and 4 for all others.
    """

    name: str
    record_length: int
    start: int
    codes: NDArray[np.uint8]

    @property
    def end(self) -> int:
        """End position, 0-based and exclusive."""
        return self.start + len(self.codes)

    def __str__(self) -> str:
        return f"{self.name}:{self.start + 1:,}-{self.end:,}"


def read_region(fasta: Path, region: str) -> SequenceRegion:
    """Read a record of a FASTA (plain, gzip or bgzip), or a region of it.

    The region is "" for the only record; else the name of a record, or `name:start-end` (1-based, end included, commas
    allowed). If this whole text is the name of a record, that record is read.

    Raises:
        InputError: bad FASTA, several records but none named, no such record, or a region outside of the record.
    """
    span = _SPAN.fullmatch(region)
    wanted = (region, span["name"]) if span else (region,)
    kept: dict[str, list[NDArray[np.uint8]]] = {}
    lengths: dict[str, int] = {}
    for piece in read_fasta(fasta):
        lengths[piece.name] = lengths.get(piece.name, 0) + len(piece.codes)
        if piece.name in wanted or (region == "" and len(lengths) == 1):
            kept.setdefault(piece.name, []).append(piece.codes)
    names = list(lengths)
    if region == "" and len(names) > 1:
        raise InputError(
            f"{fasta}: has {len(names)} records, of which one can be aligned; say which, as {fasta}:{names[0]} or "
            f"{fasta}:{names[1]}."
        )
    name = names[0] if region == "" else next((name for name in wanted if name in kept), None)
    if name is None:
        shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
        raise InputError(f"{fasta}: has no record {wanted[-1]} (region {region}); its records are {shown}.")
    codes, start = np.concatenate(kept[name]), 0
    if span and name != region:
        first, end = (int(span[side].replace(",", "")) for side in ("start", "end"))
        if not 1 <= first <= end <= len(codes):
            raise InputError(
                f"{fasta}: the region {region} does not lie in {name}, which has {len(codes):,} bases; positions count "
                "from 1 and the end is the last base."
            )
        start, codes = first - 1, codes[first - 1 : end].copy()
    return SequenceRegion(name, lengths[name], start, codes)

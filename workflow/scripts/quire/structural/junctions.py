"""Junctions: two ends on the reference that are neighbours in a sample, with the bases inserted between them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.reference import Reference
from quire.sequence.codes import COMPLEMENT

LONGEST_HOMOLOGY = 400  # bases that a junction is shifted by at most
_N = 4


class End(NamedTuple):
    """An end of a stretch of the reference that is kept.

    Attributes:
        contig: number.
        position: 0-based, between the bases position - 1 and position.
        right: True if the bases before the position are kept, and the sample leaves the reference to the right.
    """

    contig: int
    position: int
    right: bool


class Source(NamedTuple):
    """A stretch of the reference (0-based, half-open) of which inserted bases are a copy, on either strand."""

    contig: int
    start: int
    end: int
    forward: bool


@dataclass(frozen=True, order=True)
class Junction:
    """Two ends, the first not after the second, that a sample joins.

    Attributes:
        first, second: the ends.
        inserted: codes between them, read away from the first end.
        homology: bases by which the junction can be shifted without a change of the sequence.
        imprecise: True if only pairs show it.
        source: of what inserted bases are a copy, if it is known.
        both: True for an inversion whose other junction was found too.
        ending: codes before the second end if those between `inserted` and it are unknown.
    """

    first: End
    second: End
    inserted: bytes = b""
    homology: int = 0
    ending: bytes | None = None
    both: bool = False
    imprecise: bool = False
    source: Source | None = field(default=None, compare=False)

    @property
    def kind(self) -> str:
        """DEL, DUP, INV or BND; the change of a deletion may be mostly an insertion (INS)."""
        if self.first.contig != self.second.contig:
            return "BND"
        if self.first.right == self.second.right:
            return "INV"
        if self.second.right:
            return "DUP"
        is_insertion = self.ending is not None or len(self.inserted) > self.second.position - self.first.position
        return "INS" if is_insertion else "DEL"

    @property
    def size(self) -> int:
        """Bases deleted, repeated, inverted or inserted (those that are known); 0 between contigs."""
        between = self.second.position - self.first.position
        return {"BND": 0, "INS": len(self.inserted) + len(self.ending or b"") - between}.get(self.kind, between)

    @property
    def second_shift(self) -> int:
        """1 if the second end moves as the first does when the junction is shifted, else -1."""
        return 1 if self.first.right != self.second.right else -1


def complement(codes: NDArray[np.uint8] | bytes) -> bytes:
    """Return the reverse complement of codes."""
    text = np.frombuffer(codes, np.uint8) if isinstance(codes, bytes) else codes
    return bytes(COMPLEMENT[text[::-1]].tobytes())


def away(reference: Reference, end: End, length: int) -> NDArray[np.uint8]:
    """Return `length` bases as read from an end away from the kept stretch; N beyond the contig."""
    if end.right:
        return _codes(reference, end.contig, end.position, end.position + length)
    return COMPLEMENT[_codes(reference, end.contig, end.position - length, end.position)[::-1]]


def back(reference: Reference, end: End, length: int) -> NDArray[np.uint8]:
    """Return `length` kept bases as read into the stretch from its end; N beyond the contig."""
    return away(reference, end._replace(right=not end.right), length)


def _codes(reference: Reference, contig: int, start: int, end: int) -> NDArray[np.uint8]:
    low, high = max(0, start), min(end, int(reference.contig_lengths[contig]))
    codes = np.full(max(0, end - start), _N, np.uint8)
    if low < high:
        codes[low - start : high - start] = reference.contig_codes(contig, low, high)
    return codes


def normalised(reference: Reference, one: End, other: End, inserted: bytes) -> Junction:
    """Return the junction of two ends in either order, at its smallest position, with its micro-homology.

    `inserted` are the bases as read away from the end `one`.
    """
    if (other.contig, other.position) < (one.contig, one.position):
        one, other, inserted = other, one, complement(inserted)
    if inserted:
        return Junction(one, other, inserted)
    forth = _shared(away(reference, one, LONGEST_HOMOLOGY), back(reference, other, LONGEST_HOMOLOGY))
    back_by = _shared(away(reference, other, LONGEST_HOMOLOGY), back(reference, one, LONGEST_HOMOLOGY))
    by = -back_by if one.right else -forth
    shift = 1 if one.right != other.right else -1
    return Junction(
        one._replace(position=one.position + by),
        other._replace(position=other.position + by * shift),
        homology=forth + back_by,
    )


def _shared(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> int:
    """Return the number of equal bases from the start on."""
    differing = np.flatnonzero((one != other) | (one >= _N))
    return int(differing[0]) if len(differing) else len(one)


def same(one: Junction, other: Junction, tolerance: int) -> bool:
    """Return True if two junctions join the same places, with their homology and a tolerance.

    The two junctions of an inversion are at the same places, with their ends the other way round.
    """
    as_is = one.kind != "INV" or one.first.right == other.first.right
    apart = tolerance + max(one.homology, other.homology)
    return all(
        a.contig == b.contig and (a.right == b.right) == as_is and abs(a.position - b.position) <= apart
        for a, b in ((one.first, other.first), (one.second, other.second))
    )

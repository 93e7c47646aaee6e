"""Sites: positions at which haplotypes differ, their alleles, and the haplotypes that carry each allele.

Follows AssemblyBasedCallerUtils.getVariantsFromActiveHaplotypes and createAlleleMapper, and
GATKVariantContextUtils.simpleMerge.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.haplotypes import Event, Haplotype

SPANNING = b"*"


@dataclass(frozen=True)
class Site:
    """A position at which variants of haplotypes start.

    Attributes:
        start: 0-based.
        alleles: codes, the reference first; SPANNING for a deletion that starts before the site.
        carriers: bool[alleles, haplotypes].
        spanning_starts: starts of the deletions that SPANNING stands for.
        given: alleles that are written whatever their QUAL.
    """

    start: int
    alleles: tuple[bytes, ...]
    carriers: np.ndarray
    spanning_starts: tuple[int, ...] = ()
    given: tuple[bytes, ...] = ()

    @property
    def end(self) -> int:
        """Position after the reference allele."""
        return self.start + len(self.alleles[0])

    @property
    def spanning_index(self) -> int:
        """Index of the allele SPANNING, -1 if there is none."""
        return self.alleles.index(SPANNING) if SPANNING in self.alleles else -1

    @property
    def given_numbers(self) -> list[int]:
        """Indices of the alleles that are given."""
        return [a for a, allele in enumerate(self.alleles) if allele in self.given]

    def subset(self, keep: Sequence[int]) -> "Site":
        """Return the site with some of its alleles, including the reference (index 0)."""
        return replace(self, alleles=tuple(self.alleles[a] for a in keep), carriers=self.carriers[list(keep)])


class SiteRows(NamedTuple):
    """A site and what counts there: reads first, then fragments of long deletions over the site.

    Attributes:
        site: its alleles, and the haplotypes that carry them.
        matrix: float64[rows, haplotypes], log10 likelihoods; each long deletion is a haplotype after the region's. A
            row of NaN is not used.
        sample: int64[rows], numbers of the samples.
        reverse: uint8[rows], 1 for the reverse strand.
        mapping_quality: uint8[rows].
    """

    site: Site
    matrix: NDArray[np.float64]
    sample: NDArray[np.int64]
    reverse: NDArray[np.uint8]
    mapping_quality: NDArray[np.uint8]


def site_starts(haplotypes: Sequence[Haplotype], span: tuple[int, int]) -> list[int]:
    """Return the positions in the span at which a haplotype starts a variant, ascending."""
    starts = {start for haplotype in haplotypes for start in haplotype.events}
    return sorted(start for start in starts if span[0] <= start < span[1])


def make_site(
    start: int, haplotypes: Sequence[Haplotype], reference: bytes, reference_start: int, given: Sequence[Event] = ()
) -> Site:
    """Merge the events over a position, at which one starts, into one set of alleles.

    `reference` holds codes from position `reference_start` on; the alleles of `given` are written in any case.
    """
    over = [haplotype.overlapping(start) for haplotype in haplotypes]
    here = [event for events in over for event in events if event.start == start]
    length = max((event.reference_length for event in here), default=1)
    at = start - reference_start
    whole = reference[at : at + length]
    alleles = [whole]
    spanning: list[int] = []
    for events in over:
        for event in events:
            allele = _allele(event, start, whole)
            if allele not in alleles:
                alleles.append(allele)
            if allele == SPANNING and event.start not in spanning:
                spanning.append(event.start)
    carriers = np.zeros((len(alleles), len(haplotypes)), np.bool_)
    for h, events in enumerate(over):
        if not events:
            carriers[0, h] = True
        for event in events:
            carriers[alleles.index(_allele(event, start, whole)), h] = True
            if event.start != start:
                break
    forced = tuple(_allele(event, start, whole) for event in given if event.start == start)
    return Site(start, tuple(alleles), carriers, tuple(sorted(spanning)), forced)


def _allele(event: Event, start: int, reference: bytes) -> bytes:
    """Return the event's allele relative to the site's (longest) reference allele."""
    if event.start != start:
        return SPANNING
    return event.alternate + reference[event.reference_length :]

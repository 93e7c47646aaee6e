"""Counts of equal and different genotypes of each pair of samples, from which kinship is estimated.

Where a sample is homozygous for the alternate, its reads of the reference are counted by whether the other sample of
the pair has the reference allele: a sample that contaminates another explains them.

Children whose parents are samples too have counts of genotypes that neither parent could pass on (Mendelian errors).

A site is a record with one alternate base for one reference base that passes the filters, outside the sex chromosomes
and the mitochondrion. A sample counts at a site if its genotype is diploid and complete.

Haploid samples, such as bacteria, are compared by their bases, also at sites of several alternate bases.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

SITES_AT_A_TIME = 4096
PAIR_COUNTS = ("sites", "same", "opposite_homozygous", "both_heterozygous", "heterozygous_first", "heterozygous_second")
HAPLOID_COUNTS = ("sites", "different")
UNKNOWN, REFERENCE, HETEROZYGOUS, ALTERNATE = range(4)
"""Codes of genotypes; haploid and partial ones are unknown."""
_CODES = {(0, 0): REFERENCE, (0, 1): HETEROZYGOUS, (1, 0): HETEROZYGOUS, (1, 1): ALTERNATE}

_GIVEN = {REFERENCE: (0,), HETEROZYGOUS: (0, 1), ALTERNATE: (1,)}
"""Alleles that a parent may pass on."""
_POSSIBLE = np.zeros((4, 4, 4), np.bool_)
"""True for the codes of child, father and mother that agree with Mendel's law."""
for _father, _mother in product(_GIVEN, repeat=2):
    for _one, _other in product(_GIVEN[_father], _GIVEN[_mother]):
        _POSSIBLE[REFERENCE + _one + _other, _father, _mother] = True


def genotype_code(genotype: bytes) -> int:
    """Return the code of a genotype (GT) at a site of two alleles."""
    alleles = genotype.replace(b"|", b"/").split(b"/")
    if len(alleles) != 2 or not all(allele.isdigit() for allele in alleles):
        return UNKNOWN
    return _CODES.get((int(alleles[0]), int(alleles[1])), UNKNOWN)


def _shared(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.int64]:
    # Integers below 2^24, which float32 adds exactly in any order.
    return (left.T @ right).astype(np.int64)


class PairCounter:
    """Counts of sites for each pair of samples, by the names of `PAIR_COUNTS`."""

    def __init__(self, samples: int, trios: Sequence[tuple[int, int, int]] = ()) -> None:
        """Start at zero; `trios` are numbers of samples: child, father, mother."""
        self._samples = samples
        self._trios = np.array(trios, np.int64).reshape(-1, 3)
        self._of_trios = np.zeros((2, len(self._trios)), np.int64)
        self._sites: list[Sequence[int]] = []
        self._reads: list[Sequence[tuple[int, int]]] = []
        self._bases: list[Sequence[int]] = []
        self._haploid = np.zeros((len(HAPLOID_COUNTS), samples, samples), np.int64)
        self._sums = np.zeros((len(PAIR_COUNTS), samples, samples), np.int64)
        self._foreign = np.zeros((4, samples, samples), np.int64)

    def add(self, codes: Sequence[int], reads: Sequence[tuple[int, int]] = ()) -> None:
        """Count a site: the code of each sample's genotype, and reads of the reference and of both alleles."""
        if self._samples < 2:
            return
        self._sites.append(codes)
        self._reads.append(reads or [(0, 0)] * self._samples)
        if len(self._sites) == SITES_AT_A_TIME:
            self._count()

    def add_haploid(self, bases: Sequence[int]) -> None:
        """Count a site of haploid samples: the letter of each one's base as its ASCII code; 0 is none, or not haploid.

        Unlike `add`, the alternate alleles may be several bases that replace one.
        """
        self._bases.append(bases)
        if len(self._bases) == SITES_AT_A_TIME:
            self._count_haploid()

    def merge(self, other: "PairCounter") -> None:
        """Add the counts of another counter of the same samples."""
        self._count()
        other._count()
        self._count_haploid()
        other._count_haploid()
        self._haploid += other._haploid
        self._sums += other._sums
        self._foreign += other._foreign
        self._of_trios += other._of_trios

    def counts(self) -> dict[str, list[int]]:
        """Return the counts of each pair of samples, (0, 1), (0, 2), ... (1, 2), ..., by name."""
        self._count()
        return self._of_pairs(PAIR_COUNTS, self._sums)

    def haploid_counts(self) -> dict[str, list[int]]:
        """Return the counts of each pair in the same order, by `HAPLOID_COUNTS`; empty if no pair is haploid."""
        self._count_haploid()
        found = self._of_pairs(HAPLOID_COUNTS, self._haploid)
        return found if any(found["sites"]) else {}

    def trios(self) -> list[list[int]]:
        """Return for each trio its sites, where a member has the alternate, and the Mendelian errors among them."""
        self._count()
        rows: list[list[int]] = self._of_trios.T.tolist()
        return rows

    def foreign(self, sample: int) -> list[list[int]]:
        """Return a row for each other sample: reads of the reference, and all, where it lacks the reference and not."""
        self._count()
        rows: list[list[int]] = self._foreign[:, sample].T.tolist()
        return rows

    def _of_pairs(self, names: Sequence[str], sums: NDArray[np.int64]) -> dict[str, list[int]]:
        first, second = np.triu_indices(self._samples, 1)
        return {name: one[first, second].tolist() for name, one in zip(names, sums, strict=True)}

    def _count_haploid(self) -> None:
        bases = np.array(self._bases, np.uint8).reshape(-1, self._samples)
        self._bases = []
        known = (bases != 0).astype(np.float32)
        sites = _shared(known, known)
        same = sum(_shared(one, one) for one in ((bases == base).astype(np.float32) for base in b"ACGT"))
        self._haploid += np.stack([sites, sites - same])

    def _count(self) -> None:
        codes = np.array(self._sites, np.int8).reshape(-1, self._samples)
        reads = np.array(self._reads, np.float64).reshape(-1, self._samples, 2)
        reads *= (codes == ALTERNATE)[:, :, None]
        self._sites, self._reads = [], []

        known = (codes != UNKNOWN).astype(np.float32)
        reference, heterozygous, alternate = (
            (codes == code).astype(np.float32) for code in (REFERENCE, HETEROZYGOUS, ALTERNATE)
        )
        same = [_shared(kind, kind) for kind in (reference, heterozygous, alternate)]
        opposite = _shared(reference, alternate)
        first = _shared(heterozygous, known)
        lacks, has = ((codes == ALTERNATE).astype(np.float64), (reference + heterozygous).astype(np.float64))
        self._foreign += np.stack([reads[:, :, i].T @ other for other in (lacks, has) for i in (0, 1)]).astype(np.int64)
        members = codes[:, self._trios]
        seen = (members != UNKNOWN).all(axis=2) & (members != REFERENCE).any(axis=2)
        wrong = seen & ~_POSSIBLE[members[:, :, 0], members[:, :, 1], members[:, :, 2]]
        self._of_trios += np.stack([seen.sum(axis=0), wrong.sum(axis=0)])
        self._sums += np.stack([_shared(known, known), sum(same), opposite + opposite.T, same[1], first, first.T])

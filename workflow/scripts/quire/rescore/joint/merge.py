"""The samples of a cohort at one site: alleles merged, and each sample's likelihoods for the merged alleles.

As in ReferenceConfidenceVariantContextMerger, a sample has the likelihoods of `<NON_REF>` for every allele that its
record does not name. If a sample's record starts before the site, its deletion over the site is '*', and every other
allele is `<NON_REF>`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.errors import InputError
from quire.io.vcf import NON_REFERENCE, SPANNING_DELETION
from quire.rescore.joint.merge_cpu import Likelihoods, Picked, spell
from quire.rescore.joint.window import CohortWindow

_UNKNOWN = ""  # an allele without a meaning at the site


@dataclass(frozen=True)
class JointSite:
    """A site with its alleles, the reference's first, and its samples in the order of the columns.

    Attributes:
        start: 0-based position.
        samples: values of all samples for the alleles.
        records: int64[], the records that start at the site.
        depth: number of reads of all samples.
        given: alternate alleles that are written whatever their QUAL.
    """

    window: CohortWindow
    start: int
    alleles: tuple[str, ...]
    samples: Likelihoods
    records: NDArray[np.int64]
    depth: int
    given: Sequence[str] = ()


def merge_site(
    window: CohortWindow,
    start: int,
    picked: NDArray[np.int32],
    letter: str = "",
    given: Sequence[tuple[str, str]] = (),
) -> JointSite:
    """Merge the samples of all files at a position.

    Args:
        window: the records.
        start: the position.
        picked: int32[files], the record of each file that counts at the position, -1 for none.
        letter: the reference's at the position, needed if no record starts there and no allele is given.
        given: reference and alternate of the alleles that are written in any case.

    Raises:
        InputError: two files differ in the reference's alleles.
    """
    columns = window.columns
    records = picked[picked >= 0].astype(np.int64)
    is_here = columns.start[records] == start
    keys, firsts, numbers = np.unique(columns.spelling[records] * 2 + is_here, return_index=True, return_inverse=True)
    ways = [(window.alleles[key // 2], bool(key % 2)) for key in keys.tolist()]
    references = [alleles[0] for alleles, here in ways if here] + [own for own, _ in given]
    reference = max(references, key=len, default=letter)
    order = np.argsort(firsts).tolist()
    for way in order:
        if ways[way][1] and not reference.startswith(ways[way][0][0]):
            name = window.name(int(records[firsts[way]]))
            raise InputError(f"{name} has another reference than the other gVCFs; make it with this reference.")
    named = [[reference, *_spelled(alleles, here, reference)] for alleles, here in ways]
    alleles = [reference]
    for way in order:
        alleles += [a for a in dict.fromkeys(named[way][1:]) if a not in (_UNKNOWN, NON_REFERENCE, *alleles)]
    forced = [alternate + reference[len(own) :] for own, alternate in given]
    alleles += [allele for allele in forced if allele not in alleles]
    cohort = window.cohort
    way_of_file = np.full(len(picked), -1, np.int32)
    way_of_file[picked >= 0] = numbers
    star = alleles.index(SPANNING_DELETION) if SPANNING_DELETION in alleles else -1
    *values, depth = spell(
        columns,
        Picked(
            picked[cohort.file_of_sample],
            cohort.number_in_file,
            cohort.ploidies(window.contig, start),
            way_of_file[cohort.file_of_sample],
            np.array([[0, *(_index(own, allele) for allele in alleles[1:])] for own in named], np.int64).reshape(
                len(named), len(alleles)
            ),
            _stars(named),
            star,
        ),
    )
    return JointSite(window, start, tuple(alleles), Likelihoods(*values), records[is_here], depth, forced)


def _spelled(alleles: Sequence[str], here: bool, reference: str) -> list[str]:
    """Spell the alternates of a record, which may start `here`, for a site with this reference allele."""
    if here:
        tail = reference[len(alleles[0]) :]
        return [a if a in (NON_REFERENCE, SPANNING_DELETION) else a + tail for a in alleles[1:]]
    return [
        NON_REFERENCE if a == NON_REFERENCE else SPANNING_DELETION if len(a) < len(alleles[0]) else _UNKNOWN
        for a in alleles[1:]
    ]


def _index(named: Sequence[str], allele: str) -> int:
    """Return the index of the first of a record's alleles that represents an allele of the site."""
    return named.index(allele, 1) if allele in named[1:] else named.index(NON_REFERENCE)


def _stars(named: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the alleles of records with several deletions over the site (`Picked.stars`)."""
    found = [[i for i, name in enumerate(own) if i > 0 and name == SPANNING_DELETION] for own in named]
    width = max((len(own) for own in found), default=0)
    stars = np.full((len(named), width if width > 1 else 0), -1, np.int64)
    for way, own in enumerate(found):
        if len(own) > 1:
            stars[way, : len(own)] = own
    return stars

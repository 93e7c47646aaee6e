"""Sites inside called long deletions: fragments that carry a deletion count for '*', as under shorter deletions."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.genotyping.sites import SPANNING, Site
from quire.rescore.long_indels.calls import Called
from quire.rescore.long_indels.support import ALTERNATE, REFERENCE
from quire.rescore.parameters import INFORMATIVE_LOG10, MISMAPPING_LOG10


class SiteRows(NamedTuple):
    """A site and what counts there, reads first, then fragments of long deletions over the site.

    Attributes:
        matrix: float64[rows, haplotypes], log10 likelihoods; each deletion is a haplotype after the region's.
        sample, reverse, mapping_quality: int64, uint8 and uint8[rows].
    """

    site: Site
    matrix: NDArray[np.float64]
    sample: NDArray[np.int64]
    reverse: NDArray[np.uint8]
    mapping_quality: NDArray[np.uint8]


def deletions_over(position: int, called: Sequence[Called]) -> list[Called]:
    """Return the long deletions that remove the base at a position."""
    return [one for one in called if one.indel.change < 0 and one.indel.start < position < one.indel.end]


def under_deletions(rows: SiteRows, over: Sequence[Called]) -> SiteRows:
    """Return the rows of a site inside some long deletions, with '*' among its alleles."""
    site, matrix = rows.site, rows.matrix
    alleles, carriers, columns = site.alleles, site.carriers, list[Any](rows[2:])
    if SPANNING not in alleles:
        alleles, carriers = (*alleles[:1], SPANNING, *alleles[1:]), np.insert(carriers, 1, False, axis=0)
    reference, misplaced = matrix[:, 0], matrix.max(axis=1) + MISMAPPING_LOG10
    for one in over:
        support = one.support
        # Where the bases after the deletion are the same, reads over the site fit it too: only fragments tell then.
        # Elsewhere these reads are the evidence against it.
        repeated = site.start < support.carriers[0].end
        chosen = repeated | (support.matrix[:, ALTERNATE] - support.matrix[:, REFERENCE] > INFORMATIVE_LOG10)
        fits_none = np.repeat(support.matrix[chosen, REFERENCE, None], matrix.shape[1], axis=1)
        fits = np.concatenate([reference if repeated else misplaced, support.matrix[chosen, ALTERNATE]])
        matrix = np.column_stack([np.concatenate([matrix, fits_none]), fits])
        carriers = np.column_stack([carriers, [allele == SPANNING for allele in alleles]])
        more: list[Any] = [support.sample.astype(np.int64), support.reverse, support.mapping_quality]
        columns = [np.concatenate([own, other[chosen]]) for own, other in zip(columns, more, strict=True)]
        reference, misplaced = (np.append(own, fits_none[:, 0]) for own in (reference, misplaced))
    return SiteRows(Site(site.start, alleles, carriers), matrix, *columns)

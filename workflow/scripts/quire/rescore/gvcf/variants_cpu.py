"""Genotypes of one sample with `<NON_REF>`, which stands for any allele that was not assembled.

Follows AlleleLikelihoods.updateNonRefAlleleLikelihoods and GenotypingEngine.calculateGenotypes as HaplotypeCaller runs
them for a gVCF: every allele is kept, since joint genotyping decides later which of them are real.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quire.rescore.dragen.priors import NON_REFERENCE
from quire.rescore.genotyping import (
    NO_CALL,
    GenotypeModel,
    allele_depths,
    best_alleles,
    genotype_members,
    genotype_phreds,
    kept_genotypes,
    likeliest_alleles,
    limit_alleles,
    marginalise,
    pseudocounts,
    whole_counts,
)
from quire.rescore.genotyping.allele_frequency_cpu import no_variant_log10
from quire.rescore.genotyping.rank_sums_cpu import allele_groups
from quire.rescore.genotyping.sites import SPANNING, Site, SiteRows
from quire.rescore.parameters import INDEL_PSEUDOCOUNT, MAXIMUM_ALTERNATE_ALLELES, MAXIMUM_GQ
from quire.rescore.trace import tell
from quire.simd.compiled import compiled

_PRESENT = -1e-10  # log10 of the probability of absence below which an allele counts as possible


@dataclass(frozen=True)
class GvcfCall:
    """A site that may be a variant.

    Attributes:
        site: with the alleles that are written, without `<NON_REF>`.
        phreds: int64, PL of the genotypes of the alleles and `<NON_REF>`, which is the last.
        genotype: allele numbers; all NO_CALL if uncertain.
        allele_depths: int64[alleles], AD.
        strands: int64[4], clear reads for the reference and for any other allele, forward and reverse.
        groups: int8 per read over the site, see `rank_sums`.
        likeliest_counts: copies of each alternate by expectation maximisation, `<NON_REF>` the last (MLEAC).
        depth, squared_mapping_quality: number of reads over the site, and sum of their squared mapping qualities.
    """

    site: Site
    quality: float
    phreds: NDArray[np.int64]
    genotype: tuple[int, ...]
    genotype_quality: int
    allele_depths: NDArray[np.int64]
    strands: NDArray[np.int64]
    groups: NDArray[np.int8]
    likeliest_counts: list[int]
    depth: int
    squared_mapping_quality: int


def call_gvcf_site(rows: SiteRows, ploidy: int, covered: bool, model: GenotypeModel | None = None) -> GvcfCall | None:
    """Genotype one sample at a site; return None if no alternate allele is possible or given.

    `covered` and `model` are those of `call_site`.
    """
    site, likelihoods = rows.site, rows.matrix
    ploidies, sample = np.array([ploidy], np.int64), np.zeros(len(likelihoods), np.int64)
    given, site = site, limit_alleles(site, likelihoods, ploidy)
    by_allele = marginalise(likelihoods, site.carriers)
    scored = with_other(by_allele)
    clear = best_alleles(scored)
    numbers = list(range(len(site.alleles)))  # the remaining alleles, as numbers among all scored alleles
    if model is None:
        phreds = genotype_phreds(scored, sample, ploidies)
    else:
        phreds = model.phreds([*site.alleles, NON_REFERENCE], scored, ploidies)
    if len(site.alleles) - 1 > MAXIMUM_ALTERNATE_ALLELES:
        own = phreds[kept_genotypes(ploidy, len(numbers) + 1, numbers)]
        keep = likeliest_alleles(own, ploidies, len(numbers), site.given_numbers)
        phreds = subset_phreds(phreds, ploidy, len(numbers) + 1, [*keep, len(numbers)])
        site, by_allele, numbers = site.subset(keep), np.ascontiguousarray(by_allele[:, keep]), keep
    prior = np.append(pseudocounts(site.alleles), INDEL_PSEUDOCOUNT)
    nothing, absent, expected = no_variant_log10(phreds / -10.0, ploidies, prior, site.spanning_index)
    other = len(site.alleles)
    kept = [0] + [a for a in range(1, other) if site.alleles[a] != SPANNING or covered]
    tell(
        "judged",
        given=given,
        site=site,
        touching=np.array([len(likelihoods)]),
        depths=allele_depths(with_other(by_allele), sample, 1)[:, :-1],
        phreds=phreds,
        ploidies=ploidies,
        quality=-10.0 * nothing + 0.0,
        absent=absent,
        kept=kept,
    )
    possible = site.given or any(absent[a] < _PRESENT for a in [*kept[1:], other])
    if len(kept) == 1 or not possible:
        return None
    phreds = subset_phreds(phreds, ploidy, other + 1, [*kept, other])
    by_allele = np.ascontiguousarray(by_allele[:, kept])
    genotype, quality = likeliest_call(phreds, ploidy, len(kept) + 1)
    site_quality = -10.0 * nothing + 0.0
    if model is not None:
        posterior = model.genotype(0, [*(site.alleles[a] for a in kept), NON_REFERENCE], phreds, ploidy)
        genotype = genotype_members(ploidy, len(kept) + 1, posterior.number)
        quality, site_quality = posterior.quality, posterior.no_variant
    if len(kept) in genotype:  # <NON_REF> is called: write the reference with PLs of 0, which means no evidence
        genotype, phreds = (0,) * ploidy, np.zeros_like(phreds)
    groups = allele_groups(clear, np.array([numbers[a] for a in kept]))
    strands = np.zeros(4, np.int64)
    np.add.at(strands, 2 * groups[groups >= 0] + rows.reverse[groups >= 0], 1)
    return GvcfCall(
        site=site.subset(kept),
        quality=site_quality,
        phreds=phreds,
        genotype=genotype,
        genotype_quality=quality,
        allele_depths=allele_depths(with_other(by_allele), sample, 1)[0, : len(kept)],
        strands=strands,
        groups=groups,
        likeliest_counts=whole_counts(expected[[*kept[1:], other]]),
        depth=len(likelihoods),
        squared_mapping_quality=int((rows.mapping_quality.astype(np.int64) ** 2).sum()),
    )


def subset_phreds(phreds: NDArray[np.int64], ploidy: int, alleles: int, kept: Sequence[int]) -> NDArray[np.int64]:
    """Return the PLs of the genotypes of some of a site's alleles."""
    own = phreds[kept_genotypes(ploidy, alleles, kept)]
    shifted: NDArray[np.int64] = own - own.min()
    return shifted


def likeliest_call(phreds: NDArray[np.int64], ploidy: int, alleles: int) -> tuple[tuple[int, ...], int]:
    """Return the most likely genotype and its quality; no call if the reference ties with the next."""
    best = int(phreds.argmin())
    quality = min(int(np.partition(phreds, 1)[1]), MAXIMUM_GQ)
    if best == 0 and quality == 0:
        return (NO_CALL,) * ploidy, 0
    return genotype_members(ploidy, alleles, best), quality


@compiled
def with_other(by_allele):
    """Append a column for `<NON_REF>`: the median likelihood of the alleles that are worse than the read's best.

    If all alleles explain the read equally well, so does `<NON_REF>`, unless there is only one allele: then it is NaN.
    """
    reads, alleles = by_allele.shape
    result = np.empty((reads, alleles + 1))
    result[:, :alleles] = by_allele
    lesser = np.empty(alleles)
    for i in range(reads):
        best = by_allele[i].max()
        n = 0
        for a in range(alleles):
            if by_allele[i, a] < best:
                lesser[n] = by_allele[i, a]
                n += 1
        if n:
            result[i, alleles] = np.median(lesser[:n])
        else:
            result[i, alleles] = best if alleles > 1 else np.nan
    return result

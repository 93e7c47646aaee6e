"""Genotypes at a site from the likelihoods of its reads: any ploidy, any number of alleles, all samples together.

Follows AlleleLikelihoods.marginalize, GenotypeLikelihoodCalculator, GenotypingEngine.calculateGenotypes and
AlleleSubsettingUtils.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quire.rescore.genotyping.allele_frequency_cpu import (
    absence_by_copies,
    genotype_count,
    genotype_counts,
    no_variant_log10,
)
from quire.rescore.genotyping.sites import SPANNING, Site
from quire.rescore.parameters import (
    DRAGEN_SITE_QUALITY,
    INDEL_PSEUDOCOUNT,
    INFORMATIVE_LOG10,
    MAXIMUM_ALTERNATE_ALLELES,
    MAXIMUM_GENOTYPES,
    MAXIMUM_GQ,
    REFERENCE_PSEUDOCOUNT,
    SNV_PSEUDOCOUNT,
)
from quire.rescore.trace import tell
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

NO_CALL = -1
NO_CALL_PHRED = 1.0  # a reference genotype less certain than this is no call (SUM_GL_THRESH_NOCALL)


@dataclass(frozen=True)
class Call:
    """A called variant.

    Attributes:
        site: with the alleles that are written.
        quality: QUAL.
        phreds: PL per sample, int64[genotypes].
        genotypes: allele numbers per sample, sorted; NO_CALL throughout if uncertain.
        genotype_qualities: GQ per sample, NO_CALL if there is none.
        allele_depths: int64[samples, alleles], AD.
        likelihoods: float64[reads, alleles] of all alleles, written or not; NaN rows for unused reads.
        kept: indices of the written alleles among all alleles.
        likeliest_counts: copies of each written alternate by expectation maximisation, rounded (MLEAC).
    """

    site: Site
    quality: float
    phreds: list[np.ndarray]
    genotypes: list[tuple[int, ...]]
    genotype_qualities: list[int]
    allele_depths: np.ndarray
    likelihoods: np.ndarray
    kept: list[int]
    likeliest_counts: list[int]


class PosteriorGenotype(NamedTuple):
    """The most likely genotype of a sample.

    Attributes:
        number: of the genotype, in VCF order.
        quality: GQ.
        no_variant: phred of no variant, the sample's share of QUAL.
    """

    number: int
    quality: int
    no_variant: float


class GenotypeModel(Protocol):
    """An error model at one site, such as that of GATK's DRAGEN mode (`dragen.genotypes`)."""

    def phreds(
        self, alleles: Sequence[bytes], by_allele: NDArray[np.float64], ploidies: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the PL of every genotype of every sample, as `genotype_phreds`; `<NON_REF>` may be the last allele."""
        ...

    def genotype(
        self, sample: int, alleles: Sequence[bytes], phreds: NDArray[np.int64], ploidy: int
    ) -> PosteriorGenotype:
        """Return the most likely genotype of sample number `sample` from its PLs (int64[genotypes])."""
        ...


class _ScoredReads(NamedTuple):
    """Log10 likelihoods (float64[reads, alleles]) and sample (int64[reads]) of the reads that touch a site."""

    by_allele: np.ndarray
    sample: np.ndarray


def call_site(
    site: Site,
    likelihoods: np.ndarray,
    sample: np.ndarray,
    ploidies: np.ndarray,
    minimum_quality: float,
    covered: bool,
    model: GenotypeModel | None = None,
    by_copies: bool = False,
) -> Call | None:
    """Genotype all samples at a site; return None if no variant is likely enough and no allele is given.

    Args:
        site: alleles and their haplotypes.
        likelihoods: float64[reads, haplotypes] log10 of the reads that touch the site; NaN rows are not used.
        sample: int64[reads].
        ploidies: int64[samples].
        minimum_quality: lowest QUAL of a site or an allele that is called.
        covered: True if a called deletion that starts before the site spans it, so that SPANNING may be written.
        model: if given, genotypes and QUAL come from its posteriors, and only QUAL is compared with `minimum_quality`.
            If None, genotypes come from likelihoods and QUAL from the allele frequency model.
        by_copies: True to take QUAL from `absence_by_copies`.
    """
    given = site
    lowest = minimum_quality if model is None else DRAGEN_SITE_QUALITY
    site = limit_alleles(site, likelihoods, int(ploidies.max()))
    by_allele = marginalise(likelihoods, site.carriers)
    phreds = _phreds(site, by_allele, sample, ploidies, model)
    if len(site.alleles) - 1 > MAXIMUM_ALTERNATE_ALLELES:
        keep = likeliest_alleles(phreds, ploidies, len(site.alleles), site.given_numbers)
        site, by_allele = site.subset(keep), np.ascontiguousarray(by_allele[:, keep])
        phreds = _phreds(site, by_allele, sample, ploidies, model)
    nothing, absent, expected = no_variant_log10(
        phreds / -10.0, ploidies, pseudocounts(site.alleles), site.spanning_index
    )
    if by_copies:
        nothing, absent = absence_by_copies(phreds / -10.0, ploidies, pseudocounts(site.alleles), site.spanning_index)
    quality = -10.0 * nothing + 0.0
    if len(site.alleles) == 2 and site.spanning_index < 0:
        absent[1] = nothing
    kept = [0] + [
        a
        for a in range(1, len(site.alleles))
        if site.alleles[a] in site.given
        or (absent[a] + 1e-10 < -lowest / 10 and (site.alleles[a] != SPANNING or covered))
    ]
    written = [site.alleles[a] for a in kept[1:]]
    tell(
        "judged",
        given=given,
        site=site,
        touching=np.bincount(sample, minlength=len(ploidies)),
        depths=allele_depths(by_allele, sample, len(ploidies)),
        phreds=phreds,
        ploidies=ploidies,
        quality=quality,
        absent=absent,
        kept=kept,
    )
    if not site.given and (quality < lowest or not written or written == [SPANNING]):
        return None
    scored = _ScoredReads(by_allele, sample)
    call = _make_call(site, scored, ploidies, phreds, quality, kept, whole_counts(expected[kept[1:]]))
    if model is not None:
        call = _by_posteriors(call, ploidies, model)
        return call if call.quality >= minimum_quality or site.given else None
    return call


def _phreds(
    site: Site, by_allele: np.ndarray, sample: np.ndarray, ploidies: np.ndarray, model: GenotypeModel | None
) -> np.ndarray:
    """Return the PL of every genotype of every sample."""
    if model is not None:
        return model.phreds(site.alleles, by_allele, ploidies)
    phreds: np.ndarray = genotype_phreds(by_allele, sample, ploidies)
    return phreds


def _by_posteriors(call: Call, ploidies: np.ndarray, model: GenotypeModel) -> Call:
    """Return the call with genotypes, GQ and QUAL from posterior probabilities."""
    genotypes, qualities, quality = [], [], 0.0
    for number, (ploidy, phreds) in enumerate(zip(ploidies.tolist(), call.phreds, strict=True)):
        best = model.genotype(number, call.site.alleles, phreds, ploidy)
        genotypes.append(genotype_members(ploidy, len(call.site.alleles), best.number))
        qualities.append(best.quality)
        quality += best.no_variant
    return replace(call, quality=quality, genotypes=genotypes, genotype_qualities=qualities)


def _make_call(
    site: Site,
    scored: _ScoredReads,
    ploidies: np.ndarray,
    phreds: np.ndarray,
    quality: float,
    kept: list[int],
    likeliest_counts: list[int],
) -> Call:
    """Compute genotypes, qualities and depths with the kept alleles."""
    subset, genotypes, qualities = [], [], []
    at = 0
    for ploidy in ploidies.tolist():
        count = genotype_count(ploidy, len(site.alleles))
        own = phreds[at : at + count]
        if len(kept) < len(site.alleles):
            own = own[kept_genotypes(ploidy, len(site.alleles), kept)]
        at += count
        own, genotype, genotype_quality = likeliest_genotype(own, ploidy, len(kept))
        subset.append(own)
        genotypes.append(genotype)
        qualities.append(genotype_quality)
    by_allele = scored.by_allele
    of_kept = by_allele if len(kept) == len(site.alleles) else np.ascontiguousarray(by_allele[:, kept])
    depths = allele_depths(of_kept, scored.sample, len(ploidies))
    return Call(
        site=site.subset(kept),
        quality=quality,
        phreds=subset,
        genotypes=genotypes,
        genotype_qualities=qualities,
        allele_depths=depths,
        likelihoods=by_allele,
        kept=kept,
        likeliest_counts=likeliest_counts,
    )


def likeliest_genotype(
    phreds: NDArray[np.int64], ploidy: int, alleles: int
) -> tuple[NDArray[np.int64], tuple[int, ...], int]:
    """Return phreds with the best at 0, its genotype and GQ; NO_CALL for a reference genotype that is uncertain."""
    own, best, second = from_the_best(phreds)
    if best == 0 and second < NO_CALL_PHRED:
        return own, (NO_CALL,) * ploidy, NO_CALL
    return own, genotype_members(ploidy, alleles, best), min(second, MAXIMUM_GQ)


def whole_counts(expected: NDArray[np.float64]) -> list[int]:
    """Return expected copies of alleles, rounded (AlleleFrequencyCalculator, MLEAC)."""
    counts: list[int] = np.floor(expected + 0.5).astype(np.int64).tolist()
    return counts


@compiled
def from_the_best(phreds):
    """Return phreds with the best at 0, the index of the first best, and the second best value (of at least two)."""
    best = phreds.argmin()
    second = np.int64(np.iinfo(np.int64).max)
    for g in range(len(phreds)):
        if g != best:
            second = min(second, phreds[g] - phreds[best])
    return phreds - phreds[best], best, second


@cache
def genotype_members(ploidy: int, alleles: int, number: int) -> tuple[int, ...]:
    """Return the alleles of a genotype, ascending, by its number."""
    return tuple(np.repeat(np.arange(alleles), genotype_counts(ploidy, alleles)[number]).tolist())


def pseudocounts(alleles: Sequence[Sized]) -> np.ndarray:
    """Return the Dirichlet prior of alleles, the reference first; alleles of its length count as substitutions."""
    reference = len(alleles[0])
    return np.array(
        [REFERENCE_PSEUDOCOUNT] + [SNV_PSEUDOCOUNT if len(a) == reference else INDEL_PSEUDOCOUNT for a in alleles[1:]]
    )


def limit_alleles(site: Site, likelihoods: np.ndarray, ploidy: int) -> Site:
    """Drop the alleles with least support until there are few enough genotypes to enumerate."""
    if genotype_count(ploidy, len(site.alleles)) <= MAXIMUM_GENOTYPES:
        return site
    support = np.nansum(marginalise(likelihoods, site.carriers), axis=0)
    support[site.given_numbers] = np.inf
    keep = [0, *(1 + np.argsort(-support[1:], kind="stable")).tolist()]
    while len(keep) > 2 and genotype_count(ploidy, len(keep)) > MAXIMUM_GENOTYPES:
        keep.pop()
    return site.subset(sorted(keep))


def likeliest_alleles(phreds: np.ndarray, ploidies: np.ndarray, alleles: int, given: Sequence[int] = ()) -> list[int]:
    """Return the reference, the given and the likeliest alternates (calculateMostLikelyAlleles)."""
    sums = np.zeros(alleles)
    at = 0
    for ploidy in ploidies.tolist():
        counts = genotype_counts(ploidy, alleles)
        own = phreds[at : at + len(counts)]
        at += len(counts)
        best = int(own.argmin())
        sums += (counts[best] > 0) * (own[0] - own[best])
    sums[list(given)] = np.inf
    order = np.argsort(-sums[1:], kind="stable")[: max(MAXIMUM_ALTERNATE_ALLELES, len(given))] + 1
    return [0, *sorted(order.tolist())]


def kept_genotypes(ploidy: int, alleles: int, kept: Sequence[int]) -> NDArray[np.int64]:
    """Return the indices of the genotypes with kept alleles only, in the order of the kept alleles' genotypes."""
    if len(kept) == alleles:
        return np.arange(genotype_count(ploidy, alleles))
    counts = genotype_counts(ploidy, alleles)
    return np.flatnonzero(counts[:, list(kept)].sum(axis=1) == ploidy)


@compiled
def marginalise(likelihoods, carriers):
    """Return each read's likelihood under the best haplotype with each allele; NaN rows stay NaN."""
    result = np.full((len(likelihoods), len(carriers)), -np.inf)
    for i in range(len(likelihoods)):
        for a in range(len(carriers)):
            for h in range(likelihoods.shape[1]):
                if carriers[a, h] and not likelihoods[i, h] <= result[i, a]:
                    result[i, a] = likelihoods[i, h]
        if np.isnan(likelihoods[i, 0]):
            result[i] = np.nan
    return result


@compiled
def genotype_phreds(by_allele, sample, ploidies):
    """Return the PL of every genotype of every sample (int64, samples end to end, each with minimum 0)."""
    return phreds_of(genotype_likelihoods(by_allele, sample, ploidies), ploidies, by_allele.shape[1])


@compiled
def phreds_of(likelihoods, ploidies, alleles):
    """Return PL (int64) from log10 likelihoods of genotypes, samples end to end."""
    result = np.zeros(len(likelihoods), np.int64)
    at = 0
    for ploidy in ploidies:
        count = genotype_count(ploidy, alleles)
        top = likelihoods[at : at + count].max()
        for g in range(at, at + count):
            result[g] = np.int64(np.floor(-10 * (likelihoods[g] - top) + 0.5))
        at += count
    return result


@compiled
def genotype_likelihoods(by_allele, sample, ploidies):
    """Return the log10 likelihood of every genotype of every sample (float64, samples end to end)."""
    alleles = by_allele.shape[1]
    total = 0
    for ploidy in ploidies:
        total += genotype_count(ploidy, alleles)
    result = np.zeros(total)
    linear = np.empty((len(by_allele), alleles))  # relative to each read's best allele
    best = np.empty(len(by_allele))
    for i in range(len(by_allele)):
        best[i] = by_allele[i].max()
        for a in range(alleles):
            linear[i, a] = power_of_ten(by_allele[i, a] - best[i])
    at = 0
    for s in range(len(ploidies)):
        counts = genotype_counts(ploidies[s], alleles)
        for g in range(len(counts)):
            for i in range(len(by_allele)):
                if sample[i] == s and not np.isnan(best[i]):
                    share = 0.0
                    for a in range(alleles):
                        share += counts[g, a] * linear[i, a]
                    result[at + g] += best[i] + log10(share / ploidies[s])
        at += len(counts)
    return result


@compiled
def best_alleles(by_allele):
    """Return the allele of each read (int64) if it is clearly the best (BestAllele.isInformative), else -1."""
    result = np.full(len(by_allele), -1, np.int64)
    for i in range(len(by_allele)):
        if np.isnan(by_allele[i, 0]):
            continue
        first, second, best = -np.inf, -np.inf, -1
        for a in range(by_allele.shape[1]):
            if by_allele[i, a] > first:
                first, second, best = by_allele[i, a], first, a
            elif by_allele[i, a] > second:
                second = by_allele[i, a]
        if first - second > INFORMATIVE_LOG10:
            result[i] = best
    return result


@compiled
def allele_depths(by_allele, sample, samples):
    """Count the reads that clearly support each allele (int64[samples, alleles])."""
    result = np.zeros((samples, by_allele.shape[1]), np.int64)
    best = best_alleles(by_allele)
    for i in range(len(best)):
        if best[i] >= 0:
            result[sample[i], best[i]] += 1
    return result

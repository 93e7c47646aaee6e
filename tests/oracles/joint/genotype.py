"""Genotypes of a cohort at a site, from the likelihoods in its gVCFs.

Follows GenotypingEngine.calculateGenotypes and AlleleSubsettingUtils as GenotypeGVCFs runs them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from quire.io.vcf import SPANNING_DELETION
from quire.rescore.genotyping import NO_CALL, likeliest_alleles, pseudocounts, whole_counts
from quire.rescore.genotyping.allele_frequency_cpu import no_variant_log10
from quire.rescore.gvcf.variants_cpu import likeliest_call, subset_phreds
from quire.rescore.parameters import MAXIMUM_ALTERNATE_ALLELES
from quire.rescore.phasing import Phase

from tests.oracles.joint.merge import JointSite, SampleAtSite


@dataclass(frozen=True)
class JointGenotype:
    """The genotype of a sample.

    Attributes:
        alleles: numbers of its alleles, sorted; all NO_CALL without a call.
        phreds: int64[genotypes]; None if unknown.
        quality, depth: GQ and DP; None without a call, or if unknown.
        allele_depths: AD; empty if unknown.
        source: the sample as it was merged.
    """

    alleles: tuple[int, ...]
    phreds: NDArray[np.int64] | None
    quality: int | None
    allele_depths: tuple[int, ...]
    depth: int | None
    source: SampleAtSite

    @property
    def is_called(self) -> bool:
        """True if the sample has a genotype."""
        return bool(self.alleles) and NO_CALL not in self.alleles

    @property
    def phase(self) -> Phase | None:
        """The phase in the sample's own record; None without reads."""
        return None if self.phreds is None else self.source.phase


@dataclass(frozen=True)
class JointCall:
    """A called site with the alleles that are written, and genotypes in the order of the columns.

    `likeliest_counts` are the copies of each written alternate by expectation maximisation, rounded (MLEAC).
    """

    site: JointSite
    alleles: tuple[str, ...]
    quality: float
    genotypes: Sequence[JointGenotype]
    likeliest_counts: list[int]

    @property
    def is_polymorphic(self) -> bool:
        """True if a sample has an alternate allele."""
        return any(allele > 0 for genotype in self.genotypes for allele in genotype.alleles)


def call_joint_site(
    site: JointSite, minimum_quality: float, covered: bool, deletions_alone: bool = False
) -> JointCall | None:
    """Genotype all samples of a site; return None if no variant is likely enough. All may have the reference.

    `minimum_quality` is the lowest QUAL of a site or an allele that is written. `covered` says that an earlier written
    deletion spans the site, so that '*' may be written. With `deletions_alone`, sites with '*' as the only alternate
    are also returned, whatever their QUAL.
    """
    known = [(sample.ploidy, sample.phreds) for sample in site.samples if sample.phreds is not None]
    if len(site.alleles) < 2 or not known or not site.depth:
        return None
    number = len(site.alleles)
    ploidies = np.array([ploidy for ploidy, _ in known], np.int64)
    considered = list(range(number))
    phreds = np.concatenate([own for _, own in known])
    if number - 1 > MAXIMUM_ALTERNATE_ALLELES:
        considered = likeliest_alleles(phreds, ploidies, number)
        phreds = np.concatenate([subset_phreds(own, ploidy, number, considered) for ploidy, own in known])
    alleles = [site.alleles[a] for a in considered]
    spanning = alleles.index(SPANNING_DELETION) if SPANNING_DELETION in alleles else -1
    nothing, absent, expected = no_variant_log10(phreds / -10.0, ploidies, pseudocounts(alleles), spanning)
    if len(alleles) == 2 and spanning < 0:
        absent[1] = nothing
    kept = [
        a
        for i, a in enumerate(considered)
        if i and absent[i] + 1e-10 < -minimum_quality / 10 and (i != spanning or covered)
    ]
    quality = -10.0 * nothing + 0.0
    is_deletion = [site.alleles[a] for a in kept] == [SPANNING_DELETION]
    if not kept or (not deletions_alone if is_deletion else quality < minimum_quality):
        return None
    genotypes = [_genotype(sample, number, [0, *kept]) for sample in site.samples]
    counts = whole_counts(expected[[considered.index(a) for a in kept]])
    return JointCall(site, tuple(site.alleles[a] for a in (0, *kept)), quality, genotypes, counts)


def _genotype(sample: SampleAtSite, alleles: int, kept: Sequence[int]) -> JointGenotype:
    """Genotype a sample; equal likelihoods give no call, and without reads PL, GQ and AD are empty."""
    no_call = (NO_CALL,) * sample.ploidy
    if sample.phreds is None:
        return JointGenotype(no_call, None, None, (), sample.depth, sample)
    if sample.is_reference and sample.quality == 0 and not sample.depth:
        return JointGenotype(no_call, None, None, (), None, sample)
    phreds = subset_phreds(sample.phreds, sample.ploidy, alleles, kept)
    members, quality = likeliest_call(phreds, sample.ploidy, len(kept))
    depths = tuple(sample.allele_depths[a] for a in kept) if sample.allele_depths else ()
    if not depths and sample.depth:
        depths = (sample.depth, *[0] * (len(kept) - 1))
    return JointGenotype(members, phreds, None if NO_CALL in members else quality, depths, sample.depth, sample)

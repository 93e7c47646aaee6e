"""Genotypes of a cohort at a site, from the likelihoods in its gVCFs.

Follows GenotypingEngine.calculateGenotypes and AlleleSubsettingUtils as GenotypeGVCFs runs them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import SPANNING_DELETION
from quire.rescore.genotyping import likeliest_alleles, pseudocounts, whole_counts
from quire.rescore.genotyping.allele_frequency_cpu import no_variant_log10
from quire.rescore.joint import genotype_cpu
from quire.rescore.joint.merge import JointSite
from quire.rescore.parameters import MAXIMUM_ALTERNATE_ALLELES


class Genotypes(NamedTuple):
    """The genotypes of all samples of a site, for the alleles that are written.

    Attributes:
        ploidies: int64[samples].
        offsets, phreds: int64[samples + 1] and int64[], PL.
        has_phreds: bool[samples], False for a sample whose PL is not written.
        alleles: int16[samples, largest ploidy], numbers of the alleles, ascending; NO_CALL without a call, and after
            the sample's last.
        quality, depth: int64[samples], GQ and DP, or MISSING.
        depths, has_depths: int64[samples, alleles] and bool[samples], AD.
    """

    ploidies: NDArray[np.int64]
    offsets: NDArray[np.int64]
    phreds: NDArray[np.int64]
    has_phreds: NDArray[np.bool_]
    alleles: NDArray[np.int16]
    quality: NDArray[np.int64]
    depth: NDArray[np.int64]
    depths: NDArray[np.int64]
    has_depths: NDArray[np.bool_]

    @property
    def is_called(self) -> NDArray[np.bool_]:
        """True for a sample with a genotype."""
        called: NDArray[np.bool_] = (self.alleles[:, 0] >= 0) & (self.ploidies > 0)
        return called


@dataclass(frozen=True)
class JointCall:
    """A called site with the alleles that are written.

    `likeliest_counts` are the copies of each written alternate by expectation maximisation, rounded (MLEAC).
    """

    site: JointSite
    alleles: tuple[str, ...]
    quality: float
    genotypes: Genotypes
    likeliest_counts: list[int]

    @property
    def is_polymorphic(self) -> bool:
        """True if a sample has an alternate allele."""
        return bool((self.genotypes.alleles > 0).any())


def call_joint_site(
    site: JointSite, minimum_quality: float, covered: bool, deletions_alone: bool = False
) -> JointCall | None:
    """Genotype all samples of a site; return None if no variant is likely enough and no allele is given.

    All samples may have the reference. `minimum_quality` is the lowest QUAL of a site or an allele that is written.
    `covered` says that an earlier written deletion spans the site, so that '*' may be written. With `deletions_alone`,
    sites with '*' as the only alternate are also returned, whatever their QUAL.
    """
    samples, number = site.samples, len(site.alleles)
    known = np.diff(samples.offsets) > 0
    if not site.given and (number < 2 or not known.any() or not site.depth):
        return None
    given = [a for a, allele in enumerate(site.alleles) if allele in site.given]
    ploidies, phreds = samples.ploidies[known], samples.phreds
    considered = list(range(number))
    if number - 1 > MAXIMUM_ALTERNATE_ALLELES:
        considered = likeliest_alleles(phreds, ploidies, number, given)
        _, phreds = genotype_cpu.subset(samples.offsets, phreds, samples.ploidies, np.array(considered))
    alleles = [site.alleles[a] for a in considered]
    spanning = alleles.index(SPANNING_DELETION) if SPANNING_DELETION in alleles else -1
    nothing, absent, expected = 0.0, np.zeros(len(alleles)), np.zeros(len(alleles))
    if known.any():
        nothing, absent, expected = no_variant_log10(phreds / -10.0, ploidies, pseudocounts(alleles), spanning)
    if len(alleles) == 2 and spanning < 0:
        absent[1] = nothing
    kept = [
        a
        for i, a in enumerate(considered)
        if a in given or (i and absent[i] + 1e-10 < -minimum_quality / 10 and (i != spanning or covered))
    ]
    quality = -10.0 * nothing + 0.0
    is_deletion = [site.alleles[a] for a in kept] == [SPANNING_DELETION]
    if not kept or (not deletions_alone if is_deletion else quality < minimum_quality and not given):
        return None
    written = np.array([0, *kept])
    offsets, subset = genotype_cpu.subset(samples.offsets, samples.phreds, samples.ploidies, written)
    values = genotype_cpu.genotype(site.window.columns, samples, offsets, subset, written)
    genotypes = Genotypes(samples.ploidies, offsets, subset, *values)
    counts = whole_counts(expected[[considered.index(a) for a in kept]])
    return JointCall(site, tuple(site.alleles[a] for a in (0, *kept)), quality, genotypes, counts)

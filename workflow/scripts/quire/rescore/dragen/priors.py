"""Genotypes by their posterior probability: GATK's GenotypePriorCalculator and USE_POSTERIOR_PROBABILITIES.

A heterozygous substitution is as likely as SNV_HETEROZYGOSITY says, shared by the three bases that it may lead to; an
indel as the sample's tables say of the repeat it lies in; two copies of an allele half as likely as one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.dragen.repeats import repeat_at
from quire.rescore.dragen.tables import RepeatTables, cell
from quire.rescore.genotyping.allele_frequency import genotype_counts
from quire.rescore.genotyping.models import PosteriorGenotype
from quire.rescore.parameters import INDEL_HETEROZYGOSITY, SNV_HETEROZYGOSITY
from quire.simd.powers_of_ten import log10, power_of_ten

NON_REFERENCE = b"<NON_REF>"
LARGEST_GQ = 99
_LOG10_SNV, _LOG10_INDEL, _LOG10_3, _LOG10_2 = log10(
    np.array([SNV_HETEROZYGOSITY, INDEL_HETEROZYGOSITY, 3.0, 2.0])
).tolist()
_REACH = 400  # bases on both sides of a site in which its repeat is looked for; tables end at 8 x 20


class SitePrior(NamedTuple):
    """log10 probabilities that a site is heterozygous for an allele.

    Attributes:
        substitution: of any substitution.
        indel: of an indel.
        other: of an allele that nobody has seen.
    """

    substitution: float
    indel: float
    other: float


FLAT_PRIOR = SitePrior(_LOG10_SNV, _LOG10_INDEL, min(_LOG10_SNV, _LOG10_INDEL))
"""In regions without indels, where GATK does not look for repeats."""


def indel_prior(tables: RepeatTables, codes: NDArray[np.uint8], position: int) -> float:
    """The sample's phred of an indel at a site.

    Args:
        tables: of the sample.
        codes: uint8[n] of the reference around the site.
        position: of the site in `codes`; the repeat is that of the base behind it.
    """
    behind = position + 1
    near = codes[max(0, behind - _REACH) : behind + _REACH]
    period, repeats = repeat_at(near, min(behind, _REACH)) if behind < len(codes) else (1, 1)
    return float(tables.indel_prior[cell(period, repeats)])


def repeat_prior(phred: float) -> SitePrior:
    """The prior of a site whose repeat has indels with a probability (phred)."""
    indel = -0.1 * phred
    return SitePrior(_LOG10_SNV, indel, max(_LOG10_SNV, indel))


def genotype_priors(ploidy: int, alleles: Sequence[bytes], prior: SitePrior) -> NDArray[np.float64]:
    """log10 priors (float64[genotypes], VCF order) of genotypes, relative to that of the reference alone."""
    length = len(alleles[0])
    heterozygous = np.array([0.0, *(_heterozygous(allele, length, prior) for allele in alleles[1:])])
    counts = genotype_counts(ploidy, len(alleles))
    # Each further copy of an allele costs what the second does: half the probability.
    shares = np.where(counts > 0, heterozygous - _LOG10_2 * (counts - 1), 0.0)
    shares[:, 0] = 0.0
    priors: NDArray[np.float64] = shares.sum(axis=1)
    return priors


def _heterozygous(allele: bytes, reference_length: int, prior: SitePrior) -> float:
    if allele == NON_REFERENCE:
        return prior.other
    return prior.substitution - _LOG10_3 if len(allele) == reference_length else prior.indel


def likeliest_genotype(
    phreds: NDArray[np.int64], priors: NDArray[np.float64], plain: NDArray[np.bool_]
) -> PosteriorGenotype:
    """The genotype of the greatest posterior probability.

    Args:
        phreds: int64[genotypes], PL.
        priors: float64[genotypes] of `genotype_priors`.
        plain: bool[genotypes], which have the reference and deletions from before the site alone.
    """
    posteriors = -0.1 * phreds + priors
    posteriors = posteriors - posteriors.max()
    best = int(posteriors.argmax())
    # GATK writes GP with two decimals and takes QUAL from what it wrote.
    written = np.floor(-1000.0 * posteriors + 0.5) / 100.0
    quality = -10.0 * min(0.0, _log10_sum(np.delete(posteriors, best)))
    no_variant = float(written[plain][0]) if plain.sum() == 1 else max(0.0, -10.0 * _log10_sum(-0.1 * written[plain]))
    return PosteriorGenotype(best, min(int(np.floor(quality + 0.5)), LARGEST_GQ), no_variant)


def _log10_sum(values: NDArray[np.float64]) -> float:
    """log10 of the sum of powers of ten."""
    largest = values.max()
    return float(largest + log10(np.array([float(power_of_ten(values - largest).sum())]))[0])

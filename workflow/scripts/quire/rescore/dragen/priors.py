"""Genotypes by posterior probability: GATK's GenotypePriorCalculator and USE_POSTERIOR_PROBABILITIES.

A heterozygous substitution has the probability SNV_HETEROZYGOSITY, shared equally by the three possible bases. An indel
has the probability that the sample's tables give for the repeat at the site. Each further copy of an allele halves the
probability.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quire.rescore.dragen.repeats_cpu import repeat_at
from quire.rescore.dragen.tables import RepeatTables, cell
from quire.rescore.genotyping import PosteriorGenotype
from quire.rescore.genotyping.allele_frequency_cpu import genotype_counts
from quire.rescore.parameters import INDEL_HETEROZYGOSITY, MAXIMUM_GQ, SNV_HETEROZYGOSITY
from quire.simd.powers_of_ten import log10, power_of_ten

NON_REFERENCE = b"<NON_REF>"
_LOG10_SNV, _LOG10_INDEL, _LOG10_3, _LOG10_2 = log10(
    np.array([SNV_HETEROZYGOSITY, INDEL_HETEROZYGOSITY, 3.0, 2.0])
).tolist()
_REACH = 400  # bases on each side of a site in which the repeat is searched; the tables end at 8 x 20


class SitePrior(NamedTuple):
    """log10 probabilities that a site is heterozygous for any substitution, an indel, or an allele not named there."""

    substitution: float
    indel: float
    other: float


FLAT_PRIOR = SitePrior(_LOG10_SNV, _LOG10_INDEL, min(_LOG10_SNV, _LOG10_INDEL))
"""The prior in regions without indels, where GATK does not search for repeats."""


def indel_prior(tables: RepeatTables, codes: NDArray[np.uint8], position: int) -> float:
    """Return the phred of an indel by the sample's tables, for the repeat at the base after a site of the reference."""
    after = position + 1
    near = codes[max(0, after - _REACH) : after + _REACH]
    period, repeats = repeat_at(near, min(after, _REACH)) if after < len(codes) else (1, 1)
    return float(tables.indel_prior[cell(period, repeats)])


def repeat_prior(phred: float) -> SitePrior:
    """Return the prior of a site in a repeat with the given probability (phred) of an indel."""
    indel = -0.1 * phred
    return SitePrior(_LOG10_SNV, indel, max(_LOG10_SNV, indel))


def genotype_priors(ploidy: int, alleles: Sequence[bytes], prior: SitePrior) -> NDArray[np.float64]:
    """Return log10 priors (float64[genotypes], VCF order) of genotypes, relative to the homozygous reference."""
    length = len(alleles[0])
    heterozygous = np.array([0.0, *(_heterozygous(allele, length, prior) for allele in alleles[1:])])
    counts = genotype_counts(ploidy, len(alleles))
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
    """Return the genotype with the greatest posterior probability, given PLs and `genotype_priors`.

    `plain` (bool[genotypes]) marks genotypes of only the reference and spanning deletions.
    """
    posteriors = -0.1 * phreds + priors
    posteriors = posteriors - posteriors.max()
    best = int(posteriors.argmax())
    # GATK writes GP with two decimals and computes QUAL from the rounded values.
    written = np.floor(-1000.0 * posteriors + 0.5) / 100.0
    quality = -10.0 * min(0.0, _log10_sum(np.delete(posteriors, best)))
    no_variant = float(written[plain][0]) if plain.sum() == 1 else max(0.0, -10.0 * _log10_sum(-0.1 * written[plain]))
    return PosteriorGenotype(best, min(int(np.floor(quality + 0.5)), MAXIMUM_GQ), no_variant)


def _log10_sum(values: NDArray[np.float64]) -> float:
    """Return log10 of the sum of powers of ten."""
    largest = values.max()
    return float(largest + log10(np.array([float(power_of_ten(values - largest).sum())]))[0])

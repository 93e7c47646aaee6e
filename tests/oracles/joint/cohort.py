"""INFO fields of a cohort: excess or lack of heterozygous samples relative to Hardy-Weinberg equilibrium.

Follows ExcessHet, InbreedingCoeff and GenotypeUtils.computeDiploidGenotypeCounts. Only diploid samples count. ExcessHet
is written if at least one of them is called, InbreedingCoeff if at least ten have likelihoods.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from quire.io.vcf import Field
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

FEWEST_FOR_INBREEDING = 10  # samples with likelihoods (InbreedingCoeff.MIN_SAMPLES)
_SMALLEST_P = 1e-16  # of ExcessHet
FIELDS = (
    Field("ExcessHet", "1", "Float", "Phred p-value of more heterozygous samples than expected", ".4f"),
    Field("InbreedingCoeff", "1", "Float", "1 less the share of expected heterozygous samples", ".4f"),
)


class DiploidSample(NamedTuple):
    """A sample of ploidy 2.

    Attributes:
        phreds: int64[genotypes], PL.
        is_called: True if it has a genotype.
    """

    phreds: NDArray[np.int64]
    is_called: bool


def cohort_info(samples: Sequence[DiploidSample], alleles: int) -> dict[str, float]:
    """Return ExcessHet and InbreedingCoeff, if the samples allow them, at a site with `alleles` alleles."""
    likely = [three_classes(sample.phreds, alleles) for sample in samples]
    info = {}
    if any(sample.is_called for sample in samples):
        references = heterozygous = others = 0
        for reference, het, other in likely:
            references += int(reference + 0.5)
            heterozygous += int(het + 0.5) if reference != het else 0
            others += int(other + 0.5) if other != het else 0
        p = excess_heterozygosity(heterozygous, references, others)
        info["ExcessHet"] = -10 * log10(p if p >= 10e-60 else _SMALLEST_P) + 0.0
    if len(likely) >= FEWEST_FOR_INBREEDING:
        sums = np.array(likely).sum(axis=0)
        p = (2 * sums[0] + sums[1]) / (2 * sums.sum())
        expected = 2 * p * (1 - p) * len(likely)
        if expected > 0:
            info["InbreedingCoeff"] = float(1 - sums[1] / expected)
    return info


def three_classes(phreds: NDArray[np.int64], alleles: int) -> tuple[float, float, float]:
    """Return the probabilities of two, one and no copy of the reference.

    With several alternates, only the one of the likeliest genotype 0/a counts. If the best genotype is without the
    reference, the third probability is 1.
    """
    shares = [power_of_ten(phred / -10.0) for phred in phreds.tolist()]
    het, other = 1, 2
    if alleles > 2:
        firsts = [a * (a + 1) // 2 for a in range(1, alleles)]  # number of the genotype 0/a
        best = shares.index(max(shares))
        if best and best not in firsts:
            return 0.0, 0.0, 1.0
        het = max(firsts, key=lambda g: shares[g])
        other = het + firsts.index(het) + 1
    total = shares[0] + shares[het] + shares[other]
    return shares[0] / total, shares[het] / total, shares[other] / total


def excess_heterozygosity(heterozygous: int, references: int, others: int) -> float:
    """Return P of at least `heterozygous` samples under Hardy-Weinberg (Wigginton, Cutler and Abecasis 2005).

    `references` samples have two copies of the reference, `others` have none.
    """
    samples = heterozygous + references + others
    rare = 2 * min(references, others) + heterozygous
    if not rare:
        return 1.0
    weights = np.zeros(rare + 1)
    middle = rare * (2 * samples - rare) // (2 * samples - 1)
    middle += (middle - rare) % 2
    weights[middle] = 1.0
    for step in (-2, 2):
        now = middle
        while 0 <= now + step <= rare:
            homozygous = (rare - now) // 2
            common = samples - now - homozygous
            if step < 0:
                factor = now * (now - 1) / (4.0 * (homozygous + 1) * (common + 1))
            else:
                factor = 4.0 * homozygous * common / ((now + 2.0) * (now + 1.0))
            weights[now + step] = weights[now] * factor
            if weights[now + step] < _SMALLEST_P:
                weights[now + step] = 0.0
                break
            now += step
    return float(min(1.0, weights[heterozygous:].sum() / weights.sum()))

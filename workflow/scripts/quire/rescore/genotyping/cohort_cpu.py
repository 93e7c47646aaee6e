"""INFO fields of a cohort: excess or lack of heterozygous samples relative to Hardy-Weinberg equilibrium.

Follows ExcessHet, InbreedingCoeff and GenotypeUtils.computeDiploidGenotypeCounts. Only diploid samples count. ExcessHet
is written if at least one of them is called, InbreedingCoeff if at least ten have likelihoods.
"""

import numpy as np
from numpy.typing import NDArray

from quire.io.vcf import Field
from quire.simd.compiled import compiled
from quire.simd.powers_of_ten.cpu import log10, power_of_ten

FEWEST_FOR_INBREEDING = 10  # samples with likelihoods (InbreedingCoeff.MIN_SAMPLES)
_SMALLEST_P = 1e-16  # of ExcessHet
FIELDS = (
    Field("ExcessHet", "1", "Float", "Phred p-value of more heterozygous samples than expected", ".4f"),
    Field("InbreedingCoeff", "1", "Float", "1 less the share of expected heterozygous samples", ".4f"),
)


def cohort_info(phreds: NDArray[np.int64], is_called: bool, alleles: int) -> dict[str, float]:
    """Return ExcessHet and InbreedingCoeff, if the samples allow them, at a site with `alleles` alleles.

    `phreds` (int64[samples, genotypes]) are PL of the diploid samples, `is_called` says if one of them has a genotype.
    """
    likely = three_classes(phreds, alleles)
    info = {}
    if is_called:
        references, heterozygous, others = count_classes(likely)
        p = excess_heterozygosity(heterozygous, references, others)
        info["ExcessHet"] = -10 * log10(p if p >= 10e-60 else _SMALLEST_P) + 0.0
    if len(likely) >= FEWEST_FOR_INBREEDING:
        sums = likely.sum(axis=0)
        p = (2 * sums[0] + sums[1]) / (2 * sums.sum())
        expected = 2 * p * (1 - p) * len(likely)
        if expected > 0:
            info["InbreedingCoeff"] = float(1 - sums[1] / expected)
    return info


@compiled
def three_classes(phreds, alleles):
    """Return each sample's probabilities of two, one and no copy of the reference (float64[samples, 3]).

    With several alternates, only the one of the likeliest genotype 0/a counts. If the best genotype is without the
    reference, the third probability is 1.
    """
    result = np.empty((len(phreds), 3))
    shares = np.empty(phreds.shape[1])
    for s in range(len(phreds)):
        for g in range(len(shares)):
            shares[g] = power_of_ten(phreds[s, g] / -10.0)
        het, other = 1, 2
        if alleles > 2:
            best, chosen = shares.argmax(), 1
            is_first = best == 0
            for a in range(1, alleles):
                first = a * (a + 1) // 2  # number of the genotype 0/a
                is_first = is_first or first == best
                if shares[first] > shares[chosen * (chosen + 1) // 2]:
                    chosen = a
            if not is_first:
                result[s] = 0.0
                result[s, 2] = 1.0
                continue
            het = chosen * (chosen + 1) // 2
            other = het + chosen
        total = shares[0] + shares[het] + shares[other]
        result[s, 0], result[s, 1], result[s, 2] = shares[0] / total, shares[het] / total, shares[other] / total
    return result


@compiled
def count_classes(likely):
    """Return the samples with two, one and no copy of the reference, by rounded probabilities."""
    references, heterozygous, others = 0, 0, 0
    for s in range(len(likely)):
        references += int(likely[s, 0] + 0.5)
        heterozygous += int(likely[s, 1] + 0.5) if likely[s, 0] != likely[s, 1] else 0
        others += int(likely[s, 2] + 0.5) if likely[s, 2] != likely[s, 1] else 0
    return references, heterozygous, others


def excess_heterozygosity(heterozygous: int, references: int, others: int) -> float:
    """Return P of at least `heterozygous` samples under Hardy-Weinberg (Wigginton, Cutler and Abecasis 2005).

    `references` samples have two copies of the reference, `others` have none.
    """
    samples = heterozygous + references + others
    rare = 2 * min(references, others) + heterozygous
    if not rare:
        return 1.0
    weights = _weights(samples, rare)
    return float(min(1.0, weights[heterozygous:].sum() / weights.sum()))


@compiled
def _weights(samples, rare):
    """Return the relative probability of each number of heterozygous samples, given the copies of the rarer allele."""
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
    return weights

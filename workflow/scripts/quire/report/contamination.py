"""How much of a sample's reads are another person's, from the reads of both alleles at sites of single bases.

The reads of a site come from the sample's own genotype with the share 1 - a, and from the other's with the share a
(VerifyBamID: Jun et al. 2012, Am J Hum Genet 91:839). The likelihood of a is summed over the genotypes of
both and maximised. Where the population's allele frequencies are known, genotypes follow Hardy and Weinberg. At the
sites that were called in the sample nothing is known but that it carries the allele: frequencies then follow the
neutral spectrum 1/p (Watterson 1975, Theor Popul Biol 7:256), and how many sites are of which genotype of the sample is
estimated with a. A sample that is contaminated by a close relative, or of another species, shows less than it has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARES = np.array([0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, *np.arange(0.1, 0.51, 0.025)])
"""Contaminations that are tried; a parabola through the best three is asked for the one between."""
ERRORS = np.array([0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032])
"""Shares of reads with the other allele in a homozygous genotype that are tried."""
DROP = 1.92  # of the logarithm of the likelihood, at the ends of an interval of 95 %
FEWEST_SITES = 50
SPREAD = 0.07  # of an allele's share from site to site: in a quarter of the heterozygous ones so far off on each side
ROUNDS = 12  # of the estimate of how many sites are of which genotype

_CALLED = np.arange(0.05, 0.46, 0.05)  # shares of an allele that the sample does not have

Cells = Sequence[Sequence[int]]
_TINY = 1e-300
_OWN, _OTHER = (grid.ravel() for grid in np.meshgrid(np.arange(3), np.arange(3), indexing="ij"))
# Genotypes of two people at a site of the neutral spectrum by their alternate alleles, each with those of the other:
# the integral of C(2, g) C(2, h) p^(g + h - 1) (1 - p)^(4 - g - h) over p is a beta function.
_NEUTRAL = np.array([[0, 12, 2], [12, 8, 4], [2, 4, 6]]) / np.array([[14], [24], [12]])


@dataclass(frozen=True)
class Contamination:
    """An estimate.

    Attributes:
        share: of reads that are another's, 0 to 0.5.
        low, high: ends of its interval of 95 %.
        sites: it was made from.
    """

    share: float
    low: float
    high: float
    sites: int


def from_called_sites(cells: Cells) -> Contamination | None:
    """The estimate from the SNVs of a diploid sample, or None where there are too few.

    Args:
        cells: rows of reads of the reference, reads of the alternate, number of sites.
    """
    reference, alternate, sites = _columns(cells, 3)
    if sites.sum() < FEWEST_SITES:
        return None

    # Of alleles that the sample does not have, those alone are called that chance has shown more often: their reads do
    # not tell the share, and may be anything.
    others = np.mean([np.exp(alternate * np.log(q) + reference * np.log1p(-q)) for q in _CALLED], axis=0)

    def likelihood(share: float, error: float) -> float:
        classes = _classes(reference, alternate, share, error) * _NEUTRAL.ravel()
        own = classes.reshape(-1, 3, 3).sum(axis=2)  # by the sample's own genotype
        own[:, 0] = others
        weights = np.array([0.05, 0.55, 0.4])
        for _ in range(ROUNDS):
            parts = own * weights + _TINY
            weights = sites @ (parts / parts.sum(axis=1, keepdims=True)) / sites.sum()
        return float(sites @ np.log((own * weights).sum(axis=1) + _TINY))

    return _maximum(likelihood, int(sites.sum()))


def from_known_sites(cells: Cells, frequency_bins: int) -> Contamination | None:
    """The estimate from sites of known frequency, called or not, or None where there are too few.

    Args:
        cells: rows of bin of the frequency, reads of the reference, reads of the alternate, number of sites.
        frequency_bins: in which frequencies from 0 to 1 lie.
    """
    bins, reference, alternate, sites = _columns(cells, 4)
    if sites.sum() < FEWEST_SITES:
        return None
    frequency = (bins + 0.5) / frequency_bins
    genotypes = np.stack([(1 - frequency) ** 2, 2 * frequency * (1 - frequency), frequency**2], axis=1)
    prior = genotypes[:, _OWN] * genotypes[:, _OTHER]

    def likelihood(share: float, error: float) -> float:
        classes = _classes(reference, alternate, share, error)
        return float(sites @ np.log((classes * prior).sum(axis=1) + _TINY))

    return _maximum(likelihood, int(sites.sum()))


def _columns(cells: Cells, number: int) -> NDArray[np.float64]:
    """float64[number, cells]."""
    columns: NDArray[np.float64] = np.array(cells, np.float64).reshape(-1, number).T
    return columns


def _classes(
    reference: NDArray[np.float64], alternate: NDArray[np.float64], share: float, error: float
) -> NDArray[np.float64]:
    """Likelihood of reads, without the binomial coefficient, under each pair of genotypes: float64[cells, 9]."""
    expected = ((1 - share) * _OWN + share * _OTHER) / 2
    expected = expected * (1 - error) + (1 - expected) * error
    mixed = (_OWN + _OTHER > 0) & (_OWN + _OTHER < 4) & ((_OWN == 1) | (_OTHER == 1) | (share > SPREAD))
    total = np.zeros((len(reference), len(expected)))
    for step, weight in ((-1, 0.25), (0, 0.5), (1, 0.25)):
        # Shares near 0 and 1 vary less, as a binomial's do.
        shifted = expected + np.where(mixed, 4 * step * SPREAD * expected * (1 - expected), 0)
        total += weight * np.exp(np.outer(alternate, np.log(shifted)) + np.outer(reference, np.log1p(-shifted)))
    return total


def _maximum(likelihood: Callable[[float, float], float], sites: int) -> Contamination:
    """The share of the greatest likelihood over both grids, and where the likelihood falls by DROP on its sides."""
    table = np.array([max(likelihood(share, error) for error in ERRORS) for share in SHARES])
    best = int(table.argmax())
    share = float(SHARES[best])
    if 0 < best < len(SHARES) - 1:
        curve = np.polyfit(SHARES[best - 1 : best + 2] - share, table[best - 1 : best + 2], 2)
        share += float(np.clip(-curve[1] / (2 * curve[0]), SHARES[best - 1] - share, SHARES[best + 1] - share))
    inside = SHARES[table >= table[best] - DROP]
    return Contamination(share, min(share, float(inside[0])), max(share, float(inside[-1])), sites)

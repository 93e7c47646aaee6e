"""Estimate of contamination by another person, from the reads of both alleles at SNV sites.

A fraction 1 - a of a site's reads comes from the sample's own genotype, and a fraction a from the contaminant's
(VerifyBamID: Jun et al. 2012, Am J Hum Genet 91:839). The likelihood of a is summed over the genotypes of both people
and maximised. If the population's allele frequencies are known, the genotypes follow Hardy-Weinberg proportions.
Without frequencies, the sites are those called in the sample, so it is only known that the sample carries the allele.
Frequencies then follow the neutral spectrum 1/p (Watterson 1975, Theor Popul Biol 7:256), and the number of sites of
each genotype of the sample is estimated together with a. Contamination by a close relative or another species is
underestimated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARES = np.array([0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, *np.arange(0.1, 0.51, 0.025)])
"""Grid of contaminations; a parabola through the best three points refines the estimate."""
ERRORS = np.array([0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032])
"""Grid of error rates: the fraction of reads with the other allele in a homozygous genotype."""
DROP = 1.92  # drop of the log-likelihood at the ends of a 95 % interval
FEWEST_SITES = 50
SPREAD = 0.07  # deviation of the allele fraction: a quarter of heterozygous sites shifted each way
FEWEST_READS = 30  # of the reference, that a sample can explain
EXPLAINED = 0.35  # share of such reads where a source lacks the allele, over that at all sites; of others 0.6 to 1
ROUNDS = 12  # iterations to estimate the number of sites of each genotype

_CALLED = np.arange(0.05, 0.46, 0.05)  # read fractions of a called allele that the sample does not have

Cells = Sequence[Sequence[int]]
_TINY = 1e-300
_OWN, _OTHER = (grid.ravel() for grid in np.meshgrid(np.arange(3), np.arange(3), indexing="ij"))
# Probability of the contaminant's genotype (column, alternate alleles) given the sample's own (row) under the neutral
# spectrum: the integral of C(2, g) C(2, h) p^(g + h - 1) (1 - p)^(4 - g - h) over p is a beta function.
_NEUTRAL = np.array([[0, 12, 2], [12, 8, 4], [2, 4, 6]]) / np.array([[14], [24], [12]])


@dataclass(frozen=True)
class Contamination:
    """Estimate of contamination: the fraction of reads of another person (0 to 0.5) with its 95 % interval."""

    share: float
    low: float
    high: float
    sites: int


def from_called_sites(cells: Cells) -> Contamination | None:
    """Estimate contamination from the called SNVs of a diploid sample; None if there are too few.

    A cell has reference reads, alternate reads and the number of sites.
    """
    reference, alternate, sites = _columns(cells, 3)
    if sites.sum() < FEWEST_SITES:
        return None

    # Alleles that the sample does not have are only called if they were seen often by chance. Their read fraction
    # therefore says nothing about contamination, and every fraction is equally likely.
    others = np.mean([np.exp(alternate * np.log(q) + reference * np.log1p(-q)) for q in _CALLED], axis=0)

    def likelihood(share: float, error: float) -> float:
        classes = _classes(reference, alternate, share, error) * _NEUTRAL.ravel()
        own = classes.reshape(-1, 3, 3).sum(axis=2)  # indexed by the sample's own genotype
        own[:, 0] = others
        weights = np.array([0.05, 0.55, 0.4])
        for _ in range(ROUNDS):
            parts = own * weights + _TINY
            weights = sites @ (parts / parts.sum(axis=1, keepdims=True)) / sites.sum()
        return float(sites @ np.log((own * weights).sum(axis=1) + _TINY))

    return _maximum(likelihood, int(sites.sum()))


def from_known_sites(cells: Cells, frequency_bins: int) -> Contamination | None:
    """Estimate contamination from sites of known allele frequency, called or not; None if there are too few.

    A cell has the bin of the frequency (of `frequency_bins`, which divide 0 to 1), reference reads, alternate reads and
    the number of sites.
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


def likely_source(foreign: Mapping[str, Sequence[int]]) -> str | None:
    """Return the other sample that explains the reads of the reference in homozygous genotypes; None if none does.

    For each other sample, `foreign` has these reads and all reads, where it lacks the reference allele, and where it
    has it. Where the source lacks the allele, only errors are left.
    """
    shares = dict[str, float]()
    for name, (without, all_without, having, all_having) in foreign.items():
        if having >= FEWEST_READS and all_without:
            shares[name] = (without / all_without) / ((without + having) / (all_without + all_having))
    best = min(shares, key=shares.__getitem__, default=None)
    return best if best is not None and shares[best] < EXPLAINED else None


def _columns(cells: Cells, number: int) -> NDArray[np.float64]:
    """Return the columns of the cells as float64[number, cells]."""
    columns: NDArray[np.float64] = np.array(cells, np.float64).reshape(-1, number).T
    return columns


def _classes(
    reference: NDArray[np.float64], alternate: NDArray[np.float64], share: float, error: float
) -> NDArray[np.float64]:
    """Return each cell's likelihood under each genotype pair, without the binomial factor: float64[cells, 9]."""
    expected = ((1 - share) * _OWN + share * _OTHER) / 2
    expected = expected * (1 - error) + (1 - expected) * error
    mixed = (_OWN + _OTHER > 0) & (_OWN + _OTHER < 4) & ((_OWN == 1) | (_OTHER == 1) | (share > SPREAD))
    total = np.zeros((len(reference), len(expected)))
    for step, weight in ((-1, 0.25), (0, 0.5), (1, 0.25)):
        # Fractions near 0 and 1 vary less, as in a binomial distribution.
        shifted = expected + np.where(mixed, 4 * step * SPREAD * expected * (1 - expected), 0)
        total += weight * np.exp(np.outer(alternate, np.log(shifted)) + np.outer(reference, np.log1p(-shifted)))
    return total


def _maximum(likelihood: Callable[[float, float], float], sites: int) -> Contamination:
    """Maximise the likelihood over both grids; the interval ends where it has fallen by DROP."""
    table = np.array([max(likelihood(share, error) for error in ERRORS) for share in SHARES])
    best = int(table.argmax())
    share = float(SHARES[best])
    if 0 < best < len(SHARES) - 1:
        curve = np.polyfit(SHARES[best - 1 : best + 2] - share, table[best - 1 : best + 2], 2)
        share += float(np.clip(-curve[1] / (2 * curve[0]), SHARES[best - 1] - share, SHARES[best + 1] - share))
    inside = SHARES[table >= table[best] - DROP]
    return Contamination(share, min(share, float(inside[0])), max(share, float(inside[-1])), sites)

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
from functools import cache

import numpy as np
from numpy.typing import NDArray

SHARES = np.array([0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, *np.arange(0.1, 0.51, 0.025)])
"""Grid of contaminations; a parabola through the best three points refines the estimate."""
ERRORS = np.array([0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032])
"""Grid of error rates: the fraction of reads with the other allele in a homozygous genotype."""
STARTS = (*range(9), *range(9, len(SHARES), 3))
"""Shares from which the search starts. Below 5 % the likelihood may have several maxima."""
DROP = 1.92  # drop of the log-likelihood at the ends of a 95 % interval
FEWEST_SITES = 50
SPREAD = 0.07  # deviation of the allele fraction: a quarter of heterozygous sites shifted each way
FEWEST_READS = 30  # of the reference, that a sample can explain
EXPLAINED = 0.35  # share of such reads where a source lacks the allele, over that at all sites; of others 0.6 to 1
ROUNDS = 12  # iterations to estimate the number of sites of each genotype
SETTLED = 1e-6  # change of the shares of the genotypes at which the iterations end
MOST_READS = 100  # of both alleles at a site, as counted

_CALLED = np.arange(0.05, 0.46, 0.05)  # read fractions of a called allele that the sample does not have

Cells = Sequence[Sequence[int]]
_TINY = 1e-300
_OWN, _OTHER = (grid.ravel() for grid in np.meshgrid(np.arange(3), np.arange(3), indexing="ij"))
# Probability of the contaminant's genotype (column, alternate alleles) given the sample's own (row) under the neutral
# spectrum: the integral of C(2, g) C(2, h) p^(g + h - 1) (1 - p)^(4 - g - h) over p is a beta function.
_NEUTRAL = np.array([[0, 12, 2], [12, 8, 4], [2, 4, 6]]) / np.array([[14], [24], [12]])
_OF_OWN = np.where(np.arange(3)[:, None] == _OWN, _NEUTRAL.ravel(), 0)


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
    places, shares = _place(reference, alternate), sites / sites.sum()
    others = np.mean([np.exp(alternate * np.log(q) + reference * np.log1p(-q)) for q in _CALLED], axis=0)

    def likelihood(share: float, error: float) -> float:
        own = _own_of_depths(share, error)[:, places]
        own[0] = others
        weights = np.array([0.05, 0.55, 0.4])
        for _ in range(ROUNDS):
            before, weights = weights, weights * (own @ (shares / (weights @ own + _TINY)))
            if abs(weights[0] - before[0]) + abs(weights[1] - before[1]) < SETTLED:
                break
        return float(sites @ np.log(weights @ own + _TINY))

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
    genotypes = np.stack([(1 - frequency) ** 2, 2 * frequency * (1 - frequency), frequency**2])
    prior, places = genotypes[_OWN] * genotypes[_OTHER], _place(reference, alternate)

    def likelihood(share: float, error: float) -> float:
        classes = _classes_of_depths(share, error)[:, places]
        return float(sites @ np.log((classes * prior).sum(axis=0) + _TINY))

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


def _place(reference: NDArray[np.float64], alternate: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the column of `_classes_of_depths` for reads of both alleles, at most MOST_READS together."""
    first = reference.astype(np.int64)
    return first * (2 * MOST_READS + 3 - first) // 2 + alternate.astype(np.int64)


def _columns(cells: Cells, number: int) -> NDArray[np.float64]:
    """Return the columns of the cells as float64[number, cells]."""
    columns: NDArray[np.float64] = np.array(cells, np.float64).reshape(-1, number).T
    return columns


@cache
def _classes_of_depths(share: float, error: float) -> NDArray[np.float64]:
    """Return the likelihood of all read counts (at `_place`) under each genotype pair: float64[9, places].

    The binomial factor is left out.
    """
    reference = np.repeat(np.arange(MOST_READS + 1), np.arange(MOST_READS + 1, 0, -1))
    alternate = np.concatenate([np.arange(left) for left in range(MOST_READS + 1, 0, -1)])
    expected = ((1 - share) * _OWN + share * _OTHER) / 2
    expected = expected * (1 - error) + (1 - expected) * error
    mixed = (_OWN + _OTHER > 0) & (_OWN + _OTHER < 4) & ((_OWN == 1) | (_OTHER == 1) | (share > SPREAD))
    total = np.zeros((len(expected), len(reference)))
    for step, weight in ((-1, 0.25), (0, 0.5), (1, 0.25)):
        # Fractions near 0 and 1 vary less, as in a binomial distribution.
        shifted = expected + np.where(mixed, 4 * step * SPREAD * expected * (1 - expected), 0)
        total += weight * np.exp(np.outer(np.log(shifted), alternate) + np.outer(np.log1p(-shifted), reference))
    return total


@cache
def _own_of_depths(share: float, error: float) -> NDArray[np.float64]:
    """Return the likelihood of all read counts under each of the sample's own genotypes: float64[3, places]."""
    return _OF_OWN @ _classes_of_depths(share, error)


def _maximum(likelihood: Callable[[float, float], float], sites: int) -> Contamination:
    """Maximise the likelihood over both grids; the interval ends where it has fallen by DROP.

    The likelihood has one maximum over the error rates, and the highest over the shares near the best of STARTS.
    """
    error, values = len(ERRORS) // 2, dict[int, float]()

    def value(share: int) -> float:
        nonlocal error
        if share not in values:
            of_error = cache(lambda number: likelihood(float(SHARES[share]), float(ERRORS[number])))
            error = _climb(of_error, error, len(ERRORS))
            values[share] = of_error(error)
        return values[share]

    best = _climb(value, max(STARTS, key=value), len(SHARES))
    inside = [number for number in values if values[number] >= values[best] - DROP]
    low, high = min(inside), max(inside)
    while low > 0 and value(low - 1) >= value(best) - DROP:
        low -= 1
    while high < len(SHARES) - 1 and value(high + 1) >= value(best) - DROP:
        high += 1
    share = float(SHARES[best])
    if 0 < best < len(SHARES) - 1:
        around = [values[number] for number in (best - 1, best, best + 1)]
        curve = np.polyfit(SHARES[best - 1 : best + 2] - share, around, 2)
        share += float(np.clip(-curve[1] / (2 * curve[0]), SHARES[best - 1] - share, SHARES[best + 1] - share))
    return Contamination(share, min(share, float(SHARES[low])), max(share, float(SHARES[high])), sites)


def _climb(value: Callable[[int], float], at: int, size: int) -> int:
    """Return the place of the maximum that ascending from `at` leads to, among 0 to size - 1."""
    while (best := max([at, *range(max(at - 1, 0), min(at + 2, size))], key=value)) != at:
        at = best
    return at

"""The lowest likelihood of a read under its best haplotype at which it is still used (daynamicLog10MinLiklihoodModel).

If a read's errors occur at the rates e = 10^(-q/10) of its base qualities q, the phred of its likelihood has a mean and
a variance that are sums over its bases. A read is kept up to one standard deviation above the mean, and in any case up
to one error of phred 40 per 33 bases.
"""

import numpy as np
from numpy.typing import NDArray

from quire.simd.compiled import compiled
from quire.simd.powers_of_ten import log10, power_of_ten

_LARGEST_QUALITY = 40
_ERRORS_PER_BASE = 0.03
_LOG10_PER_ERROR = -4.0
_MEAN, _VARIANCE = range(2)  # columns of MOMENTS


def _moments() -> NDArray[np.float64]:
    """Return mean and variance (float64[41, 2]) of the phred of a base's likelihood, by quality (0 counts as 1)."""
    error = power_of_ten(-np.arange(1, _LARGEST_QUALITY + 1) / 10)
    right, wrong = -10 * log10(1 - error), -10 * log10(error / 3)
    mean = (1 - error) * right + error * wrong
    variance = (1 - error) * right**2 + error * wrong**2 - mean**2
    moments = np.stack([mean, variance], axis=1)
    return np.concatenate([moments[:1], moments])


MOMENTS = _moments()


def least_likelihoods(base_qualities: NDArray[np.uint8], base_offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the log10 likelihood (float64[reads]) below which each read is left out; qualities as PairHMM has them."""
    least: NDArray[np.float64] = _least(base_qualities, base_offsets, MOMENTS)
    return least


@compiled
def _least(base_qualities, base_offsets, moments):
    least = np.empty(len(base_offsets) - 1)
    for r in range(len(least)):
        mean, variance = 0.0, 0.0
        for b in range(base_offsets[r], base_offsets[r + 1]):
            quality = min(base_qualities[b], _LARGEST_QUALITY)
            mean += moments[quality, _MEAN]
            variance += moments[quality, _VARIANCE]
        errors = np.ceil((base_offsets[r + 1] - base_offsets[r]) * _ERRORS_PER_BASE)
        least[r] = min(-0.1 * (mean + np.sqrt(variance)), errors * _LOG10_PER_ERROR)
    return least

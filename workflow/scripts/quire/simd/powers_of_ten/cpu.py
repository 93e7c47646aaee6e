"""log10 and powers of ten of single numbers in Numba: the same bits as the package's functions of arrays."""

import math

import numpy as np
from numpy.typing import NDArray

from quire.simd.compiled import compiled
from quire.simd.powers_of_ten import (
    ATANH_TERMS,
    EXP_TERMS,
    LEAST,
    LN_OF_10,
    LOG2_OF_10,
    LOG10_OF_2_LOWER,
    LOG10_OF_2_UPPER,
    LOG10_OF_E,
    MOST,
    SQRT_HALF,
)


@compiled
def log10(x: float) -> float:
    """Return the base-10 logarithm of a float64: -inf of zero, NaN of a negative number."""
    if not 0.0 < x < np.inf:
        if x == 0.0:
            return -np.inf
        return x if x > 0.0 else np.nan
    mantissa, exponent = math.frexp(x)
    if mantissa < SQRT_HALF:
        mantissa, exponent = 2.0 * mantissa, exponent - 1
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = 0.0
    for k in range(ATANH_TERMS, 0, -1):
        series = z * (series + 1.0 / (2 * k + 1))
    logarithm = (2.0 * s + 2.0 * s * series) * LOG10_OF_E
    return exponent * LOG10_OF_2_UPPER + (exponent * LOG10_OF_2_LOWER + logarithm)


@compiled
def power_of_ten(x: float) -> float:
    """Return 10 to the power of a float64."""
    if not LEAST < x < MOST:
        return 0.0 if x <= LEAST else np.inf if x >= MOST else np.nan
    exponent = math.floor(x * LOG2_OF_10 + 0.5)
    t = ((x - exponent * LOG10_OF_2_UPPER) - exponent * LOG10_OF_2_LOWER) * LN_OF_10
    result = 1.0
    for k in range(EXP_TERMS, 0, -1):
        result = 1.0 + result * (t * (1.0 / k))
    return math.ldexp(result, int(exponent))


@compiled
def log10_of_all(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 logarithms of a one-dimensional float64 array."""
    result = np.empty(len(values))
    for i in range(len(values)):
        result[i] = log10(values[i])
    return result

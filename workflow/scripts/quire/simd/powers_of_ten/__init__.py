"""log10 and powers of ten from additions, multiplications and divisions alone: the same bits on every machine.

The functions of mathematical libraries differ in the last bit between versions and processors (glibc has versions with
and without fma, NumPy's log10 has one for AVX-512). Where such a bit decides between two haplotypes, or rounds a
quality, answers would depend on the machine. Here every step is an operation that IEEE 754 defines to the last bit.
Errors stay within three units in the last place.

These functions take NumPy arrays. `cpu` does the same steps for single numbers in kernels, and log10.cuh in kernels for
cards, with the constants of this module.
"""

import numpy as np
from numpy.typing import NDArray

# log10(2): the upper bits, whose product with an exponent is exact, and the rest.
LOG10_OF_2_UPPER = float.fromhex("0x1.34413509f7000p-2")
LOG10_OF_2_LOWER = float.fromhex("0x1.3fde623e2566bp-43")
LOG2_OF_10 = 3.321928094887362
LN_OF_10 = 2.302585092994046
LOG10_OF_E = 0.4342944819032518
SQRT_HALF = 0.7071067811865476
ATANH_TERMS = 11  # of z^k / (2k + 1) with z <= 0.0295: what follows is below 2^-60
EXP_TERMS = 14  # of t^k / k! with |t| <= 0.3466: likewise
_SQRT_HALF_BITS, _FRACTION_BITS = np.int64(0x3FE6A09E667F3BCD), 52
_SMALLEST_NORMAL, _SCALE = 2.0**-1022, 54  # 2^_SCALE makes a subnormal number normal
_BLOCK = 1 << 15  # numbers: enough that NumPy's calls cost little, few enough to stay in a processor's cache
LEAST, MOST = -324.0, 309.0  # smaller powers are zero, larger ones infinity
LOGARITHM_NUMBERS: NDArray[np.float64] = np.array(
    [LOG10_OF_2_UPPER, LOG10_OF_2_LOWER, LOG10_OF_E, *(1.0 / (2 * k + 1) for k in range(1, ATANH_TERMS + 1))]
)
"""Constants and tables for log10.cuh."""
LOGARITHM_DEFINES = {"TERMS": ATANH_TERMS}
"""Macros of log10.cuh."""


def log10(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return base-10 logarithms (float64): -inf of zero, NaN of a negative number."""
    flat, result = values.ravel(), np.empty(values.size)
    for begin in range(0, len(flat), _BLOCK):
        result[begin : begin + _BLOCK] = _log10_of_block(flat[begin : begin + _BLOCK])
    return result.reshape(values.shape)


def _log10_of_block(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of any numbers."""
    normal = (values >= _SMALLEST_NORMAL) & (values < np.inf)
    if normal.all():
        return _log10_of_normal(values)
    subnormal = (values > 0.0) & (values < _SMALLEST_NORMAL)
    scaled = np.where(normal, values, np.where(subnormal, values, 1.0) * 2.0**_SCALE)
    result = _log10_of_normal(scaled, np.where(subnormal, -_SCALE, 0))
    beyond = np.where(values == 0.0, -np.inf, np.where(values > 0.0, values, np.nan))
    return np.where(normal | subnormal, result, beyond)


def _log10_of_normal(values: NDArray[np.float64], exponents: NDArray[np.int64] | int = 0) -> NDArray[np.float64]:
    """Return logarithms of positive normal numbers times powers of two."""
    bits = np.ascontiguousarray(values).view(np.int64)
    exponent = (bits - _SQRT_HALF_BITS) >> _FRACTION_BITS
    mantissa = (bits - (exponent << _FRACTION_BITS)).view(np.float64)  # from sqrt(1/2) to sqrt(2)
    exponent += exponents
    # ln(m) = 2 atanh(s) = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = np.zeros_like(s)
    for k in range(ATANH_TERMS, 0, -1):
        series += 1.0 / (2 * k + 1)
        series *= z
    logarithm = (2.0 * s + 2.0 * s * series) * LOG10_OF_E
    return exponent * LOG10_OF_2_UPPER + (exponent * LOG10_OF_2_LOWER + logarithm)


def power_of_ten(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 10 to the powers of an array (float64)."""
    within = (values > LEAST) & (values < MOST)
    x = np.where(within, values, 0.0)
    exponent = np.floor(x * LOG2_OF_10 + 0.5)
    t = ((x - exponent * LOG10_OF_2_UPPER) - exponent * LOG10_OF_2_LOWER) * LN_OF_10
    # e^t = 1 + t (1 + t / 2 (1 + t / 3 (1 + ...)))
    result = np.ones_like(t)
    for k in range(EXP_TERMS, 0, -1):
        result = 1.0 + result * (t * (1.0 / k))
    beyond = np.where(values <= LEAST, 0.0, np.where(values >= MOST, np.inf, np.nan))
    with np.errstate(over="ignore", under="ignore"):
        powers = np.ldexp(result, exponent.astype(np.int32))
    return np.where(within, powers, beyond)

// log10 of quire/simd/powers_of_ten on a card: the same operations in the same order, so the same bits. `numbers` are
// the package's LOGARITHM_NUMBERS. TERMS (by -D): how many terms the series has.
#pragma once
#include "quire/device/types.cuh"

constexpr int LOG10_OF_2_UPPER = 0, LOG10_OF_2_LOWER = 1, LOG10_OF_E = 2, FIRST_TERM = 3, FRACTION_BITS = 52;
constexpr i64 SQRT_HALF_BITS = 0x3FE6A09E667F3BCDll, NAN_BITS = 0x7FF8000000000000ll, INFINITY_BITS = 0x7FF0000000000000ll;
constexpr double SMALLEST_NORMAL = 0x1p-1022, SCALED_UP = 0x1p54;

// -inf of zero, NaN of a negative number. No operation is contracted: -fmad=false (quire/device/compiler.py).
__device__ __forceinline__ double log10_of(double x, const double* numbers) {
    double infinity = __longlong_as_double(INFINITY_BITS);
    if (x == 0) return -infinity;
    if (!(x > 0)) return __longlong_as_double(NAN_BITS);
    if (x == infinity) return x;
    i64 exponent = 0;
    if (x < SMALLEST_NORMAL) x *= SCALED_UP, exponent = -54;
    i64 bits = __double_as_longlong(x), power = (bits - SQRT_HALF_BITS) >> FRACTION_BITS;
    double mantissa = __longlong_as_double(bits - (i64)((u64)power << FRACTION_BITS));  // sqrt(1/2) to sqrt(2)
    exponent += power;
    double s = (mantissa - 1.0) / (mantissa + 1.0), z = s * s, series = 0;
    for (int k = TERMS; k > 0; k--) series = (series + numbers[FIRST_TERM + k - 1]) * z;
    double logarithm = (2.0 * s + 2.0 * s * series) * numbers[LOG10_OF_E];
    return (double)exponent * numbers[LOG10_OF_2_UPPER] + ((double)exponent * numbers[LOG10_OF_2_LOWER] + logarithm);
}

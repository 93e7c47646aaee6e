// Arithmetic of PairHMM: rounded to nearest. In float32, subnormal operands and results are zeros of the same sign, as
// on the CPU with the flags FTZ and DAZ set; float64 keeps subnormal numbers. DOUBLE (by -D) makes Real float64.
#pragma once
#include "quire/device/types.cuh"

#if DOUBLE
typedef double Real;
__device__ __forceinline__ Real fused(Real a, Real b, Real c) { return fma(a, b, c); }
__device__ __forceinline__ Real product(Real a, Real b) { return a * b; }
__device__ __forceinline__ Real sum(Real a, Real b) { return a + b; }
#elif defined(QUIRE_ON_CPU)
typedef float Real;
constexpr Real SMALLEST = 0x1p-126f, SCALE = 0x1p24f;
__device__ __forceinline__ Real flushed(Real a) { return fabsf(a) < SMALLEST ? copysignf(0.0f, a) : a; }
__device__ __forceinline__ Real fused(Real a, Real b, Real c) {
    a = flushed(a), b = flushed(b), c = flushed(c);
    Real result = __fmaf_rn(a, b, c);
    // Hardware flushes results that are subnormal when rounded to full precision. Results that only reach the smallest
    // normal number because subnormal numbers have fewer digits are therefore zero too.
    if (fabsf(result) == SMALLEST) {
        (fabsf(a) < fabsf(b) ? a : b) *= SCALE;
        if (fabsf(__fmaf_rn(a, b, c * SCALE)) < SMALLEST * SCALE) return copysignf(0.0f, result);
    }
    return flushed(result);
}
__device__ __forceinline__ Real product(Real a, Real b) { return fused(a, b, copysignf(0.0f, a * b)); }
__device__ __forceinline__ Real sum(Real a, Real b) { return flushed(flushed(a) + flushed(b)); }
#else
typedef float Real;
__device__ __forceinline__ Real fused(Real a, Real b, Real c) {
    Real result;
    asm("fma.rn.ftz.f32 %0, %1, %2, %3;" : "=f"(result) : "f"(a), "f"(b), "f"(c));
    return result;
}
__device__ __forceinline__ Real product(Real a, Real b) {
    Real result;
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
__device__ __forceinline__ Real sum(Real a, Real b) {
    Real result;
    asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
}
#endif

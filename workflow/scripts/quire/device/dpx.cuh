// Fused integer operations of dynamic programming, and selection of bytes and bits: one instruction each where the
// hardware has it, with the same results elsewhere (QUIRE_ON_CPU: the tests' harness).
#pragma once
#include "quire/device/types.cuh"

// max(a + b, c), max(a + b, c, 0) and max(a, b, c): one instruction each from sm_90 on.
__device__ __forceinline__ i32 add_max(i32 a, i32 b, i32 c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return __viaddmax_s32(a, b, c);
#else
    return max(a + b, c);
#endif
}

__device__ __forceinline__ i32 add_max_relu(i32 a, i32 b, i32 c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return __viaddmax_s32_relu(a, b, c);
#else
    return max(max(a + b, c), 0);
#endif
}

__device__ __forceinline__ i32 max3(i32 a, i32 b, i32 c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    return __vimax3_s32(a, b, c);
#else
    return max(max(a, b), c);
#endif
}

// The same on two signed 16-bit numbers in a word, and max(a, b) on two unsigned ones.
__device__ __forceinline__ u32 add_max_16x2(u32 a, u32 b, u32 c) {
#if defined(QUIRE_ON_CPU) || __CUDA_ARCH__ >= 900
    return __viaddmax_s16x2(a, b, c);
#else
    return __vmaxs2(__vadd2(a, b), c);
#endif
}

__device__ __forceinline__ u32 max3_16x2(u32 a, u32 b, u32 c) {
#if defined(QUIRE_ON_CPU) || __CUDA_ARCH__ >= 900
    return __vimax3_s16x2(a, b, c);
#else
    return __vmaxs2(__vmaxs2(a, b), c);
#endif
}

__device__ __forceinline__ u32 max_unsigned_16x2(u32 a, u32 b) {
#if defined(QUIRE_ON_CPU)
    return __vimax3_u16x2(a, b, b);
#else
    return __vmaxu2(a, b);
#endif
}

// Four bytes selected from the eight of (high, low). Nibble i of the selector gives byte i; with its highest bit set,
// the result is the sign of that byte, eight times. (__byte_perm ignores that bit, which costs one more instruction.)
__device__ __forceinline__ u32 permute_bytes(u32 low, u32 high, u32 selector) {
#if defined(QUIRE_ON_CPU)
    u64 bytes = (u64)high << 32 | low;
    u32 result = 0;
    for (int i = 0; i < 4; i++) {
        u32 choice = selector >> (4 * i) & 15, byte = (u32)(bytes >> (8 * (choice & 7))) & 255;
        result |= (choice < 8 ? byte : byte >> 7 ? 255u : 0u) << (8 * i);
    }
    return result;
#else
    u32 result;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
    return result;
#endif
}

// The bits of `a` where `mask` is 1, the bits of `b` where it is 0.
__device__ __forceinline__ u32 select_bits(u32 mask, u32 a, u32 b) {
#if defined(QUIRE_ON_CPU)
    return (a & mask) | (b & ~mask);
#else
    u32 result;
    asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(result) : "r"(mask), "r"(a), "r"(b));
    return result;
#endif
}

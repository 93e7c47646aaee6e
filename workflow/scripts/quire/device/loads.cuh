// Loads and shifts that C++ has no words for, with fallbacks: for the tests' harness, and for cards before sm_70.
#pragma once
#include "quire/device/types.cuh"

// 16 bytes that no kernel writes. `stream`: the multiprocessor's own cache is not to keep them.
template <bool stream = false> __device__ __forceinline__ ulonglong2 load_block(const ulonglong2* pointer) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    if constexpr (stream) {
        ulonglong2 value;
        asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(value.x), "=l"(value.y) : "l"(pointer));
        return value;
    }
#endif
    return __ldg(pointer);
}

// word << count; 0 from 64 on, where C++ leaves the answer open and the hardware does not.
__device__ __forceinline__ u64 shift_left_clamped(u64 word, u32 count) {
#ifdef __CUDA_ARCH__
    u64 shifted;
    asm("shl.b64 %0, %1, %2;" : "=l"(shifted) : "l"(word), "r"(count));
    return shifted;
#else
    return count < 64 ? word << count : 0;
#endif
}

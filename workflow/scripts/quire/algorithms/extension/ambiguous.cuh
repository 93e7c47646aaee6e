// Search in the ambiguous spans of the axis, as in extension/cpu.py.
#pragma once
#include "quire/device/types.cuh"

// Index of the first span (of `count`, each [start, end)) that ends after `position`.
__device__ __forceinline__ i64 first_ambiguous_after(const i64* ambiguous, i64 count, i64 position) {
    i64 low = 0, high = count;
    while (low < high) {
        i64 middle = (low + high) >> 1;
        if (ambiguous[2 * middle + 1] > position) high = middle; else low = middle + 1;
    }
    return low;
}

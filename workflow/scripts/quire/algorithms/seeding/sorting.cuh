// Bitonic sorting of few items by a warp or a block. Every comparison puts the smaller item first, so places beyond the
// end count as infinite, and any number of items can be sorted.
#pragma once
#include "quire/device/types.cuh"

constexpr u32 FULL_WARP = 0xFFFFFFFFu;

// Ascending over the lanes of a warp.
__device__ __forceinline__ u64 sort_lanes(u64 key, i32 lane) {
    for (i32 size = 2; size <= 32; size <<= 1) {
        for (i32 stride = size >> 1; stride > 0; stride >>= 1) {
            // The first stride of a size compares mirror images, which merges two ascending runs.
            u64 other = __shfl_xor_sync(FULL_WARP, key, stride == size >> 1 ? size - 1 : stride);
            bool keeps_smaller = (lane & stride) == 0;
            key = keeps_smaller == (other < key) ? other : key;
        }
    }
    return key;
}

// Calls exchange(lower, upper) for the pairs of one stride whose places are below `count`, split among `threads`.
template <class Exchange>
__device__ __forceinline__ void for_pairs(i32 count, i32 size, i32 stride, i32 thread, i32 threads, Exchange exchange) {
    for (i32 pair = thread;; pair += threads) {
        i32 lower = (pair & ~(stride - 1)) << 1 | (pair & (stride - 1));
        if (lower >= count) return;
        i32 upper = stride == size >> 1 ? lower ^ (size - 1) : lower | stride;
        if (upper < count) exchange(lower, upper);
    }
}

// Sorts keys that only this warp accesses; all 32 lanes call it.
__device__ __forceinline__ void sort_by_warp(u64* keys, i32 count, i32 lane) {
    for (i32 size = 2; size >> 1 < count; size <<= 1) {
        for (i32 stride = size >> 1; stride > 0; stride >>= 1) {
            for_pairs(count, size, stride, lane, 32, [=](i32 lower, i32 upper) {
                u64 first = keys[lower], second = keys[upper];
                if (second < first) {
                    keys[lower] = second;
                    keys[upper] = first;
                }
            });
            __syncwarp();
        }
    }
}

// Sorts pairs by their keys; all threads of the block call it and see the result when it returns.
__device__ __forceinline__ void sort_pairs(u64* keys, u64* values, i32 count, i32 thread) {
    __syncthreads();
    for (i32 size = 2; size >> 1 < count; size <<= 1) {
        for (i32 stride = size >> 1; stride > 0; stride >>= 1) {
            for_pairs(count, size, stride, thread, (i32)blockDim.x, [=](i32 lower, i32 upper) {
                u64 first = keys[lower], second = keys[upper];
                if (second < first) {
                    u64 value = values[lower];
                    keys[lower] = second;
                    keys[upper] = first;
                    values[lower] = values[upper];
                    values[upper] = value;
                }
            });
            __syncthreads();
        }
    }
}

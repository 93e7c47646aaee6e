// Positions of the seeds of a read: the twins of spread, seed_count and seed_end in seeding/steps_cpu.py.
// MAXIMUM_SEEDS and SEED_LENGTH come from quire.algorithms.seeding by -D. Lengths are of reads, at most a few thousand.
#pragma once
#include "quire/device/types.cuh"

// Stride for a read of this length; larger for long reads, to limit a strand to MAXIMUM_SEEDS.
__device__ __forceinline__ i32 spread(i32 length, i32 stride) {
    i32 needed = (length - SEED_LENGTH + MAXIMUM_SEEDS - 3) / (MAXIMUM_SEEDS - 2);  // never of a negative number
    return stride > needed ? stride : needed;
}

// Number of seeds of a read on one strand.
__device__ __forceinline__ i32 seed_count(i32 length, i32 stride) {
    if (length < SEED_LENGTH) return 0;
    i32 step = spread(length, stride);
    i32 regular = (length - SEED_LENGTH) / step + 1;
    return SEED_LENGTH + (regular - 1) * step == length ? regular : regular + 1;
}

// End (exclusive) of a seed in the oriented read.
__device__ __forceinline__ i32 seed_end(i32 ordinal, i32 length, i32 stride) {
    i32 end = SEED_LENGTH + ordinal * spread(length, stride);
    return end < length ? end : length;
}

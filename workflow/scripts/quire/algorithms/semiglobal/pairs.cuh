// Sequences of a chunk of tasks, and the tasks.
#pragma once
#include "quire/device/types.cuh"

constexpr int WARP = 32;

// The `SemiglobalBatch` of the caller, with letters coded by gpu.py.
struct Pairs {
    const u8* references;
    const i64* reference_offsets;
    const u8* alternates;
    const i64* alternate_offsets;
    const i32* tasks;
};

struct Sequence {
    const u8* letters;
    int length;
};

__device__ __forceinline__ Sequence reference_of(const Pairs& pairs, i64 task) {
    const i64* offset = pairs.reference_offsets + pairs.tasks[2 * task];
    return {pairs.references + offset[0], (int)(offset[1] - offset[0])};
}

__device__ __forceinline__ Sequence alternate_of(const Pairs& pairs, i64 task) {
    const i64* offset = pairs.alternate_offsets + pairs.tasks[2 * task + 1];
    return {pairs.alternates + offset[0], (int)(offset[1] - offset[0])};
}

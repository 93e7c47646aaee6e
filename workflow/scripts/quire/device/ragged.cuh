// Ragged data on a card: flat items, and int64 offsets that say where each owner's begin (see quire/ragged.py).
#pragma once
#include "quire/device/types.cuh"

// The owner of an item: offsets[owner] <= item < offsets[owner + 1], with offsets[owners] > item. The threads of a
// warp, which have neighbouring items, take the same steps and read the same words.
__device__ __forceinline__ i64 owner_of(const i64* offsets, i64 owners, i64 item) {
    i64 low = 0, high = owners;
    while (high - low > 1) {
        i64 middle = (low + high) >> 1;
        if (offsets[middle] <= item) low = middle; else high = middle;
    }
    return low;
}

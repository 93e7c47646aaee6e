// Ragged data on a card: flat items, and int64 offsets of each owner's first item (see quire/ragged.py).
#pragma once
#include "quire/device/types.cuh"

// Return the owner of an item: offsets[owner] <= item < offsets[owner + 1]; offsets[owners] > item is required. The
// threads of a warp have neighbouring items, so they take the same steps and read the same words.
__device__ __forceinline__ i64 owner_of(const i64* offsets, i64 owners, i64 item) {
    i64 low = 0, high = owners;
    while (high - low > 1) {
        i64 middle = (low + high) >> 1;
        if (offsets[middle] <= item) low = middle; else high = middle;
    }
    return low;
}

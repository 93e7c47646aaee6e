// The axis on a card, in the layout of quire.reference.gpu.CardReference; see quire/reference/opening.py.
#pragma once
#include "quire/device/types.cuh"

struct Reference {
    const u64* text;         // packed axis, two words longer than its bases
    const i64* ambiguous;    // [ambiguous_count][2], axis runs whose codes only stand in for ambiguous bases
    i64 ambiguous_count;
    const i64* island_axis;  // [islands + 1]
    const i32* island_contig;
    const i64* island_start;  // on the contig
    i64 islands;
    const u8* alternate;  // [contigs], 1 if alternate; null: no contig is alternate

    __device__ __forceinline__ i64 axis_length() const { return island_axis[islands]; }
};

// Index of the island that holds an axis position.
__device__ __forceinline__ i64 island_of(const Reference& reference, i64 position) {
    i64 low = 0, high = reference.islands;
    while (high - low > 1) {
        i64 middle = (low + high) >> 1;
        if (reference.island_axis[middle] <= position) low = middle; else high = middle;
    }
    return low;
}

// True if an axis position is on an alternate contig.
__device__ __forceinline__ bool on_alternate(const Reference& reference, i64 position) {
    return reference.alternate && reference.alternate[reference.island_contig[island_of(reference, position)]];
}

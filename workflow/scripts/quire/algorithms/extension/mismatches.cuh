// Comparison of a read with the axis without gaps, as `mismatches` of extension/cpu.py.
#pragma once
#include "quire/device/types.cuh"

// Count the bases in which a packed read (its words on one strand) differs from the axis (`text`) from `position` on;
// all positions are inside the axis. Counting stops after a word of 32 bases with which there are more than `limit`.
__device__ __forceinline__ i32 mismatches(const u64* packed, const u64* text, i64 position, i32 length, i32 limit) {
    // In halves of words (16 bases), since joining two neighbours with a shift is one instruction. The shift of a read
    // against the text is constant, so each round needs two new halves of the text.
    const u32* halves = (const u32*)text + (position >> 4);
    u32 shift = 2 * ((u32)position & 15), half = *halves;
    i32 found = 0;
    for (i32 begin = 0; begin < length; begin += 32, halves += 2) {
        u32 middle = halves[1], next = halves[2];
        u64 bases = *packed++;
        u32 low = (u32)bases ^ __funnelshift_r(half, middle, shift);
        u32 high = (u32)(bases >> 32) ^ __funnelshift_r(middle, next, shift);
        half = next;
        // One bit for each differing base: the lower one of its two in `low`, the upper one in `high`.
        low = (low | low >> 1) & 0x55555555u;
        high = (high | high << 1) & 0xAAAAAAAAu;
        i32 rest = length - begin;
        if (rest < 32) {
            low = rest < 16 ? low & ((1u << 2 * rest) - 1) : low;
            high = rest < 16 ? 0 : high & ((1u << 2 * (rest - 16)) - 1);
        }
        found += __popc(low | high);
        if (found > limit) break;
    }
    return found;
}

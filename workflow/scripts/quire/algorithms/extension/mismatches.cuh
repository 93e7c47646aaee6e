// Comparison of a read with the axis without gaps: the twin of extension/cpu.py's mismatches.
#pragma once
#include "quire/oriented/oriented.cuh"

// Differing bases between a packed read (its words on one strand) and the axis (`text`) from `position` on, all of them
// inside the axis; counting stops, at a whole word of 32 bases, once there are more than `limit`.
__device__ __forceinline__ i32 mismatches(const u64* packed, const u64* text, i64 position, i32 length, i32 limit) {
    // A read lies at one shift against the text's words: one new word of each for every 32 bases.
    const u64* words = text + (position >> 5);
    int shift = 2 * (int)(position & 31);
    u64 word = *words;
    i32 found = 0;
    for (i32 begin = 0; begin < length; begin += 32) {
        u64 next = *++words;
        // A shift by 64 is undefined, hence two shifts for the part from the next word.
        u64 difference = *packed++ ^ (word >> shift | (next << 1) << (63 - shift));
        difference = (difference | difference >> 1) & 0x5555555555555555ull;
        if (length - begin < 32) difference &= (1ull << 2 * (length - begin)) - 1;
        found += __popcll(difference);
        if (found > limit) break;
        word = next;
    }
    return found;
}

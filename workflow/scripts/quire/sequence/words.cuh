// Packed words, with base i in bits 2*(i % 32) of word i / 32; as in quire/sequence/words_cpu.py.
#pragma once
#include "quire/device/types.cuh"

// The 32 bases from index `base` on as one word, the first in the lowest bits; reads one word beyond.
__device__ __forceinline__ u64 packed_word(const u64* words, i64 base) {
    i64 index = base >> 5;
    int shift = 2 * (int)(base & 31);
    // A shift by 64 is undefined, hence two shifts for the part from the next word.
    return words[index] >> shift | (words[index + 1] << 1) << (63 - shift);
}

// Code 0..3 of one base of packed words.
__device__ __forceinline__ int code_at(const u64* words, i64 base) {
    return (int)(words[base >> 5] >> (2 * (int)(base & 31))) & 3;
}

// The 32 bases before base `end` of packed words, the last one in the highest bits; A for bases before base 0.
__device__ __forceinline__ u64 bases_before(const u64* words, i64 end) {
    if (end >= 32) return packed_word(words, end - 32);
    return end > 0 ? words[0] << (64 - 2 * end) : 0;
}

// Reads of one batch on both strands, packed text, and the hash that decides ties: the twins of quire/oriented.py.
#pragma once
#include "quire/device/types.cuh"

// As quire.oriented_gpu.CardReads lays it out. Row s of a two-row array begins at s * (its row's length).
struct Reads {
    const i64* offsets;       // [count + 1], of bases
    const u8* codes;          // [2][bases]: 0..3, 4 for N; row = strand
    i64 bases;
    const i64* word_offsets;  // [count + 1]
    const u64* packed;        // [2][words]: base i of a read in bits 2*(i % 32) of its word i / 32; N as A
    i64 words;
    const u8* ambiguous;      // [count]: whether the read holds an N
    const u64* name_hash;     // [count]
    i64 count;

    __device__ __forceinline__ i64 length(i64 read) const { return offsets[read + 1] - offsets[read]; }
    __device__ __forceinline__ const u8* codes_of(i64 strand, i64 read) const {
        return codes + strand * bases + offsets[read];
    }
    __device__ __forceinline__ const u64* packed_of(i64 strand, i64 read) const {
        return packed + strand * words + word_offsets[read];
    }
};

// 32 bases from base index `base` on as one word (base `base` in the lowest bits); reads one word beyond.
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

// Hash of (read name, axis position): the order of equally good places (splitmix64 finaliser).
__device__ __forceinline__ u64 tie_hash(u64 name_hash, i64 position) {
    u64 value = name_hash ^ ((u64)position * 0x9E3779B97F4A7C15ull);
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
}

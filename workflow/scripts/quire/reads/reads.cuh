// Reads of one batch on both strands: see quire/reads/__init__.py.
#pragma once
#include "quire/device/types.cuh"

// The layout is that of quire.reads.gpu.CardReads. Row s of an array of two rows begins at s * (length of a row).
struct Reads {
    const i64* offsets;       // [count + 1], of bases
    const u8* codes;          // [2][bases]: 0..3, 4 for N; row = strand
    i64 bases;
    const i64* word_offsets;  // [count + 1]
    const u64* packed;        // [2][words]: base i of a read in bits 2*(i % 32) of its word i / 32; N as A
    i64 words;
    const u8* ambiguous;      // [count]: 1 if the read has an N
    const u64* name_hash;     // [count]
    i64 count;
    i64 longest;              // no read has more bases; for the host

    __device__ __forceinline__ i64 length(i64 read) const { return offsets[read + 1] - offsets[read]; }
    __device__ __forceinline__ const u8* codes_of(i64 strand, i64 read) const {
        return codes + strand * bases + offsets[read];
    }
    __device__ __forceinline__ const u64* packed_of(i64 strand, i64 read) const {
        return packed + strand * words + word_offsets[read];
    }
};

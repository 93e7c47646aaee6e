// The text of a page on a card, and its leading bases as numbers that sort as the text does.
#pragma once
#include "quire/sequence/words.cuh"

// As quire.algorithms.suffix_array.gpu.CardText lays it out.
struct Text {
    const u64* words;  // base i of the page in bits 2*(i % 32) of word i / 32, counted from base `start` of the words
    i64 start;
    i64 length;

    __device__ __forceinline__ int code(i64 position) const { return code_at(words, start + position); }

    // 32 bases from a position on, the first one most significant; position <= length - 32.
    __device__ __forceinline__ u64 key(i64 position) const {
        u64 reversed = __brevll(packed_word(words, start + position));
        return (reversed >> 1 & 0x5555555555555555ull) | (reversed & 0x5555555555555555ull) << 1;
    }

    // The same for any position <= length; the text is padded with A.
    __device__ __forceinline__ u64 padded_key(i64 position) const {
        i64 bases = length - position;
        if (bases == 0) return 0;
        return bases < 32 ? key(position) & ~0ull << (64 - 2 * bases) : key(position);
    }
};

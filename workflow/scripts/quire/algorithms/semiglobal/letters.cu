// Letters of sequences: which ones occur, and the codes that replace them in the matrices.
#include "quire/device/types.cuh"

// Sets present[letter] = 1 for each letter that occurs. Threads may write the same 1 to the same place; few do.
extern "C" __global__ void note_letters(const u8* letters, i64 count, u8* present) {
    i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 i = thread_index(); i < count; i += threads) {
        u8 letter = letters[i];
        if (!present[letter]) present[letter] = 1;
    }
}

// Replaces each letter by codes[letter].
extern "C" __global__ void code_letters(u8* letters, i64 count, const u8* codes) {
    i64 i = thread_index();
    if (i < count) letters[i] = codes[letters[i]];
}

// Orientation of reads on both strands, as codes and as packed words: see quire/reads/__init__.py.
#include "quire/reads/reads.cuh"
#include "quire/sequence/ties/ties.cuh"

// One thread per word of a read, which packs up to 32 bases of both strands. `word_read` is the read of each word.
extern "C" __global__ void orient(const u8* given, const i64* offsets, const i64* word_offsets, const i32* word_read,
                                  i64 bases, i64 words, u8* codes, u64* packed, u8* ambiguous) {
    i64 word = thread_index();
    if (word >= words) return;
    u64 forward = 0, reverse = 0;
    i32 read = word_read[word];
    if (read >= 0) {
        i64 begin = offsets[read], length = offsets[read + 1] - begin;
        i64 first = (word - word_offsets[read]) * 32;
        i64 last = first + 32 < length ? first + 32 : length;
        bool unclear = false;
        for (i64 i = first; i < last; i++) {
            u64 code = given[begin + i], opposite = given[begin + length - 1 - i];
            codes[begin + i] = (u8)code;
            codes[bases + begin + i] = opposite > 3 ? 4 : (u8)(3 - opposite);
            unclear |= code > 3;
            forward |= (code > 3 ? 0 : code) << (2 * (i - first));
            reverse |= (opposite > 3 ? 0 : 3 - opposite) << (2 * (i - first));
        }
        if (unclear) ambiguous[read] = 1;  // all writing threads write 1
    }
    packed[word] = forward;
    packed[words + word] = reverse;
}

// Finds the read of each word, -1 for the padding after the last read; one thread per word.
extern "C" __global__ void owners_of_words(const i64* word_offsets, i64 count, i64 words, i32* word_read) {
    i64 word = thread_index();
    if (word >= words) return;
    i64 low = 0, high = count;  // word_offsets[low] <= word < word_offsets[high], if any read holds it
    while (high - low > 1) {
        i64 middle = (low + high) >> 1;
        if (word_offsets[middle] <= word) low = middle; else high = middle;
    }
    word_read[word] = count > 0 && word < word_offsets[count] ? (i32)low : -1;
}

// One thread per chosen read: its numbers of bases and of words, sizes[2][count].
extern "C" __global__ void sizes_of_reads(Reads reads, const i64* chosen, i64 count, i32* sizes) {
    i64 target = thread_index();
    if (target >= count) return;
    i64 read = chosen[target];
    sizes[target] = (i32)reads.length(read);
    sizes[count + target] = (i32)(reads.word_offsets[read + 1] - reads.word_offsets[read]);
}

// Copies the chosen reads to a new batch; one block per read. The words after the last read are 0.
extern "C" __global__ void take_reads(Reads reads, const i64* chosen, i64 count, const i64* offsets,
                                      const i64* word_offsets, i64 bases, i64 words, u8* codes, u64* packed,
                                      u8* ambiguous, u64* name_hash) {
    i64 target = blockIdx.x;
    if (target == 0 && threadIdx.x < 2) packed[(threadIdx.x + 1) * words - 1] = 0;
    if (target >= count) return;
    i64 read = chosen[target];
    for (int strand = 0; strand < 2; strand++) {
        const u8* codes_from = reads.codes_of(strand, read);
        const u64* packed_from = reads.packed_of(strand, read);
        for (i64 i = threadIdx.x; i < offsets[target + 1] - offsets[target]; i += blockDim.x)
            codes[strand * bases + offsets[target] + i] = codes_from[i];
        for (i64 i = threadIdx.x; i < word_offsets[target + 1] - word_offsets[target]; i += blockDim.x)
            packed[strand * words + word_offsets[target] + i] = packed_from[i];
    }
    if (threadIdx.x == 0) {
        ambiguous[target] = reads.ambiguous[read];
        name_hash[target] = reads.name_hash[read];
    }
}

// Hashes the name of each read, which mates share; one thread per read.
extern "C" __global__ void hash_names(const u8* names, const i64* name_offsets, i64 named, i64 count, u64* hashes) {
    i64 read = thread_index();
    if (read >= count) return;
    i64 name = read % named;
    hashes[read] = hash_of_name(names, name_offsets[name], name_offsets[name + 1]);
}

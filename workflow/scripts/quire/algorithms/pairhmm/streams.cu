// Order tasks of PairHMM, join them into items, and write their haplotypes as streams of columns (batch.cuh).
#include "quire/algorithms/pairhmm/batch.cuh"

// One thread per task: write its sort key, which begins with its class, and the words of its columns. A class is a
// slice of the tasks and a range of read lengths.
// limits: longest read of each range; the last range takes all others. slice_ends: end of each slice's tasks.
extern "C" __global__ void measure_tasks(const i32* pairs, i64 count, Reads reads, Haplotypes haplotypes,
                                         const i64* limits, i64 lengths, const i64* slice_ends, i64 slices, i64* keys,
                                         i64* words) {
    i64 task = thread_index();
    if (task >= count) return;
    i64 read = pairs[2 * task], haplotype = pairs[2 * task + 1];
    i64 length = reads.offsets[read + 1] - reads.offsets[read], chosen = 0, slice = 0;
    while (chosen < lengths - 1 && limits[chosen] < length) chosen++;
    while (slice < slices - 1 && slice_ends[slice] <= task) slice++;
    keys[task] = slice * lengths + chosen << CLASS_SHIFT | task;
    i64 columns = haplotypes.offsets[haplotype + 1] - haplotypes.offsets[haplotype];
    words[task] = (columns + BLANKS + COLUMNS_OF_WORD - 1) / COLUMNS_OF_WORD;
}

// One thread per task in order: write 1 if an item begins here. Items end if the read or the class changes, or if the
// words counted from the first task pass a multiple of `most_words` of their class.
extern "C" __global__ void begin_items(Tasks tasks, const i64* keys, i64 count, const i64* most_words, u8* begins) {
    i64 task = thread_index();
    if (task >= count) return;
    i64 chosen = keys[task] >> CLASS_SHIFT;
    bool begin = task == 0 || tasks.read(task) != tasks.read(task - 1) || chosen != keys[task - 1] >> CLASS_SHIFT;
    if (!begin) {
        i64 most = most_words[chosen];
        begin = tasks.word_offsets[task] / most != tasks.word_offsets[task - 1] / most;
    }
    begins[task] = begin;
}

// One thread per item: write the sort key, by class and then by descending number of columns.
extern "C" __global__ void measure_items(Tasks tasks, const i64* keys, const i64* first, i64 count, i64* item_keys) {
    i64 item = thread_index();
    if (item >= count) return;
    i64 words = tasks.word_offsets[first[item + 1]] - tasks.word_offsets[first[item]];
    item_keys[item] = ((keys[first[item]] >> CLASS_SHIFT) + 1 << CLASS_SHIFT) - 1 - words;
}

// WRITERS threads per task: write the words of its haplotype.
extern "C" __global__ void write_streams(Tasks tasks, i64 count, Haplotypes haplotypes, u32* stream) {
    i64 task = thread_index() / WRITERS;
    if (task >= count) return;
    i64 haplotype = tasks.haplotype(task), begin = haplotypes.offsets[haplotype];
    i64 columns = haplotypes.offsets[haplotype + 1] - begin;
    i64 first = tasks.word_offsets[task], words = tasks.word_offsets[task + 1] - first;
    const u8* bases = haplotypes.bases + begin;
    for (i64 word = thread_index() % WRITERS; word < words; word += WRITERS) {
        u32 letters = word == words - 1 ? END << 24 : 0;
        for (u32 i = 0; i < COLUMNS_OF_WORD; i++) {
            i64 column = word * COLUMNS_OF_WORD + i;
            u32 byte = column >= columns ? 2 * NOTHING | BLANK : 2 * min((u32)bases[column], LETTER_N);
            letters |= byte << (8 * i);
        }
        stream[first + word] = letters;
    }
}

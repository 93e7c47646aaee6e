// Exact occurrences of alternates in their references, found before any matrix, with one warp per task.
// By -D: CIGAR_MATCH and CIGAR_SHIFT of quire.sam.
#include "quire/algorithms/semiglobal/pairs.cuh"

// Sets offsets[t] to the last exact occurrence of the alternate in its reference, or -1.
extern "C" __global__ void find_exact(Pairs pairs, i64 count, i32* offsets) {
    i64 task = thread_index() / WARP;
    if (task >= count) return;
    int lane = threadIdx.x % WARP;
    Sequence reference = reference_of(pairs, task), alternate = alternate_of(pairs, task);
    int found = -1;
    for (int last = reference.length - alternate.length; last >= 0 && found < 0; last -= WARP) {
        int offset = last - lane, matched = 0;
        if (offset >= 0)
            while (matched < alternate.length && reference.letters[offset + matched] == alternate.letters[matched])
                matched++;
        u32 fits = __ballot_sync(0xFFFFFFFFu, matched == alternate.length);
        if (fits) found = last - (__ffs((int)fits) - 1);
    }
    if (lane == 0) offsets[task] = found;
}

// Writes the CIGARs of exact occurrences.
extern "C" __global__ void write_exact(Pairs pairs, i64 count, const i32* exact, const i64* cigar_offsets,
                                       u32* cigars) {
    i64 task = thread_index();
    if (task >= count || exact[task] < 0) return;
    cigars[cigar_offsets[task]] = (u32)alternate_of(pairs, task).length << CIGAR_SHIFT | CIGAR_MATCH;
}

// Windows of sorted candidates, and their ends. See windows/__init__.py.
#include "quire/algorithms/complete/windows/windows.cuh"

// The ends of a candidate that no earlier candidate has, as a window; NO_CANDIDATE if there are none.
__device__ __forceinline__ u64 window_of(const u64* candidates, i64 index) {
    Candidate candidate = {candidates[index]};
    if (candidate.word == NO_CANDIDATE) return NO_CANDIDATE;
    i64 first = candidate.first();
    if (index > 0) {
        // Within an island neither the first nor the last ends decrease, and islands have no ends in common.
        Candidate previous = {candidates[index - 1]};
        if (previous.oriented() == candidate.oriented()) first = max(first, previous.last() + 1);
    }
    if (first > candidate.last()) return NO_CANDIDATE;
    return Candidate::make(candidate.oriented(), first, candidate.last()).word;
}

// One thread per candidate: 1 if it becomes a window.
extern "C" __global__ void mark_windows(const u64* candidates, i64 count, i32* marks) {
    i64 index = thread_index();
    if (index < count) marks[index] = window_of(candidates, index) != NO_CANDIDATE;
}

// One thread per candidate: its window.
extern "C" __global__ void write_windows(const u64* candidates, i64 count, const i64* offsets, u64* windows) {
    i64 index = thread_index();
    if (index < count && offsets[index] < offsets[index + 1]) windows[offsets[index]] = window_of(candidates, index);
}

// One thread per window: the distances of its ends, and their number.
extern "C" __global__ void __launch_bounds__(THREADS) solve_windows(
        Reads reads, Axis axis, const u64* windows, i64 count, i64 differences, u64* distances, i32* ends) {
    i64 index = thread_index();
    if (index >= count) return;
    u64 found;
    switch (differences) {  // the same for all
        case 0: found = distances_of<0>(reads, axis, {windows[index]}); break;
        case 1: found = distances_of<1>(reads, axis, {windows[index]}); break;
        case 2: found = distances_of<2>(reads, axis, {windows[index]}); break;
        case 3: found = distances_of<3>(reads, axis, {windows[index]}); break;
        case 4: found = distances_of<4>(reads, axis, {windows[index]}); break;
        default: found = distances_of<5>(reads, axis, {windows[index]});
    }
    distances[index] = found;
    // Four set bits mean that there is no end.
    u64 pairs = found & found >> 1;
    ends[index] = 16 - __popcll(pairs & pairs >> 2 & 0x1111111111111111ull);
}

// One thread per window: its ends; reads of the batch count from `first_read` on.
extern "C" __global__ void write_ends(const u64* windows, const u64* distances, const i64* offsets, i64 count,
                                      i64 first_read, i64* read, u8* strand, i64* end, u8* distance) {
    i64 index = thread_index();
    if (index >= count) return;
    Candidate window = {windows[index]};
    i64 place = offsets[index];
    u64 left = distances[index];
    for (i64 position = window.first(); position <= window.last(); position++, left >>= 4) {
        if ((left & 15) == NO_END) continue;
        read[place] = first_read + (window.oriented() >> 1);
        strand[place] = (u8)(window.oriented() & 1);
        end[place] = position;
        distance[place] = (u8)(left & 15);
        place++;
    }
}

// Alignments of a batch (layout of quire.align.model.Alignments), and distance and orientation of two of them.
#pragma once
#include "quire/device/types.cuh"

struct Alignments {
    const i64* offsets;  // [reads + 1]: read r has alignments [offsets[r], offsets[r + 1]), best first
    const i32* read;
    const u8* strand;
    const i32* score;
    const i32* read_begin;  // half-open in the oriented read
    const i32* read_end;
    const i64* axis_begin;  // half-open on the axis
    const i64* axis_end;
    const i32* contig;
    const i64* position;  // on the contig
    const i64* cigar_begin;
    const i32* cigar_length;
    const u32* cigar;
};

// Template lengths of proper pairs by orientation (layout of quire.align.insert_size.ProperLengths).
struct ProperLengths {
    const i64* low;  // [4]; high < low if no pair of the orientation is proper
    const i64* high;
    const i64* first;  // [4], where the costs of each orientation begin
    const i32* penalties;
    const i64* mean;  // [4]

    __device__ __forceinline__ bool hold(int orientation, i64 length) const {
        return length >= low[orientation] && length <= high[orientation];
    }
};

// Position of the read's 5' end on the contig, clips included: the twin of pairing/template_length_cpu.py.
__device__ __forceinline__ i64 five_prime_end(const Alignments& alignments, i64 i, i64 length) {
    if (alignments.strand[i] == 0) return alignments.position[i] - alignments.read_begin[i];
    i64 span = alignments.axis_end[i] - alignments.axis_begin[i];
    return alignments.position[i] + span + length - alignments.read_end[i];
}

// Index of the orientation of two mates (FF, FR, RF, RR). distance: from the first mate's 5' end to the second's, in
// the direction of the first.
__device__ __forceinline__ int orientation_of(u8 strand_first, u8 strand_second, i64 distance) {
    int orientation = strand_first == strand_second ? 0 : 1;
    return distance > 0 ? orientation : orientation ^ 3;
}

// The distance that orientation_of takes, for alignments on the same contig.
__device__ __forceinline__ i64 mates_distance(const Alignments& alignments, i64 first, i64 second, i64 first_length,
                                              i64 second_length) {
    i64 distance = five_prime_end(alignments, second, second_length) - five_prime_end(alignments, first, first_length);
    return alignments.strand[first] == 0 ? distance : -distance;
}

__device__ __forceinline__ i64 absolute(i64 value) { return value < 0 ? -value : value; }

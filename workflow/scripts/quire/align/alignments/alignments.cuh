// Alignments of a batch on a card, as quire.align.model.Alignments lays them out, and the template length of two.
#pragma once
#include "quire/device/types.cuh"

struct Alignments {
    const i64* offsets;  // [reads + 1]: those of read r stand in [offsets[r], offsets[r + 1]), best first
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

// Distance from the 5' end of a forward alignment to that of a reverse one on the same contig, clips included: the twin
// of template_length.py's.
__device__ __forceinline__ i64 template_length(const Alignments& alignments, i64 forward, i64 reverse,
                                               i64 reverse_length) {
    i64 begin = alignments.position[forward] - alignments.read_begin[forward];
    i64 span = alignments.axis_end[reverse] - alignments.axis_begin[reverse];
    return alignments.position[reverse] + span + reverse_length - alignments.read_end[reverse] - begin;
}

// Template length of alignments i and j of two mates; 0 where contigs or strands do not fit.
__device__ __forceinline__ i64 mates_length(const Alignments& alignments, i64 i, i64 j, i64 length_i, i64 length_j) {
    if (alignments.contig[i] != alignments.contig[j] || alignments.strand[i] == alignments.strand[j]) return 0;
    if (alignments.strand[i] == 0) return template_length(alignments, i, j, length_j);
    return template_length(alignments, j, i, length_i);
}

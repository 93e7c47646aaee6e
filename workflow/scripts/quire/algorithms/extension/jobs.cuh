// Jobs of extension and their results, as quire.algorithms.extension lays them out.
#pragma once
#include "quire/device/types.cuh"

struct ExtensionJobs {
    const i32* read;
    const u8* strand;
    const i64 *diagonal, *diagonal_low, *diagonal_high;  // the band, inclusive
    const i64 *axis_low, *axis_high;                     // half-open
};

// The same arrays in the kernels that write them.
struct NewExtensionJobs {
    i32* read;
    u8* strand;
    i64 *diagonal, *diagonal_low, *diagonal_high;
    i64 *axis_low, *axis_high;
};

struct Extensions {
    i32 *score, *read_begin, *read_end;
    i64 *axis_begin, *axis_end, *cigar_begin;
    i32* cigar_length;
    u32* cigar;
};

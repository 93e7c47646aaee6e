// What is reported of the reads of a batch, by the numbers of alignments.
#pragma once
#include "quire/device/types.cuh"

// As quire.align.model.Selection lays it out.
struct Selection {
    i64* primary;
    u8* quality;
    i32* suboptimal_score;
    u8* proper;
    i64* supplementary;  // [reads][MOST_SUPPLEMENTARY]
    u8* supplementary_quality;
    i32* supplementary_suboptimal_score;
};

// Indices of the alignments that are reported for the reads of a batch.
#pragma once
#include "quire/device/types.cuh"

// Layout of quire.align.model.Selection.
struct Selection {
    i64* primary;
    u8* quality;
    i32* suboptimal_score;
    u8* proper;
    i64* supplementary;  // [reads][MOST_SUPPLEMENTARY]
    u8* supplementary_quality;
    i32* supplementary_suboptimal_score;
};

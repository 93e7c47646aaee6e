// True if an alignment is reported even without a mate at a proper distance: the twin of stands_alone in
// quire/align/alignments/cpu.py. -D: SHORTEST_SCORE, SHORT_READ_MARGIN.
#pragma once
#include "quire/device/types.cuh"

__device__ __forceinline__ bool stands_alone(i64 score, i64 length) {
    i64 least = length - SHORT_READ_MARGIN;
    return score >= (least < SHORTEST_SCORE ? least : SHORTEST_SCORE);
}

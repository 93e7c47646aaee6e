// Mapping qualities in integers: the twin of quire/align/pairing/mapping_quality_cpu.py. Division in C and Python agrees,
// since all dividends are non-negative.
// -D: CHANCE_SCORE, CROWDED_PARTS, LONGEST_SPAN, MOST_COUNT, MOST_QUALITY, QUALITY_SHIFT.
#pragma once
#include "quire/device/types.cuh"

struct QualityTables {
    const i64* length_factor;  // [LONGEST_SPAN + 1]
    const i64* count_cost;     // [MOST_COUNT + 1]
};

__device__ __forceinline__ i64 count_cost(const QualityTables& tables, i64 count) {
    return tables.count_cost[count < MOST_COUNT ? count : MOST_COUNT];
}

// Quality that corresponds to a score difference (>= 0): 6.02 per unit.
__device__ __forceinline__ i64 raw_quality(i64 difference) { return (difference * 602 + 50) / 100; }

// A quality from 0 to MOST_QUALITY, less one part in CROWDED_PARTS for each of `crowded` reads.
__device__ __forceinline__ i64 lowered(i64 quality, int crowded) {
    quality = quality < 0 ? 0 : quality * (CROWDED_PARTS - crowded) / CROWDED_PARTS;
    return quality < MOST_QUALITY ? quality : MOST_QUALITY;
}

// Mapping quality of an alignment without regard to a mate. suboptimal_score: score of the best other place of the same
// part of the read (0: none); near_best_count: number of other places that score less than the best by at most the cost
// of a gap; spans: bases of the alignment on read and axis; crowded: 1 if the read reached the MOST_CANDIDATES cap.
__device__ __forceinline__ i64 single_quality(const QualityTables& tables, i64 score, i64 suboptimal_score,
                                              i64 near_best_count, i64 read_span, i64 axis_span, int crowded) {
    if (suboptimal_score < CHANCE_SCORE) suboptimal_score = CHANCE_SCORE;
    if (suboptimal_score >= score) return 0;
    i64 span = read_span > axis_span ? read_span : axis_span;  // at least `score`, so not 0
    i64 identity = ((4 * span + score) << QUALITY_SHIFT) / (5 * span);
    i64 squared = (identity * identity) >> QUALITY_SHIFT;
    i64 fourth = (squared * squared) >> QUALITY_SHIFT;
    i64 weight = (tables.length_factor[span < LONGEST_SPAN ? span : LONGEST_SPAN] * fourth) >> QUALITY_SHIFT;
    i64 quality = ((score - suboptimal_score) * 602 * weight / 100 + (1 << (QUALITY_SHIFT - 1))) >> QUALITY_SHIFT;
    if (near_best_count > 0) quality -= count_cost(tables, near_best_count);
    return lowered(quality, crowded);
}

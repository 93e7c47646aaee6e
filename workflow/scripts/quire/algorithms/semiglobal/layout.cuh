// Memory layout of the tasks of one launch and their results, for kernels of one shape. See gpu.py.
// By -D: LANES (of a warp, per two tasks), COLUMNS (of the matrix, per lane), STRIPS (alternates of more than
// LANES * COLUMNS letters). A word holds the cells of two tasks, 16 bits each.
#pragma once
#include "quire/algorithms/semiglobal/pairs.cuh"

constexpr int GROUPS = WARP / LANES, CAPACITY = LANES * COLUMNS;
constexpr int TASKS = 2, SLOTS = GROUPS * TASKS;
// A step's traceback: four bits per cell, neighbouring columns in one word, of which each task has half.
constexpr int CELLS_PER_WORD = 4, WORDS = (COLUMNS + CELLS_PER_WORD - 1) / CELLS_PER_WORD;
constexpr u32 STEP = 12, BY_MATCH = 12, BY_INSERTION = 8, LONGER_INSERTION = 2, LONGER_DELETION = 1;

// The slots of a launch, SLOTS per warp, each with its task; the last task fills the remaining slots of the last warp.
// An alternate ends with the last column of its slot's last strip; the columns before it are padding.
struct Slots {
    const i64* task;
    const i64* rows_before;    // [warps + 1], lengths of the warps' longest references before each
    const i64* strips_before;  // [warps + 1], strips before each
    const i64* lines_before;   // [warps + 1], lines before each; a line is a warp's traceback of one step

    __device__ int rows(i64 warp) const { return (int)(rows_before[warp + 1] - rows_before[warp]); }
    __device__ int strips(i64 warp) const { return STRIPS ? (int)(strips_before[warp + 1] - strips_before[warp]) : 1; }
    __device__ int steps(i64 warp) const { return rows(warp) + LANES - 1; }
    // Place of results by row, for each group of lanes.
    __device__ i64 row_place(i64 warp, int group) const {
        return rows_before[warp] * GROUPS + (i64)group * rows(warp);
    }
    // Place of results by column, padding included, for each slot.
    __device__ i64 column_place(i64 slot) const {
        i64 warp = slot / SLOTS;
        return (strips_before[warp] * SLOTS + slot % SLOTS * strips(warp)) * CAPACITY;
    }
};

// `quire.algorithms.scoring.Scoring`.
struct Scores {
    i64 match, mismatch, gap_open, gap_extend;
};

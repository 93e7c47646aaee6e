// GATK's aligner with warp shuffles: LANES lanes compute the matrices of two tasks at once.
//
// A lane owns COLUMNS neighbouring columns, keeps their cells of the row above in registers, and goes down the rows;
// the lane on its right is one row behind it, and receives `down` and `insertion` of its last column by two shuffles.
// Alternates end with the last column of the last lane, so that one lane knows H along the last column. Columns before
// an alternate's first letter must produce its edge: their letter matches none, and their score makes H = 0 everywhere.
// Rows below a reference's last one are computed and never read.
//
// A word of cells takes 17 instructions on sm_90, counted in the machine code. Ten of them
// use the arithmetic units (six of logic, four maxima), since the compiler leaves sums to the multipliers. These units
// execute 64 per cycle and multiprocessor: 3.35 T cells/s on an H200. Each row takes a lane about 60 more instructions.
#include "quire/algorithms/semiglobal/cells.cuh"

constexpr u32 EVERY_LANE = 0xFFFFFFFFu;
constexpr u32 PADDING_LETTER = 0xE000u;  // not in any sequence

// sm_120 takes several instructions for one DPX instruction, and more registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
constexpr int RESIDENT = BLOCKS * 2 / 3;
#else
constexpr int RESIDENT = BLOCKS;
#endif

// A task's letter in its half of a word.
__device__ __forceinline__ u32 placed(u32 letter, int half) { return letter << (8 + 16 * half); }

// The columns of a lane, with their cells of the row above.
struct Columns {
    u32 letter[COLUMNS], least[COLUMNS], across[COLUMNS], deletion[COLUMNS];

    // Initialises row 0; `first` is the lane's first column, counted from the alternate's first letter of each task.
    __device__ __forceinline__ void begin(const Sequence* alternates, const int* first, const Scores& scores,
                                          const Terms& terms) {
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            letter[k] = least[k] = 0;
            across[k] = terms.difference(0);
            deletion[k] = terms.opened((i32)scores.gap_open, 0);
#pragma unroll
            for (int half = 0; half < TASKS; half++) {
                int column = first[half] + k;
                bool padding = column < 0;
                letter[k] |= padding ? PADDING_LETTER << (16 * half) : placed(alternates[half].letters[column], half);
                least[k] |= 0xFFFFu << (16 * half) & (padding ? terms.free : terms.mismatch);
            }
        }
    }

    // Computes the next row: `down` and `insertion` are the left neighbour's, and become those of the last column.
    __device__ __forceinline__ void step(u32 row_letter, u32& down, u32& insertion, const Terms& terms, u32* words) {
        u32 word = 0;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            if (k % CELLS_PER_WORD == 0) word = 0;
            word *= 16;
            u32 best = max3_16x2(of_letters(letter[k], row_letter, least[k]), deletion[k], insertion);
            u32 score = best & ~(15 * EVERY_TASK);
            u32 flags = (deletion[k] | insertion) & (LONGER_DELETION | LONGER_INSERTION) * EVERY_TASK;
            word += (best & STEP * EVERY_TASK) | flags;
            u32 below = add_max_16x2(score, terms.open_deletion, deletion[k] | LONGER_DELETION * EVERY_TASK);
            u32 right = add_max_16x2(score, terms.open_insertion, insertion | LONGER_INSERTION * EVERY_TASK);
            deletion[k] = below - down + terms.longer;
            insertion = right - across[k] + terms.longer;
            u32 left = down;
            down = score - across[k];
            across[k] = score - left;
            if (k % CELLS_PER_WORD == CELLS_PER_WORD - 1 || k == COLUMNS - 1) words[k / CELLS_PER_WORD * WARP] = word;
        }
    }
};

// The letters of a row, for each task; rows beyond a reference have any of its letters.
__device__ __forceinline__ u32 letters_of_row(const Sequence* references, int row) {
    u32 letters = 0;
#pragma unroll
    for (int half = 0; half < TASKS; half++)
        letters |= placed(references[half].letters[min(max(row, 0), references[half].length - 1)], half);
    return letters;
}

// Fills the matrices of a launch. A block is one warp.
//   lines: traceback, [line][WORDS][lane].
//   side: `down` of a strip's last column, by row; side_insertion: `insertion` there, where another strip follows.
//   bottom: `across` of each slot's last row, by column.
extern "C" __global__ void __launch_bounds__(32, RESIDENT) fill(Pairs pairs, Slots slots, Scores scores, u32* lines,
                                                                u32* side, u32* side_insertion, u32* bottom) {
    i64 warp = blockIdx.x;
    int lane = threadIdx.x, own = lane % LANES, group = lane / LANES;
    int rows = slots.rows(warp), strips = slots.strips(warp), steps = slots.steps(warp);
    i64 first_slot = warp * SLOTS + group * TASKS, side_place = slots.row_place(warp, group);
    Sequence references[TASKS], alternates[TASKS];
#pragma unroll
    for (int half = 0; half < TASKS; half++) {
        references[half] = reference_of(pairs, slots.task[first_slot + half]);
        alternates[half] = alternate_of(pairs, slots.task[first_slot + half]);
    }
    const Terms terms(scores);
    lines += slots.lines_before[warp] * WORDS * WARP + lane;
    side += side_place;
    if (STRIPS) side_insertion += side_place;

    for (int strip = 0; strip < strips; strip++) {
        int first[TASKS];
#pragma unroll
        for (int half = 0; half < TASKS; half++)
            first[half] = (strip - strips) * CAPACITY + alternates[half].length + own * COLUMNS;
        Columns columns;
        columns.begin(alternates, first, scores, terms);
        u32 last_down = 0, last_insertion = 0;
        u32 letters = letters_of_row(references, -own);
        for (int step = 0; step < steps; step++) {
            int row = step - own;
            u32 down = __shfl_up_sync(EVERY_LANE, last_down, 1, LANES);
            u32 insertion = __shfl_up_sync(EVERY_LANE, last_insertion, 1, LANES);
            if (row >= 0 && row < rows) {
                if (own == 0) {
                    down = terms.difference(0);
                    insertion = terms.opened((i32)scores.gap_open, BY_INSERTION);
                    if (STRIPS && strip > 0) down = side[row], insertion = side_insertion[row];
                }
                u32 row_letters = letters;
                letters = letters_of_row(references, row + 1);
                columns.step(row_letters, down, insertion, terms, lines);
                last_down = down;
                last_insertion = insertion;
                if (own == LANES - 1) {
                    side[row] = down;
                    if (STRIPS) side_insertion[row] = insertion;
                }
#pragma unroll
                for (int half = 0; half < TASKS; half++)
                    if (row == references[half].length - 1) {
                        u32* place = bottom + slots.column_place(first_slot + half) + strip * CAPACITY + own * COLUMNS;
#pragma unroll
                        for (int k = 0; k < COLUMNS; k++) place[k] = columns.across[k];
                    }
            }
            lines += WORDS * WARP;
        }
        if (STRIPS) __syncwarp();  // the strip's side is written
    }
}

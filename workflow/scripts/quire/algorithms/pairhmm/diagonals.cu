// PairHMM by shared memory, the other design of the paper (Wang, Xie, Cong): a task is a block's business, its rows are
// its threads', and the matrix is filled by diagonals, of which shared memory holds the last three. For measurements.
// By -D: DOUBLE (float64).
#include "quire/algorithms/pairhmm/arithmetic.cuh"
#include "quire/algorithms/pairhmm/batch.cuh"

struct Factors {
    const Real *agree, *differ, *opening, *stay;
};

constexpr int DIAGONALS = 3, STATES = 3, ROW_FACTORS = 5;  // Reals per row, in gpu.py too

// Sums of M + I over the last row. One block per task; any number of threads. Model and order of operations: model.py.
extern "C" __global__ void score_by_diagonals(const i32* pairs, Reads reads, Haplotypes haplotypes, Factors factors,
                                              Real c, Real start, Real* sums) {
    i64 read = pairs[2 * (i64)blockIdx.x], haplotype = pairs[2 * (i64)blockIdx.x + 1];
    i64 first_base = reads.offsets[read], first_letter = haplotypes.offsets[haplotype];
    int length = (int)(reads.offsets[read + 1] - first_base), rows = length + 1;
    int columns = (int)(haplotypes.offsets[haplotype + 1] - first_letter);
    Real *states = (Real*)shared_memory, *of_row = states + DIAGONALS * STATES * rows;
    Real *agree = of_row, *differ = agree + rows, *stay = differ + rows, *insertion = stay + rows,
         *deletion = insertion + rows;
    Real total = 0;

    for (int row = threadIdx.x; row < rows; row += blockDim.x) {
        for (int diagonal = 0; diagonal < DIAGONALS; diagonal++) {
            Real* state = states + diagonal * STATES * rows;
            state[row] = state[rows + row] = 0;
            state[2 * rows + row] = row ? 0 : start;
        }
        if (row == 0) continue;
        i64 base = first_base + row - 1;
        u32 quality = reads.base_qualities[base], opening = reads.insertion_qualities[base];
        agree[row] = factors.agree[quality];
        differ[row] = reads.bases[base] < LETTER_N ? factors.differ[quality] : factors.agree[quality];
        stay[row] = factors.stay[256 * opening + reads.deletion_qualities[base]];
        insertion[row] = factors.opening[opening];
        deletion[row] = row > 1 ? factors.opening[reads.deletion_qualities[base - 1]] : 1;
    }
    __syncthreads();
    // Cell (row, column) lies on diagonal row + column.
    for (int diagonal = 2; diagonal <= length + columns; diagonal++) {
        Real *now = states + diagonal % DIAGONALS * STATES * rows;
        const Real *last = states + (diagonal + 2) % DIAGONALS * STATES * rows,
                   *before = states + (diagonal + 1) % DIAGONALS * STATES * rows;
        for (int row = threadIdx.x; row < rows; row += blockDim.x) {
            int column = diagonal - row;
            if (row == 0 || column < 1 || column > columns) continue;
            u8 letter = haplotypes.bases[first_letter + column - 1];
            bool same = letter >= LETTER_N || letter == reads.bases[first_base + row - 1];
            Real gaps = fused(deletion[row], before[2 * rows + row - 1], before[rows + row - 1]);
            Real match = product(same ? agree[row] : differ[row], fused(stay[row], before[row - 1], gaps));
            Real inserted = fused(insertion[row], last[row - 1], product(c, last[rows + row - 1]));
            now[row] = match;
            now[rows + row] = inserted;
            now[2 * rows + row] = fused(c, last[2 * rows + row], last[row]);
            if (row == length) total = sum(total, sum(match, inserted));
        }
        __syncthreads();
    }
    if (threadIdx.x == length % blockDim.x) sums[blockIdx.x] = total;
}

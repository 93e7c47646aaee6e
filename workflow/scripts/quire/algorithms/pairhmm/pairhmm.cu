// PairHMM by warp shuffles: LANES lanes compute one item, which is a read and its haplotypes.
// By -D: LANES, ROWS (of the read, per lane), DOUBLE (float64), STRIPS (reads of more than LANES * ROWS bases).
//
// A lane owns ROWS adjacent rows of the matrix, with their three states and three factors in registers, and moves
// through the columns. The next lane is one column behind and receives M and I of this lane's last row by a shuffle. It
// recomputes E of that row, because an operation costs less than a shuffle. Emissions are in shared memory, by row and
// letter, each lane's in banks of its own. The last row of a read is the last row of the last lane, so one lane sums it
// from left to right.
//
// Rows before a read's first one are empty. They, and the row above lane 0, hold M = I = start in every column:
//   emission 1, stay 0, deletion 0, insertion 1 - c:  M = 1 * I = start,  I = (1 - c) start + c start = start, exactly,
// because 1 - c was rounded by at most 2^-25, so the sum is nearer to 1 than to any other number. The read's first row
// derives from it the values that model.py derives from E = start:
//   stay 0, deletion 0, insertion -c:  M = emission * start,  I = -c start + c start = 0.
// Haplotypes follow each other in a stream of columns. Between them are columns without a letter, whose emissions are
// 0: M and I become zero there and add nothing to the sum. A lane sets E to zero if the last of its four columns of a
// step has no letter; BLANKS is large enough for this to happen in every lane, wherever its four columns begin. An overflow
// persists and makes the rest of the item NaN (items_gpu.py scores such tasks again, one per item).
//
// Instructions per cell: six floating point operations and a quarter of a load; per column and lane about 12 more (two
// shuffles, the letter's place, the sum, the row above, and the loop's share). Reading registers is the bottleneck: an
// operation on three of them takes two cycles (ncu: stalls of dispatch), so c is a kernel argument.
#include "quire/algorithms/pairhmm/arithmetic.cuh"
#include "quire/algorithms/pairhmm/batch.cuh"

constexpr int WARP = 32, GROUPS = WARP / LANES, CAPACITY = LANES * ROWS;
constexpr u32 EVERY_LANE = 0xFFFFFFFFu;
constexpr int IN_PACK = 16 / sizeof(Real), PACKS = (ROWS + IN_PACK - 1) / IN_PACK;
// Columns by which the summing lane lags behind the stream, a multiple of a word's: its words are the stream's own.
constexpr int DELAY = LANES > 1 ? (LANES > 4 ? LANES : 4) : 0;

// Return the number in a way that is opaque to the compiler, so that it is not recomputed in each iteration.
__device__ __forceinline__ u32 kept(u32 value) {
#if !defined(QUIRE_ON_CPU)
    asm volatile("" : "+r"(value));
#endif
    return value;
}

union Pack {  // one load from shared memory
    uint4 bits;
    Real value[IN_PACK];
};

struct Factors {
    const Real *agree, *differ, *opening, *stay;
};

// One row's factors, and its emissions by letter and without one.
struct Row {
    Real stay, insertion, deletion, agree, differ, nothing;
    u32 base;
    __device__ Real emission(u32 letter) const {
        return letter == NOTHING ? nothing : letter == LETTER_N || base >= LETTER_N || letter == base ? agree : differ;
    }
};

__device__ __forceinline__ Row row_of(const Reads& reads, const Factors& factors, i64 begin, i64 row, Real c) {
    if (row < 0) return {0, sum(1, -c), 0, 1, 1, 1, 0};
    i64 base = begin + row;
    u32 quality = reads.base_qualities[base], insertion = reads.insertion_qualities[base];
    Row result = {0, -c, 0, factors.agree[quality], factors.differ[quality], 0, reads.bases[base]};
    if (row > 0) {
        result.stay = factors.stay[256 * insertion + reads.deletion_qualities[base]];
        result.insertion = factors.opening[insertion];
        result.deletion = factors.opening[reads.deletion_qualities[base - 1]];
    }
    return result;
}

// The rows of a lane, and the previous column of the row above them.
struct Rows {
    Real match[ROWS], inserted[ROWS], deleted[ROWS], stay[ROWS], insertion[ROWS], deletion[ROWS];
    Real above_match, above_inserted, above_deleted;

    // Initialise all rows as in a column without a letter, and this lane's emissions; `row` is its first row.
    __device__ __forceinline__ void begin(const Reads& reads, const Factors& factors, i64 first_base, i64 row, Real c,
                                          Real start, Pack* emissions) {
        above_match = above_inserted = row <= 0 ? start : 0;
        above_deleted = 0;
#pragma unroll
        for (int pack = 0; pack < PACKS; pack++) {
            Pack of_letter[LETTERS];
#pragma unroll
            for (u32 letter = 0; letter < LETTERS; letter++) of_letter[letter].bits = make_uint4(0, 0, 0, 0);
#pragma unroll
            for (int i = 0; i < IN_PACK; i++) {
                int r = pack * IN_PACK + i;
                if (r < ROWS) {
                    Row own = row_of(reads, factors, first_base, row + r, c);
                    match[r] = inserted[r] = row + r < 0 ? start : 0;
                    deleted[r] = 0;
                    stay[r] = own.stay, insertion[r] = own.insertion, deletion[r] = own.deletion;
#pragma unroll
                    for (u32 letter = 0; letter < LETTERS; letter++)
                        of_letter[letter].value[i] = own.emission(letter);
                }
            }
#pragma unroll
            for (u32 letter = 0; letter < LETTERS; letter++)
                emissions[(pack * LETTERS + letter) * WARP].bits = of_letter[letter].bits;
        }
    }

    // Reset E after a column without a letter, which has set M and I to zero.
    __device__ __forceinline__ void end_haplotype() {
        above_deleted = kept(0);  // keeps this a rarely taken branch instead of a select per row
#pragma unroll
        for (int r = 0; r < ROWS; r++) deleted[r] = above_deleted;
    }

    // Compute the next column from its letter's emissions and its M and I in the row above.
    __device__ __forceinline__ void step(const Pack* emissions, Real match_above, Real inserted_above, Real c) {
        Pack pack;
#pragma unroll
        for (int up = 0; up < ROWS; up++) {
            int r = ROWS - 1 - up;
            if (up == 0 || r % IN_PACK == IN_PACK - 1) pack.bits = emissions[r / IN_PACK * LETTERS * WARP].bits;
            Real diagonal_match = r ? match[r - 1] : above_match;
            Real gaps = fused(r ? deleted[r - 1] : above_deleted, deletion[r], r ? inserted[r - 1] : above_inserted);
            deleted[r] = fused(deleted[r], c, match[r]);
            match[r] = product(pack.value[r % IN_PACK], fused(diagonal_match, stay[r], gaps));
        }
        above_deleted = fused(above_deleted, c, above_match);
        above_match = match_above;
        above_inserted = inserted_above;
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            inserted[r] = fused(insertion[r], r ? match[r - 1] : match_above,
                                product(r ? inserted[r - 1] : inserted_above, c));
    }
};

// Score items: write sums of M + I over the last row, by task. A block is one warp; each group of lanes takes one item.
// border: M and I of a strip's last row, for each column of the launch's streams, which begin at `border_word`.
extern "C" __global__ void __launch_bounds__(32, BLOCKS) score(i64 count, Items items, Tasks tasks, Reads reads, Factors factors,
                                                               Real c, Real start, const u32* stream, Real* border,
                                                               i64 border_word, Real* sums) {
    Pack* table = (Pack*)shared_memory;
    int lane = threadIdx.x, own = lane % LANES;
    i64 index = (i64)blockIdx.x * GROUPS + lane / LANES;
    bool counts = index < count;
    i64 item = items.order[counts ? index : count - 1];  // groups without an item repeat the last one without writing
    i64 task = items.first[item], read = tasks.read(task), begin = tasks.word_offsets[task];
    int words = (int)(tasks.word_offsets[items.first[item + 1]] - begin), steps = words + DELAY / 4;
    i64 first_base = reads.offsets[read], length = reads.offsets[read + 1] - first_base;
    int strips = STRIPS ? (int)((length + CAPACITY - 1) / CAPACITY) : 1;
    bool last_lane = own == LANES - 1, sums_up = counts && last_lane;
    stream += begin;
    if (STRIPS) border += 2 * COLUMNS_OF_WORD * (begin - border_word);

    // A lane's four columns of a step are in two words of the stream.
    int delay = own + DELAY - (LANES - 1), words_behind = delay / 4, shift = 8 * (delay % 4);
    // Offset of a letter's emissions: bits 4 to 8 are the lane, bits 9 to 11 the letter.
    u32 lane_place = kept((lane & 15) << 4), lane_bits = kept((lane >> 4) * 0x01010101u);

    for (int strip = 0; strip < strips; strip++) {
        Rows rows;
        i64 row = (i64)(strip - strips) * CAPACITY + own * ROWS + length;
        rows.begin(reads, factors, first_base, row, c, start, table + lane);
        Real total = 0;
        u32 before = NOTHINGS, word = words_behind == 0 ? stream[0] : NOTHINGS;
        for (int step = 0; __any_sync(EVERY_LANE, step < steps); step++) {
            int next = step + 1 - words_behind;
            u32 following = (u32)next < (u32)words ? stream[next] : NOTHINGS;
            u32 window = __funnelshift_l(before, word, shift);
            u32 letters = (window & ~((END | BLANK) * 0x01010101u)) | lane_bits;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                Real match = rows.match[ROWS - 1], inserted = rows.inserted[ROWS - 1];
                if (LANES > 1) {
                    match = __shfl_up_sync(EVERY_LANE, match, 1, LANES);
                    inserted = __shfl_up_sync(EVERY_LANE, inserted, 1, LANES);
                }
                if (own == 0) match = inserted = start;
                i64 column = 4 * (i64)step + i - delay;
                bool in_stream = column >= 0 && column < 4 * (i64)words;
                if (STRIPS && strip > 0 && own == 0) {
                    match = in_stream ? border[2 * column] : 0;
                    inserted = in_stream ? border[2 * column + 1] : 0;
                }
                u32 place = __byte_perm(letters, lane_place, 0x5504 | i << 4);
                rows.step((const Pack*)((const char*)table + place), match, inserted, c);
                total = sum(total, sum(rows.match[ROWS - 1], rows.inserted[ROWS - 1]));
                if (STRIPS && last_lane && in_stream) {
                    border[2 * column] = rows.match[ROWS - 1];
                    border[2 * column + 1] = rows.inserted[ROWS - 1];
                }
            }
            if (window & BLANK << 24) {
                rows.end_haplotype();
                if (window & END << 24 && sums_up) {
                    if (strip == strips - 1) sums[task++] = total;
                    total = 0;
                }
            }
            before = word, word = following;
        }
        if (STRIPS) __syncwarp();  // the border is written
    }
}

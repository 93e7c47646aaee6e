// Rectangles of a matrix, strip by strip. The warps of a persistent grid take strips of columns in order and follow
// each other down the rows, as soon as the strip on the left has handed on its words. See layout.cuh.
//
// A strip waits only for one that was taken earlier, so there is no deadlock, regardless of the number and the order of
// running warps. A ticket decides which warp computes a strip, never a result.
#include "quire/algorithms/pairwise/cells.cuh"
#include "quire/device/ragged.cuh"

constexpr u32 NAP = 20;  // nanoseconds between two reads of words
// The row of a chunk in which the words of the next chunk are loaded: late, so that the strip on the left has advanced,
// but early enough that they arrive before the chunk ends. In chunks of 16 on an H200, rows 4, 8 and 12 took 8.26, 8.31
// and 8.06 ms for 100 kb from end to end, and 8.80, 8.91 and 9.03 ms in mode LOCAL. Two rows before the end of a chunk
// are too late: 11.0 ms in place of 9.0 with chunks of eight.
constexpr int LOOK = LOCAL ? 4 : STEPS - 4;
// In mode LOCAL lanes above a matrix need not be held: its row 0 has H 0 everywhere, and letters that match nothing
// leave it unchanged. If row 0 may be any row, as in a tile, lanes above it must be held.
constexpr bool HELD = VALUES || !LOCAL;
// Rows whose largest H are compared together: a chunk; fewer on cards of compute capability 10 and 12 if lanes have
// many columns, since the compiler would spill registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
constexpr int FEWER = COLUMNS < 6 ? 16 : 8, OFFERED = STEPS < FEWER ? STEPS : FEWER;
#else
constexpr int OFFERED = STEPS;
#endif
constexpr int NEVER_ROW = 0x7FFFFFFF;
static_assert(STEPS % 2 == 0 && WARP % STEPS == 0, "words are handed on in pairs, by whole chunks");
static_assert(STEPS % OFFERED == 0, "chunks have whole groups of rows");

struct Inputs {
    const u16* query;  // selectors, with QUERY_ROOM on both sides
    const u8* target;
    Scores scores;
};

struct Matrices {
    u64* left;     // words on left borders
    u64* borders;  // words on borders of strips
    Kept* kept;
    u32* values;
    int4* ends;  // [strips]: the largest H of a strip, its column and its row, from 1; only if `track`
    i64 track;
};

// The largest H of a lane so far, and its cell: of equal ones the leftmost, then the uppermost. The key is 16 times H
// plus a number that falls from left to right, so that one maximum decides and an equal one further down changes
// nothing. Cells right of a matrix and below it need no exception: letters match nothing there, so their H comes from a
// cell further left, where it is at least as large.
struct End {
    i32 key, row;

    // The largest key of a row's cells.
    static __device__ __forceinline__ i32 largest(const Cells& cells, const Terms& terms) {
        i32 found = cells.best[0] * terms.key + 15;
#pragma unroll
        for (int k = 1; k + 1 < COLUMNS; k += 2)
            found = max3(found, cells.best[k] * terms.key + (15 - k), cells.best[k + 1] * terms.key + (14 - k));
        if (COLUMNS % 2 == 0) found = max(found, cells.best[COLUMNS - 1] * terms.key + (16 - COLUMNS));
        return found;
    }
    // Compares the largest keys of a group of rows; few groups have a larger key in any lane.
    __device__ __forceinline__ void offer(const i32 (&rows)[OFFERED], int first_row) {
        i32 found = rows[0];
#pragma unroll
        for (int i = 1; i + 1 < OFFERED; i += 2) found = max3(found, rows[i], rows[i + 1]);
        found = max(found, rows[OFFERED - 1]);
        if (!__any_sync(EVERY_LANE, found > key)) return;
#pragma unroll
        for (int i = OFFERED - 1; i >= 0; i--)
            if (found > key && rows[i] == found) row = first_row + i;
        key = max(key, found);
    }
    __device__ i32 best() const { return key >> 4; }
    __device__ int column(int first) const { return first + 15 - (key & 15); }
};

// Words of a chunk's rows on the left border; all lanes load all of them, from the same addresses.
struct Words {
    u64 word[STEPS];

    __device__ __forceinline__ void look(const u64* from) {
#pragma unroll
        for (int i = 0; i < STEPS; i += 2) load_words(from + i, word[i], word[i + 1]);
    }
    // Returns true if a word of the first `rows` rows has not been written yet.
    __device__ __forceinline__ bool missing(u32 tag, int rows) const {
        u32 different = 0;
#pragma unroll
        for (int i = 0; i < STEPS; i++)
            if (i < rows) different |= (u32)word[i] ^ tag;
        return __any_sync(EVERY_LANE, (different & 0xFFFF) != 0);
    }
};

// The places of a lane's columns in the next row to keep and in the last row, which is kept too.
struct Keeping {
    Kept *next, *last;
    int next_row, last_row;  // NEVER_ROW: none

    __device__ __forceinline__ void store(const Cells& cells, int row) const {
        if (row == next_row || row == last_row) {
            Kept* place = row == last_row ? last : next;
            if (COLUMNS % 2 == 0) {
#pragma unroll
                for (int k = 0; k + 1 < COLUMNS; k += 2)
                    ((int4*)place)[k / 2] =
                        make_int4(cells.best[k], cells.insertion[k], cells.best[k + 1], cells.insertion[k + 1]);
            } else {
#pragma unroll
                for (int k = 0; k < COLUMNS; k++) place[k] = make_int2(cells.best[k], cells.insertion[k]);
            }
        }
    }
};

// A lane's values of a step.
__device__ __forceinline__ void store_values(u32* place, const u32 (&values)[COLUMNS]) {
    if (COLUMNS % 4 == 0) {
#pragma unroll
        for (int k = 0; k + 3 < COLUMNS; k += 4)
            ((uint4*)place)[k / 4] = make_uint4(values[k], values[k + 1], values[k + 2], values[k + 3]);
    } else {
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) place[k] = values[k];
    }
}

// Special cases of a chunk of steps: rows are kept, and (BEGIN) some lanes are above the first row. The slowest rows
// set the distance between a strip and the one on its left, so none of these may cost much.
enum Care { NONE, KEPT_ROWS, BEGIN };

// Computes a chunk of steps without branches: lanes would diverge, and each exchange between lanes would wait for all.
// Memory is loaded a chunk, or half of one, before it is used.
//   words: words of the chunk's rows on the left border; replaced by the words of the next chunk.
//   ahead: place of the next chunk's words.
//   hands_on, right: true in the last lane, which hands on words; the place of the first step's word.
//   values: place of the lane's values of the chunk's first step.
//   letters: selectors of the rows of the chunk's steps; replaced by the selectors of the next chunk.
template <Care CARE>
__device__ __forceinline__ void do_chunk(Cells& cells, End& end, const Terms& terms, const Keeping& kept, Words& words,
                                         const u64* ahead, bool hands_on, u64* right, u32 tag, u32* values,
                                         int first_row, const u16* letters_ahead, u32 (&letters)[STEPS]) {
    bool leftmost = threadIdx.x % WARP == 0;
    u64 edges[STEPS];
    u32 next[STEPS];
    i32 largest[OFFERED];
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        edges[i] = words.word[i];
        next[i] = __ldg(letters_ahead + i);
    }
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        if (i == LOOK) words.look(ahead);
        i32 left = __shfl_up_sync(EVERY_LANE, cells.best[COLUMNS - 1], 1);
        i32 deletion = __shfl_up_sync(EVERY_LANE, cells.deletion, 1);
        store_word(hands_on, right + i, pack_word(cells.best[COLUMNS - 1], cells.deletion, tag));
        left = leftmost ? best_of(edges[i]) : left;
        deletion = leftmost ? deletion_of(edges[i]) : deletion;
        u32 kept_values[COLUMNS];
        Cells above = cells;
        cells.step(letters[i], left, deletion, terms, kept_values);
        if (CARE == BEGIN && HELD) cells.keep_if(first_row + i >= 0, above);
        if (CARE != NONE) kept.store(cells, first_row + i + 1);
        if (LOCAL) {
            largest[i % OFFERED] = End::largest(cells, terms);
            if ((i + 1) % OFFERED == 0) end.offer(largest, first_row + i + 2 - OFFERED);
        }
        if (VALUES) store_values(values + i * WIDTH, kept_values);
    }
#pragma unroll
    for (int i = 0; i < STEPS; i++) letters[i] = next[i];
}

// The largest of a warp's numbers.
__device__ __forceinline__ i32 largest_of_warp(i32 value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(EVERY_LANE, value, distance));
    return value;
}

// Computes one strip of a job with a warp; `strip` is counted within the job.
__device__ __forceinline__ void fill_strip(const Job& job, i64 strip, bool last, int4* end_of_strip,
                                           const Inputs& inputs, const Matrices& matrices) {
    const Terms terms(inputs.scores);
    int lane = threadIdx.x % WARP, rows = (int)job.rows;
    int first = (int)strip * WIDTH + lane * COLUMNS;
    const u16* letters_ahead = inputs.query + job.query - lane;
    u32* values = matrices.values + job.values + strip * job.values_stride + lane * COLUMNS;
    const u64* left = strip == 0 ? matrices.left + job.left
                                 : matrices.borders + job.border + (strip - 1) / job.border_strips * job.border_stride;
    // Words of rows before the first and after the last one go to the space around the rows.
    u64* right = matrices.borders + job.border + strip / job.border_strips * job.border_stride - SKEW;
    bool hands_on = !last && lane == WARP - 1;
    u32 left_tag = strip == 0 ? (u32)job.left_tag : tag_of(strip), right_tag = tag_of(strip + 1);
    Words words;
    words.look(left);
    Cells cells;
    cells.begin(job, first, inputs.target, matrices.kept, terms);
    End end = {15, 0};
    int steps = steps_of(rows), keep = (int)job.keep;
    Keeping kept = {nullptr, nullptr, NEVER_ROW, NEVER_ROW};
    if (keep > 0) {
        Kept* own = matrices.kept + job.top + 1 + first;
        kept.next = own + job.keep_stride;
        kept.last = own + (rows + keep - 1) / keep * job.keep_stride;
        kept.next_row = keep < rows ? keep : NEVER_ROW;
        kept.last_row = rows;
    }
    // The first step of the next chunk with a special case.
    int care_from = 0;
    u32 letters[STEPS];
#pragma unroll
    for (int i = 0; i < STEPS; i++) letters[i] = __ldg(letters_ahead + i);
    for (int step = 0; step < steps; step += STEPS) {
        // Nothing waits for rows after the last one; their words are in the space around the rows.
        while (step + STEPS <= rows ? words.missing(left_tag, STEPS) : words.missing(left_tag, rows - step)) {
            __nanosleep(NAP);
            words.look(left + step);
        }
        letters_ahead += STEPS;
        const u64* ahead = left + min(step + STEPS, steps - SKEW);
        if (step < care_from) {
            do_chunk<NONE>(cells, end, terms, kept, words, ahead, hands_on, right, right_tag, values, step - lane,
                           letters_ahead, letters);
        } else {
            // The last row is always kept.
            if (kept.next_row <= step - WARP + 1) {
                kept.next_row = kept.next_row + keep < rows ? kept.next_row + keep : NEVER_ROW;
                kept.next += job.keep_stride;
            }
            if (HELD && step < WARP - 1)
                do_chunk<BEGIN>(cells, end, terms, kept, words, ahead, hands_on, right, right_tag, values,
                                step - lane, letters_ahead, letters);
            else
                do_chunk<KEPT_ROWS>(cells, end, terms, kept, words, ahead, hands_on, right, right_tag, values,
                                    step - lane, letters_ahead, letters);
            if (step + STEPS >= WARP - 1 || !HELD) care_from = min(kept.next_row, kept.last_row) - STEPS;
        }
        right += STEPS;
        values += STEPS * WIDTH;
    }
    if (LOCAL && matrices.track) {
        i32 best = largest_of_warp(end.best());
        int leftmost = -largest_of_warp(end.best() == best ? -lane : -WARP);
        if (lane == leftmost) *end_of_strip = make_int4(best, end.column(first) + 1, end.row, 0);
    }
}

// Computes all strips of all jobs, with any number of warps.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) fill(Jobs jobs, Inputs inputs, Matrices matrices) {
    i64 strips = jobs.strips_before[jobs.owners];
    while (true) {
        u32 taken = threadIdx.x % WARP == 0 ? atomicAdd(jobs.ticket, 1u) : 0;
        i64 strip = __shfl_sync(EVERY_LANE, taken, 0);
        if (strip >= strips) return;
        i64 owner = owner_of(jobs.strips_before, jobs.owners, strip);
        i64 before = jobs.strips_before[owner];
        fill_strip(jobs.jobs[owner], strip - before, strip + 1 == jobs.strips_before[owner + 1],
                   matrices.ends + strip, inputs, matrices);
    }
}

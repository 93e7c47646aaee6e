// Rectangles of matrices, strip by strip: the warps of a persistent grid take strips of columns in order, and those that
// are under way follow each other down the rows, each behind the words that the one on its left hands on. See layout.cuh.
//
// A strip waits only for one that was taken earlier, so that whoever is taken goes on: however many warps run at once,
// in whatever order. What a ticket decides is who computes a strip, never a result.
#include "quire/algorithms/pairwise/cells.cuh"
#include "quire/device/ragged.cuh"

constexpr u32 NAP = 20;  // nanoseconds between two looks at a word
// Steps of a chunk that are unrolled.
constexpr int PART = 8;

struct Inputs {
    const u16* query;  // selectors; 128 more on both sides of a query
    const u8* target;
    Scores scores;
};

struct Matrices {
    u64* left;     // words on left borders
    u64* borders;  // on borders of strips
    Kept* kept;
    u32* values;
    int4* ends;  // [strips]: the largest H of a strip, its column and its row, from 1; only if asked for
    i64 track;   // whether they are
};

// Rows whose letters are at hand, one behind the other in a ring; the first ones stand behind the last ones again, so
// that a part's letters can be read without a look at the ring's end.
constexpr int RING = 64;
static_assert(STEPS % PART == 0 && WARP - 1 + 2 * STEPS <= RING, "letters of a chunk and of the next one");

// A warp's shared memory.
struct __align__(16) Hands {
    int2 in[STEPS], out[STEPS];  // H and D of the columns left and right of the strip, by step
    u16 letters[RING + PART];

    __device__ __forceinline__ void put_letter(int row, u16 letter) {
        int place = row & (RING - 1);
        letters[place] = letter;
        if (place < PART) letters[place + RING] = letter;
    }
    // Letters of a part's rows.
    __device__ __forceinline__ void get_letters(int row, u32 (&part)[PART]) const {
        const u16* from = letters + (row & (RING - 1));
#pragma unroll
        for (int i = 0; i < PART; i++) part[i] = from[i];
    }
};

// The largest H of a lane so far, and where: of several the leftmost, of these the uppermost. The key is 16 times H,
// and less for columns further right; so one maximum decides, and an equal one further down changes nothing. Columns
// behind a matrix need no care: what they have comes from the left, where it is at least as large.
struct End {
    i32 key, row;

    __device__ __forceinline__ void offer(const Cells& cells, int at_row, bool counts, const Terms& terms) {
        i32 largest = -1;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            largest = max(largest, cells.best[k] * terms.key + (15 - k));
        if (!counts) largest = -1;
        if (largest > key) row = at_row;
        key = max(key, largest);
    }
    __device__ i32 best() const { return key >> 4; }
    __device__ int column(int first) const { return first + 15 - (key & 15); }
};

__device__ __forceinline__ u64 look(const u64* word) { return *(const volatile u64*)word; }

// The next row to keep and the last one, which is kept too: where a lane's columns go, of which so many are inside.
struct Keeping {
    Kept *next, *last;  // none: nothing is kept
    int next_row, columns;

    __device__ __forceinline__ void store(const Cells& cells, Kept* place) const {
#pragma unroll
        for (int k = 0; k < COLUMNS; k++)
            if (k < columns) place[k] = make_int2(cells.best[k], cells.insertion[k]);
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

// What a chunk of steps has to look at besides its cells: whether rows are kept; whether lanes may stand above the rows,
// where each strip begins and all that follow wait for it; whether all that may be, and lanes below the rows. Few
// chunks have to.
enum Care { NONE, KEPT_ROWS, BEGIN, EDGES };

// A chunk of steps.
// Branches would tear a warp apart, and what exchanges its lanes would put it together again at each step; so there are
// none where it matters. What is handed on is read for a part of the chunk at once, and written two at a time, so that
// no step waits for shared memory.
//   values: the lane's, of the chunk's first step.
//   letters: selectors of the rows of a part's steps; become those of the next chunk's first part.
template <Care CARE>
__device__ __forceinline__ void do_chunk(Cells& cells, End& end, const Terms& terms, Hands& hands, const Keeping& kept,
                                         u32* values, int step, int rows, u32 (&letters)[PART]) {
    int lane = threadIdx.x % WARP;
    int2 before = make_int2(0, 0);
#pragma unroll 1
    for (int part = 0; part < STEPS; part += PART) {
        int4 edges[PART / 2];
#pragma unroll
        for (int i = 0; i < PART / 2; i++) edges[i] = ((const int4*)(hands.in + part))[i];
        u32 next[PART];
        hands.get_letters(step + part + PART - lane, next);
#pragma unroll
        for (int i = 0; i < PART; i++) {
            i32 left = __shfl_up_sync(EVERY_LANE, cells.best[COLUMNS - 1], 1);
            i32 deletion = __shfl_up_sync(EVERY_LANE, cells.deletion, 1);
            int2 after = make_int2(cells.best[COLUMNS - 1], cells.deletion);
            if (i % 2 && lane == WARP - 1)
                ((int4*)(hands.out + part))[i / 2] = make_int4(before.x, before.y, after.x, after.y);
            before = after;
            if (lane == 0) {
                left = i % 2 ? edges[i / 2].z : edges[i / 2].x;
                deletion = i % 2 ? edges[i / 2].w : edges[i / 2].y;
            }
            int row = step + part + i - lane;
            u32 kept_values[COLUMNS];
            if (CARE == BEGIN || CARE == EDGES) {
                bool inside = row >= 0 && (CARE == BEGIN || row < rows);
                Cells above = cells;
                cells.step(letters[i], left, deletion, terms, kept_values);
                cells.keep_if(inside, above);
                if (LOCAL) end.offer(cells, row + 1, inside, terms);
                bool keeps = CARE == EDGES && inside && kept.last != nullptr &&
                             (row + 1 == rows || row + 1 == kept.next_row);
                if (keeps) kept.store(cells, row + 1 == rows ? kept.last : kept.next);
            } else {
                cells.step(letters[i], left, deletion, terms, kept_values);
                if (LOCAL) end.offer(cells, row + 1, true, terms);
                if (CARE == KEPT_ROWS && row + 1 == kept.next_row) kept.store(cells, kept.next);
            }
            if (VALUES) store_values(values + (part + i) * WIDTH, kept_values);
        }
#pragma unroll
        for (int i = 0; i < PART; i++) letters[i] = next[i];
    }
}

// The largest of a warp's numbers.
__device__ __forceinline__ i32 largest_of_warp(i32 value) {
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(EVERY_LANE, value, distance));
    return value;
}

// One strip of a job, by a warp; `strip` is counted within the job. What comes from memory, words of the strip on the
// left and letters, is asked for a chunk before it is needed.
__device__ __forceinline__ void fill_strip(const Job& job, i64 strip, bool last, int4* end_of_strip, Hands& hands,
                                           const Inputs& inputs, const Matrices& matrices) {
    const Terms terms(inputs.scores);
    int lane = threadIdx.x % WARP, rows = (int)job.rows;
    int first = (int)strip * WIDTH + lane * COLUMNS;
    const u16* query = inputs.query + job.query + lane;
    u32* values = matrices.values + job.values + strip * job.values_stride + lane * COLUMNS;
    const u64* left = (strip == 0 ? matrices.left + job.left
                                  : matrices.borders + job.border + (strip - 1) / job.border_strips * job.border_stride)
                      + lane;
    u64* right = matrices.borders + job.border + strip / job.border_strips * job.border_stride - SKEW + lane;
    u32 left_tag = strip == 0 ? (u32)job.left_tag : tag_of(strip), right_tag = tag_of(strip + 1);
    u64 word = lane < STEPS && lane < rows ? look(left) : 0;
    Cells cells;
    cells.begin(job, first, inputs.target, matrices.kept, terms);
    End end = {15, 0};
    int chunks = chunks_of(rows), keep = (int)job.keep;
    Keeping kept = {nullptr, nullptr, keep > 0 ? keep : rows, (int)job.columns - first};
    if (keep > 0) {
        Kept* own = matrices.kept + job.top + 1 + first;
        kept.next = own + job.keep_stride;
        kept.last = own + (rows + keep - 1) / keep * job.keep_stride;
    }
    hands.put_letter(lane - WARP, __ldg(query - WARP));
    hands.put_letter(lane, __ldg(query));
    u16 letter = __ldg(query + STEPS);
    __syncwarp();
    u32 letters[PART];
    hands.get_letters(-lane, letters);
    for (int chunk = 0; chunk < chunks; chunk++) {
        int step = chunk * STEPS;
        bool reads = lane < STEPS && step + lane < rows;
        while (__any_sync(EVERY_LANE, reads && ((u32)word & 0xFFFF) != left_tag)) {
            __nanosleep(NAP);
            if (reads) word = look(left + step);
        }
        if (lane < STEPS) {
            hands.in[lane] = unpack_word(word);
            hands.put_letter(step + STEPS + lane, letter);
        }
        __syncwarp();
        if (lane < STEPS && step + STEPS + lane < rows) word = look(left + step + STEPS);
        letter = __ldg(query + step + 2 * STEPS);
        while (keep > 0 && kept.next_row <= step - WARP + 1) {
            kept.next_row += keep;
            kept.next += job.keep_stride;
        }
        // The last row is kept wherever it is.
        if (step + STEPS >= rows || (step < WARP - 1 && kept.next_row <= step + STEPS))
            do_chunk<EDGES>(cells, end, terms, hands, kept, values, step, rows, letters);
        else if (step < WARP - 1)
            do_chunk<BEGIN>(cells, end, terms, hands, kept, values, step, rows, letters);
        else if (keep > 0 && kept.next_row <= step + STEPS)
            do_chunk<KEPT_ROWS>(cells, end, terms, hands, kept, values, step, rows, letters);
        else
            do_chunk<NONE>(cells, end, terms, hands, kept, values, step, rows, letters);
        values += STEPS * WIDTH;
        __syncwarp();
        if (!last && lane < STEPS) {
            // Rows before the first one go into the room around the rows.
            int2 edge = hands.out[lane];
            *(volatile u64*)(right + step) = pack_word(edge.x, edge.y, right_tag);
        }
    }
    if (LOCAL && matrices.track) {
        i32 best = largest_of_warp(end.best());
        int leftmost = -largest_of_warp(end.best() == best ? -lane : -WARP);
        if (lane == leftmost) *end_of_strip = make_int4(best, end.column(first) + 1, end.row, 0);
    }
}

// All strips of all jobs, by as many warps as are launched.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) fill(Jobs jobs, Inputs inputs, Matrices matrices) {
    Hands& hands = ((Hands*)shared_memory)[threadIdx.x / WARP];
    i64 strips = jobs.strips_before[jobs.owners];
    while (true) {
        u32 taken = threadIdx.x % WARP == 0 ? atomicAdd(jobs.ticket, 1u) : 0;
        i64 strip = __shfl_sync(EVERY_LANE, taken, 0);
        if (strip >= strips) return;
        i64 owner = owner_of(jobs.strips_before, jobs.owners, strip);
        i64 before = jobs.strips_before[owner];
        fill_strip(jobs.jobs[owner], strip - before, strip + 1 == jobs.strips_before[owner + 1],
                   matrices.ends + strip, hands, inputs, matrices);
    }
}

// Rectangles of matrices, strip by strip: a persistent grid takes strips of columns in order, and those that are under
// way follow each other down the rows, each behind the words that the one on its left hands on. See layout.cuh.
//
// A strip waits only for one that was taken earlier, so that whoever is taken goes on: however many blocks run at once,
// in whatever order. What a ticket decides is who computes a strip, never a result.
#include "quire/algorithms/pairwise/cells.cuh"
#include "quire/device/ragged.cuh"

constexpr u32 NAP = 20;  // nanoseconds between two looks at a word
// Steps of a chunk that are unrolled, those of a word of directions at least; 16 would spill registers on sm_120.
constexpr int PART = BITS && GROUP > 8 ? GROUP : 8;

struct Inputs {
    const u16* query;  // selectors; 128 more on both sides of a query
    const u8* target;
    Scores scores;
};

struct Matrices {
    u64* left;     // words on left borders
    u64* borders;  // on borders of strips
    Kept* kept;
    uint2* bits;
    int4* ends;  // [strips][WARPS]: the largest H of a warp's strip, its column and its row, from 1; only if asked for
    i64 track;   // whether they are
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
            if (k < columns)
                place[k] = make_int2(cells.best[k] / SCALE, (cells.insertion[k] - INSERTION_CODE) / SCALE);
    }
};

// What a chunk of steps has to look at besides its cells: whether rows are kept, and whether lanes may stand outside of
// the rows. Few chunks have to; those that look at both are a short loop.
enum Care { NONE, KEPT_ROWS, EDGES };

// A chunk of steps.
// Branches would tear a warp apart, and what exchanges its lanes would put it together again at each step; so there are
// none where it matters.
//   in, out: H and D of the columns left and right of the strip, by step; where lanes do not stand outside of the rows
//   they are read for a part of the chunk at once, and written two at a time, so that no step waits for shared memory.
//   letters: selectors of the rows of a part's steps; become those of the next chunk's first part.
template <Care CARE>
__device__ __forceinline__ void do_chunk(Cells& cells, End& end, const Terms& terms, const u16* query,
                                         const Keeping& kept, uint2* bits, const int2* in, int2* out, int step,
                                         int rows, u32 (&letters)[PART]) {
    constexpr int UNROLLED = CARE == EDGES ? 1 : PART;
    int lane = threadIdx.x % WARP;
    int2 before = make_int2(0, 0);
#pragma unroll 1
    for (int part = 0; part < STEPS; part += PART) {
        int4 edges[PART / 2];
        if (CARE != EDGES)
#pragma unroll
            for (int i = 0; i < PART / 2; i++) edges[i] = ((const int4*)(in + part))[i];
        u32 next[PART];
#pragma unroll
        for (int i = 0; i < PART; i++) next[i] = __ldg(query + step + part + PART + i);
#pragma unroll UNROLLED
        for (int i = 0; i < PART; i++) {
            i32 left = __shfl_up_sync(EVERY_LANE, cells.best[COLUMNS - 1], 1);
            i32 deletion = __shfl_up_sync(EVERY_LANE, cells.deletion, 1);
            int2 after = make_int2(cells.best[COLUMNS - 1], cells.deletion), edge;
            if (CARE == EDGES) {
                edge = in[part + i];
                if (lane == WARP - 1) out[part + i] = after;
            } else {
                edge = i % 2 ? make_int2(edges[i / 2].z, edges[i / 2].w) : make_int2(edges[i / 2].x, edges[i / 2].y);
                if (i % 2 && lane == WARP - 1)
                    ((int4*)(out + part))[i / 2] = make_int4(before.x, before.y, after.x, after.y);
                before = after;
            }
            if (lane == 0) {
                left = edge.x;
                deletion = edge.y;
            }
            int at = step + part + i, row = at - lane;
            if (CARE == EDGES) {
                bool inside = row >= 0 && row < rows;
                Cells above = cells;
                cells.step(__ldg(query + at), left, deletion, terms);
                cells.keep_if(inside, above);
                if (LOCAL) end.offer(cells, row + 1, inside, terms);
                bool keeps = inside && kept.last != nullptr && (row + 1 == rows || row + 1 == kept.next_row);
                if (keeps) kept.store(cells, row + 1 == rows ? kept.last : kept.next);
            } else {
                cells.step(letters[i], left, deletion, terms);
                if (LOCAL) end.offer(cells, row + 1, true, terms);
                if (CARE == KEPT_ROWS && row + 1 == kept.next_row) kept.store(cells, kept.next);
            }
            if (BITS && i % GROUP == GROUP - 1)
                bits[(i64)at / GROUP * WARP + lane] = make_uint2(cells.from, cells.longer);
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

// One strip of a job, by a block; `strip` is counted within the job. The block's last warp hands words on, from the
// strip on the left (a turn before they are needed) and to that on the right (a turn after they were made), so that
// those that compute wait for no memory.
__device__ __forceinline__ void fill_strip(const Job& job, i64 strip, bool last, int4* ends, const Inputs& inputs,
                                           const Matrices& matrices) {
    const Terms terms(inputs.scores);
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, rows = (int)job.rows;
    int first = ((int)strip * WARPS + warp) * WIDTH + lane * COLUMNS;
    int2* ring = (int2*)shared_memory;  // [WARPS + 1][2][STEPS]: what warps hand on
    const u16* query = inputs.query + job.query - lane;  // of the lane's row at step 0
    uint2* bits = matrices.bits + job.bits + (strip * WARPS + warp) * job.bits_stride;
    const u64* left = strip == 0 ? matrices.left + job.left
                                 : matrices.borders + job.border + (strip - 1) / job.border_strips * job.border_stride;
    u64* right = matrices.borders + job.border + strip / job.border_strips * job.border_stride;
    u32 left_tag = strip == 0 ? (u32)job.left_tag : tag_of(strip), right_tag = tag_of(strip + 1);
    Cells cells;
    if (warp < WARPS) cells.begin(job, first, inputs.target, matrices.kept, terms);
    End end = {15, 0};
    int chunks = chunks_of(rows), keep = (int)job.keep;
    Keeping kept = {nullptr, nullptr, keep > 0 ? keep : rows, (int)job.columns - first};
    if (keep > 0) {
        Kept* own = matrices.kept + job.top + 1 + first;
        kept.next = own + job.keep_stride;
        kept.last = own + (rows + keep - 1) / keep * job.keep_stride;
    }
    u32 letters[PART];
#pragma unroll
    for (int i = 0; i < PART; i++) letters[i] = __ldg(query + i);
    u64 word = warp == WARPS && lane < STEPS && lane < rows ? look(left + lane) : 0;
    for (int turn = 0; turn < chunks + (WARPS - 1) * LAG + 2; turn++) {
        // What was handed on in the turn before, and where what is handed on in this turn goes.
        int before = (turn + 1) % 2 * STEPS, now = turn % 2 * STEPS;
        if (warp == WARPS) {
            int row = (turn - 2 - (WARPS - 1) * LAG) * STEPS - SKEW + lane % STEPS;
            if (row >= -SKEW && !last) {
                // Lanes that have nothing to hand on store what others do, or into the room around the rows.
                int2 edge = ring[2 * WARPS * STEPS + before + lane % STEPS];
                *(volatile u64*)(right + row) = pack_word(edge.x / SCALE, edge.y / SCALE, right_tag);
            }
            row = turn * STEPS + lane;
            bool reads = lane < STEPS && row < rows;
            while (__any_sync(EVERY_LANE, reads && ((u32)word & 0xFFFF) != left_tag)) {
                __nanosleep(NAP);
                if (reads) word = look(left + row);
            }
            int2 edge = unpack_word(word);
            if (lane < STEPS) ring[now + lane] = make_int2(SCALE * edge.x, SCALE * edge.y);
            if (reads && row + STEPS < rows) word = look(left + row + STEPS);
        } else {
            int chunk = turn - 1 - warp * LAG, step = chunk * STEPS;
            if (chunk >= 0 && chunk < chunks) {
                const int2* in = ring + 2 * warp * STEPS + before;
                int2* out = ring + 2 * (warp + 1) * STEPS + now;
                while (keep > 0 && kept.next_row <= step - WARP + 1) {
                    kept.next_row += keep;
                    kept.next += job.keep_stride;
                }
                // The last row is kept wherever it is.
                if (step < WARP - 1 || step + STEPS >= rows)
                    do_chunk<EDGES>(cells, end, terms, query, kept, bits, in, out, step, rows, letters);
                else if (keep > 0 && kept.next_row <= step + STEPS)
                    do_chunk<KEPT_ROWS>(cells, end, terms, query, kept, bits, in, out, step, rows, letters);
                else
                    do_chunk<NONE>(cells, end, terms, query, kept, bits, in, out, step, rows, letters);
            }
        }
        __syncthreads();
    }
    if (warp == WARPS) return;
    if (LOCAL && matrices.track) {
        i32 best = largest_of_warp(end.best());
        int leftmost = -largest_of_warp(end.best() == best ? -lane : -WARP);
        if (lane == leftmost) ends[warp] = make_int4(best, end.column(first) + 1, end.row, 0);
    }
}

// All strips of all jobs, by as many blocks as are launched.
extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) fill(Jobs jobs, Inputs inputs, Matrices matrices) {
    i64* taken = (i64*)((int2*)shared_memory + (WARPS + 1) * 2 * STEPS);
    i64 strips = jobs.strips_before[jobs.owners];
    while (true) {
        if (threadIdx.x == 0) *taken = atomicAdd(jobs.ticket, 1u);
        __syncthreads();
        i64 strip = *taken;
        if (strip >= strips) return;
        i64 owner = owner_of(jobs.strips_before, jobs.owners, strip);
        i64 before = jobs.strips_before[owner];
        fill_strip(jobs.jobs[owner], strip - before, strip + 1 == jobs.strips_before[owner + 1],
                   matrices.ends + strip * WARPS, inputs, matrices);
    }
}

// Extension of jobs: comparison without gaps, letters, banded matrices, tracebacks. See extension/cpu.py and band.cuh.
// By -D: macros of band.cuh; CIGAR_MATCH, CIGAR_INSERTION, CIGAR_DELETION, CIGAR_SHIFT and CIGAR_MASK of quire.sam;
// LENGTH_BITS.
#include "quire/algorithms/extension/ambiguous.cuh"
#include "quire/algorithms/extension/band.cuh"
#include "quire/algorithms/extension/jobs.cuh"
#include "quire/algorithms/extension/mismatches.cuh"
#include "quire/reads/reads.cuh"
#include "quire/sequence/words.cuh"

// One thread per job: it is solved if the read has at most one mismatch on the diagonal, or no bases. Every other job
// gets an empty result, and is marked as unsolved.
extern "C" __global__ void ungapped(ExtensionJobs jobs, i64 count, Reads reads, const u64* text, const i64* ambiguous,
                                    i64 spans, Extensions results, u8* unsolved) {
    i64 job = thread_index();
    if (job >= count) return;
    i64 read = jobs.read[job], position = jobs.diagonal[job];
    i32 length = (i32)reads.length(read), found = 2;
    if (length > 0 && !reads.ambiguous[read] && position >= jobs.axis_low[job] &&
        position + length <= jobs.axis_high[job]) {
        found = mismatches(reads.packed_of(jobs.strand[job], read), text, position, length, 1);
        if (found < 2) {
            i64 span = first_ambiguous_after(ambiguous, spans, position);
            if (span < spans && ambiguous[2 * span] < position + length) found = 2;
        }
    }
    bool done = found < 2;
    unsolved[job] = !done && length > 0;
    results.score[job] = done ? length * MATCH + found * (MISMATCH - MATCH) : 0;
    results.read_begin[job] = 0;
    results.read_end[job] = done ? length : 0;
    results.axis_begin[job] = done ? position : 0;
    results.axis_end[job] = done ? position + length : 0;
    results.cigar_begin[job] = job;
    results.cigar_length[job] = done;
    results.cigar[job] = done ? (u32)length << CIGAR_SHIFT | CIGAR_MATCH : 0;
}

// Columns of a job's band.
__device__ __forceinline__ i64 columns_of(const ExtensionJobs& jobs, i64 job) {
    return (jobs.diagonal_high[job] - jobs.diagonal_low[job] + BAND_STEP) / BAND_STEP * BAND_STEP;
}

// Writes the sorting key of each chosen job: how often the layout width of its band doubles BAND_STEP, then the length
// of its read. There are few widths, so few launches suffice.
extern "C" __global__ void shapes(ExtensionJobs jobs, const i64* chosen, i64 count, Reads reads, i32* keys) {
    i64 i = thread_index();
    if (i >= count) return;
    i64 columns = columns_of(jobs, chosen[i]);
    i32 doublings = 0;
    while ((i64)BAND_STEP << doublings < columns) doublings++;
    keys[i] = doublings << LENGTH_BITS | (i32)reads.length(jobs.read[chosen[i]]);
}

// Puts the chosen jobs into the order `alike` of their keys. The last job of each width writes the number of jobs up to
// it, and the length of its read, which is the longest: widths[][2], by doublings; 0 for a width without jobs.
extern "C" __global__ void order_by_shape(const i32* keys, const i64* alike, const i64* chosen, i64 count, i64* order,
                                          i64* widths) {
    i64 i = thread_index();
    if (i >= count) return;
    order[i] = chosen[alike[i]];
    i32 key = keys[alike[i]], doublings = key >> LENGTH_BITS;
    if (i + 1 < count && keys[alike[i + 1]] >> LENGTH_BITS == doublings) return;
    widths[2 * doublings] = i + 1;
    widths[2 * doublings + 1] = key & ((1 << LENGTH_BITS) - 1);
}

// Eight letters of a read from row `row` on, as nibbles.
__device__ __forceinline__ u32 letters_of_read(const u8* codes, i64 length, i64 row) {
    u32 letters = 0;
    for (int i = 0; i < 8; i++, row++) {
        u32 letter = row < 0 ? BEFORE : row >= length ? BEHIND : codes[row] | (row == length - 1 ? LAST : 0);
        letters |= letter << (4 * i);
    }
    return letters;
}

// Eight letters of the axis from `position` on, as nibbles; positions outside of [low, high) are forbidden.
__device__ __forceinline__ u32 letters_of_axis(const u64* text, const i64* ambiguous, i64 spans, i64 position, i64 low,
                                               i64 high) {
    if (position + 8 <= low || position >= high) return FORBIDDEN * 0x11111111u;
    u32 letters = 0;
    if (position >= low && position + 8 <= high) {
        letters = (u32)packed_word(text, position) & 0xFFFF;
        letters = (letters | letters << 8) & 0x00FF00FF;
        letters = (letters | letters << 4) & 0x0F0F0F0F;
        letters = (letters | letters << 2) & 0x33333333;
    } else {
        for (int i = 0; i < 8; i++) {
            i64 place = position + i;
            letters |= (place < low || place >= high ? FORBIDDEN : (u32)code_at(text, place)) << (4 * i);
        }
    }
    for (i64 span = first_ambiguous_after(ambiguous, spans, position); span < spans; span++) {
        i64 begin = ambiguous[2 * span] - position, end = ambiguous[2 * span + 1] - position;
        if (begin >= 8) break;
        for (int i = begin < 0 ? 0 : (int)begin; i < 8 && i < end; i++)
            if (!(letters >> (4 * i) & FORBIDDEN))
                letters = (letters & ~(15u << (4 * i))) | AMBIGUOUS_LETTER << (4 * i);
    }
    return letters;
}

// Writes the letters of the jobs order[0..count), one thread per word.
extern "C" __global__ void write_letters(ExtensionJobs jobs, const i64* order, i64 count, Band band, Reads reads,
                                         const u64* text, const i64* ambiguous, i64 spans, u32* letters) {
    i64 index = thread_index(), i = index / band.words, word = index - i * band.words;
    if (i >= count) return;
    i64 job = order[i], read = jobs.read[job], length = reads.length(read);
    u32 value;
    if (word < HEADER_WORDS) {
        value = (u32)(word == 0 ? length : columns_of(jobs, job));
    } else if (word < HEADER_WORDS + band.query_words) {
        value = letters_of_read(reads.codes_of(jobs.strand[job], read), length, (word - HEADER_WORDS) * 8 - HEAD);
    } else {
        i64 position = jobs.diagonal_low[job] + (word - HEADER_WORDS - band.query_words) * 8;
        value = letters_of_axis(text, ambiguous, spans, position, jobs.axis_low[job], jobs.axis_high[job]);
    }
    letters[index] = value;
}

// Fill the table of letter_entry; all threads of a block, which is one warp, take part.
__device__ __forceinline__ const uint4* letter_table() {
    uint4* table = (uint4*)shared_memory;
    if (threadIdx.x < 16) table[threadIdx.x] = letter_entry(threadIdx.x);
    __syncthreads();
    return table;
}

// The matrices of `count` alignments, a group of `band.lanes` lanes each, whose lanes own one block of columns each:
// directions, and the key of the best cell. A block of threads is one warp, and its lanes vote on every common branch,
// so that the compiler knows that they do not diverge.
//
// The limit: a cell takes 16.5 instructions on sm_90 (21.4 on earlier architectures, where maxima are not fused),
// nearly all of them in the integer units. These execute 64 per cycle and multiprocessor, on an H200 (132 at 1.7 GHz)
// 0.87 T cells/s: 5.7 ns for 150 bases in a band of 32. Half a byte is written per cell, 0.43 TB/s at that rate.
extern "C" __global__ void __launch_bounds__(32) fill_bands(i64 count, Band band, const u32* letters, u32* directions,
                                                             i64* best_keys) {
    const uint4* table = letter_table();
    i64 warp = blockIdx.x;
    int lanes = (int)band.lanes, lane = threadIdx.x, group = lane / lanes, own = lane - group * lanes;
    i64 alignment = warp * band.groups + group;
    bool counts = group < band.groups && alignment < count;
    const u32* mine = letters + (counts ? alignment : warp * band.groups) * band.words;  // others are ignored
    int used = (int)mine[1] / COLUMNS, steps = (int)mine[0] + used - 1;  // lanes beyond the band compute, too

    // At step s the read's letter is its (s - own)th and the axis' are the (s + 7 own)th and the next seven: both
    // have the same place in their words, which advance by one every eight steps.
    int shift = 4 * ((32 - own) & 7);
    const u32* query = mine + HEADER_WORDS + ((32 - own) >> 3);
    const u32* target = query + band.query_words - HEAD / 8 + own;
    u32 query_word = *query, target_word = target[1];
    u32 behind = __funnelshift_r(target[0], target_word, shift);

    Block block;
    for (int column = 0; column < COLUMNS; column++) {
        block.match[column] = END_BONUS * SCALE - FRAME * (own + 1);
        block.insertion[column] = no_insertion();
    }
    Best best = {0, 0, 0};
    i32 deletion = NEVER, frame = -FRAME * own;
    directions += band.place(warp, 0, 0, lane);
    for (int first = 0; __any_sync(EVERY_LANE, first < steps); first += 8) {
        u32 next_query = *++query, next_target = (++target)[1];
        u32 codes = __funnelshift_r(query_word, next_query, shift), window = behind;
        behind = __funnelshift_r(target_word, next_target, shift);
        query_word = next_query, target_word = next_target;
        bool forbidden = __any_sync(EVERY_LANE, (window | behind) & (FORBIDDEN * 0x11111111u));
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (i == 4 && !__any_sync(EVERY_LANE, first + i < steps)) break;
            Row row = row_of(table[codes >> (4 * i) & 15], frame);
            u32 around = __funnelshift_r(window, behind, 4 * i), bits = 0;
            i32 top = NEVER;
            deletion = __shfl_up_sync(EVERY_LANE, deletion, 1);
            if (own == 0) deletion = NEVER;
            if (forbidden) forbid(block, around);
            fill<0, 1>(block, 0, deletion, row, around, bits, top);
            i32 beyond = __shfl_down_sync(EVERY_LANE, block.insertion[0], 1);
            if (own == used - 1) beyond = no_insertion();
            fill<1, COLUMNS>(block, beyond, deletion, row, around, bits, top);
            improve(best, top, row, 0);
            *directions = bits;
            directions += 32;
            frame += FRAME;
        }
    }
    i64 key = best_of_group(own < used ? key_of(best, own * COLUMNS) : 0, own, lanes);
    if (counts && own == 0) best_keys[alignment] = key;
}

// The same for bands that are too wide for one block per lane: one warp per alignment, whose lanes own `band.blocks`
// (at least two) blocks each, kept in `state` (band.blocks * 16 numbers per lane). These are rare, so little is in
// registers.
extern "C" __global__ void __launch_bounds__(32) fill_wide_bands(Band band, const u32* letters,
                                                                  u32* directions, i64* best_keys, i32* state) {
    const uint4* table = letter_table();
    i64 warp = blockIdx.x;
    int lane = threadIdx.x, blocks = (int)band.blocks;
    const u32* mine = letters + warp * band.words;
    const u32 *query = mine + HEADER_WORDS, *target = query + band.query_words;
    int all = (int)mine[1] / COLUMNS, owned = min(max(all - lane * blocks, 0), blocks), steps = (int)mine[0] + 31;
    state += warp * blocks * 2 * COLUMNS * 32 + lane;
    for (int i = 0; i < owned * 2 * COLUMNS; i++)
        state[i * 32] = i % (2 * COLUMNS) < COLUMNS ? END_BONUS * SCALE - FRAME * (lane + 1) : no_insertion();
    Best best = {0, 0, 0};
    i32 deletion = NEVER;
    for (int step = 0; step < steps; step++) {
        int place = step - lane + (int)HEAD;
        Row row = row_of(table[query[place >> 3] >> (4 * (place & 7)) & 15], FRAME * (step - lane));
        deletion = __shfl_up_sync(EVERY_LANE, deletion, 1);
        if (lane == 0) deletion = NEVER;
        i32 leaving = no_insertion(), beyond = no_insertion();
        for (int b = 0; b < blocks; b++) {
            if (b == 1) beyond = __shfl_down_sync(EVERY_LANE, leaving, 1);
            if (b >= owned) continue;
            Block block;
            i32* kept = state + b * 2 * COLUMNS * 32;
            for (int column = 0; column < COLUMNS; column++) {
                block.match[column] = kept[column * 32];
                block.insertion[column] = kept[(COLUMNS + column) * 32];
            }
            place = step - lane + (lane * blocks + b) * COLUMNS;
            u32 around = __funnelshift_r(target[place >> 3], target[(place >> 3) + 1], 4 * (place & 7)), bits = 0;
            i32 top = NEVER, after = beyond;
            if (b + 1 < owned) after = kept[3 * COLUMNS * 32];
            else if (lane * blocks + b + 1 == all) after = no_insertion();
            forbid(block, around);
            fill<0, COLUMNS>(block, after, deletion, row, around, bits, top);
            improve(best, top, row, b);
            for (int column = 0; column < COLUMNS; column++) {
                kept[column * 32] = block.match[column];
                kept[(COLUMNS + column) * 32] = block.insertion[column];
            }
            if (b == 0) leaving = block.insertion[0];
            directions[band.place(warp, step, b, lane)] = bits;
        }
    }
    i64 key = best_of_group(key_of(best, (i64)lane * blocks * COLUMNS), lane, 32);
    if (lane == 0) best_keys[warp] = key;
}

// The four bits of a cell of an alignment.
__device__ __forceinline__ u32 direction(const Band& band, const u32* directions, i64 alignment, i64 row, i64 column) {
    i64 warp = alignment / band.groups, first = (alignment - warp * band.groups) * band.lanes;
    i64 lane = column / COLUMNS, block = 0;
    if (band.blocks > 1) {
        block = lane % band.blocks;
        lane /= band.blocks;
    }
    return directions[band.place(warp, row + lane, block, first + lane)] >> (4 * (column % COLUMNS)) & 15;
}

// One thread per alignment: the path to its best cell. Operations are found from the last to the first, and fill the
// slot (of band.operations) from its end; operation_counts receives their number.
extern "C" __global__ void trace(ExtensionJobs jobs, const i64* order, i64 count, Band band, Reads reads,
                                 const u32* directions, const i64* best_keys, Extensions results, u32* slots,
                                 i32* operation_counts) {
    i64 alignment = thread_index();
    if (alignment >= count) return;
    operation_counts[alignment] = 0;
    i64 key = best_keys[alignment], job = order[alignment], origin = jobs.diagonal_low[job];
    if (key == 0) return;
    i64 row = KEY_MASK - (key >> KEY_BITS & KEY_MASK), column = KEY_MASK - (key & KEY_MASK);
    i32 read_end = (i32)row + 1;
    results.read_end[job] = read_end;
    results.axis_end[job] = origin + row + column + 1;
    u32* end = slots + (alignment + 1) * band.operations;
    u32* next = end;
    u32 run = 0;
    int state = STOP;
    while (row >= 0) {
        if (state == STOP) state = direction(band, directions, alignment, row, column) & MOVE;
        if (state == STOP) break;
        u32 operation = DIAGONAL - state;
        if (state == DIAGONAL) {
            row--;
            state = STOP;
        } else if (state == INSERTION) {
            row--, column++;
            if (direction(band, directions, alignment, row, column) & INSERTION_OPENED) state = STOP;
        } else {
            column--;
            if (direction(band, directions, alignment, row, column) & DELETION_OPENED) state = STOP;
        }
        if (run && (run & CIGAR_MASK) != operation) {
            *--next = run;
            run = 0;
        }
        run = run ? run + (1 << CIGAR_SHIFT) : 1 << CIGAR_SHIFT | operation;
    }
    if (run) *--next = run;
    i32 length = (i32)reads.length(jobs.read[job]), read_begin = (i32)row + 1;
    i32 reached = (read_begin == 0 ? END_BONUS : 0) + (read_end == length ? END_BONUS : 0);
    results.read_begin[job] = read_begin;
    results.axis_begin[job] = origin + row + column + 1;
    results.score[job] = (i32)(key >> (2 * KEY_BITS)) - reached;
    results.cigar_length[job] = operation_counts[alignment] = (i32)(end - next);
}

// One thread per alignment: copy its operations from its slot to results.cigar, from base + begins[alignment] on;
// begins[count + 1].
extern "C" __global__ void gather_operations(const i64* order, i64 count, Band band, const u32* slots,
                                             const i64* begins, i64 base, Extensions results) {
    i64 alignment = thread_index();
    if (alignment >= count) return;
    i64 begin = base + begins[alignment], operations = base + begins[alignment + 1] - begin;
    const u32* slot = slots + (alignment + 1) * band.operations - operations;
    for (i64 i = 0; i < operations; i++) results.cigar[begin + i] = slot[i];
    results.cigar_begin[order[alignment]] = begin;
}

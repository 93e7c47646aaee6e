// Tracebacks of GATK's aligner, one thread per slot: their start, the number of their CIGAR elements, and the elements.
// By -D: the macros of layout.cuh, the CIGAR's operations, and KEPT: elements that the first walk keeps for each slot,
// so that few alignments are walked twice.
#include "quire/algorithms/semiglobal/cells.cuh"

constexpr int AHEAD = 8;  // cells of the diagonal that are read at once

// The alignment of each slot: row and column of its end (1-based), and KEPT elements in reverse order.
struct Walks {
    i32* end_row;
    i32* end_column;
    u32* kept;
};

// The four bits of a slot's cells (0-based).
struct Cells {
    const u32* lines;
    int steps, first_place, group, shift;

    __device__ u32 at(int row, int column) const {
        int place = first_place + column, strip = STRIPS ? place / CAPACITY : 0;
        place -= strip * CAPACITY;
        int own = place / COLUMNS, k = place - own * COLUMNS, word = k / CELLS_PER_WORD;
        i64 line = (i64)strip * steps + row + own;
        int behind = min(CELLS_PER_WORD, COLUMNS - word * CELLS_PER_WORD) - 1 - k % CELLS_PER_WORD;
        return lines[(line * WORDS + word) * WARP + group * LANES + own] >> (shift + 4 * behind) & 15;
    }
};

__device__ __forceinline__ Cells cells_of(const Slots& slots, i64 slot, const u32* lines, int columns) {
    i64 warp = slot / SLOTS;
    int within = (int)(slot % SLOTS);
    return {lines + slots.lines_before[warp] * WORDS * WARP, slots.steps(warp), slots.strips(warp) * CAPACITY - columns,
            within / TASKS, 16 * (within % TASKS)};
}

// Elements from the last to the first; each is passed to `target` with its number.
template <class Target> struct Elements {
    Target target;
    int operation, length, count;

    __device__ void push(int operation, int length) {
        target(count++, (u32)length << CIGAR_SHIFT | (u32)operation);
    }
    __device__ void add(int next, int run) {
        if (next != operation && length > 0) {
            push(operation, length);
            length = 0;
        }
        operation = next;
        length += run;
    }
};

struct Keep {
    u32* kept;
    __device__ void operator()(int number, u32 element) {
        if (number < KEPT) kept[number] = element;
    }
};

struct Write {
    u32* end;
    __device__ void operator()(int number, u32 element) { end[-1 - number] = element; }
};

// Walks from the end's row and column, which become those of the start; returns the number of elements.
template <class Target>
__device__ __forceinline__ int walk(const Cells& cells, int columns, int& row, int& column, Target target) {
    Elements<Target> elements = {target, CIGAR_MATCH, columns - column, 0};
    if (elements.length > 0) {
        elements.push(CIGAR_SOFT_CLIP, elements.length);
        elements.length = 0;
    }
    while (row > 0 && column > 0) {
        int most = min(min(row, column), AHEAD), matches = 0;
        u32 ahead = 0;
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (i < most) ahead |= cells.at(row - 1 - i, column - 1 - i) << (4 * i);
        while (matches < most && (ahead >> (4 * matches) & STEP) == BY_MATCH) matches++;
        if (matches > 0) elements.add(CIGAR_MATCH, matches);
        row -= matches;
        column -= matches;
        if (matches == most) continue;
        u32 bits = ahead >> (4 * matches) & 15;
        if ((bits & STEP) == BY_INSERTION) {
            int run = 1;
            for (; bits & LONGER_INSERTION; run++) bits = cells.at(row - 1, column - 1 - run);
            elements.add(CIGAR_INSERTION, run);
            column -= run;
        } else {
            int run = 1;
            for (; bits & LONGER_DELETION; run++) bits = cells.at(row - 1 - run, column - 1);
            elements.add(CIGAR_DELETION, run);
            row -= run;
        }
    }
    elements.push(elements.operation, elements.length);
    if (column > 0) elements.push(CIGAR_SOFT_CLIP, column);
    return elements.count;
}

// Row and column (1-based) where the traceback of a slot starts. H along the last column and row is summed up from its
// differences; both sums begin with zero, since the edges are free.
__device__ __forceinline__ void find_end(const u32* side, const u32* bottom, int half, const Terms& terms, int rows,
                                         int columns, int& end_row, int& end_column) {
    end_row = rows;
    end_column = columns;
    i64 score = 0, best = 0;
    for (int row = 0; row < rows; row++) {
        score += terms.value(side[row], half);
        if (row == 0 || score >= best) {
            best = score;
            end_row = row + 1;
        }
    }
    score = 0;
    for (int column = 1; column <= columns; column++) {
        score += terms.value(bottom[column - 1], half);
        if (score > best || (score == best && abs(rows - column) < abs(end_row - end_column))) {
            best = score;
            end_row = rows;
            end_column = column;
        }
    }
}

// The first walk: finds where each task's alignment starts, and the number of its CIGAR elements.
extern "C" __global__ void trace(i64 count, Pairs pairs, Slots slots, Scores scores, const u32* lines, const u32* side,
                                 const u32* bottom, Walks walks, i32* offsets, i64* counts) {
    i64 slot = thread_index();
    if (slot >= count) return;
    i64 task = slots.task[slot], warp = slot / SLOTS;
    int rows = reference_of(pairs, task).length, columns = alternate_of(pairs, task).length, row, column;
    Cells cells = cells_of(slots, slot, lines, columns);
    find_end(side + slots.row_place(warp, cells.group), bottom + slots.column_place(slot) + cells.first_place,
             (int)(slot % TASKS), Terms(scores), rows, columns, row, column);
    walks.end_row[slot] = row;
    walks.end_column[slot] = column;
    counts[task] = walk(cells, columns, row, column, Keep{walks.kept + slot * KEPT});
    offsets[task] = row;
}

// Writes the elements of each task to their place among all.
extern "C" __global__ void write_cigars(i64 count, Pairs pairs, Slots slots, const u32* lines, Walks walks,
                                        const i64* cigar_offsets, u32* cigars) {
    i64 slot = thread_index();
    if (slot >= count) return;
    i64 task = slots.task[slot], begin = cigar_offsets[task], end = cigar_offsets[task + 1];
    if (end - begin <= KEPT) {
        for (i64 i = begin; i < end; i++) cigars[i] = walks.kept[slot * KEPT + (end - 1 - i)];
        return;
    }
    int columns = alternate_of(pairs, task).length, row = walks.end_row[slot], column = walks.end_column[slot];
    walk(cells_of(slots, slot, lines, columns), columns, row, column, Write{cigars + end});
}

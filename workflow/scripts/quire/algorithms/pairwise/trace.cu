// Around the matrices: the borders that they begin with, the largest H of kept rows, and paths.
//
// A path is followed by a warp through the tiles whose directions are there. It looks at 32 cells at once: along the
// diagonal, or up or left in a gap. The directions of a strip lie one step behind the other, so that a part of them,
// a window, is copied to shared memory at once. Other warps follow the paths from cells of kept rows that the path
// probably goes through; where it does, it goes on as theirs. So a guess that is right saves time, and nothing else.
#include "quire/algorithms/pairwise/layout.cuh"

// ---- before ----

struct Edges {
    i64 rows, columns, gap_open, gap_extend;
    i64 priced_top, priced_left;   // whether gaps along row 0 and column 0 have their price
    i64 keep, keep_stride;
    i64 left, top;  // places
};

__device__ __forceinline__ i32 gap(const Edges& edges, i64 length, bool priced) {
    return !priced || length == 0 ? 0 : (i32)(edges.gap_open + (length - 1) * edges.gap_extend);
}

// A thread per cell of row 0 and of column 0; a matrix per row of blocks.
extern "C" __global__ void begin(const Edges* all, u64* left, Kept* kept) {
    Edges edges = all[blockIdx.y];
    i64 place = thread_index();
    if (place <= edges.columns) {
        i32 best = gap(edges, place, edges.priced_top);
        kept[edges.top + place] = make_int2(best, best + (i32)edges.gap_open);
    }
    if (place >= 1 && place <= edges.rows) {
        i32 best = gap(edges, place, edges.priced_left);
        left[edges.left + place - 1] = pack_word(best, best + (i32)edges.gap_open, 0);
        if (place % edges.keep == 0 || place == edges.rows)
            kept[edges.top + (place + edges.keep - 1) / edges.keep * edges.keep_stride] =
                make_int2(best, best + (i32)edges.gap_open);
    }
}

// ---- kept rows ----

struct KeptRow {
    i64 place, columns;  // of its column 0, and its last column
};

// Of each kept row the largest H, its smallest column, and H of the last column: a block each.
extern "C" __global__ void __launch_bounds__(256) peaks(const KeptRow* rows, const Kept* kept, int4* found) {
    i64 columns = rows[blockIdx.x].columns, best = -1;
    const Kept* row = kept + rows[blockIdx.x].place;
    for (i64 column = threadIdx.x; column <= columns; column += blockDim.x) {
        i64 key = ((i64)row[column].x + (1ll << 31)) << 31 | ((1ll << 31) - 1 - column);
        best = max(best, key);
    }
    for (int distance = WARP / 2; distance > 0; distance /= 2)
        best = max(best, __shfl_xor_sync(EVERY_LANE, best, distance));
    i64* of_warps = (i64*)shared_memory;
    if (threadIdx.x % WARP == 0) of_warps[threadIdx.x / WARP] = best;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int warp = 1; warp < (int)blockDim.x / WARP; warp++) best = max(best, of_warps[warp]);
    i64 column = (1ll << 31) - 1 - (best & ((1ll << 31) - 1));
    found[blockIdx.x] = make_int4((i32)((best >> 31) - (1ll << 31)), (i32)column, row[columns].x, 0);
}

// ---- paths ----

// A path under way; all are numbers of the matrix, from 1.
struct Path {
    i64 matrix;
    i64 row, column;     // of the cell where it is
    i64 state;           // IN_BEST, or that it came here by a gap, which may go on
    i64 first, room;     // place of its first element, and for how many there is room
    i64 elements;        // that are written, the last one first
    i64 ended;
};

struct Grid {
    i64 tile_rows, tile_columns, across;  // tiles side by side
    i64 tiles;         // place of its first tile in the table
    i64 bits_stride;   // of a warp's strip
    i64 keep, starts;  // rows between two kept rows; place of row 0 in the table of starts
};

constexpr int WINDOW = PAIRS_IN_WINDOW;  // pairs of words per lane
constexpr int IN_BEST = 0, IN_INSERTION = 1, IN_DELETION = 2;

// The window: directions of some steps of a warp's strip. Rows and columns are counted from 0.
struct Window {
    uint2* shared;
    int top, left;   // the tile's first row, the strip's first column
    int first, end;  // pairs, from the tile's first step

    // Whether a cell is in it, which is none of a row below the tile; `place` becomes that of its words, `cell` its
    // number in them.
    __device__ bool has(int row, int column, int& place, int& cell) const {
        int inside = column - left, lane = inside / COLUMNS, step = row - top + lane, pair = step / GROUP;
        place = (pair - first) * WARP + lane;
        cell = step % GROUP * COLUMNS + inside % COLUMNS;
        return inside >= 0 && inside < WIDTH && row >= top && pair >= first && pair < end;
    }
    // Loads the window that ends with a cell; false where its tile's directions are not there.
    __device__ bool load(const Grid& grid, const i64* tiles, const uint2* bits, int row, int column) {
        int down = row / (int)grid.tile_rows, across = column / (int)grid.tile_columns;
        int tile_left = across * (int)grid.tile_columns, strip = (column - tile_left) / WIDTH;
        i64 begin = tiles[grid.tiles + down * grid.across + across];
        if (begin < 0) return false;
        top = down * (int)grid.tile_rows;
        left = tile_left + strip * WIDTH;
        // A lane on the left is as many steps earlier as a lane on the right: the cells behind this one are not needed.
        end = (row - top + (column - left) / COLUMNS) / GROUP + 1;
        first = max(0, end - WINDOW);
        const ulonglong2* source = (const ulonglong2*)(bits + begin + strip * grid.bits_stride + (i64)first * WARP);
        ulonglong2* target = (ulonglong2*)shared;
        __syncwarp();
#pragma unroll 8
        for (int i = threadIdx.x; i < (end - first) * (WARP / 2); i += WARP) target[i] = source[i];
        __syncwarp();
        return true;
    }
};

// The element under way, and those that are written.
struct Elements {
    u32* written;
    int operation, run, count;

    __device__ void add(int next, int length) {
        if (next != operation) finish();
        operation = next;
        run += length;
    }
    __device__ void finish() {
        if (run == 0) return;
        if (threadIdx.x == 0) written[count] = (u32)run << CIGAR_SHIFT | (u32)operation;
        count++;
        run = 0;
    }
};

// How many lanes from the first on have a bit set.
__device__ __forceinline__ int leading(u32 votes) { return votes == EVERY_LANE ? WARP : __ffs((int)~votes) - 1; }

// A warp per path: until it ends, comes to where another one began, needs directions that are not there, or has no room
// for more elements.
//   starts: the column where a path began on each kept row; 0: none.
extern "C" __global__ void __launch_bounds__(32) follow(Path* paths, const Grid* grids, const i64* tiles,
                                                        const i64* starts, const uint2* bits, u32* all_elements,
                                                        i64 local) {
    Path path = paths[blockIdx.x];
    const Grid grid = grids[path.matrix];
    Window window = {(uint2*)shared_memory, 0, 0, 0, 0};
    Elements elements = {all_elements + path.first, 0, 0, 0};
    int lane = threadIdx.x, row = (int)path.row, column = (int)path.column, state = (int)path.state, ended = 0;
    int begun = row, keep = (int)grid.keep, kept = (row - 1) / keep * keep;
    while (!ended && row > 0 && column > 0 && elements.count + 3 <= path.room) {
        if (row == kept) kept -= keep;
        if (row == kept + keep && row != begun && state == IN_BEST && column == starts[grid.starts + row / keep]) break;
        // The cells ahead: on the diagonal, or above, or on the left; none behind the next kept row.
        int ahead_row = row - 1 - (state == IN_DELETION ? 0 : lane);
        int ahead_column = column - 1 - (state == IN_INSERTION ? 0 : lane), place, cell;
        bool known = ahead_row >= kept && ahead_column >= 0 &&
                     window.has(ahead_row, ahead_column, place, cell);
        if (!__shfl_sync(EVERY_LANE, (int)known, 0)) {
            if (!window.load(grid, tiles, bits, row - 1, column - 1)) break;
            continue;
        }
        u32 from = BY_NOTHING, longer = 0;
        if (known) {
            uint2 pair = window.shared[place];
            from = pair.x >> (2 * cell) & 3;
            longer = pair.y >> (30 - 2 * cell) & 3;
        }
        if (state == IN_BEST) {
            int run = leading(__ballot_sync(EVERY_LANE, known && from == BY_PAIR));
            if (run > 0) elements.add(CIGAR_MATCH, run);
            row -= run;
            column -= run;
            if (run == WARP || !__shfl_sync(EVERY_LANE, (int)known, run)) continue;  // loads, or ends on a border
            from = __shfl_sync(EVERY_LANE, from, run);
            if (from == BY_NOTHING && local) {
                ended = 1;
            } else if (from == BY_INSERTION) {
                elements.add(CIGAR_INSERTION, 1);
                row--;
                state = IN_INSERTION;
            } else {
                elements.add(CIGAR_DELETION, 1);
                column--;
                state = IN_DELETION;
            }
        } else {
            // The cell before a gap's base says whether the gap goes on: the lower bit if it is an insertion.
            bool insertion = state == IN_INSERTION;
            int run = leading(__ballot_sync(EVERY_LANE, known && (longer >> (insertion ? 0 : 1) & 1)));
            if (run > 0) elements.add(insertion ? CIGAR_INSERTION : CIGAR_DELETION, run);
            if (insertion) row -= run;
            else column -= run;
            if (run < WARP && __shfl_sync(EVERY_LANE, (int)known, run)) state = IN_BEST;
        }
    }
    if (row == 0 || column == 0) ended = 1;
    elements.finish();
    if (lane == 0)
        paths[blockIdx.x] = {path.matrix, row, column, state, path.first, path.room, elements.count, ended};
}

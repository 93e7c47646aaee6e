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

// The largest H of each kept row, and its smallest column: a block each.
extern "C" __global__ void __launch_bounds__(256) peaks(const Kept* kept, i64 columns, i64 stride, int2* found) {
    const Kept* row = kept + blockIdx.x * stride;
    i64 best = -1;
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
    found[blockIdx.x] = make_int2((i32)((best >> 31) - (1ll << 31)), (i32)((1ll << 31) - 1 - (best & ((1ll << 31) - 1))));
}

// ---- paths ----

// A path under way; all are numbers of the matrix, from 1.
struct Path {
    i64 matrix;
    i64 row, column;  // of the cell where it is
    i64 state;        // IN_BEST, or that it came here by a gap, which may go on
    i64 operation, run;  // of the element that is not written yet
    i64 first, elements;  // place of the first of those that are, the last one first, and how many
    i64 ended;
};

struct Grid {
    i64 tile_rows, tile_columns, across;  // tiles side by side
    i64 tiles;         // place of its first tile in the table
    i64 bits_stride;   // of a warp's strip
    i64 keep, starts;  // rows between two kept rows; place of row 0 in the table of starts
};

constexpr int WINDOW = PAIRS_IN_WINDOW;  // pairs of words per lane
constexpr i64 IN_BEST = 0, IN_INSERTION = 1, IN_DELETION = 2;

// The window, and where its cells are.
struct Window {
    const Grid& grid;
    const i64* tiles;
    const uint2* bits;
    uint2* shared;
    i64 tile, strip;
    int first, end;  // pairs, from the first step

    struct Place {
        i64 tile, strip;
        int lane, pair, cell;
    };
    __device__ Place place_of(i64 row, i64 column) const {  // from 0
        i64 down = row / grid.tile_rows, right = column / grid.tile_columns;
        int row_inside = (int)(row - down * grid.tile_rows), inside = (int)(column - right * grid.tile_columns);
        int lane = inside % WIDTH / COLUMNS, step = row_inside + lane;
        return {down * grid.across + right, inside / WIDTH, lane, step / GROUP,
                step % GROUP * COLUMNS + inside % COLUMNS};
    }
    __device__ bool has(const Place& place) const {
        return place.tile == tile && place.strip == strip && place.pair >= first && place.pair < end;
    }
    // Two words' bits of a cell: from, and whether D of the next column (1) and I of the next row (2) go on.
    __device__ int2 at(const Place& place) const {
        uint2 pair = shared[(place.pair - first) * WARP + place.lane];
        u32 longer = pair.y >> (30 - 2 * place.cell) & 3;
        return make_int2((i32)(pair.x >> (2 * place.cell) & 3), (i32)(longer >> 1 | (longer & 1) << 1));
    }
    // Loads the window that ends with a cell; false where its tile's directions are not there.
    __device__ bool load(i64 row, i64 column) {
        Place place = place_of(row, column);
        i64 begin = tiles[grid.tiles + place.tile];
        if (begin < 0) return false;
        tile = place.tile;
        strip = place.strip;
        // A lane on the left is as many steps earlier as a lane on the right: the cells behind this one are not needed.
        end = place.pair + 1;
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

__device__ __forceinline__ void add(Path& path, i64 operation, i64 run, u32* elements) {
    if (operation != path.operation && path.run > 0) {
        if (threadIdx.x == 0) elements[path.elements] = (u32)path.run << CIGAR_SHIFT | (u32)path.operation;
        path.elements++;
        path.run = 0;
    }
    path.operation = operation;
    path.run += run;
}

// How many lanes from the first on have a bit set.
__device__ __forceinline__ int leading(u32 votes) { return votes == EVERY_LANE ? WARP : __ffs((int)~votes) - 1; }

// A warp per path: until it ends, comes to where another one began, needs directions that are not there, or has no room
// for more elements.
//   starts: the column where a path began on each kept row; 0: none.
extern "C" __global__ void __launch_bounds__(32) follow(Path* paths, const Grid* grids, const i64* tiles,
                                                        const i64* starts, const uint2* bits, u32* all_elements,
                                                        i64 room, i64 local) {
    Path path = paths[blockIdx.x];
    const Grid grid = grids[path.matrix];
    u32* elements = all_elements + path.first;
    Window window = {grid, tiles, bits, (uint2*)shared_memory, -1, 0, 0, 0};
    int lane = threadIdx.x;
    i64 begun = path.row;
    while (!path.ended && path.row > 0 && path.column > 0 && path.elements < room - 1) {
        i64 row = path.row - 1, column = path.column - 1, kept = row / grid.keep * grid.keep;
        if (path.row != begun && path.row % grid.keep == 0 && path.state == IN_BEST &&
            path.column == starts[grid.starts + path.row / grid.keep])
            break;
        if (!window.has(window.place_of(row, column)) && !window.load(row, column)) break;
        // The cells ahead: on the diagonal, or above, or on the left.
        i64 ahead_row = row - (path.state == IN_DELETION ? 0 : lane);
        i64 ahead_column = column - (path.state == IN_INSERTION ? 0 : lane);
        int2 cell = make_int2((i32)BY_NOTHING, 0);
        bool known = false;
        if (ahead_row >= kept && ahead_column >= 0) {
            Window::Place place = window.place_of(ahead_row, ahead_column);
            known = window.has(place);
            if (known) cell = window.at(place);
        }
        if (path.state == IN_BEST) {
            int run = leading(__ballot_sync(EVERY_LANE, known && cell.x == (i32)BY_PAIR));
            if (run > 0) {
                add(path, CIGAR_MATCH, run, elements);
                path.row -= run;
                path.column -= run;
            }
            if (run == WARP) continue;
            if (!__shfl_sync(EVERY_LANE, (int)known, run)) continue;  // loads, or ends on a border
            u32 from = (u32)__shfl_sync(EVERY_LANE, cell.x, run);
            if (from == BY_NOTHING && local) {
                path.ended = 1;
            } else if (from == BY_INSERTION) {
                add(path, CIGAR_INSERTION, 1, elements);
                path.row--;
                path.state = IN_INSERTION;
            } else {
                add(path, CIGAR_DELETION, 1, elements);
                path.column--;
                path.state = IN_DELETION;
            }
        } else {
            // The cell before a gap's base says whether the gap goes on.
            bool insertion = path.state == IN_INSERTION;
            int run = leading(__ballot_sync(EVERY_LANE, known && (cell.y >> (insertion ? 1 : 0) & 1)));
            if (run > 0) {
                add(path, insertion ? CIGAR_INSERTION : CIGAR_DELETION, run, elements);
                if (insertion) path.row -= run;
                else path.column -= run;
            }
            if (run < WARP && __shfl_sync(EVERY_LANE, (int)known, run)) path.state = IN_BEST;
        }
    }
    if (path.row == 0 || path.column == 0) path.ended = 1;
    if (lane == 0) paths[blockIdx.x] = path;
}

// Kernels before and after the sweep: first borders, the largest H of kept rows, and paths.
//
// A warp follows a path through the tiles whose values were computed. It reads 32 cells at once: along the diagonal, or
// up or left in a gap. The values of a cell's neighbours show where its H comes from, by the rules of the package.
// Other warps follow paths from predicted cells of kept rows. Their parts are joined to the path if it goes there.
#include "quire/algorithms/pairwise/layout.cuh"

// ---- before ----

struct Edges {
    i64 rows, columns, gap_open, gap_extend;
    i64 priced_top, priced_left;   // whether gaps along row 0 and column 0 cost their price
    i64 keep, keep_stride;
    i64 query;      // place of the first row's selector
    i64 left, top;  // places
};

__device__ __forceinline__ i32 gap(const Edges& edges, i64 length, bool priced) {
    return !priced || length == 0 ? 0 : (i32)(edges.gap_open + (length - 1) * edges.gap_extend);
}

// Writes selectors of the query, row 0 and column 0: one thread per selector and per cell.
extern "C" __global__ void begin(Edges edges, const u8* letters, u16* query, u64* left, Kept* kept) {
    i64 place = thread_index();
    if (place < edges.rows + 2 * QUERY_ROOM) {
        i64 row = place - QUERY_ROOM;
        bool inside = row >= 0 && row < edges.rows;
        query[edges.query + row] = (u16)selector_of(inside ? letters[row] : NO_LETTER);
    }
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

// A key that is larger for a larger H, and for a smaller column if H is equal.
__device__ __forceinline__ i64 peak_key(i32 best, i64 column) {
    return ((i64)best + (1ll << 31)) << 31 | ((1ll << 31) - 1 - column);
}

// Finds the largest H of each kept row, its smallest column, and H of the last column: one block per row.
extern "C" __global__ void __launch_bounds__(1024) peaks(Edges edges, const Kept* kept, int4* found) {
    i64 columns = edges.columns, best = -1;
    if ((blockIdx.x - 1ll) * edges.keep >= edges.rows) return;  // the last row is kept, too
    const Kept* row = kept + edges.top + blockIdx.x * edges.keep_stride;
    // Several loads are in flight before the first is used: the compiler does not prefetch across the loop's test.
    constexpr int AHEAD = 8;
    i64 place = threadIdx.x, stride = blockDim.x;
    for (; place + (AHEAD - 1) * stride <= columns; place += AHEAD * stride) {
        i32 seen[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) seen[i] = row[place + i * stride].x;
#pragma unroll
        for (int i = 0; i < AHEAD; i++) best = max(best, peak_key(seen[i], place + i * stride));
    }
    for (; place <= columns; place += stride) best = max(best, peak_key(row[place].x, place));
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

// A part of a path; rows and columns of the matrix, from 1.
struct Path {
    i64 row, column;     // the current cell; column -1: the row's largest H, row -1 too: where the alignment ends
    i64 state;           // IN_BEST, or the gap by which it came here, which may be extended
    i64 score;           // H of the cell; in a gap I of the row below, or D of the column on the right
    i64 first, room;     // place of its first element, and the space for elements
    i64 elements;        // number of elements written, the last one first
    i64 ended;
    i64 begin_row, begin_column, begin_score;  // where it began
};

struct Grid {
    i64 rows, columns;      // m and n
    i64 query;              // place of its letters
    i64 tile_rows, tile_columns, across;  // size of a tile, and tiles in a row of tiles; a row is kept after each tile
    i64 values_stride;      // of a strip
    i64 top, top_stride;    // place of the kept row 0, and the distance to the next kept row
    i64 left, left_stride;  // place of the words of column 0, and the distance to those of the next kept column
    i64 strips;
};

struct Sources {
    const u16* query;
    const u8* target;
    const u64* left;
    const Kept* kept;
    const i64* tiles;   // place of each tile's values; -1: not computed
    const u32* values;
    const int4* peaks;  // of kept rows
    const int4* ends;   // of strips
    i64 match, mismatch, gap_open, gap_extend;
    i64 mode;
};

constexpr int IN_BEST = 0, IN_INSERTION = 1, IN_DELETION = 2;

// The tile of a cell, without its borders; rows and columns from 1.
struct Tile {
    int top, left, across;
    i64 place;  // of its values; -1: not computed
    const Kept* above;
    const u64* words;  // of its left border, row 1 of the matrix

    __device__ void find(const Grid& grid, const Sources& sources, int row, int column) {
        int down = (row - 1) / (int)grid.tile_rows;
        across = (column - 1) / (int)grid.tile_columns;
        top = down * (int)grid.tile_rows;
        left = across * (int)grid.tile_columns;
        place = sources.tiles[down * grid.across + across];
        above = sources.kept + grid.top + down * grid.top_stride;
        words = sources.left + grid.left + across * grid.left_stride;
    }
    __device__ bool has(const Grid& grid, int row, int column) const {
        return row > top && column > left && row <= top + grid.tile_rows && column <= left + grid.tile_columns;
    }
    // The value of a cell; on the tile's borders its H only.
    __device__ __forceinline__ u32 value(const Grid& grid, const u32* values, int row, int column) const {
        if (row == top) return (u32)above[column].x << 16;
        if (column == left) return (u32)best_of(words[row - 1]) << 16;
        int inside = column - left - 1, lane = inside % WIDTH / COLUMNS;
        i64 strip = inside / WIDTH, step = row - top - 1 + lane;
        return values[place + strip * grid.values_stride + (step * WARP + lane) * COLUMNS + inside % COLUMNS];
    }
};

// The current CIGAR element, and the elements written before.
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

// The number of lanes from the first on whose bit is set.
__device__ __forceinline__ int leading(u32 votes) { return votes == EVERY_LANE ? WARP : __ffs((int)~votes) - 1; }
__device__ __forceinline__ u32 lanes_below(int lane) { return lane < WARP ? (1u << lane) - 1 : EVERY_LANE; }

// Finds where a path with an unknown row or column begins; on row 0 or column 0 it is empty.
__device__ void find_begin(Path& path, const Grid& grid, const Sources& sources) {
    int lane = threadIdx.x;
    if (path.row < 0 && sources.mode == MODE_LOCAL) {
        // The leftmost strip with the largest H.
        i64 best = -1;
        for (i64 strip = lane; strip < grid.strips; strip += WARP)
            best = max(best, (i64)sources.ends[strip].x << 32 | (0x7FFFFFFF - strip));
        for (int distance = WARP / 2; distance > 0; distance /= 2)
            best = max(best, __shfl_xor_sync(EVERY_LANE, best, distance));
        int4 end = sources.ends[0x7FFFFFFF - (best & 0x7FFFFFFF)];
        path.score = end.x;
        path.column = end.y;
        path.row = end.z;
    } else {
        i64 kept = path.row < 0 ? (grid.rows + grid.tile_rows - 1) / grid.tile_rows : path.row / grid.tile_rows;
        int4 peak = sources.peaks[kept];
        bool at_corner = path.row < 0 && sources.mode == MODE_GLOBAL;
        path.score = at_corner ? peak.z : peak.x;
        path.column = at_corner ? grid.columns : peak.y;
        if (path.row < 0) path.row = grid.rows;
    }
}

// ---- prediction of the path's tiles ----

struct Plan {
    i64 row, column;   // the cell where the path is, from 1; -1: where the alignment ends
    i64 most;          // largest number of tiles
    i64 swept, width;  // columns of the strips that wrote the borders, and of those that compute tiles
    i64 border, border_stride;  // place of the first tile's words on its strips' borders, and the distance to the next
    i64 values;        // space for a tile's values
};

// Writes the job of a tile, with its number among the planned tiles.
__device__ void plan_tile(const Plan& plan, const Grid& grid, int number, int down, int across, Job& job) {
    i64 top = down * grid.tile_rows, left = across * grid.tile_columns;
    job.rows = min(grid.tile_rows, grid.rows - top);
    job.columns = min(grid.tile_columns, grid.columns - left);
    job.query = grid.query + top;
    job.target = left;
    job.left = grid.left + across * grid.left_stride + top;
    job.left_tag = left == 0 ? 0 : tag_of(left / plan.swept);
    job.border = plan.border + number * plan.border_stride;
    job.border_strips = grid.columns;  // all
    job.border_stride = 0;
    job.top = grid.top + down * grid.top_stride + left;
    job.keep = job.keep_stride = 0;
    job.values = number * plan.values;
    job.values_stride = grid.values_stride;
}

// The path of similar sequences crosses a kept row near the row's largest H. If that is not near the diagonal through
// the last known cell, the diagonal predicts better, and in mode LOCAL the path has probably begun. In one warp,
// all lanes go through the rows together and load their peaks in parallel; then each lane writes some of the jobs.
//   jobs, strips_before: [most], [most + 1]; entries after the last tile have no strips.
//   tiles: place of each tile's values, or -1.
extern "C" __global__ void __launch_bounds__(32) plan_tiles(Plan plan, Grid grid, Sources sources, Job* jobs,
                                                            i64* strips_before, i64* tiles) {
    int lane = threadIdx.x, keep = (int)grid.tile_rows, wide = (int)grid.tile_columns, count = 0;
    Path path = {};
    path.row = plan.row;
    path.column = plan.column;
    if (path.column < 0) find_begin(path, grid, sources);
    for (i64 tile = lane; tile < (grid.rows + keep - 1) / keep * grid.across; tile += WARP) tiles[tile] = -1;
    int row = (int)path.row, column = (int)path.column;
    int highest = row > 0 ? (row - 1) / keep : -1;
    int4 seen = {};
    // Numbers of the tiles are stored where the counts of strips will be written.
    for (int down = highest; down >= 0 && column > 0 && count < plan.most; down--) {
        int since = (highest - down) % WARP;
        if (since == 0 && down >= lane) seen = sources.peaks[down - lane];
        i32 best = __shfl_sync(EVERY_LANE, seen.x, since), place = __shfl_sync(EVERY_LANE, seen.y, since);
        int top = down * keep, diagonal = column - (row - top);
        bool near = abs(place - diagonal) <= wide && place <= column;
        int reached = near ? place : diagonal, first = (max(reached, 1) - 1) / wide;
        for (int across = (column - 1) / wide; across >= first && count < plan.most; across--, count++)
            if (lane == 0) strips_before[count + 1] = down * grid.across + across;
        row = top;
        column = reached;
        if (sources.mode == MODE_LOCAL && (!near || best <= 0)) break;
    }
    __syncwarp();
    i64 strips = 0;
    if (lane == 0) strips_before[0] = 0;
    for (i64 from = 0; from < plan.most; from += WARP) {
        i64 number = from + lane, own = 0;
        if (number < count) {
            i64 tile = strips_before[number + 1];
            int down = (int)(tile / grid.across), across = (int)(tile % grid.across);
            own = (min(grid.tile_columns, grid.columns - across * grid.tile_columns) + plan.width - 1) / plan.width;
            plan_tile(plan, grid, (int)number, down, across, jobs[number]);
            tiles[tile] = number * plan.values;
        }
        for (int distance = 1; distance < WARP; distance *= 2) {
            i64 below = __shfl_up_sync(EVERY_LANE, own, distance);
            if (lane >= distance) own += below;
        }
        if (number < plan.most) strips_before[number + 1] = strips + own;
        strips += __shfl_sync(EVERY_LANE, own, WARP - 1);
    }
}

// ---- following ----

// Follows one path per warp until it ends, reaches the begin of another one, needs values that were not computed, or
// has no space for more elements.
extern "C" __global__ void __launch_bounds__(32) follow(const Path* paths, Grid grid, Sources sources, Path* followed,
                                                        u32* all_elements) {
    Path path = paths[blockIdx.x];
    Elements elements = {all_elements + path.first, 0, 0, 0};
    if (path.column < 0) find_begin(path, grid, sources);
    int lane = threadIdx.x, row = (int)path.row, column = (int)path.column, state = (int)path.state, ended = 0;
    int begun = row, keep = (int)grid.tile_rows, kept = (row - 1) / keep * keep;
    i32 score = (i32)path.score, match = (i32)sources.match, mismatch = (i32)sources.mismatch;
    i32 open = (i32)sources.gap_open, extend = (i32)sources.gap_extend;
    bool local = sources.mode == MODE_LOCAL;
    Tile tile;
    tile.place = -1;
    if (row > 0 && column > 0) tile.find(grid, sources, row, column);
    while (!ended && row > 0 && column > 0 && elements.count + 3 <= path.room) {
        if (row == kept) kept -= keep;
        if (row == kept + keep && row != begun && state == IN_BEST && column == sources.peaks[row / keep].y) break;
        if (!tile.has(grid, row, column)) tile.find(grid, sources, row, column);
        if (tile.place < 0) break;
        // The number of cells ahead (diagonally, above or on the left) in this tile and up to the next kept row.
        int upper = row - max(kept, tile.top), lefter = column - tile.left;
        int ahead = state == IN_BEST ? min(upper, lefter) : state == IN_INSERTION ? upper : lefter;
        int ahead_row = row - (state == IN_DELETION ? 0 : lane);
        int ahead_column = column - (state == IN_INSERTION ? 0 : lane);
        bool known = lane < ahead;
        // The cell after the last one is read too: the values of both show whether bases are paired.
        bool looked = known || (lane == ahead && state == IN_BEST);
        u32 value = looked ? tile.value(grid, sources.values, ahead_row, ahead_column) : 0;
        if (state == IN_BEST) {
            bool equal = known && sources.query[grid.query + ahead_row - 1] ==
                                      selector_of(sources.target[ahead_column - 1]);
            u32 equals = __ballot_sync(EVERY_LANE, equal);
            int matches = __popc(equals & lanes_below(lane));
            i32 here = score - matches * match - (lane - matches) * mismatch;  // H, if all bases before are paired
            u32 next = __shfl_down_sync(EVERY_LANE, best_of(value), 1);
            bool pair = known && lane < WARP - 1 && !(local && here == 0) &&
                        ((best_of(value) - next - (u32)(equal ? match : mismatch)) & 0xFFFF) == 0;
            int run = leading(__ballot_sync(EVERY_LANE, pair));
            if (run > 0) elements.add(CIGAR_MATCH, run);
            row -= run;
            column -= run;
            score = __shfl_sync(EVERY_LANE, here, run);
            value = __shfl_sync(EVERY_LANE, value, run);
            if (run == min(ahead, WARP - 1)) continue;
            if (local && score == 0) {
                ended = 1;
            } else if (above_insertion(value) == 0) {
                elements.add(CIGAR_INSERTION, 1);
                row--;
                state = IN_INSERTION;
            } else {
                elements.add(CIGAR_DELETION, 1);
                column--;
                state = IN_DELETION;
            }
        } else {
            // The cell before a gap's base shows whether the gap was extended or opened there; opening is preferred.
            bool insertion = state == IN_INSERTION;
            bool goes_on = insertion ? (i32)above_insertion(value) < extend - open
                                     : ((best_of(value) + (u32)open - (u32)(score - lane * extend)) & 0xFFFF) != 0;
            int run = leading(__ballot_sync(EVERY_LANE, known && goes_on));
            if (run > 0) elements.add(insertion ? CIGAR_INSERTION : CIGAR_DELETION, run);
            if (insertion) row -= run;
            else column -= run;
            score -= run * extend;
            if (run < min(ahead, WARP)) {
                state = IN_BEST;
                score -= open;
            }
        }
    }
    if (row == 0 || column == 0) ended = 1;
    elements.finish();
    if (lane == 0)
        followed[blockIdx.x] = {row, column, state, score, path.first, path.room, elements.count, ended,
                                path.row, path.column, path.score};
}

// ---- joining ----

// A path of joined parts: its first cell, the cell that it has reached, and the number of its elements.
struct Walked {
    i64 begin_row, begin_column, begin_score;
    i64 row, column, state, score, ended;
    i64 elements;
};

// Returns the part that continues a part, which must end in H; -1: there is none. `lowest` is the row of the second
// part; from it upwards there is one part for each kept row.
__device__ __forceinline__ i64 onward(const Path* parts, i64 count, i64 keep, i64 lowest, i64 part) {
    const Path& path = parts[part];
    if (path.ended || path.state != IN_BEST || path.row > lowest || path.row % keep != 0) return -1;
    i64 next = 1 + (lowest - path.row) / keep;
    if (next <= part || next >= count) return -1;  // it did not advance, or is in row 0
    return parts[next].begin_row == path.row && parts[next].begin_column == path.column ? next : -1;
}

// Joins the parts that follow one another, in one warp. The first part is the path's own, the others begin on the kept
// rows above, the lowest first. 32 are examined at once: mostly each leads to the next one.
extern "C" __global__ void __launch_bounds__(32) join(i64 count, i64 keep, const Path* paths, const Path* parts,
                                                      const u32* elements, Walked* walked, u32* joined) {
    i64 lowest = count > 1 ? paths[1].row : -1;
    int lane = threadIdx.x;
    u64 total = 0;
    i64 last = 0;
    for (i64 head = 0; head >= 0;) {
        i64 part = head + lane, next = -1;
        bool there = part < count;
        if (there) next = onward(parts, count, keep, lowest, part);
        // These continue each other, and the part after them belongs to the path, too.
        int run = leading(__ballot_sync(EVERY_LANE, there && next == part + 1 && lane < WARP - 1));
        u64 length = there && lane <= run ? (u64)parts[part].elements : 0, upto = length;
        for (int distance = 1; distance < WARP; distance *= 2) {
            u64 below = __shfl_up_sync(EVERY_LANE, upto, distance);
            if (lane >= distance) upto += below;
        }
        if (length > 0) {
            const u32* from = elements + parts[part].first;
            for (u64 i = 0; i < length; i++) joined[total + upto - length + i] = from[i];
        }
        total += __shfl_sync(EVERY_LANE, upto, WARP - 1);
        last = head + run;
        head = __shfl_sync(EVERY_LANE, next, run);
    }
    if (lane > 0) return;
    Path reached = parts[last];
    *walked = {parts[0].begin_row, parts[0].begin_column, parts[0].begin_score, reached.row, reached.column,
               reached.state,      reached.score,         reached.ended,        (i64)total};
}

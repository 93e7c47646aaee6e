// A walk through the trie of a page on a card. Items, each a piece at a node with its row, form a stack; each launch
// takes a slice from its end. One thread per item makes the rows of its children and takes the steps of those alive.
// Counts and scans give the places of the children. One thread per row of its interval follows a leaf in the text.
// Compiled for one size of occurrence blocks (WORDS_PER_BLOCK). By -D also LEAF_ROWS, STEPS and ROWS_SHIFT.
#include "quire/algorithms/complete/trie/rows.cuh"

constexpr u32 UNKNOWN = 0xFFFFFFFFu, STRING = 0xFFFFFFFEu;  // `high` of nodes above the prefix table: trie/cpu.py
constexpr i32 DEPTH_SHIFT = 48;                             // of a row's word; the row itself has at most 36 bits
constexpr u64 ROW = (1ull << DEPTH_SHIFT) - 1;

// Items, or the places of their children, four for each item, as quire.algorithms.complete.trie.gpu.TrieItems.
struct Items {
    u32* piece;
    u32* low;
    u32* high;
    u64* row;  // and the depth
};

// `held` has the content of each place as one number, so that one scan sums up both kinds: 1 for an item to be listed,
// or the number of rows of a leaf from bit ROWS_SHIFT on.

struct Walk {
    i64 deepest, skipped;        // depth at which paths end, depth of the prefix table or 0
    i64 first_end, last_end;     // of the ends on the axis that the page owns
    i64 differences;
};

// Write an item to a place, as a leaf if its interval is known and its path ends here.
__device__ __forceinline__ void put(const Items& items, i64* held, i64 place, u32 piece, u32 low, u32 high,
                                    u64 row, i32 depth, i32 limit, i32 left, i32 deepest) {
    bool known = high < STRING, complete = known && is_complete(row, limit, left);
    bool is_leaf = complete || (known && (high - low <= LEAF_ROWS || depth == deepest));
    items.piece[place] = piece;
    items.low[place] = low;
    items.high[place] = high;
    items.row[place] = (complete ? 0 : row) | (u64)depth << DEPTH_SHIFT;
    held[place] = is_leaf ? (i64)(high - low) << ROWS_SHIFT : 1;
}

// One thread per piece: writes its item at the root.
extern "C" __global__ void begin_items(Pieces pieces, i64 skipped, i64 rows, Items items) {
    i64 index = thread_index();
    if (index >= pieces.count) return;
    bool hopeless = pieces.bounds && pieces.bounds[index * (pieces.limit + 1)];
    items.piece[index] = (u32)index;
    items.low[index] = 0;
    items.high[index] = skipped ? STRING : (u32)rows;
    items.row[index] = hopeless ? 0 : first_row((i32)pieces.limit);
}

// One thread per item of a slice: fills its four places.
extern "C" __global__ void expand(Page page, Reads reads, Pieces pieces, Walk walk, Items items, i64 first, i64 count,
                                  Items children, i64* held) {
    i64 index = thread_index();
    if (index >= count) return;
    for (i64 place = 4 * index; place < 4 * index + 4; place++) held[place] = 0;
    u32 number = items.piece[first + index], low = items.low[first + index], high = items.high[first + index];
    u64 row = items.row[first + index] & ROW;
    i32 depth = (i32)(items.row[first + index] >> DEPTH_SHIFT), limit = (i32)pieces.limit;
    i32 skipped = (i32)walk.skipped, deepest = (i32)walk.deepest, top = limit * limit;
    if (row == 0) return;
    Piece piece(reads, pieces, number);
    u32 cells = (u32)(row >> top);
    bool spent = (row & ((1ull << top) - 1)) == 0, single = spent && (cells & (cells - 1)) == 0;
    if (single && depth < skipped) {
        // All bases down to the depth of the table must match, which gives one string.
        i32 cell = depth + __ffs((i32)cells) - 1 - limit;
        u64 bases = piece.bases(reads, cell) & ((1ull << 2 * (skipped - depth)) - 1);
        if (reads.ambiguous[piece.read])
            for (i32 x = cell; x < cell + skipped - depth; x++)
                if (x >= piece.length || piece.code(reads, x) > 3) return;
        low |= (u32)(bases << 2 * depth);
        depth = skipped;
        high = UNKNOWN;
        row = bounded(row, pieces, number, depth);
        if (row == 0) return;
    }
    if (high == UNKNOWN) {
        uint2 both = __ldg((const uint2*)page.prefix_table + low);
        low = both.x;
        high = both.y;
        if (low >= high) return;
        put(children, held, 4 * index, number, low, high, row, depth, limit, piece.length - depth, deepest);
        if (held[4 * index] != 1) return;
    }
    if (single) {
        // Several steps for which there is one child only.
        for (i32 step = 0; step < STEPS; step++) {
            i32 cell = depth + __ffs((i32)cells) - 1 - limit;
            i32 symbol = cell < piece.length ? piece.code(reads, cell) : 4;
            held[4 * index] = 0;
            if (symbol > 3) return;
            Interval rows = backward_step(page, symbol, {(i64)low, (i64)high});
            if (rows.low >= rows.high) return;
            low = (u32)rows.low;
            high = (u32)rows.high;
            depth++;
            row = bounded(row, pieces, number, depth);
            if (row == 0) return;
            put(children, held, 4 * index, number, low, high, row, depth, limit, piece.length - depth, deepest);
            if (held[4 * index] != 1) return;
        }
        return;
    }
    held[4 * index] = 0;
    Cells next = cells_at(reads, piece, depth, limit);
    i32 left = piece.length - depth - 1;
    for (i32 symbol = 0; symbol < 4; symbol++) {
        u64 child = bounded(next_row(row, next.equal(symbol), limit, left), pieces, number, depth + 1);
        if (child == 0) continue;
        u32 child_low, child_high;
        if (depth < skipped) {
            child_low = low | (u32)symbol << 2 * depth;
            child_high = depth + 1 == skipped ? UNKNOWN : STRING;
        } else {
            Interval rows = backward_step(page, symbol, {(i64)low, (i64)high});
            if (rows.low >= rows.high) continue;
            child_low = (u32)rows.low;
            child_high = (u32)rows.high;
        }
        put(children, held, 4 * index + symbol, number, child_low, child_high, child, depth + 1, limit, left, deepest);
    }
}

// One thread per place: move items that are to be listed to the stack, from item `first` on.
extern "C" __global__ void list_items(Items children, const i64* offsets, i64 count, i64 first, Items items) {
    i64 place = thread_index();
    if (place >= count || offsets[place + 1] - offsets[place] != 1) return;
    i64 target = first + (offsets[place] & ((1ll << ROWS_SHIFT) - 1));
    items.piece[target] = children.piece[place];
    items.low[target] = children.low[place];
    items.high[target] = children.high[place];
    items.row[target] = children.row[place];
}

// One thread per row of leaves, from row `first` on: writes a candidate if the path, continued in the text, completes
// the piece, else NO_CANDIDATE.
extern "C" __global__ void follow(Page page, Reads reads, Axis axis, Pieces pieces, Walk walk, Items children,
                                  const i64* offsets, i64 place_count, i64 first, i64 count, u64* candidates) {
    i64 item = thread_index();
    if (item >= count) return;
    candidates[item] = NO_CANDIDATE;
    i64 place = 0, behind = place_count;
    while (behind - place > 1) {
        i64 middle = (place + behind) >> 1;
        if (offsets[middle] >> ROWS_SHIFT <= first + item) place = middle; else behind = middle;
    }
    i32 depth = (i32)(children.row[place] >> DEPTH_SHIFT), limit = (i32)pieces.limit;
    u64 row = children.row[place] & ROW;
    i64 position = page.start + locate(page, (i64)children.low[place] + (first + item - (offsets[place] >> ROWS_SHIFT)));
    i64 end = position + depth;
    if (end < walk.first_end || end >= walk.last_end) return;
    Piece piece(reads, pieces, children.piece[place]);
    bool complete = row == 0;
    while (!complete && position > 0) {
        position--;
        Cells next = cells_at(reads, piece, depth, limit);
        row = next_row(row, next.equal(code_at(axis.text, position)), limit, piece.length - depth - 1);
        depth++;
        if (row == 0) return;
        complete = is_complete(row, limit, piece.length - depth);
    }
    if (!complete) return;
    candidates[item] = candidate_at(axis, 2 * piece.read + piece.strand, end - 1, end + piece.behind, walk.differences);
}

// One thread per piece: its bounds, see TriePieces in trie/rows_cpu.py.
extern "C" __global__ void find_bounds(Page page, Reads reads, Pieces pieces, i32* bounds) {
    i64 index = thread_index();
    if (index >= pieces.count) return;
    Piece piece(reads, pieces, index);
    i32 limit = (i32)pieces.limit, found = 0, begin = 0;
    i32* own = bounds + index * (limit + 1);
    for (i32 missing = 0; missing <= limit; missing++) own[missing] = -1;
    Interval rows = {0, page.C[4]};
    for (i32 x = 0; x < piece.length; x++) {
        i32 code = piece.code(reads, x);
        if (code <= 3) rows = backward_step(page, code, rows);
        if (code <= 3 && rows.low < rows.high) continue;
        for (i32 missing = limit; missing > 1; missing--) own[missing] = own[missing - 1];
        if (limit) own[1] = begin;
        found++;
        begin = x + 1;
        rows = {0, page.C[4]};
    }
    own[0] = found > limit;
}

// One thread per piece: its last bases as a number, the last one most significant.
extern "C" __global__ void last_bases(Reads reads, Pieces pieces, u64* keys) {
    i64 index = thread_index();
    if (index >= pieces.count) return;
    u64 mirrored = __brevll(Piece(reads, pieces, index).bases(reads, 0));  // the two bits of each base exchanged
    keys[index] = (mirrored >> 1 & 0x5555555555555555ull) | (mirrored & 0x5555555555555555ull) << 1;
}

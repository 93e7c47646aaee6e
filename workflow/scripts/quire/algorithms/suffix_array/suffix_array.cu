// Sorting suffixes by their first 32 bases, and refining the ones that tie: see suffix_array/gpu.py.
//
// "Short" suffixes have fewer than 32 bases; all others have a key of 32 bases of their own. Rows include the short ones.
#include "quire/algorithms/suffix_array/selection.cuh"
#include "quire/algorithms/suffix_array/text.cuh"

// Suffixes in slots: the row of slot s is row[s], or s itself where `row` is null.
struct Slots {
    const u32* position;
    const u32* row;
};

// Suffixes that tie with a neighbour, in the order of rows.
struct Ties {
    u32* position;
    u32* row;
    u32* head;  // first row of the group of equal ones
};

// ---- the first sort ----

// Keys of the first `count` positions.
extern "C" __global__ void text_keys(Text text, i64 count, u64* keys) {
    i64 position = thread_index();
    if (position < count) keys[position] = text.key(position);
}

// Number of keys that begin with each leading word (`shift` is 64 minus the bits of a leading word).
extern "C" __global__ void count_leading(Text text, i64 count, i64 shift, u32* counts) {
    i64 position = thread_index();
    if (position < count) atomicAdd(counts + (text.key(position) >> shift), 1u);
}

// Chooses the positions whose keys begin with a leading word in [low, high).
extern "C" __global__ void mark_bucket(Text text, i64 count, i64 shift, i64 low, i64 high, u32* bits) {
    i64 position = thread_index();
    i64 leading = position < count ? (i64)(text.key(position) >> shift) : -1;
    u32 chosen = __ballot_sync(~0u, leading >= low && leading < high);
    if ((threadIdx.x & 31) == 0 && position < count) bits[position >> 5] = chosen;
}

// Positions, ascending, and keys of a bucket.
extern "C" __global__ void __launch_bounds__(TILE_WORDS)
take_bucket(Selection selection, Text text, u32* positions, u64* keys) {
    const TileWord* words = load_tile(selection);
    int lane = threadIdx.x & 31;
    for (int word = threadIdx.x >> 5; word < TILE_WORDS; word += WARPS) {
        if (!words[word].is_chosen(lane)) continue;
        i64 position = ((i64)blockIdx.x * TILE_WORDS + word) * 32 + lane, place = words[word].place(lane);
        positions[place] = (u32)position;
        keys[place] = text.key(position);
    }
}

// One thread per short suffix: counts the keys of a bucket that are less than its bases, padded with A. A longer suffix
// that begins with a short one follows it, so exactly these precede it. `totals` sums over buckets.
extern "C" __global__ void bound_short(const u64* keys, const i64* sorted, i64 count, const u64* short_keys, i64 shorts,
                                       i64* bounds, i64* totals) {
    i64 number = thread_index();
    if (number >= shorts) return;
    i64 low = 0, high = count;
    while (low < high) {
        i64 middle = (low + high) >> 1;
        if (keys[sorted[middle]] < short_keys[number]) low = middle + 1; else high = middle;
    }
    bounds[number] = low;
    totals[number] += low;
}

// Writes a sorted bucket into its rows: after the `base` suffixes of earlier buckets and the short ones that precede.
extern "C" __global__ void place_bucket(const i64* sorted, Slots bucket, i64 count, i64 base, const i64* bounds,
                                        i64 shorts, u32* order) {
    i64 index = thread_index();
    if (index >= count) return;
    i64 low = 0, high = shorts;
    while (low < high) {
        i64 middle = (low + high) >> 1;
        if (bounds[middle] <= index) low = middle + 1; else high = middle;
    }
    i64 slot = sorted[index];
    order[base + index + low] = bucket.position ? bucket.position[slot] : (u32)slot;
}

// Writes the short suffixes, given in their order, into their rows.
extern "C" __global__ void place_short(const u32* positions, const i64* totals, i64 shorts, u32* order) {
    i64 number = thread_index();
    if (number < shorts) order[totals[number] + number] = positions[number];
}

// ---- groups of equal suffixes ----

// Marks the rows whose first 32 bases differ from those of the previous row; each short suffix is a group of its own.
extern "C" __global__ void mark_groups(Text text, const u32* order, i64 rows, u32* bits) {
    i64 row = thread_index(), last = text.length - 32;
    int lane = threadIdx.x & 31;
    i64 position = row < rows ? order[row] : text.length;
    u64 key = position <= last ? text.key(position) : 0;
    i64 position_before = __shfl_up_sync(~0u, position, 1);
    u64 key_before = __shfl_up_sync(~0u, key, 1);
    if (lane == 0 && row > 0 && row < rows) {
        position_before = order[row - 1];
        key_before = position_before <= last ? text.key(position_before) : 0;
    }
    bool head = row == 0 || position > last || position_before > last || key != key_before;
    u32 heads = __ballot_sync(~0u, row < rows && head);
    if (lane == 0 && row < rows) bits[row >> 5] = heads;
}

// Keys of tied suffixes: their group, then the rank of the suffix `depth` bases later. Suffixes that tie at this depth
// have at least that many bases.
extern "C" __global__ void tie_keys(Ties ties, const u32* ranks, i64 depth, i64 count, u64* keys) {
    i64 index = thread_index();
    if (index < count) keys[index] = (u64)ties.head[index] << 32 | ranks[ties.position[index] + depth];
}

// Marks the heads of the groups of sorted keys, and writes the positions in their order.
extern "C" __global__ void mark_ties(const u64* keys, const i64* sorted, const u32* position, i64 count, u32* bits,
                                     u32* position_sorted) {
    i64 index = thread_index();
    int lane = threadIdx.x & 31;
    i64 slot = index < count ? sorted[index] : 0;
    u64 key = index < count ? keys[slot] : 0;
    u64 key_before = __shfl_up_sync(~0u, key, 1);
    if (lane == 0 && index > 0 && index < count) key_before = keys[sorted[index - 1]];
    u32 heads = __ballot_sync(~0u, index < count && (index == 0 || key != key_before));
    if (index >= count) return;
    position_sorted[index] = position[slot];
    if (lane == 0) bits[index >> 5] = heads;
}

// Ranks every suffix by the first row of its group, writes it into its row, and gathers the ones that still tie, from
// `begin` on. If slots have rows of their own, suffixes have moved and `order` is written too.
extern "C" __global__ void __launch_bounds__(TILE_WORDS)
rank_groups(Selection selection, Slots slots, u32* ranks, u32* order, Ties ties, i64 begin) {
    const TileWord* words = load_tile(selection);
    int lane = threadIdx.x & 31;
    for (int word = threadIdx.x >> 5; word < TILE_WORDS; word += WARPS) {
        i64 slot = ((i64)blockIdx.x * TILE_WORDS + word) * 32 + lane;
        if (slot >= selection.count) continue;
        i64 first = words[word].head(lane, slot);
        u32 position = slots.position[slot], row = (u32)slot, head = (u32)first;
        if (slots.row) {
            row = slots.row[slot];
            head = slots.row[first];
            order[row] = position;
        }
        ranks[position] = head;
        if (!words[word].is_chosen(lane)) continue;
        i64 place = begin + words[word].place(lane);
        ties.position[place] = position;
        ties.row[place] = row;
        ties.head[place] = head;
    }
}

// Search of seeds in a page and location of their hits: one thread per seed, then one warp per read. Compiled for one
// size of occurrence blocks (WORDS_PER_BLOCK). The specification is seeding/cpu.py.
#include "quire/algorithms/seeding/seeding.cuh"
#include "quire/algorithms/seeding/sorting.cuh"
#include "quire/sequence/ties/ties.cuh"

// Blocks that should fit a multiprocessor: with blocks of the usual small size, 6 spill no registers.
constexpr int BLOCKS = WORDS_PER_BLOCK == 4 ? 6 : 0;

struct Pages {
    Page page[MOST_PAGES];
};

// One thread per seed if one page is the whole axis: stops at the first depth within the cap.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) search_one_page(
        Page page, Reads reads, Seeds seeds, const u64* text, u64* found) {
    i64 index = thread_index();
    if (index >= seeds.offsets[reads.count]) return;
    Seed seed = seeds.get(reads, index);
    found[index] = 0;
    if (seed.longest < SEED_LENGTH) return;
    Interval rows = first_interval(page, seed);
    i32 depth = (i32)page.prefix_length, level = 0;
    narrow(page, seed, SEED_LENGTH, true, rows, depth);
    if (rows.low < rows.high && depth < SEED_LENGTH) {
        Found matching = matching_rows(page, text, seed, SEED_LENGTH, rows, depth);
        if (matching.number() <= seeds.maximum_hits) {
            found[index] = matching.word;
            return;
        }
    }
    narrow(page, seed, SEED_LENGTH, false, rows, depth);
    while (rows.high - rows.low > seeds.maximum_hits && level + 1 < DEPTH_COUNT &&
           depth_of_level(level + 1) <= seed.longest)
        narrow(page, seed, depth_of_level(++level), false, rows, depth);
    if (rows.high - rows.low <= seeds.maximum_hits) found[index] = owned_rows(rows, rows.high - rows.low, depth).word;
    else found[index] = too_frequent(rows.high - rows.low, depth).word;
}

// One thread per seed if several pages are on the card together: finds the first depth whose hits on all pages are
// within the cap, and the interval on each page at that depth, found[page][seed].
extern "C" __global__ void __launch_bounds__(THREADS) search_pages(
        Pages pages, i64 page_count, Reads reads, Seeds seeds, const u64* text, i64 room, u64* chosen, u64* found) {
    i64 index = thread_index();
    if (index >= seeds.offsets[reads.count]) return;
    Seed seed = seeds.get(reads, index);
    bool is_clear = seed.longest >= SEED_LENGTH;
    Interval rows[MOST_PAGES];
    i32 depth[MOST_PAGES], level = 0, wanted;
    for (i32 p = 0; p < page_count; p++) {
        rows[p] = is_clear ? first_interval(pages.page[p], seed) : Interval{0, 0};
        depth[p] = (i32)pages.page[p].prefix_length;
    }
    i64 hits;
    while (true) {
        wanted = depth_of_level(level);
        hits = 0;
        for (i32 p = 0; p < page_count; p++) {
            const Page& page = pages.page[p];
            narrow(page, seed, wanted, true, rows[p], depth[p]);
            Found item = {0};
            i64 number = 0;
            if (rows[p].low < rows[p].high && depth[p] < wanted) {
                item = matching_rows(page, text, seed, wanted, rows[p], depth[p]);
                number = item.number();
            } else if (rows[p].low < rows[p].high) {
                number = owned_count(page, rows[p]);
                item = owned_rows(rows[p], number, wanted);  // if it overflows, there are too many `hits`: see below
            }
            found[p * room + index] = item.word;
            hits += number;
        }
        if (hits <= seeds.maximum_hits || level + 1 == DEPTH_COUNT || depth_of_level(level + 1) > seed.longest) break;
        level++;
    }
    if (hits <= seeds.maximum_hits) {
        chosen[index] = Found::make(0, hits, wanted, Found::ALL_ROWS).word;
        return;
    }
    chosen[index] = too_frequent(hits, wanted).word;
    for (i32 p = 0; p < page_count; p++) found[p * room + index] = 0;
}

// One thread per seed: adds the hits that a page owns at every depth to counts[depth][seed]. On the last page a seed
// stops at the first depth within the cap, since deeper ones are not needed.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) count_hits(
        Page page, Reads reads, Seeds seeds, const u64* text, i64 is_last, i64 room, i32* counts) {
    i64 index = thread_index();
    if (index >= seeds.offsets[reads.count]) return;
    Seed seed = seeds.get(reads, index);
    if (seed.longest < SEED_LENGTH) return;
    Interval rows = first_interval(page, seed);
    i32 depth = (i32)page.prefix_length, level = 0;
    for (; level < DEPTH_COUNT && depth_of_level(level) <= seed.longest; level++) {
        narrow(page, seed, depth_of_level(level), true, rows, depth);
        if (rows.low >= rows.high) return;
        if (depth < depth_of_level(level)) break;
        i32 owned = (i32)owned_count(page, rows);
        i32 sum = counts[level * room + index] + owned;
        if (owned) counts[level * room + index] = sum;
        if (is_last && sum <= seeds.maximum_hits) return;
    }
    if (level == DEPTH_COUNT || depth_of_level(level) > seed.longest) return;
    for (i64 row = rows.low; row < rows.high; row++) {
        i64 start = locate(page, row);
        i32 reach = left_match(seed, text, page.start + start + depth, seed.longest);
        reach = reach < seed.longest ? reach : seed.longest;
        for (i32 deeper = level; deeper < DEPTH_COUNT && depth_of_level(deeper) <= reach; deeper++) {
            i64 begin = start - (depth_of_level(deeper) - depth);
            if (begin < 0) break;
            if (begin < page.owned_length) counts[deeper * room + index] += 1;
        }
    }
}

// One thread per seed: finds its interval on a page at its chosen depth.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) search_chosen(
        Page page, Reads reads, Seeds seeds, const u64* text, const u64* chosen, u64* found) {
    i64 index = thread_index();
    if (index >= seeds.offsets[reads.count]) return;
    Found choice = {chosen[index]};
    found[index] = 0;
    if (choice.hits() == 0) return;
    Seed seed = seeds.get(reads, index);
    Interval rows = first_interval(page, seed);
    i32 depth = (i32)page.prefix_length;
    narrow(page, seed, choice.depth(), true, rows, depth);
    if (rows.low >= rows.high) return;
    if (depth < choice.depth()) found[index] = matching_rows(page, text, seed, choice.depth(), rows, depth).word;
    else found[index] = owned_rows(rows, owned_count(page, rows), depth).word;
}

// One warp per read: appends the hits of its seeds on a page. In each round the lanes hold 32 seeds; then each lane
// takes every 32nd of their hits, so that frequent seeds delay no lane.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) locate_hits(
        Page page, Reads reads, Seeds seeds, const u64* found, const i64* offsets, i32* written, u64* hits) {
    i64 read = thread_index() >> 5;
    if (read >= reads.count) return;
    i32 lane = threadIdx.x & 31, length = (i32)reads.length(read), done = written[read];
    i64 first = seeds.offsets[read];
    i32 count = (i32)(seeds.offsets[read + 1] - first);
    u64* target = hits + offsets[read];
    for (i32 round = 0; round < count; round += 32) {
        u64 mine = round + lane < count ? found[first + round + lane] : 0;
        i32 number = Found{mine}.hits(), end = number;  // of this lane's seed; end among the hits of the round
        for (i32 step = 1; step < 32; step <<= 1) {
            i32 before = __shfl_up_sync(FULL_WARP, end, step);
            if (lane >= step) end += before;
        }
        i32 total = __shfl_sync(FULL_WARP, end, 31);
        for (i32 base = 0; base < total; base += 32) {
            i32 hit = base + lane, holder = 0;
            for (i32 step = 16; step > 0; step >>= 1)
                if (__shfl_sync(FULL_WARP, end, holder + step - 1) <= hit) holder += step;
            Found item = {__shfl_sync(FULL_WARP, mine, holder)};
            i32 begin = __shfl_sync(FULL_WARP, end - number, holder);
            if (hit >= total) continue;
            i32 index = round + holder, strand = index >= count >> 1;
            i32 ordinal = strand ? index - (count >> 1) : index;
            i64 start = page.start + start_of_hit(page, item, hit - begin);
            i64 diagonal = start - (seed_end(ordinal, length, (i32)seeds.stride) - item.depth());
            target[done + hit] = encode_hit(strand, diagonal, ordinal);
        }
        done += total;
    }
    __syncwarp();
    if (lane == 0) written[read] = done;
}

// One thread per listed read: finds the rows of its rarest seed in a page.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) search_rarest(
        Page page, Reads reads, Seeds seeds, const i64* listed, i64 count, const i32* rarest, u32* rows_of_listed) {
    i64 item = thread_index();
    if (item >= count) return;
    i64 read = listed[item];
    Seed seed = seeds.get(reads, seeds.offsets[read] + (rarest[read] & 255));
    Interval rows = first_interval(page, seed);
    i32 depth = (i32)page.prefix_length;
    narrow(page, seed, rarest[read] >> 8, false, rows, depth);
    rows_of_listed[2 * item] = (u32)rows.low;
    rows_of_listed[2 * item + 1] = (u32)rows.high;
}

// One block per listed read: keeps, of the hits of its rarest seed in a page and those kept before, the `maximum_hits`
// with the smallest hash(name, axis position of the seed). Different positions of a read have different hashes: there
// are no ties. Hits below the current limit are collected in shared memory; when it is full they are sorted and the
// rest dropped. The kept[item] hits are at the end of the read's hits, after those of its other seeds.
extern "C" __global__ void __launch_bounds__(THREADS) locate_rarest(
        Page page, Reads reads, Seeds seeds, const i64* listed, const i32* rarest, const u32* rows_of_listed,
        const i64* offsets, i32* kept, u64* hits) {
    i32 most = (i32)seeds.maximum_hits, capacity = most + 2 * THREADS;
    u64* hash_of = shared_memory;
    u64* hit_of = hash_of + capacity;
    i32* warp_counts = (i32*)(hit_of + capacity);
    i64 item = blockIdx.x, read = listed[item];
    i64 low = rows_of_listed[2 * item], high = rows_of_listed[2 * item + 1];
    if (low >= high) return;
    i32 thread = threadIdx.x, lane = thread & 31, warp = thread >> 5, gathered = kept[item];
    i32 index = rarest[read] & 255, depth = rarest[read] >> 8;
    i32 count = (i32)(seeds.offsets[read + 1] - seeds.offsets[read]), strand = index >= count >> 1;
    i32 ordinal = strand ? index - (count >> 1) : index;
    i64 begin = seed_end(ordinal, (i32)reads.length(read), (i32)seeds.stride) - depth;
    u64 name_hash = reads.name_hash[read], limit = ~0ull;
    u64* target = hits + offsets[read + 1] - most;
    for (i32 i = thread; i < gathered; i += THREADS) {
        hit_of[i] = target[i];
        hash_of[i] = tie_hash(name_hash, diagonal_of_hit(target[i]) + begin);
    }
    for (i64 base = low; base < high; base += THREADS) {
        u64 hash = 0, hit = 0;
        bool keep = false;
        if (base + thread < high) {
            i64 start = locate(page, base + thread), position = page.start + start;
            hash = tie_hash(name_hash, position);
            hit = encode_hit(strand, position - begin, ordinal);
            keep = start < page.owned_length && hash <= limit;
        }
        if (gathered + __syncthreads_count(keep) > capacity) {
            sort_pairs(hash_of, hit_of, gathered, thread);
            gathered = most;
            limit = hash_of[most - 1];
            keep = keep && hash <= limit;
        }
        u32 votes = __ballot_sync(FULL_WARP, keep);
        if (lane == 0) warp_counts[warp] = __popc(votes);
        __syncthreads();
        i32 place = gathered + __popc(votes & ((1u << lane) - 1));
        for (i32 other = 0; other < THREADS / 32; other++) {
            if (other < warp) place += warp_counts[other];
            gathered += warp_counts[other];
        }
        if (keep) {
            hash_of[place] = hash;
            hit_of[place] = hit;
        }
    }
    sort_pairs(hash_of, hit_of, gathered, thread);
    if (gathered > most) gathered = most;
    for (i32 i = thread; i < gathered; i += THREADS) target[i] = hit_of[i];
    if (thread == 0) kept[item] = gathered;
}

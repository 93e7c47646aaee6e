// Steps of seeding between and after the pages: lay out seeds, choose depths, count and sort hits.
// The specification is seeding/cpu.py; macros: see seeding.cuh.
#include "quire/algorithms/seeding/seeding.cuh"
#include "quire/algorithms/seeding/sorting.cuh"

// One thread per read: counts its seeds on both strands.
extern "C" __global__ void count_seeds(Reads reads, i64 stride, i32* counts) {
    i64 read = thread_index();
    if (read < reads.count) counts[read] = 2 * seed_count((i32)reads.length(read), (i32)stride);
}

// One thread per read: writes its index for each of its seeds.
extern "C" __global__ void own_seeds(const i64* seed_offsets, i64 count, i32* seed_read) {
    i64 read = thread_index();
    if (read >= count) return;
    for (i64 index = seed_offsets[read]; index < seed_offsets[read + 1]; index++) seed_read[index] = (i32)read;
}

// One thread per seed: chooses the first depth whose hits on all pages are within the cap.
extern "C" __global__ void choose_depths(Reads reads, Seeds seeds, const i32* counts, i64 room, u64* chosen) {
    i64 index = thread_index();
    if (index >= seeds.offsets[reads.count]) return;
    Seed seed = seeds.get(reads, index);
    chosen[index] = 0;
    if (seed.longest < SEED_LENGTH) return;
    i32 level = 0;
    i64 hits = counts[index];
    while (hits > seeds.maximum_hits && level + 1 < DEPTH_COUNT && depth_of_level(level + 1) <= seed.longest)
        hits = counts[++level * room + index];
    if (hits > seeds.maximum_hits) chosen[index] = too_frequent(hits, depth_of_level(level)).word;
    else if (hits) chosen[index] = Found::make(0, hits, depth_of_level(level), Found::ALL_ROWS).word;
}

// One thread per read: counts its hits and, if they are few, finds the rarest of its frequent seeds: the seed's index
// in the read, with its depth from bit 8 on; 0 for none. Only `maximum_hits` hits of a frequent seed are kept.
extern "C" __global__ void count_hits_of_reads(Seeds seeds, i64 count, const u64* found, i32* read_hits, i32* rarest) {
    i64 read = thread_index();
    if (read >= count) return;
    i64 first = seeds.offsets[read];
    i32 hits = 0, fewest = RAREST_LIMIT + 1, seed = 0;
    for (i64 index = first; index < seeds.offsets[read + 1]; index++) {
        Found item = {found[index]};
        hits += item.hits();
        if (item.kind() != Found::FREQUENT || item.number() + 1 >= fewest) continue;
        fewest = item.number() + 1;
        seed = (i32)(index - first) | item.depth() << 8;
    }
    bool is_located = hits < FEW_HITS && fewest <= (hits ? RAREST_LIMIT_BESIDE : RAREST_LIMIT);
    rarest[read] = is_located ? seed : 0;
    read_hits[read] = is_located ? hits + (i32)seeds.maximum_hits : hits;
}

// One warp per read: sorts its hits.
extern "C" __global__ void __launch_bounds__(THREADS) sort_hits(const i64* offsets, i64 count, u64* hits) {
    i64 read = thread_index() >> 5;
    if (read >= count) return;
    i32 lane = threadIdx.x & 31, number = (i32)(offsets[read + 1] - offsets[read]);
    u64* own = hits + offsets[read];
    if (number < 2) return;
    if (number <= 32) {
        u64 hit = sort_lanes(lane < number ? own[lane] : ~0ull, lane);
        if (lane < number) own[lane] = hit;
        return;
    }
    u64* room = shared_memory + (threadIdx.x >> 5) * WARP_ROOM;
    if (number > WARP_ROOM) {
        sort_by_warp(own, number, lane);
        return;
    }
    for (i32 i = lane; i < number; i += 32) room[i] = own[i];
    __syncwarp();
    sort_by_warp(room, number, lane);
    for (i32 i = lane; i < number; i += 32) own[i] = room[i];
}

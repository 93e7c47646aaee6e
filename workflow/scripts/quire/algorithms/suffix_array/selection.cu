// The two steps before a selection is written: sums of tiles, and their scan. See selection.cuh.
#include "quire/algorithms/suffix_array/selection.cuh"

// One block per tile writes the number of elements chosen there, and 1 + its last set bit (0: none).
extern "C" __global__ void sum_tiles(Selection selection) {
    Running all;
    u32 bits, chosen;
    Running own = tile_share(selection, (i64)blockIdx.x * TILE_WORDS + threadIdx.x, &bits, &chosen);
    scan_block(own, (Running*)shared_memory, &all);
    if (threadIdx.x == 0) {
        selection.chosen_before[blockIdx.x] = all.sum;
        selection.head_before[blockIdx.x] = all.most;
    }
}

// A single block turns the sums of tiles into sums before each tile; `total` gets the number of all chosen elements.
extern "C" __global__ void scan_tiles(Selection selection, i64 tiles, u32* total) {
    Running carried = {0, 0};
    for (i64 first = 0; first < tiles; first += TILE_WORDS) {
        i64 tile = first + threadIdx.x;
        Running own = {0, 0}, all;
        if (tile < tiles) own = {selection.chosen_before[tile], selection.head_before[tile]};
        Running before = scan_block(own, (Running*)shared_memory, &all);
        if (tile < tiles) {
            selection.chosen_before[tile] = carried.sum + before.sum;
            selection.head_before[tile] = before.most ? before.most : carried.most;
        }
        carried = {carried.sum + all.sum, all.most ? all.most : carried.most};
        __syncthreads();
    }
    if (threadIdx.x == 0) *total = carried.sum;
}

// From hits to candidates: the twin of quire/align/candidates/cpu.py, one warp per read.
//
// Why a warp: a 150-base read of a human chromosome has 8 hits in one bundle (median), 22 in 14 (mean), more than 64
// (one read in ten), and up to 1,300 with dense seeding. With one thread per read nearly every warp would wait for a
// read in a repeat. A warp loads its hits coalesced, keeps the bundles of most reads in shared memory and processes 32
// bundles at once, so that their scattered loads from the text, one or two sectors per bundle, overlap.
// -D: BAND_MARGIN, CANDIDATE_BYTES, GAP_COST, GAP_COST_PER_BASE, LARGEST_GAP, LOCAL_BUNDLES, MATCH, MISMATCH,
// MOST_CANDIDATES, RANKED_BYTES, SHORTEST_SCORE, THREADS, and those of bundles.cuh.
#include "quire/algorithms/extension/jobs.cuh"
#include "quire/algorithms/extension/mismatches.cuh"
#include "quire/align/candidates/bundles.cuh"
#include "quire/device/ragged.cuh"
#include "quire/reads/reads.cuh"
#include "quire/reference/reference.cuh"
#include "quire/sequence/ties/ties.cuh"

static_assert(MOST_CANDIDATES <= 32, "the best candidates of a read are held by one warp, one a lane");
static_assert(2 * WIDEST_BUNDLE + LARGEST_GAP < 65536, "a joined candidate reaches this far from its diagonal");

// Blocks of 128 threads per multiprocessor: eight leave each thread the 64 registers that it needs, except for sm_86
// and sm_89, where the compiler allocates more.
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
const int BLOCKS = 7;
#else
const int BLOCKS = 8;
#endif

// A place where a read may align.
struct Candidate {
    i64 diagonal;
    i32 place;         // that of its bundle
    u16 below, above;  // extent of the joined bundles on either side of the diagonal
};

// A candidate among the best of its read.
struct Ranked {
    u64 hash;  // of read name and diagonal
    Candidate candidate;
    i32 estimated_score;  // below 0: none
    u16 begin, end;       // part of the read that its own seeds span, in the direction as read
};

static_assert(sizeof(Candidate) == CANDIDATE_BYTES && sizeof(Ranked) == RANKED_BYTES, "gpu.py allocates them");

// Number of bases of the read under at least one of the seeds (one bit each, at least one set).
//
// A seed adds the bases between its end and that of the previous seed in the bundle, at most its own length. Instead of
// visiting each bit, every round adds one stride for all seeds without a seed directly before them.
__device__ __forceinline__ i32 covered_bases(u64 seeds, const Query& query) {
    i32 step = spread(query.length, query.stride), covered = 0, rest = SEED_LENGTH;
    u64 alone = seeds, shifted = seeds;
    for (; rest > step; rest -= step) {
        covered += step * __popcll(alone);
        shifted <<= 1;
        alone &= ~shifted;
    }
    covered += rest * __popcll(alone);
    // The last seed of a read ends with the read, which may be less than a stride after the previous seed.
    i32 top = 63 - __clzll((i64)seeds), missing = SEED_LENGTH + top * step - query.length;
    u64 others = seeds ^ 1ull << top;
    if (missing > 0 && others) {
        i32 apart = (top - (63 - __clzll((i64)others))) * step;
        covered -= min(SEED_LENGTH, apart) - min(SEED_LENGTH, apart - missing);
    }
    return covered;
}

// Extends a bundle by the bundles that continue it across a gap (the twin of join): writes `candidate` and returns the
// number of bases that its seeds cover; -1 if another bundle absorbs it and it covers enough to pay for the gap.
__device__ __forceinline__ i32 join(const Bundle* bundles, i32 bundled, i32 i, const Query& query,
                                    Candidate& candidate) {
    Bundle own = bundles[i];
    i64 own_high = own.low + own.span, low = own.low, high = own_high;
    u64 together = own.seeds;
    i32 own_seeds = __popcll(own.seeds), own_covered = covered_bases(own.seeds, query);
    bool absorbed = false, pays = false;
    for (i32 step = -1; step <= 1; step += 2) {
        for (i32 j = i + step; j >= 0 && j < bundled; j += step) {
            Bundle other = bundles[j];
            i64 other_high = other.low + other.span;
            i64 gap = max(other.low - own_high, own.low - other_high);
            if (other.place != own.place || gap > LARGEST_GAP) break;
            i32 shared = __popcll(own.seeds & other.seeds);
            if (4 * shared > min(own_seeds, __popcll(other.seeds))) continue;
            low = min(low, other.low);
            high = max(high, other_high);
            i32 other_covered = covered_bases(other.seeds, query);
            i64 cost = GAP_COST + gap * GAP_COST_PER_BASE;
            if (min(own_covered, other_covered) > cost) together |= other.seeds;
            if (other_covered > own_covered || (other_covered == own_covered && j < i)) {
                absorbed = true;
                pays |= own_covered > cost;
            }
        }
    }
    if (absorbed) {
        if (pays) return -1;
        low = own.low;
        high = own_high;
        together = own.seeds;
    }
    i64 diagonal = own.low + own.peak;
    candidate = {diagonal, own.place, (u16)(diagonal - low), (u16)(high - diagonal)};
    return together == own.seeds ? own_covered : covered_bases(together, query);
}

// The larger of the number of bases that a candidate's seeds cover and its score without gaps on its diagonal.
__device__ __forceinline__ i32 estimated_score_of(const Candidate& candidate, i32 covered, const Reads& reads,
                                                  i64 read, const Reference& reference, i32 length) {
    i64 island = candidate.place >> 1, strand = candidate.place & 1;
    i64 axis_low = reference.island_axis[island], axis_high = reference.island_axis[island + 1];
    if (candidate.diagonal < axis_low || candidate.diagonal + length > axis_high) return covered;
    // Only with up to this many mismatches can the score without gaps exceed the number of covered bases.
    i32 limit = (length - covered) / (MATCH - MISMATCH);
    i32 differing = mismatches(reads.packed_of(strand, read), reference.text, candidate.diagonal, length, limit);
    return max(covered, length - (MATCH - MISMATCH) * differing);
}

// The candidate of bundle i, with the values that determine its rank.
__device__ __forceinline__ Ranked ranked(const Bundle* bundles, i32 bundled, i32 i, const Query& query,
                                         const Reads& reads, i64 read, const Reference& reference, u64 name_hash) {
    Ranked found = {0, {0, 0, 0, 0}, -1, 0, 0};
    i32 covered = join(bundles, bundled, i, query, found.candidate);
    if (covered < 0) return found;
    found.estimated_score = estimated_score_of(found.candidate, covered, reads, read, reference, query.length);
    found.hash = tie_hash(name_hash, found.candidate.diagonal);
    u64 seeds = bundles[i].seeds;
    i32 begin = seed_end(__ffsll((i64)seeds) - 1, query.length, query.stride) - SEED_LENGTH;
    i32 end = seed_end(63 - __clzll((i64)seeds), query.length, query.stride);
    bool turned = found.candidate.place & 1;
    found.begin = (u16)(turned ? query.length - end : begin);
    found.end = (u16)(turned ? query.length - begin : end);
    return found;
}

// True if a bundle is on an alternate contig.
__device__ __forceinline__ bool is_alternate(const Reference& reference, const Bundle& bundle) {
    return reference.alternate && reference.alternate[reference.island_contig[bundle.place >> 1]];
}

// True if the parts of the read of two candidates share less than half of the shorter one.
__device__ __forceinline__ bool are_apart(const Ranked& a, const Ranked& b) {
    i32 shared = min((i32)a.end, (i32)b.end) - max((i32)a.begin, (i32)b.begin);
    return 2 * shared < min(a.end - a.begin, b.end - b.begin);
}

__device__ __forceinline__ bool is_better(i32 score, u64 hash, i32 other_score, u64 other_hash) {
    return score > other_score || (score == other_score && hash < other_hash);
}

// Merges one candidate per lane (estimated score -1: none) into the `found` best ones of the read; returns their new
// number. Of equal candidates the first one precedes. All lanes of a warp call it together.
__device__ __forceinline__ i32 keep_best(Ranked* best, i32 found, const Ranked& own) {
    int lane = threadIdx.x & 31;
    i32 score = own.estimated_score;
    u64 hash = own.hash;
    bool wanted = score >= 0;
    if (found == MOST_CANDIDATES)
        wanted &= is_better(score, hash, best[MOST_CANDIDATES - 1].estimated_score, best[MOST_CANDIDATES - 1].hash);
    u32 fresh = __ballot_sync(ALL_LANES, wanted);
    if (!fresh) return found;
    bool holds = lane < found;
    Ranked held = {0, {0, 0, 0, 0}, 0, 0, 0};
    if (holds) held = best[lane];
    i32 rank = 0, held_rank = lane;
    for (i32 k = 0; k < found; k++) {
        i32 other_score = __shfl_sync(ALL_LANES, held.estimated_score, k);
        u64 other_hash = __shfl_sync(ALL_LANES, held.hash, k);
        rank += !is_better(score, hash, other_score, other_hash);
    }
    for (u32 rest = fresh; rest; rest &= rest - 1) {
        int k = __ffs(rest) - 1;
        i32 other_score = __shfl_sync(ALL_LANES, score, k);
        u64 other_hash = __shfl_sync(ALL_LANES, hash, k);
        held_rank += is_better(other_score, other_hash, held.estimated_score, held.hash);
        rank += k < lane ? !is_better(score, hash, other_score, other_hash)
                         : is_better(other_score, other_hash, score, hash);
    }
    __syncwarp();  // all lanes have read what is overwritten now
    if (holds && held_rank < MOST_CANDIDATES) best[held_rank] = held;
    if (wanted && rank < MOST_CANDIDATES) best[rank] = own;
    __syncwarp();
    return min(found + __popc(fresh), MOST_CANDIDATES);
}

// Replaces the last of a full list of candidates by the best one whose part of the read differs from the first one's,
// if the list has none (the twin of _reserve). All are on the primary assembly, or all `on_alternate` contigs. All
// lanes of a warp call it together.
__device__ __forceinline__ void reserve(Ranked* best, const Bundle* bundles, i32 bundled, const Query& query,
                                        const Reads& reads, i64 read, const Reference& reference, u64 name_hash,
                                        bool on_alternate) {
    int lane = threadIdx.x & 31;
    if (__any_sync(ALL_LANES, lane < MOST_CANDIDATES && are_apart(best[0], best[lane]))) return;
    i32 score = -1, at = bundled;
    u64 hash = 0;
    for (i32 i = lane; i < bundled; i += 32) {
        if (is_alternate(reference, bundles[i]) != on_alternate) continue;
        Ranked other = ranked(bundles, bundled, i, query, reads, read, reference, name_hash);
        if (other.estimated_score < 0 || !are_apart(best[0], other)) continue;
        if (is_better(other.estimated_score, other.hash, score, hash))
            score = other.estimated_score, hash = other.hash, at = i;
    }
    i32 first = at;
    for (int distance = 16; distance > 0; distance >>= 1) {
        i32 other_score = __shfl_xor_sync(ALL_LANES, score, distance);
        u64 other_hash = __shfl_xor_sync(ALL_LANES, hash, distance);
        i32 other_first = __shfl_xor_sync(ALL_LANES, first, distance);
        bool same = score == other_score && hash == other_hash;
        if (same ? other_first < first : is_better(other_score, other_hash, score, hash))
            score = other_score, hash = other_hash, first = other_first;
    }
    __syncwarp();
    // Computed again, since keeping it would need too many registers.
    if (score >= 0 && first == at)
        best[MOST_CANDIDATES - 1] = ranked(bundles, bundled, at, query, reads, read, reference, name_hash);
    __syncwarp();
}

// One thread per read: the bundles that it needs in global memory, and its most candidates on `lists` lists;
// room[2][reads].
extern "C" __global__ void plan_room(const i64* hit_offsets, i64 reads, i64 lists, i32* room) {
    i64 read = thread_index();
    if (read >= reads) return;
    i64 hits = hit_offsets[read + 1] - hit_offsets[read], most = lists * MOST_CANDIDATES;
    room[read] = hits > LOCAL_BUNDLES ? (i32)hits : 0;
    room[reads + read] = (i32)(hits < most ? hits : most);
}

// One warp per read: writes its best candidates to staged[slots[read]] and following, and their number. Candidates on
// the primary assembly come first, then those on alternate contigs, both best first.
//
// slots: [reads + 1], with min(hits, MOST_CANDIDATES) items per read, twice as many if there are alternate contigs.
// scratch: bundles of reads with more than LOCAL_BUNDLES hits, from scratch_offsets[read] on. Shared memory of a warp:
// one or two lists of MOST_CANDIDATES Ranked, and LOCAL_BUNDLES Bundles.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
cluster(const i64* hit_offsets, const u64* hits, Reads reads, Reference reference, i64 stride,
        const i64* scratch_offsets, Bundle* scratch, const i64* slots, Candidate* staged, i32* counts) {
    i64 read = thread_index() >> 5;
    if (read >= reads.count) return;
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, lists = reference.alternate ? 2 : 1;
    i64 begin = hit_offsets[read];
    Query query = {hits + begin, (i32)(hit_offsets[read + 1] - begin), (i32)reads.length(read), (i32)stride};
    Ranked* best = (Ranked*)shared_memory + warp * lists * MOST_CANDIDATES;
    Bundle* bundles =
        (Bundle*)((Ranked*)shared_memory + blockDim.x / 32 * lists * MOST_CANDIDATES) + warp * LOCAL_BUNDLES;
    if (query.hit_count > LOCAL_BUNDLES) bundles = scratch + scratch_offsets[read];

    i32 bundled = bundle_hits(query, reference, bundles);
    __syncwarp();
    u64 name_hash = reads.name_hash[read];
    i32 count = 0;
    for (i32 list = 0; list < lists; list++, best += MOST_CANDIDATES) {
        i32 found = 0, seen = 0;
        for (i32 base = 0; base < bundled; base += 32) {
            Ranked own = {0, {0, 0, 0, 0}, -1, 0, 0};
            if (base + lane < bundled && is_alternate(reference, bundles[base + lane]) == (list == 1))
                own = ranked(bundles, bundled, base + lane, query, reads, read, reference, name_hash);
            seen += __popc(__ballot_sync(ALL_LANES, own.estimated_score >= 0));
            found = keep_best(best, found, own);
        }
        if (found == 0) continue;
        i32 highest = best[0].estimated_score;
        if (count > 0) highest = max(highest, best[-MOST_CANDIDATES].estimated_score);  // read again: too few registers
        bool kept = lane < found;
        // If a candidate leaves no room for a supplementary alignment, another one with less than half of its estimated
        // score changes neither the choice nor the mapping quality, unless only the other is on the primary assembly.
        if (highest > query.length - SHORTEST_SCORE)
            kept = kept && 2 * best[lane].estimated_score >= highest;
        else if (seen > MOST_CANDIDATES)
            reserve(best, bundles, bundled, query, reads, read, reference, name_hash, list == 1);
        u32 kept_lanes = __ballot_sync(ALL_LANES, kept);
        if (kept) staged[slots[read] + count + __popc(kept_lanes & ((1u << lane) - 1))] = best[lane].candidate;
        count += __popc(kept_lanes);
    }
    if (lane == 0) counts[read] = count;
}

// One thread per candidate: writes its extension job. offsets: [reads + 1], where the jobs of each read begin.
extern "C" __global__ void write_jobs(const i64* offsets, i64 reads, i64 jobs, const i64* slots,
                                      const Candidate* staged, Reference reference, NewExtensionJobs written) {
    i64 job = thread_index();
    if (job >= jobs) return;
    i64 owner = owner_of(offsets, reads, job);
    Candidate candidate = staged[slots[owner] + job - offsets[owner]];
    written.read[job] = (i32)owner;
    written.strand[job] = (u8)(candidate.place & 1);
    written.diagonal[job] = candidate.diagonal;
    written.diagonal_low[job] = candidate.diagonal - candidate.below - BAND_MARGIN;
    written.diagonal_high[job] = candidate.diagonal + candidate.above + BAND_MARGIN;
    written.axis_low[job] = reference.island_axis[candidate.place >> 1];
    written.axis_high[job] = reference.island_axis[(candidate.place >> 1) + 1];
}

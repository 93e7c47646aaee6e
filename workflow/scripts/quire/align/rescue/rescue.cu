// Mate rescue: the twin of quire/align/rescue/cpu.py. Anchors whose mate has no alignment beside them become tasks
// (count, prefix sum, write). A warp searches the window of each task for the best and the second diagonal. Those that
// exist become jobs (prefix sum, write).
// -D: BAND_MARGIN, FEWEST_KMERS, KMER, MOST_ANCHORS, MOST_CANDIDATES, UNPAIRED_COST.
#include "quire/algorithms/extension/jobs.cuh"
#include "quire/align/alignments/alignments.cuh"
#include "quire/reads/reads.cuh"
#include "quire/reference/reference.cuh"
#include "quire/sequence/words.cuh"

#define WHOLE_WARP 0xFFFFFFFFu
// A slot of a mate's table of k-mers: k-mer << 16 | place.
#define NO_KMER 0xFFFFFFFFu
#define NO_PLACE 0xFFFF
static_assert(KMER <= 8, "a slot has 16 bits for a k-mer");

// Windows in which mates are searched for.
struct Tasks {
    i32* mate;
    u8* strand;
    i64* begin;  // window on the axis, half-open, inside one island; end - begin may be negative
    i64* end;
    i64* target;  // start of the mate if the template length is the mean; may be outside the window
    i32* island;
};

// True if the mate has an alignment that forms a proper pair with the anchor; second: the anchor's is the second mate.
__device__ __forceinline__ bool has_partner(const Alignments& alignments, const Reads& reads, i64 anchor, bool second,
                                            i64 read, i64 mate, const ProperLengths& proper) {
    i32 contig = alignments.contig[anchor];
    u8 strand = alignments.strand[anchor];
    i64 length = reads.length(read), mate_length = reads.length(mate), last = alignments.offsets[mate + 1];
    for (i64 other = alignments.offsets[mate]; other < last; other++) {
        if (alignments.contig[other] != contig) continue;
        i64 distance = second ? mates_distance(alignments, other, anchor, mate_length, length)
                              : mates_distance(alignments, anchor, other, length, mate_length);
        if (proper.hold(orientation_of(strand, alignments.strand[other], distance), absolute(distance))) return true;
    }
    return false;
}

// True if a mate may have better places than the known ones: its best is not unique, or it has very many.
__device__ __forceinline__ bool may_have_better(const Alignments& alignments, i64 mate) {
    i64 first = alignments.offsets[mate], last = alignments.offsets[mate + 1];
    if (last - first >= MOST_CANDIDATES) return true;
    i32 best = 0;
    int number = 0;
    for (i64 place = first; place < last; place++) {
        i32 score = alignments.score[place];
        number = score > best ? 1 : number + (score == best);
        best = max(best, score);
    }
    return number > 1;
}

// Calls visit(anchor, read, mate) for the anchors of one side (2 * pair, + 1 if the second mate has the anchors) beside
// which the mate is searched for: anchors without a partner, or all anchors of a read that has few and whose mate may
// have better places.
template <class Visit>
__device__ __forceinline__ void for_each_anchor(const Alignments& alignments, const Reads& reads, i64 side,
                                                const ProperLengths& proper, Visit visit) {
    i64 pairs = reads.count / 2, first_mate = side >> 1, second_mate = pairs + first_mate;
    i64 read = side & 1 ? second_mate : first_mate, mate = side & 1 ? first_mate : second_mate;
    i64 first = alignments.offsets[read], last = alignments.offsets[read + 1];
    i32 best = 0;  // not always that of the first, since alternate contigs come last
    for (i64 anchor = first; anchor < last; anchor++) best = max(best, alignments.score[anchor]);
    int near = 0;
    for (i64 anchor = first; anchor < last; anchor++) near += alignments.score[anchor] >= best - UNPAIRED_COST;
    bool is_uncertain = near < MOST_CANDIDATES && may_have_better(alignments, mate);
    if (last - first > MOST_ANCHORS) last = first + MOST_ANCHORS;
    for (i64 anchor = first; anchor < last; anchor++) {
        i64 score = alignments.score[anchor];
        if (score < best - UNPAIRED_COST) continue;
        if (is_uncertain || !has_partner(alignments, reads, anchor, side & 1, read, mate, proper))
            visit(anchor, read, mate);
    }
}

// One thread per side: counts its tasks.
extern "C" __global__ void count_tasks(Alignments alignments, Reads reads, ProperLengths proper, i32* counts) {
    i64 side = thread_index();
    if (side >= reads.count) return;
    i32 count = 0, windows = 0;
    for (int orientation = 0; orientation < 4; orientation++)
        windows += proper.low[orientation] <= proper.high[orientation];
    for_each_anchor(alignments, reads, side, proper, [&](i64, i64, i64) { count += windows; });
    counts[side] = count;
}

// One thread per side: writes its tasks from offsets[side] on.
extern "C" __global__ void write_tasks(Alignments alignments, Reads reads, Reference reference, ProperLengths proper,
                                       const i64* offsets, Tasks tasks) {
    i64 side = thread_index();
    if (side >= reads.count) return;
    i64 task = offsets[side];
    if (task == offsets[side + 1]) return;
    for_each_anchor(alignments, reads, side, proper, [&](i64 anchor, i64 read, i64 mate) {
        i64 length = reads.length(read), mate_length = reads.length(mate);
        i64 axis_begin = alignments.axis_begin[anchor], island = island_of(reference, axis_begin);
        i64 island_begin = reference.island_axis[island], island_end = reference.island_axis[island + 1];
        u8 anchor_strand = alignments.strand[anchor];
        i64 five_prime_end = anchor_strand == 0 ? axis_begin - alignments.read_begin[anchor]
                                                : alignments.axis_end[anchor] + length - alignments.read_end[anchor];
        for (int orientation = 0; orientation < 4; orientation++) {
            i64 low = proper.low[orientation], high = proper.high[orientation];
            if (low > high) continue;
            bool same_strand = orientation == 0 || orientation == 3;
            // True if the mate is ahead of the anchor, in its direction; FF and RR are named from the first mate.
            bool ahead = (orientation == 0 || orientation == 1) != (same_strand && (side & 1));
            u8 strand = same_strand ? anchor_strand : 1 - anchor_strand;
            i64 begin = five_prime_end + low, end = five_prime_end + high, target = five_prime_end + proper.mean[orientation];
            if (ahead == (anchor_strand == 1)) {
                begin = five_prime_end - high;
                end = five_prime_end - low;
                target = five_prime_end - proper.mean[orientation];
            }
            if (strand == 1) begin -= mate_length, target -= mate_length;
            else end += mate_length;
            tasks.mate[task] = (i32)mate;
            tasks.strand[task] = strand;
            tasks.begin[task] = begin > island_begin ? begin : island_begin;
            tasks.end[task] = end < island_end ? end : island_end;
            tasks.target[task] = target;
            tasks.island[task] = (i32)island;
            task++;
        }
    });
}

__device__ __forceinline__ u32 home_slot(u32 kmer, int slot_bits) { return (kmer * 0x9E3779B1u) >> (32 - slot_bits); }

// Fills a warp's table with the k-mers without N of a mate, each with one of its places, and `others` with the next
// place of the k-mer at each place, NO_PLACE after the last. The slot of a k-mer and the order of its places depend on
// the order of the lanes, but not the set of its places.
__device__ __forceinline__ void fill_table(u32* table, int slot_bits, u16* others, const Reads& reads, i64 strand,
                                           i64 mate, int length, int lane) {
    u64* empty = (u64*)table;
    for (int i = lane; i < 1 << (slot_bits - 1); i += 32) empty[i] = (u64)NO_KMER << 32 | NO_KMER;
    __syncwarp();
    const u64* packed = reads.packed_of(strand, mate);
    const u8* codes = reads.codes_of(strand, mate);
    bool ambiguous = reads.ambiguous[mate];
    for (int place = lane; place <= length - KMER; place += 32) {
        bool valid = true;
        if (ambiguous)
            for (int i = 0; i < KMER; i++) valid &= codes[place + i] < 4;
        if (!valid) continue;
        u32 kmer = (u32)packed_word(packed, place) & ((1u << (2 * KMER)) - 1), entry = kmer << 16 | place;
        for (u32 slot = home_slot(kmer, slot_bits);; slot = (slot + 1) & ((1u << slot_bits) - 1)) {
            u32 old = atomicCAS(&table[slot], NO_KMER, entry);
            // A slot keeps its k-mer, so it now contains another place of the same k-mer.
            if (old != NO_KMER && old >> 16 == kmer) old = atomicExch(&table[slot], entry);
            else if (old != NO_KMER) continue;
            others[place] = (u16)(old & 0xFFFF);
            break;
        }
    }
    __syncwarp();
}

// A place in the mate of the k-mer at a base of the staged words; NO_PLACE for none.
__device__ __forceinline__ int place_in_mate(const u32* table, int slot_bits, const u32* half_words, int base) {
    u64 bases = (u64)half_words[(base >> 4) + 1] << 32 | half_words[base >> 4];
    u32 kmer = (u32)(bases >> (2 * (base & 15))) & ((1u << (2 * KMER)) - 1);
    u32 slot = home_slot(kmer, slot_bits), entry = table[slot];
    while (entry != NO_KMER && entry >> 16 != kmer) {
        slot = (slot + 1) & ((1u << slot_bits) - 1);
        entry = table[slot];
    }
    return (int)(entry & 0xFFFF);
}

// The diagonal with most votes; of equal ones the one closest to the target, then the lower one, so the order of votes
// does not matter. Each lane keeps its own; they are combined at the end.
struct Most {
    int votes, distance, diagonal;  // distance from the target; diagonal -1 for none

    __device__ __forceinline__ void take(const Most& other) {
        if (other.votes < votes) return;
        bool nearer = other.distance < distance || (other.distance == distance && other.diagonal < diagonal);
        if (other.votes > votes || nearer) *this = other;
    }
};

__device__ __forceinline__ Most most_of_all(Most most) {
    for (int distance = 16; distance > 0; distance >>= 1)
        most.take({__shfl_xor_sync(WHOLE_WARP, most.votes, distance),
                   __shfl_xor_sync(WHOLE_WARP, most.distance, distance),
                   __shfl_xor_sync(WHOLE_WARP, most.diagonal, distance)});
    return most;
}

// Updates `most` with the votes of `count` diagonals from `origin` on, except diagonals that are at most `beyond` away
// from another one.
__device__ __forceinline__ void look_for_most(const u16* votes, int count, int origin, int target, int other,
                                              int beyond, int lane, Most& most) {
    for (int i = lane; i < count; i += 32) {
        int diagonal = origin + i;
        if (abs(diagonal - other) > beyond) most.take({votes[i], abs(diagonal - target), diagonal});
    }
}

// One warp per task: finds the diagonal (on the axis) with most common k-mers and the second one, if they exist.
// Votes are counted for `diagonals` (a multiple of 4) at a time, over all positions that can vote for them; wider
// windows are counted again for the second diagonal. A k-mer votes for the diagonals of all its places in the mate.
// Shared memory of a warp: u32[1 << slot_bits], u64[words], u16[diagonals], u16[places] (also a multiple of 4).
extern "C" __global__ void __launch_bounds__(128) scan(Tasks tasks, i64 count, Reads reads, const u64* text,
                                                       int slot_bits, int words, int diagonals, int places, i64* best,
                                                       u8* found) {
    i64 task = thread_index() >> 5;
    int lane = threadIdx.x & 31;
    if (task >= count) return;
    u64* own = shared_memory + (threadIdx.x >> 5) * ((1 << (slot_bits - 1)) + words + diagonals / 4 + places / 4);
    u32* table = (u32*)own;
    u64* staged = own + (1 << (slot_bits - 1));
    const u32* half_words = (const u32*)staged;
    u16* votes = (u16*)(staged + words);
    u16* others = votes + diagonals;
    i64 begin = tasks.begin[task], mate = tasks.mate[task], strand = tasks.strand[task];
    int length = (int)reads.length(mate), last_position = (int)(tasks.end[task] - begin) - KMER;
    int target = (int)(tasks.target[task] - begin);
    if (length >= KMER && last_position >= 0)
        fill_table(table, slot_bits, others, reads, strand, mate, length, lane);
    else
        last_position = -1;
    int pieces = last_position < 0 ? 0 : last_position / diagonals + 1;
    Most first = {FEWEST_KMERS - 1, -1, -1}, second = first;
    for (int round = 0; round < (pieces > 1 ? 2 * pieces : pieces); round++) {
        int origin = (round < pieces ? round : round - pieces) * diagonals;
        int last = origin + diagonals - 1 + length - KMER;
        if (last > last_position) last = last_position;
        int counted = min(last_position - origin + 1, diagonals);
        u64* cleared = (u64*)votes;
        for (int i = lane; i < (counted + 3) / 4; i += 32) cleared[i] = 0;
        i64 first_word = (begin + origin) >> 5, last_word = ((begin + last + KMER - 1) >> 5) + 1;
        for (i64 i = first_word + lane; i <= last_word; i += 32) staged[i - first_word] = text[i];
        __syncwarp();
        int shift = (int)((begin + origin) & 31) - origin;  // from a position to its base in the staged words
        for (int position = origin + lane; position <= last; position += 32)
            for (int place = place_in_mate(table, slot_bits, half_words, position + shift); place != NO_PLACE;
                 place = others[place]) {
                int diagonal = position - place - origin;
                if (diagonal >= 0 && diagonal < diagonals)
                    atomicAdd((u32*)votes + diagonal / 2, 1u << (16 * (diagonal & 1)));
            }
        __syncwarp();
        if (round < pieces) look_for_most(votes, counted, origin, target, 0, -1, lane, first);
        if (round == pieces - 1) {
            first = most_of_all(first);
            if (first.diagonal < 0) break;
        }
        if (pieces == 1 || round >= pieces)
            look_for_most(votes, counted, origin, target, first.diagonal, BAND_MARGIN, lane, second);
        __syncwarp();
    }
    second = most_of_all(second);
    if (lane == 0) {
        best[2 * task] = begin + first.diagonal;
        best[2 * task + 1] = begin + second.diagonal;
        found[2 * task] = first.diagonal >= 0;
        found[2 * task + 1] = second.diagonal >= 0;
    }
}

// One thread for each of the two diagonals of a task: writes a job if it was found, from offsets[2 * task] on.
extern "C" __global__ void write_jobs(Tasks tasks, i64 count, Reference reference, const i64* best, const u8* found,
                                      const i64* offsets, NewExtensionJobs jobs) {
    i64 index = thread_index(), task = index >> 1;
    if (task >= count || !found[index]) return;
    i64 job = offsets[index], diagonal = best[index];
    jobs.read[job] = tasks.mate[task];
    jobs.strand[job] = tasks.strand[task];
    jobs.diagonal[job] = diagonal;
    jobs.diagonal_low[job] = diagonal - BAND_MARGIN;
    jobs.diagonal_high[job] = diagonal + BAND_MARGIN;
    jobs.axis_low[job] = reference.island_axis[tasks.island[task]];
    jobs.axis_high[job] = reference.island_axis[tasks.island[task] + 1];
}

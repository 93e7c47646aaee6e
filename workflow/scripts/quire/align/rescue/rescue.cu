// Mate rescue: the twin of quire/align/rescue/cpu.py. Anchors whose mate has no place beside them become tasks (count,
// scan, write); a warp looks for the best diagonal of each task's window; tasks with one become jobs, and their second
// places too (scan, write).
// -D: those of standing.cuh, BAND_MARGIN, FEWEST_KMERS, KMER, MONOTONOUS_KMERS, MOST_ANCHORS, MOST_CANDIDATES,
// MOST_MONOTONOUS_KMERS, SECOND_KMERS, UNPAIRED_COST.
#include "quire/align/alignments/alignments.cuh"
#include "quire/align/alignments/standing.cuh"
#include "quire/reads/reads.cuh"
#include "quire/reference/reference.cuh"
#include "quire/sequence/words.cuh"

#define WHOLE_WARP 0xFFFFFFFFu
// A slot of a mate's table of k-mers: k-mer << 16 | place. No place is 0xFFFF.
#define NO_KMER 0xFFFFFFFFu
static_assert(KMER <= 8, "a slot has 16 bits for a k-mer");

// Windows in which to look for mates.
struct Tasks {
    i32* mate;
    u8* strand;
    i64* begin;  // of the window on the axis, half-open, inside one island; end - begin may be below 0
    i64* end;
    i32* island;
};

// As quire.algorithms.extension.ExtensionJobs lays it out.
struct Jobs {
    i32* read;
    u8* strand;
    i64* diagonal;
    i64* diagonal_low;
    i64* diagonal_high;
    i64* axis_low;
    i64* axis_high;
};

// Whether the mate has an alignment that makes a proper pair with the anchor; second: the anchor's read is the second.
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

// Calls visit(anchor, read, mate) for the anchors of one side beside which the mate is looked for: 2 * pair, + 1 where the
// second mate has the anchors. These are those without a partner, or all of a read of few places whose mate has many.
template <class Visit>
__device__ __forceinline__ void for_each_anchor(const Alignments& alignments, const Reads& reads, i64 side,
                                                const ProperLengths& proper, Visit visit) {
    i64 pairs = reads.count / 2, first_mate = side >> 1, second_mate = pairs + first_mate;
    i64 read = side & 1 ? second_mate : first_mate, mate = side & 1 ? first_mate : second_mate;
    i64 first = alignments.offsets[read], last = alignments.offsets[read + 1];
    i32 best = 0;  // which need not be the first: alternate contigs stand behind
    for (i64 anchor = first; anchor < last; anchor++) best = max(best, alignments.score[anchor]);
    i64 mate_places = alignments.offsets[mate + 1] - alignments.offsets[mate];
    bool looks_again = last - first < MOST_CANDIDATES && mate_places >= MOST_CANDIDATES;
    if (last - first > MOST_ANCHORS) last = first + MOST_ANCHORS;
    for (i64 anchor = first; anchor < last; anchor++) {
        i64 score = alignments.score[anchor], length = reads.length(read);
        if (score < best - UNPAIRED_COST) continue;
        if (2 * score < length && !stands_alone(score, length)) continue;
        if (looks_again || !has_partner(alignments, reads, anchor, side & 1, read, mate, proper))
            visit(anchor, read, mate);
    }
}

// One thread a side: how many tasks it has.
extern "C" __global__ void count_tasks(Alignments alignments, Reads reads, ProperLengths proper, i32* counts) {
    i64 side = thread_index();
    if (side >= reads.count) return;
    i32 count = 0, windows = 0;
    for (int orientation = 0; orientation < 4; orientation++)
        windows += proper.low[orientation] <= proper.high[orientation];
    for_each_anchor(alignments, reads, side, proper, [&](i64, i64, i64) { count += windows; });
    counts[side] = count;
}

// One thread a side: writes its tasks from offsets[side] on.
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
            // Whether the mate lies ahead of the anchor, in its direction; FF and RR are named from the first mate.
            bool ahead = (orientation == 0 || orientation == 1) != (same_strand && (side & 1));
            u8 strand = same_strand ? anchor_strand : 1 - anchor_strand;
            i64 begin = five_prime_end + low, end = five_prime_end + high;
            if (ahead == (anchor_strand == 1)) {
                begin = five_prime_end - high;
                end = five_prime_end - low;
            }
            if (strand == 1) begin -= mate_length;
            else end += mate_length;
            tasks.mate[task] = (i32)mate;
            tasks.strand[task] = strand;
            tasks.begin[task] = begin > island_begin ? begin : island_begin;
            tasks.end[task] = end < island_end ? end : island_end;
            tasks.island[task] = (i32)island;
            task++;
        }
    });
}

__device__ __forceinline__ u32 home_slot(u32 kmer, int slot_bits) { return (kmer * 0x9E3779B1u) >> (32 - slot_bits); }

// Fills a warp's table with the k-mers of a mate, each with the last place where it stands; those with N are left out.
// The slots' order depends on the lanes' order, what is found in them does not. Returns whether the mate is a
// microsatellite, bases of which may differ.
__device__ __forceinline__ bool fill_table(u32* table, int slot_bits, const Reads& reads, i64 strand, i64 mate,
                                           int length, int lane) {
    u64* empty = (u64*)table;
    for (int i = lane; i < 1 << (slot_bits - 1); i += 32) empty[i] = (u64)NO_KMER << 32 | NO_KMER;
    __syncwarp();
    const u64* packed = reads.packed_of(strand, mate);
    const u8* codes = reads.codes_of(strand, mate);
    bool ambiguous = reads.ambiguous[mate];
    int kmers = 0;  // different ones; and all those without N, in the upper half
    for (int place = lane; place <= length - KMER; place += 32) {
        bool valid = true;
        if (ambiguous)
            for (int i = 0; i < KMER; i++) valid &= codes[place + i] < 4;
        if (!valid) continue;
        kmers += 1 << 16;
        u32 kmer = (u32)packed_word(packed, place) & ((1u << (2 * KMER)) - 1), entry = kmer << 16 | place;
        for (u32 slot = home_slot(kmer, slot_bits);; slot = (slot + 1) & ((1u << slot_bits) - 1)) {
            u32 old = atomicCAS(&table[slot], NO_KMER, entry);
            if (old == NO_KMER) {
                kmers++;
                break;
            }
            if (old >> 16 == kmer) {
                atomicMax(&table[slot], entry);
                break;
            }
        }
    }
    __syncwarp();
    for (int distance = 16; distance > 0; distance >>= 1) kmers += __shfl_xor_sync(WHOLE_WARP, kmers, distance);
    return (kmers & 0xFFFF) <= max(MONOTONOUS_KMERS, min(MOST_MONOTONOUS_KMERS, kmers >> 17));
}

// The last place of the k-mer at a base of what is staged in a mate's table; -1 for none.
__device__ __forceinline__ int place_in_mate(const u32* table, int slot_bits, const u32* half_words, int base) {
    u64 bases = (u64)half_words[(base >> 4) + 1] << 32 | half_words[base >> 4];
    u32 kmer = (u32)(bases >> (2 * (base & 15))) & ((1u << (2 * KMER)) - 1);
    u32 slot = home_slot(kmer, slot_bits), entry = table[slot];
    while (entry != NO_KMER && entry >> 16 != kmer) {
        slot = (slot + 1) & ((1u << slot_bits) - 1);
        entry = table[slot];
    }
    return entry == NO_KMER ? -1 : (int)(entry & 0xFFFF);
}

// The best diagonal so far. CPU and GPU agree on "the first one to reach the most votes": a diagonal reaches each
// number of votes at one position, and the winner is that of most votes, then of the lowest position, in whatever
// order seen.
struct Winner {
    int votes, position, diagonal;
};

// Votes of the warp's 32 positions, which begin at `step`: `diagonal` is this lane's (-1: no vote). Exact counts, as if
// lane after lane voted: the lanes that vote for one diagonal know each other.
__device__ __forceinline__ void vote(u16* votes, int diagonal, int step, int origin, int lane, Winner& winner) {
    u32 same = __match_any_sync(WHOLE_WARP, diagonal);
    int reached = 0;
    if (diagonal >= 0) reached = votes[diagonal] + __popc(same & ((2u << lane) - 1));
    __syncwarp();
    if (diagonal >= 0 && same >> lane == 1) votes[diagonal] = (u16)reached;
    __syncwarp();
    int most = reached;
    for (int distance = 16; distance > 0; distance >>= 1) {
        int other = __shfl_xor_sync(WHOLE_WARP, most, distance);
        most = most > other ? most : other;
    }
    if (most < winner.votes) return;
    int first = __ffs(__ballot_sync(WHOLE_WARP, reached == most)) - 1;
    int chosen = __shfl_sync(WHOLE_WARP, diagonal, first);
    if (most > winner.votes || step + first < winner.position) winner = {most, step + first, origin + chosen};
}

// Of a microsatellite: gives each of `count` diagonals, from `origin` on, as many votes as the stretch under the mate, of
// `kmers` k-mers, has k-mers of it. The base of a diagonal's first k-mer in what is staged is `shift` more than it.
__device__ __forceinline__ void count_known(const u32* table, int slot_bits, const u32* half_words, u16* votes,
                                            int count, int kmers, int origin, int shift, int lane, Winner& winner) {
    Winner own = {FEWEST_KMERS - 1, -1, -1};
    for (int i = lane; i < count; i += 32) {
        int known = 0;
        for (int k = 0; k < kmers; k++)
            known += place_in_mate(table, slot_bits, half_words, origin + shift + i + k) >= 0;
        votes[i] = (u16)known;
        if (known > own.votes) own = {known, origin + i + kmers - 1, origin + i};
    }
    for (int distance = 16; distance > 0; distance >>= 1) {
        Winner other = {__shfl_xor_sync(WHOLE_WARP, own.votes, distance),
                        __shfl_xor_sync(WHOLE_WARP, own.position, distance),
                        __shfl_xor_sync(WHOLE_WARP, own.diagonal, distance)};
        if (other.votes > own.votes || (other.votes == own.votes && other.position < own.position)) own = other;
    }
    if (own.diagonal >= 0 && own.votes > winner.votes) winner = own;
}

// The second diagonal of a window: of those `beyond` the best the lowest that has most votes. Of each lane what
// it has seen; the lanes' are put together at the end.
struct Second {
    int votes, diagonal;
};

// Looks through the final votes of a piece of the window, `count` diagonals from `origin` on.
__device__ __forceinline__ void look_for_second(const u16* votes, int count, int origin, int best, int beyond,
                                                int lane, Second& second) {
    for (int i = lane; i < count; i += 32) {
        int distance = origin + i - best;
        if (votes[i] > second.votes && (distance > beyond || distance < -beyond))
            second = {votes[i], origin + i};
    }
}

__device__ __forceinline__ Second second_of_all(Second second) {
    for (int distance = 16; distance > 0; distance >>= 1) {
        int votes = __shfl_xor_sync(WHOLE_WARP, second.votes, distance);
        int diagonal = __shfl_xor_sync(WHOLE_WARP, second.diagonal, distance);
        if (diagonal >= 0 && (votes > second.votes || (votes == second.votes && diagonal < second.diagonal)))
            second = {votes, diagonal};
    }
    return second;
}

// One warp a task: the diagonal (on the axis) with most k-mers in common and the second, and whether there are such.
// Diagonals are counted `diagonals` at a time (a multiple of 4), over all positions that can vote for them; where they
// are more, once more for the second.
// Shared memory of a warp: u32[1 << slot_bits], u64[words], u16[diagonals].
extern "C" __global__ void __launch_bounds__(128) scan(Tasks tasks, i64 count, Reads reads, const u64* text,
                                                       int slot_bits, int words, int diagonals, i64* best, u8* found) {
    i64 task = thread_index() >> 5;
    int lane = threadIdx.x & 31;
    if (task >= count) return;
    u64* own = shared_memory + (threadIdx.x >> 5) * ((1 << (slot_bits - 1)) + words + diagonals / 4);
    u32* table = (u32*)own;
    u64* staged = own + (1 << (slot_bits - 1));
    const u32* half_words = (const u32*)staged;
    u16* votes = (u16*)(staged + words);
    i64 begin = tasks.begin[task], mate = tasks.mate[task], strand = tasks.strand[task];
    int length = (int)reads.length(mate), last_position = (int)(tasks.end[task] - begin) - KMER;
    Winner winner = {FEWEST_KMERS - 1, -1, -1};
    bool monotonous = false;
    if (length >= KMER && last_position >= 0)
        monotonous = fill_table(table, slot_bits, reads, strand, mate, length, lane);
    else
        last_position = -1;
    int pieces = last_position < 0 ? 0 : last_position / diagonals + 1;
    Second second = {0, -1};
    // Of a microsatellite a place that fits both bands as well would be found twice, and look like one.
    int beyond = monotonous ? 2 * BAND_MARGIN : BAND_MARGIN;
    for (int round = 0; round < (pieces > 1 ? 2 * pieces : pieces); round++) {
        int origin = (round < pieces ? round : round - pieces) * diagonals;
        if (round == pieces && winner.diagonal < 0) break;
        Winner counted = winner;  // which a second count does not change
        int last = origin + diagonals - 1 + length - KMER;
        if (last > last_position) last = last_position;
        int rest = last_position - origin + 1;
        u64* cleared = (u64*)votes;
        for (int i = lane; i < ((rest < diagonals ? rest : diagonals) + 3) / 4; i += 32) cleared[i] = 0;
        i64 first_word = (begin + origin) >> 5, last_word = ((begin + last + KMER - 1) >> 5) + 1;
        for (i64 i = first_word + lane; i <= last_word; i += 32) staged[i - first_word] = text[i];
        __syncwarp();
        int shift = (int)((begin + origin) & 31) - origin;  // from a position to its base in what is staged
        int whole = last - (length - KMER) - origin + 1;  // diagonals whose stretch is wholly in the window
        if (monotonous)
            count_known(table, slot_bits, half_words, votes, whole, length - KMER + 1, origin, shift, lane, counted);
        for (int step = monotonous ? last + 1 : origin; step <= last; step += 32) {
            int position = step + lane, diagonal = -1;
            if (position <= last) {
                int place = place_in_mate(table, slot_bits, half_words, position + shift);
                if (place >= 0) diagonal = position - place - origin;
                if (diagonal >= diagonals) diagonal = -1;
            }
            bool votes_here = diagonal >= 0;
            if (__any_sync(WHOLE_WARP, votes_here)) vote(votes, votes_here ? diagonal : -1, step, origin, lane, counted);
        }
        __syncwarp();
        if (round < pieces) winner = counted;
        if (winner.diagonal >= 0 && (pieces == 1 || round >= pieces)) {
            if (second.diagonal < 0) second.votes = max(FEWEST_KMERS, winner.votes - SECOND_KMERS) - 1;
            look_for_second(votes, rest < diagonals ? rest : diagonals, origin, winner.diagonal, beyond, lane, second);
            __syncwarp();
        }
    }
    second = second_of_all(second);
    if (lane == 0) {
        best[2 * task] = begin + winner.diagonal;
        best[2 * task + 1] = begin + second.diagonal;
        found[2 * task] = winner.diagonal >= 0;
        found[2 * task + 1] = second.diagonal >= 0;
    }
}

// One thread for each of two diagonals of a task: a job for each that was found, at offsets[2 * task] and behind.
extern "C" __global__ void write_jobs(Tasks tasks, i64 count, Reference reference, const i64* best, const u8* found,
                                      const i64* offsets, Jobs jobs) {
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

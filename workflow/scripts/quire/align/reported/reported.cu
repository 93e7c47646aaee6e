// Selection of the reported alignments of a batch: the twin of quire/align/reported/cpu.py.
// -D: MOST_SUPPLEMENTARY, RIVAL_DENOMINATOR, RIVAL_NUMERATOR.
#include "quire/align/alignments/alignments.cuh"
#include "quire/align/pairing/selection.cuh"

// Layout of quire.align.model.Reported.
struct Reported {
    const i64* first;
    const i32* rows;
    const u8* proper;
    u8* quality;
    i32* suboptimal_score;
    u8* strand;
    i32* score;
    i32* read_begin;
    i32* read_end;
    i64* axis_begin;
    i64* axis_end;
    i32* contig;
    i64* position;
    i64* cigar_begin;
    i32* cigar_length;
    u32* cigar;
    const i32* all_rows;
    i32* rank;
};

// Marks of alternate contigs: [contigs]; null if no places are lifted over.
struct Contigs {
    const u8* alternate;
};

__device__ __forceinline__ bool is_reported(const Selection& selection, i64 read, i64 i) {
    bool found = selection.primary[read] == i;
    for (i32 j = 0; j < MOST_SUPPLEMENTARY; j++) found |= selection.supplementary[read * MOST_SUPPLEMENTARY + j] == i;
    return found;
}

// Least score of the alignments with which a read's reported ones are compared; -1 for none. There are some if one of
// its good alignments, reported or not, is on an alternate contig; these come last, best first.
__device__ __forceinline__ i64 least_rival(const Alignments& alignments, const Selection& selection,
                                           const Contigs& contigs, i64 read) {
    if (!contigs.alternate || selection.primary[read] < 0) return -1;
    i64 least = alignments.score[selection.primary[read]];
    for (i32 j = 0; j < MOST_SUPPLEMENTARY; j++) {
        i64 chosen = selection.supplementary[read * MOST_SUPPLEMENTARY + j];
        if (chosen >= 0 && alignments.score[chosen] < least) least = alignments.score[chosen];
    }
    least = RIVAL_NUMERATOR * least / RIVAL_DENOMINATOR + 1;
    i64 first = alignments.offsets[read];
    for (i64 i = alignments.offsets[read + 1] - 1; i >= first && contigs.alternate[alignments.contig[i]]; i--)
        if (alignments.score[i] >= least) return least;
    return -1;
}

// One thread per read: counts its reported rows, its rows including rivals, and all their operations. If no places are
// lifted over, both counts are the same array.
extern "C" __global__ void count_reported(Alignments alignments, Selection selection, Contigs contigs, i64 reads,
                                          i32* rows, i32* all_rows, i32* operations) {
    i64 read = thread_index();
    if (read >= reads) return;
    i64 primary = selection.primary[read];
    i32 count = 0, length = 0;
    if (primary >= 0) count++, length += alignments.cigar_length[primary];
    for (i32 i = 0; i < MOST_SUPPLEMENTARY; i++) {
        i64 chosen = selection.supplementary[read * MOST_SUPPLEMENTARY + i];
        if (chosen >= 0) count++, length += alignments.cigar_length[chosen];
    }
    rows[read] = count;
    i64 least = least_rival(alignments, selection, contigs, read);
    for (i64 i = alignments.offsets[read]; least >= 0 && i < alignments.offsets[read + 1]; i++)
        if (alignments.score[i] >= least && !is_reported(selection, read, i))
            count++, length += alignments.cigar_length[i];
    all_rows[read] = count;
    operations[read] = length;
}

// Writes row `row`, whose operations begin at `used`; returns their end.
__device__ __forceinline__ i64 write_row(const Alignments& alignments, i64 chosen, u8 quality, i32 suboptimal_score,
                                         const Reported& reported, i64 row, i64 used) {
    reported.quality[row] = quality;
    reported.suboptimal_score[row] = suboptimal_score;
    reported.strand[row] = alignments.strand[chosen];
    reported.score[row] = alignments.score[chosen];
    reported.read_begin[row] = alignments.read_begin[chosen];
    reported.read_end[row] = alignments.read_end[chosen];
    reported.axis_begin[row] = alignments.axis_begin[chosen];
    reported.axis_end[row] = alignments.axis_end[chosen];
    reported.contig[row] = alignments.contig[chosen];
    reported.position[row] = alignments.position[chosen];
    reported.cigar_begin[row] = used;
    i32 length = alignments.cigar_length[chosen];
    reported.cigar_length[row] = length;
    const u32* operations = alignments.cigar + alignments.cigar_begin[chosen];
    for (i32 i = 0; i < length; i++) reported.cigar[used + i] = operations[i];
    return used + length;
}

// One thread per read: writes its rows from first[read] on, and their operations from operation_offsets[read] on.
extern "C" __global__ void take_reported(Alignments alignments, Selection selection, Contigs contigs, i64 reads,
                                         const i64* operation_offsets, Reported reported) {
    i64 read = thread_index();
    if (read >= reads) return;
    i64 row = reported.first[read], used = operation_offsets[read], primary = selection.primary[read];
    if (primary >= 0) {
        if (contigs.alternate) reported.rank[row] = (i32)(primary - alignments.offsets[read]);
        used = write_row(alignments, primary, selection.quality[read], selection.suboptimal_score[read], reported,
                         row++, used);
    }
    for (i64 i = read * MOST_SUPPLEMENTARY; i < (read + 1) * MOST_SUPPLEMENTARY; i++) {
        i64 chosen = selection.supplementary[i];
        if (chosen < 0) continue;
        if (contigs.alternate) reported.rank[row] = (i32)(chosen - alignments.offsets[read]);
        used = write_row(alignments, chosen, selection.supplementary_quality[i],
                         selection.supplementary_suboptimal_score[i],
                         reported, row++, used);
    }
    i64 least = least_rival(alignments, selection, contigs, read);
    for (i64 i = alignments.offsets[read]; least >= 0 && i < alignments.offsets[read + 1]; i++) {
        if (alignments.score[i] < least || is_reported(selection, read, i)) continue;
        reported.rank[row] = (i32)(i - alignments.offsets[read]);
        used = write_row(alignments, i, 0, 0, reported, row++, used);
    }
}

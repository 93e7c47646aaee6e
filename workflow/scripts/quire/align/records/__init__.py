"""Records of reported alignments: flags, mates, CIGAR, NM, MD and SA, in flat arrays for the BAM encoder.

Records are in the order of the reads (mate 1 of a pair, its supplementary alignments, mate 2, its supplementary
alignments). They are made on the CPU for both backends.
"""

import numpy as np

from quire.align.contig_names import names_of
from quire.align.lift_over import NOT_LIFTED_OVER, LiftedOver
from quire.align.lift_over.cpu import lift_over
from quire.align.model import Reported
from quire.align.read_counts import ReadCounts, count_reads
from quire.align.records import cpu as kernels
from quire.align.records.md_cpu import RecordSequences, differences
from quire.align.sink import Encoded, RecordSink
from quire.io.bam.encode import RecordBatch
from quire.reads import PairBatch, offsets_of_mates
from quire.reference import Reference

NO_BASES = np.empty(0, np.uint8)


def encode_records(
    batch: PairBatch, reported: Reported, reference: Reference, sink: RecordSink
) -> tuple[Encoded, ReadCounts]:
    """Return the encoded records of a batch in the order of its reads, and the counts of the reads.

    The sink encodes them in this thread. Records contain the whole reads, `batch` and `reported` the reads as mapped.
    """
    if batch.untrimmed is not None:
        reported = _on_whole_reads(reported, batch)
        batch = batch.untrimmed
    codes = batch.mate1.bases, NO_BASES if batch.mate2 is None else batch.mate2.bases
    offsets = offsets_of_mates(batch.mate1, batch.mate2)
    lifted = NOT_LIFTED_OVER
    if reference.lifts is not None:
        reported, lifted = lift_over(reported, offsets, reference)
    records = build_records(reported, codes, offsets, batch.mate2 is not None, reference, lifted)
    return sink.encode(records, batch), count_reads(records.flag, offsets)


def build_records(
    reported: Reported,
    codes: tuple[np.ndarray, np.ndarray],
    offsets: np.ndarray,
    paired: bool,
    reference: Reference,
    lifted: LiftedOver = NOT_LIFTED_OVER,
) -> RecordBatch:
    """Return the records of a batch.

    `codes` are two uint8[bases], as read: first mates or single reads, and second mates, if any. `offsets` is
    int64[n + 1], of all reads in bases. If `paired`, reads r and n + r are mates.
    """
    reads = len(offsets) - 1
    layout = kernels.lay_out(reported.rows, reported.first, paired)
    count = len(layout.read)
    fields = kernels.RecordFields(
        flag=np.zeros(count, np.uint16),
        contig=np.full(count, -1, np.int32),
        position=np.full(count, -1, np.int32),
        mapping_quality=np.zeros(count, np.uint8),
        mate_contig=np.full(count, -1, np.int32),
        mate_position=np.full(count, -1, np.int32),
        template_length=np.zeros(count, np.int32),
        alignment_score=np.full(count, -1, np.int32),
        suboptimal_score=np.full(count, -1, np.int32),
        edit_distance=np.full(count, -1, np.int32),
        mate_record=np.full(count, -1, np.int64),
    )
    kernels.fill_fields(reported, layout, reads, paired, fields)
    cigar, cigar_offsets = kernels.cigars(reported, offsets, layout, fields.flag, reference.alternate)
    sequences = RecordSequences(*codes, offsets, reference.text, reference.ambiguous)
    md, md_offsets = differences(reported, sequences, layout, fields.edit_distance)
    names = names_of(reference)
    sa, sa_offsets = kernels.supplementary_texts(reported, offsets, layout, fields, names, lifted.added)
    share = np.empty(0, np.float32)
    if len(reference.alternate):
        share = kernels.alternate_shares(reported, offsets, layout, reference.alternate)
    original_quality, lifts, lifts_offsets = kernels.lifted_tags(lifted, layout.row)
    pairs = reads // 2 if paired else reads
    return RecordBatch(
        mate=(layout.read >= pairs).astype(np.uint8),
        read=np.where(layout.read >= pairs, layout.read - pairs, layout.read),
        cigar=cigar,
        cigar_offsets=cigar_offsets,
        md=md,
        md_offsets=md_offsets,
        sa=sa,
        sa_offsets=sa_offsets,
        alternate_share=share,
        original_quality=original_quality,
        lifts=lifts,
        lifts_offsets=lifts_offsets,
        **fields._asdict(),
    )


def _on_whole_reads(reported: Reported, batch: PairBatch) -> Reported:
    """Convert the reported alignments of a batch with `untrimmed` reads to coordinates of the whole reads.

    Coordinates refer to the oriented read, which on the reverse strand begins with the 3' end.
    """
    assert batch.untrimmed is not None
    mapped, whole = (offsets_of_mates(part.mate1, part.mate2) for part in (batch, batch.untrimmed))
    left_out = (np.diff(whole) - np.diff(mapped)).astype(np.int32)
    rows = (reported.all_rows if len(reported.all_rows) else reported.rows).astype(np.int64)
    reads = np.repeat(np.arange(len(rows)), rows)
    row = np.arange(len(reads)) + np.repeat(reported.first - (np.cumsum(rows) - rows), rows)
    shift = np.where(reported.strand[row] != 0, left_out[reads], 0)
    begin, end = reported.read_begin.copy(), reported.read_end.copy()
    begin[row] += shift
    end[row] += shift
    return reported._replace(read_begin=begin, read_end=end)

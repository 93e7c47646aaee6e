"""The end of a batch's way, the same for both engines: records, what the sink makes of them, and their counts."""

import numpy as np

from quire.align.lift_over import NOT_LIFTED_OVER
from quire.align.lift_over.cpu import lift_over
from quire.align.model import Reported
from quire.align.read_counts import ReadCounts, count_reads
from quire.align.records import build_records
from quire.align.reported import on_whole_reads
from quire.align.sink import Encoded, RecordSink
from quire.reads import PairBatch, offsets_of_mates
from quire.reference import Reference

NO_BASES = np.empty(0, np.uint8)


def encode_records(
    batch: PairBatch, reported: Reported, reference: Reference, sink: RecordSink[Encoded]
) -> tuple[Encoded, ReadCounts]:
    """What the sink makes of a batch's records in the order of its reads, and what these became.

    Args:
        batch: as mapped; records hold the whole reads.
        reported: what is reported of its reads, on the host.
        reference: that the alignments lie on.
        sink: whose `encode` is called, in this thread.
    """
    if batch.untrimmed is not None:
        reported = on_whole_reads(reported, batch)
        batch = batch.untrimmed
    codes = batch.mate1.bases, NO_BASES if batch.mate2 is None else batch.mate2.bases
    offsets = offsets_of_mates(batch.mate1, batch.mate2)
    lifted = NOT_LIFTED_OVER
    if reference.lifts is not None:
        reported, lifted = lift_over(reported, offsets, reference)
    records = build_records(reported, codes, offsets, batch.mate2 is not None, reference, lifted)
    return sink.encode(records, batch), count_reads(records.flag, offsets)

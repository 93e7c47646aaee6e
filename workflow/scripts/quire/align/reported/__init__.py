"""The reported alignments of a batch as rows, from which records are made."""

import numpy as np

from quire.align.model import Reported
from quire.reads import PairBatch, offsets_of_mates


def on_whole_reads(reported: Reported, batch: PairBatch) -> Reported:
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

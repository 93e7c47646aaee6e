"""Tags of records that describe hits on alternate contigs."""

import numpy as np

from quire.align.pairing.overlap import overlaps
from quire.simd.compiled import compiled


@compiled
def alternate_shares(reported, read_offsets, layout, alternate):
    """Return the tag pa (float32[n]): the score relative to the best hit on an alternate contig; 0 for none.

    Records on the primary assembly have the tag (bwa's README-alt) if a better hit of the read on an alternate contig
    overlaps them. It is rounded to thousandths as in bwa mem.
    """
    record_read, row = layout
    shares = np.zeros(len(record_read), np.float32)
    for i in range(len(record_read)):
        read, chosen = record_read[i], row[i]
        if chosen < 0 or alternate[reported.contig[chosen]] != 0:
            continue
        length = read_offsets[read + 1] - read_offsets[read]
        best = np.int64(0)
        for other in range(reported.first[read], reported.first[read] + reported.rows[read]):
            beats = alternate[reported.contig[other]] != 0 and reported.score[other] > reported.score[chosen]
            if beats and overlaps(reported, chosen, other, length):
                best = max(best, np.int64(reported.score[other]))
        if best > 0:
            shares[i] = np.float32((2000 * np.int64(reported.score[chosen]) + best) // (2 * best)) / np.float32(1000)
    return shares


@compiled
def lifted_tags(lifted, row):
    """Return the tags om (int32[n], -1 for none) and lt (uint8[], offsets int64[n + 1]); empty if no row has any.

    Args:
        lifted: results of lifting over the rows.
        row: int64[n], row of each record; -1 for an unmapped read.
    """
    starts = lifted.text_offsets
    count = len(row) if len(starts) > 0 else 0
    original_quality, offsets = np.full(count, -1, np.int32), np.zeros(count + 1 if count > 0 else 0, np.int64)
    for i in range(count):
        size = starts[row[i] + 1] - starts[row[i]] if row[i] >= 0 else np.int64(0)
        offsets[i + 1] = offsets[i] + size
    texts = np.empty(offsets[-1] if count > 0 else 0, np.uint8)
    for i in range(count):
        if row[i] >= 0:
            original_quality[i] = lifted.original_quality[row[i]]
            texts[offsets[i] : offsets[i + 1]] = lifted.texts[starts[row[i]] : starts[row[i] + 1]]
    return original_quality, texts, offsets

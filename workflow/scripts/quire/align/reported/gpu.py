"""The alignments that are reported, on a card: the twin of `quire.align.reported.cpu`, with the same result.

Nothing else of a batch goes back to the host.
"""

import numpy as np

from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import MOST_SUPPLEMENTARY
from quire.device.card import Card

SOURCE = "quire/align/reported/reported.cu"
DEFINES = {"MOST_SUPPLEMENTARY": MOST_SUPPLEMENTARY}


def take_reported(card: Card, alignments: Alignments, selection: Selection) -> Reported:
    """The rows that records are made of; arrays on the card, `proper` as uint8.

    Args:
        card: where everything lies.
        alignments: of a batch of reads.
        selection: what is reported of them.
    """
    reads = len(selection.primary)
    count, take = (card.kernel(SOURCE, entry, **DEFINES) for entry in ("count_reported", "take_reported"))
    rows, operations = card.empty(reads, np.int32), card.empty(reads, np.int32)
    count.for_each(reads, alignments, selection, reads, rows, operations)
    offsets, operation_offsets = card.offsets(rows), card.offsets(operations)
    total, length = int(offsets[-1]), int(operation_offsets[-1])
    reported = Reported(
        first=offsets[:-1],
        rows=rows,
        proper=selection.proper,
        quality=card.empty(total, np.uint8),
        suboptimal_score=card.empty(total, np.int32),
        strand=card.empty(total, np.uint8),
        score=card.empty(total, np.int32),
        read_begin=card.empty(total, np.int32),
        read_end=card.empty(total, np.int32),
        axis_begin=card.empty(total, np.int64),
        axis_end=card.empty(total, np.int64),
        contig=card.empty(total, np.int32),
        position=card.empty(total, np.int64),
        cigar_begin=card.empty(total, np.int64),
        cigar_length=card.empty(total, np.int32),
        cigar=card.empty(length, np.uint32),
    )
    take.for_each(reads, alignments, selection, reads, operation_offsets, reported)
    return reported

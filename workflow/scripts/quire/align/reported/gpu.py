"""Selection of the reported alignments on a card: the twin of `quire.align.reported.cpu`.

These are the only data of a batch that return to the host.
"""

import numpy as np

from quire.align.model import ROW_TYPES, Alignments, Reported, Selection
from quire.align.parameters import MACROS
from quire.device.card import Card, CardArray

SOURCE = "quire/align/reported/reported.cu"
DEFINES = MACROS


def take_reported(
    card: Card, alignments: Alignments, selection: Selection, alternate: CardArray | None = None
) -> Reported:
    """Return the rows of `quire.align.reported.cpu.take_reported`; arrays on the card, `proper` as uint8.

    `alternate` (uint8[contigs]) is None if no places are lifted over.
    """
    reads, contigs = len(selection.primary), (alternate,)  # the struct Contigs of reported.cu
    count, take = (card.kernel(SOURCE, entry, **DEFINES) for entry in ("count_reported", "take_reported"))
    counts = card.empty((2, reads), np.int32)
    all_rows, operations = counts
    rows = card.empty(reads, np.int32) if alternate is not None else all_rows
    count.for_each(reads, alignments, selection, contigs, reads, rows, all_rows, operations)
    (offsets, operation_offsets), totals = card.offsets_and_totals(counts)
    total, length = totals.wait()
    reported = Reported(
        first=offsets[:-1],
        rows=rows,
        proper=selection.proper,
        quality=card.empty(total, np.uint8),
        suboptimal_score=card.empty(total, np.int32),
        **{name: card.empty(total, dtype) for name, dtype in ROW_TYPES.items()},
        cigar=card.empty(length, np.uint32),
        all_rows=all_rows if alternate is not None else card.empty(0, np.int32),
        rank=card.empty(total if alternate is not None else 0, np.int32),
    )
    take.for_each(reads, alignments, selection, contigs, reads, operation_offsets, reported)
    return reported

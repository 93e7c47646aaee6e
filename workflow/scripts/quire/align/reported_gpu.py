"""The alignments that are reported, on a card: the twin of `quire.align.reported`, with the same result.

Nothing else of a batch goes back to the host.
"""

import numpy as np

from quire.align.model import Alignments, Reported, Selection
from quire.align.parameters import MOST_SUPPLEMENTARY
from quire.device.card import Card

SOURCE = "quire/align/reported.cu"
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
    columns = (
        card.empty(total, dtype)
        for dtype in (np.uint8, np.int32, np.uint8, np.int32, np.int32, np.int32, np.int64, np.int64, np.int32,
                      np.int64, np.int64, np.int32)
    )  # fmt: skip
    reported = Reported(offsets[:-1], rows, selection.proper, *columns, card.empty(length, np.uint32))
    take.for_each(reads, alignments, selection, reads, operation_offsets, reported)
    return reported

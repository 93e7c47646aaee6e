"""Template lengths of the unique pairs of a batch on a card: the twin of `quire.align.pairing.template_length`."""

from weakref import WeakKeyDictionary

import numpy as np

from quire.align.alignments.gpu import DEFINES, SOURCE
from quire.align.insert_size import InsertSizes, ProperLengths, proper_lengths
from quire.align.model import Alignments
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads

# The models last used on each card.
_models: WeakKeyDictionary[Card, tuple[InsertSizes, ProperLengths]] = WeakKeyDictionary()


def unique_template_lengths(card: Card, alignments: Alignments, reads: CardReads) -> CardArray:
    """Return 4 * template length + orientation of each pair (int64[pairs]); -1 unless both are unique on one contig."""
    pairs = len(reads) // 2
    lengths = card.empty(pairs, np.int64)
    card.kernel(SOURCE, "unique_lengths", **DEFINES).for_each(pairs, alignments, reads, pairs, lengths)
    return lengths


def proper_lengths_on(card: Card, insert_sizes: InsertSizes) -> ProperLengths:
    """Return the models as arrays on the card (alignments.cuh: ProperLengths)."""
    if card not in _models or _models[card][0] != insert_sizes:
        arrays = ProperLengths(*(card.upload(array) for array in proper_lengths(insert_sizes)))
        _models[card] = insert_sizes, arrays
    return _models[card][1]

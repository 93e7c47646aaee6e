"""Template lengths of the unique pairs of a batch on a card: the twin of `quire.align.pairing.template_length`."""

import numpy as np

from quire.align.alignments.gpu import DEFINES, SOURCE
from quire.align.model import Alignments
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads


def unique_template_lengths(card: Card, alignments: Alignments, reads: CardReads) -> CardArray:
    """int64[pairs] on the card: template length of each pair, -1 unless its mates are unique and face each other."""
    pairs = len(reads) // 2
    lengths = card.empty(pairs, np.int64)
    card.kernel(SOURCE, "unique_lengths", **DEFINES).for_each(pairs, alignments, reads, pairs, lengths)
    return lengths

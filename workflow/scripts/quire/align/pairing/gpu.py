"""Choice of the reported alignments on a card: the twin of `quire.align.pairing.cpu`."""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from quire.align.alignments.gpu import proper_lengths_on
from quire.align.insert_size import InsertSizes
from quire.align.model import Alignments, Selection
from quire.align.parameters import COUNT_COST, LENGTH_FACTOR, MACROS, MOST_SUPPLEMENTARY
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads

SOURCE = "quire/align/pairing/pairing.cu"
DEFINES = {**MACROS, "MOST_COUNT": len(COUNT_COST) - 1}
THREADS = 128


class _QualityTables(NamedTuple):
    """The struct QualityTables of mapping_quality.cuh; int64[] each."""

    length_factor: CardArray
    count_cost: CardArray


class CardCompetition(NamedTuple):
    """The struct Competition of pairing.cu; int64[m], int32[m], int32[m], int64[m] for m alignments."""

    overlapped_by: CardArray
    suboptimal_score: CardArray
    near_best_count: CardArray
    five_prime_end: CardArray


_tables: WeakKeyDictionary[Card, _QualityTables] = WeakKeyDictionary()


def select(
    card: Card,
    alignments: Alignments,
    reads: CardReads,
    paired: bool,
    insert_sizes: InsertSizes,
    alternate: CardArray | None = None,
) -> Selection:
    """Choose alignments, as `quire.align.pairing.cpu.select` does; arrays on the card, with `proper` as uint8."""
    count, total = len(reads), len(alignments.score)
    competition = CardCompetition(
        overlapped_by=card.empty(total, np.int64),
        suboptimal_score=card.empty(total, np.int32),
        near_best_count=card.empty(total, np.int32),
        five_prime_end=card.empty(total, np.int64),
    )
    selection = Selection(
        card.empty(count, np.int64),
        card.empty(count, np.uint8),
        card.empty(count, np.int32),
        card.empty(count, np.uint8),
        card.empty((count, MOST_SUPPLEMENTARY), np.int64),
        card.empty((count, MOST_SUPPLEMENTARY), np.uint8),
        card.empty((count, MOST_SUPPLEMENTARY), np.int32),
    )
    if card not in _tables:
        _tables[card] = _QualityTables(card.upload(LENGTH_FACTOR), card.upload(COUNT_COST))
    tables, contigs = _tables[card], (alternate,)  # the struct Contigs of pairing.cu
    compete, pair, complete_selection = (
        card.kernel(SOURCE, entry, **DEFINES) for entry in ("compete", "pair", "complete_selection")
    )
    compete.for_each(count, alignments, reads, contigs, tables, competition, selection, threads=THREADS)
    if paired and insert_sizes.are_known:
        lengths = proper_lengths_on(card, insert_sizes)
        pair.for_each(count // 2, alignments, reads, contigs, tables, lengths, competition, selection, threads=THREADS)
    complete_selection.for_each(count, alignments, reads, contigs, tables, competition, selection, threads=THREADS)
    return selection

"""Queries and axis on a card for maximal exact matches: packed, with their runs of known bases."""

from typing import NamedTuple

import numpy as np

from quire.algorithms.mems import Queries, ReferenceText
from quire.device.card import Card, CardArray, Kernel
from quire.sequence.packing import BASES_PER_WORD

SOURCE = "quire/algorithms/mems/queries.cu"
DEFINES = {"LOOK_AHEAD": 512}  # bases beyond min_length that one thread compares; a warp compares longer matches


class CardRuns(NamedTuple):
    """Packed bases on a card and their runs of known bases: the axis, or queries (mems.cuh: Sequence).

    Attributes:
        words: uint64[], at least two words longer than the bases.
        length: number of bases.
        runs: int64[run_count, 2], (start, end), ascending.
    """

    words: CardArray
    length: int
    runs: CardArray
    run_count: int


class CardCodes(NamedTuple):
    """`Queries` on a card: codes uint8[total], offsets int64[n + 1]."""

    codes: CardArray
    offsets: CardArray


def kernel(card: Card, entry: str) -> Kernel:
    """Return a kernel of queries.cu."""
    return card.kernel(SOURCE, entry, **DEFINES)


def upload_reference(card: Card, reference: ReferenceText) -> CardRuns:
    """Copy the axis to a card."""
    length = int(reference.runs[-1, 1]) if len(reference.runs) else 0
    runs = np.asarray(reference.runs, np.int64).reshape(-1, 2)
    return CardRuns(card.upload(np.asarray(reference.words)), length, card.upload(runs), len(runs))


def upload_queries(card: Card, queries: Queries) -> CardCodes:
    """Copy queries to a card."""
    return CardCodes(card.upload(queries.codes), card.upload(queries.offsets))


def turn(card: Card, queries: CardCodes) -> CardCodes:
    """Return the reverse complement of each query."""
    turned, count = card.empty(len(queries.codes), np.uint8), len(queries.offsets) - 1
    kernel(card, "turn_codes").for_each(len(turned), queries.codes, queries.offsets, count, len(turned), turned)
    return CardCodes(turned, queries.offsets)


def lay(card: Card, queries: CardCodes) -> CardRuns:
    """Pack queries and find their runs of known bases, none of which extends beyond its query."""
    length, count = len(queries.codes), len(queries.offsets) - 1
    words = -(-length // BASES_PER_WORD) + 2
    packed, known, borders = card.empty(words, np.uint64), card.empty(words, np.uint32), card.zeros(words, np.uint32)
    kernel(card, "mark_borders").for_each(count, queries.offsets, count, length, borders)
    kernel(card, "pack_codes").for_each(words, queries.codes, length, words, packed, known)
    begins, ends = card.empty(words - 1, np.uint32), card.empty(words - 1, np.uint32)
    kernel(card, "count_runs").for_each(words - 1, known, borders, words - 1, begins, ends)
    begin_places, end_places = card.offsets(begins), card.offsets(ends)
    runs = card.empty((int(begin_places[-1]), 2), np.int64)
    kernel(card, "write_runs").for_each(words - 1, known, borders, words - 1, begin_places, end_places, runs)
    return CardRuns(packed, length, runs, len(runs))

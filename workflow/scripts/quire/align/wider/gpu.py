"""Wider bands on a card: the twin of `quire.align.wider.cpu`, with the same jobs in the same order."""

import numpy as np

from quire.algorithms.extension import (
    BAND_STEP,
    END_BONUS,
    GAP_EXTEND,
    GAP_OPEN,
    MATCH,
    MISMATCH,
    ExtensionJobs,
    Extensions,
)
from quire.align.parameters import (
    LARGEST_GAP,
    NEAR_BEST,
    OUTER_BASES,
    OUTER_DIFFERENCES,
    SHORTEST_CLIP,
    SHORTEST_SCORE,
)
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads
from quire.reference.gpu import CardReference

SOURCE = "quire/align/wider/wider.cu"
DEFINES = {
    "BAND_STEP": BAND_STEP,
    "END_BONUS": END_BONUS,
    "GAP_EXTEND": GAP_EXTEND,
    "GAP_OPEN": GAP_OPEN,
    "LARGEST_GAP": LARGEST_GAP,
    "MATCH": MATCH,
    "MISMATCH": MISMATCH,
    "NEAR_BEST": NEAR_BEST,
    "OUTER_BASES": OUTER_BASES,
    "OUTER_DIFFERENCES": OUTER_DIFFERENCES,
    "SHORTEST_CLIP": SHORTEST_CLIP,
    "SHORTEST_SCORE": SHORTEST_SCORE,
}


def wider_jobs(
    card: Card,
    rounds: list[tuple[ExtensionJobs, Extensions]],
    best: CardArray,
    reads: CardReads,
    reference: CardReference,
) -> tuple[ExtensionJobs, list[CardArray]]:
    """Return jobs for the alignments to repeat, and for each round their indices; arrays on the card.

    Args:
        card: card of all arrays.
        rounds: all rounds so far, with reads numbered as in `reads`.
        best: int32[n, 2], result of `best_scores`.
        reads: the batch.
        reference: the axis.
    """
    xp, chosen, parts = card.xp, [], []
    for jobs, found in rounds:
        count = len(jobs)
        is_chosen = card.empty(count, np.uint8)
        low, high = card.empty(count, np.int64), card.empty(count, np.int64)
        card.kernel(SOURCE, "find_wider", **DEFINES).for_each(
            count, jobs, found, count, reads, reference.text, best, is_chosen, low, high
        )
        rows = xp.flatnonzero(is_chosen)
        chosen.append(rows)
        parts.append((jobs.read[rows], jobs.strand[rows], jobs.diagonal[rows], low[rows], high[rows],
                      jobs.axis_low[rows], jobs.axis_high[rows]))  # fmt: skip
    return ExtensionJobs(*(xp.concatenate(columns) for columns in zip(*parts, strict=True))), chosen

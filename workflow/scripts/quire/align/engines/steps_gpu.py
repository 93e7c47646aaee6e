"""The steps of mapping on a card, and the memory that they need."""

from functools import partial

from quire.algorithms.extension.gpu import MOST_BYTES, extend
from quire.algorithms.seeding.gpu import bytes_per_read as seeding_bytes_per_read
from quire.algorithms.seeding.gpu import find_hits
from quire.align.alignments.gpu import best_scores, collect, poorly_aligned, unique_template_lengths
from quire.align.candidates.gpu import find_candidates
from quire.align.engines.steps import Steps
from quire.align.pairing.gpu import select
from quire.align.parameters import SEEDING
from quire.align.reported.gpu import take_reported
from quire.align.rescue.gpu import rescue_jobs
from quire.device.card import Card

# Card memory of a read without its seeds: its codes, words, candidates and alignments, and the reported rows of a read
# of the previous batch, which are being downloaded. The demo's reads needed two thirds of `bytes_per_read` before the
# operations of all bands were kept together; a batch that needs more is halved.
BYTES_PER_READ, BYTES_PER_BASE = 680, 4


def steps_on(card: Card, plentiful: bool = False) -> Steps:
    """Return the steps on a card, where all arrays are; pages are a list of `FmIndex` or a `CardPages`.

    If the card is not `plentiful`, so that half of the free memory may not suffice for the matrices of extension, each
    extension asks the driver for the free memory.
    """
    return Steps(
        flatnonzero=card.nonzero,
        subset=lambda reads, chosen: reads.subset(card, chosen),
        find_hits=partial(find_hits, card),
        find_candidates=partial(find_candidates, card),
        extend=partial(extend, card, budget=MOST_BYTES if plentiful else None),
        collect=partial(collect, card),
        best_scores=partial(best_scores, card),
        poorly_aligned=partial(poorly_aligned, card),
        rescue_jobs=partial(rescue_jobs, card),
        select=partial(select, card),
        take_reported=partial(take_reported, card),
        unique_template_lengths=partial(unique_template_lengths, card),
    )


def bytes_per_read(length: float, pages: int, together: bool) -> int:
    """Return the card memory to plan for a read, without the matrices of extension, which use the free memory.

    `length` is the mean length of the reads in bases; `together` is True if all pages stay on the card.
    """
    seeds = seeding_bytes_per_read(SEEDING, length, pages, together)
    return BYTES_PER_READ + int(BYTES_PER_BASE * length) + seeds

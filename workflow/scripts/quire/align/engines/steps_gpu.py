"""The steps of mapping on a card, and the memory that they take."""

from functools import partial

from quire.algorithms.extension import ExtensionJobs
from quire.algorithms.extension.gpu import MOST_BYTES, extend
from quire.algorithms.seeding.gpu import bytes_per_read as seeding_bytes_per_read
from quire.algorithms.seeding.gpu import find_hits
from quire.align.alignments.gpu import best_scores, collect, poorly_aligned
from quire.align.candidates.gpu import find_candidates
from quire.align.engines.steps import Rounds, Steps
from quire.align.pairing.gpu import select
from quire.align.pairing.template_length_gpu import unique_template_lengths
from quire.align.parameters import SEEDING
from quire.align.reported.gpu import take_reported
from quire.align.rescue.gpu import rescue_jobs
from quire.align.wider.gpu import wider_jobs
from quire.device.card import Card, CardArray
from quire.reads.gpu import CardReads

# What a read takes of the card besides its seeds: its codes, words, candidates and alignments, and the rows of a read
# of the batch before, which are on their way down. The reads of the demo take two thirds of what `bytes_per_read` says;
# a batch that takes more all the same is halved.
BYTES_PER_READ, BYTES_PER_BASE = 680, 4


def steps_on(card: Card, plentiful: bool = False) -> Steps:
    """The steps on a card: all arrays lie there, and pages are `CardPage`s in a list or in turn.

    Args:
        card: where everything lies.
        plentiful: whether half of what is free is more than matrices of extension ever take, as batches are planned;
            if not, each extension asks the driver how much there is.
    """

    def subset(reads: CardReads, chosen: CardArray) -> CardReads:
        return reads.subset(card, chosen)

    def leave_out_known(jobs: ExtensionJobs, _rounds: Rounds) -> ExtensionJobs:
        return jobs  # a card has aligned a few sooner than it has found them out

    return Steps(
        flatnonzero=card.xp.flatnonzero,
        subset=subset,
        find_hits=partial(find_hits, card),
        find_candidates=partial(find_candidates, card),
        leave_out_known=leave_out_known,
        extend=partial(extend, card, budget=MOST_BYTES if plentiful else None),
        collect=partial(collect, card),
        best_scores=partial(best_scores, card),
        poorly_aligned=partial(poorly_aligned, card),
        wider_jobs=partial(wider_jobs, card),
        rescue_jobs=partial(rescue_jobs, card),
        select=partial(select, card),
        take_reported=partial(take_reported, card),
        unique_template_lengths=partial(unique_template_lengths, card),
    )


def bytes_per_read(length: float, pages: int, together: bool) -> int:
    """Memory of the card to plan with for a read, without the matrices of extension, which take what is free.

    Args:
        length: mean length of reads.
        pages: of the index; together: whether all of them stay on the card.
    """
    seeds = seeding_bytes_per_read(SEEDING, length, pages, together)
    return BYTES_PER_READ + int(BYTES_PER_BASE * length) + seeds

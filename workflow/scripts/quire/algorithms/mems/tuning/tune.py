"""Find out which policies a card finds maximal exact matches fastest with, and keep them:
python -m quire.algorithms.mems.tuning.tune

Policies are timed on workloads of several lengths of matches and queries (`make tune`). All must give the same matches
before any is timed. First the length of seeds, then how hits are shared out among threads.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from quire.algorithms.fm_index.gpu import CardPage
from quire.algorithms.fm_index.tuning.tune import Clock, driver_version, seconds_by_events
from quire.algorithms.mems import Cursor, Matches
from quire.algorithms.mems.gpu import find
from quire.algorithms.mems.queries_gpu import CardRuns, lay, upload_queries, upload_reference
from quire.algorithms.mems.tuning.policies import (
    BLOCKS,
    SHARES,
    Policy,
    default_policy,
    keep,
    seed_lengths,
    source_digest,
)
from quire.algorithms.mems.tuning.workloads import WORKLOADS, Workload, page_of, reference_of, repetitive_text, sample
from quire.device.card import Card
from quire.device.choice import use_backend
from quire.errors import QuireError

REPEATS = 5
LIMIT = 1 << 24
logger = logging.getLogger("quire.index")

Finder = Callable[[Policy], list[Matches]]


def find_all(
    card: Card, page: CardPage, reference: CardRuns, queries: CardRuns, min_length: int, policy: Policy
) -> list[Matches]:
    """All matches, in pieces on the card."""
    pieces, cursor = [], Cursor(0, 0)
    while cursor.start < queries.length:
        found, cursor = find(
            card, [page], reference, queries, min_length, False, cursor, queries.length, LIMIT, policy
        )  # fmt: skip
        pieces.append(found)
    return pieces


def time_policies(
    card: Card, finder: Finder, clock: Clock, policies: Sequence[Policy], repeats: int = REPEATS
) -> list[tuple[Policy, float, int]]:
    """Median time in seconds of each policy, and how many matches it gives, after all have been seen to agree.

    Raises:
        QuireError: two policies gave different matches: a defect of a kernel or of the card.
    """
    times, wanted = [], None
    for policy in policies:
        found = _joined(card, finder(policy))
        wanted = found if wanted is None else wanted
        if len(found[0]) != len(wanted[0]) or any(bool((a != b).any()) for a, b in zip(found, wanted, strict=True)):
            raise QuireError(
                f"{card.name}: matches by {policy} and by {policies[0]} differ; a defect of Quire or of the card. "
                "Nothing was kept."
            )
        number = len(found[0])
        del found
        taken = sorted(clock(card, partial(finder, policy)) for _ in range(repeats))
        times.append((policy, taken[repeats // 2], number))
    return times


def _joined(card: Card, pieces: list[Matches]) -> Matches:
    return Matches(*(card.xp.concatenate(arrays) for arrays in zip(*pieces, strict=True)))


def tune_workload(card: Card, finder: Finder, clock: Clock, min_length: int) -> list[tuple[Policy, float, int]]:
    """Times of the lengths of seeds, and with the best of them of the ways to share out hits; the fastest first."""
    first = default_policy(min_length)
    lengths = [first._replace(seed_length=length) for length in seed_lengths(min_length)]
    timed = time_policies(card, finder, clock, lengths)
    best = min(timed, key=lambda row: row[1])[0]
    shared = [Policy(best.seed_length, lanes, kept, threads) for lanes, kept in SHARES for threads in BLOCKS]
    # The best so far once more: all of these must agree with it, and so with all others.
    again = time_policies(card, finder, clock, [best, *(policy for policy in shared if policy != best)])
    return sorted([row for row in timed if row[0] != best] + again, key=lambda row: row[1])


def tune(card: Card, driver: str, clock: Clock, workloads: Sequence[Workload] = WORKLOADS) -> dict[str, Any]:
    """Time policies on all workloads.

    Args:
        card: to measure.
        driver: its version, for the record.
        clock: gives the seconds of a call.
        workloads: of different `min_length`.

    Returns:
        What `policies.keep` keeps: card, driver, date, source_digest, figures (a row a policy and workload), best (the
        fastest policy by `min_length`).
    """
    figures, best = [], {}
    for workload in workloads:
        rng = np.random.default_rng(workload.min_length)
        text = repetitive_text(rng, workload.reference_bases)
        reference = reference_of(text)
        page = page_of(card, reference.words, len(text))
        queries = lay(card, upload_queries(card, sample(rng, text, workload.query_length, workload.queries)))
        finder = partial(find_all, card, page, upload_reference(card, reference), queries, workload.min_length)
        logger.info("%s", workload)
        timed = tune_workload(card, finder, clock, workload.min_length)
        for policy, seconds, number in timed:
            figures.append({**workload._asdict(), **policy._asdict(), "seconds": seconds, "matches": number})
            logger.info("  %-58s %9.3f ms, %8.1f M matches/s", policy, seconds * 1e3, number / seconds / 1e6)
        best[str(workload.min_length)] = timed[0][0]._asdict()
        del page, queries, finder, timed
    return {
        "card": card.name, "driver": driver, "date": str(date.today()), "source_digest": source_digest(),
        "figures": figures, "best": best,
    }  # fmt: skip


def main() -> None:
    """Tune a free card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--shrink", type=int, default=1, help="make references and queries so many times smaller")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    workloads = [
        workload._replace(
            reference_bases=workload.reference_bases // given.shrink,
            queries=max(1, workload.queries // given.shrink),
            query_length=min(workload.query_length, workload.reference_bases // given.shrink),
        )
        for workload in WORKLOADS
    ]
    try:
        with use_backend("auto") as (backend, open_card):
            if open_card is None:
                sys.exit(f"tune: nothing to measure: {backend.reason}")
            path = keep(tune(open_card(), driver_version(), seconds_by_events, workloads))
    except QuireError as error:
        sys.exit(f"tune: error: {error}")
    logger.info("kept in %s", path)


if __name__ == "__main__":
    main()

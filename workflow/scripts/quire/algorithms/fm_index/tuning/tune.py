"""Find out which design of search a card is fastest with, and keep it: python -m quire.algorithms.fm_index.tuning.tune

Designs and sampling distances are timed on a random index with queries from its text (`make tune`). All designs must
give the same intervals before any is timed.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import Any

from quire.algorithms.fm_index import SAMPLING_DISTANCES
from quire.algorithms.fm_index.gpu import BASES_PER_QUERY, CardPage, search_packed
from quire.algorithms.fm_index.tuning.designs import Design, designs, keep, source_digest
from quire.algorithms.fm_index.tuning.synthetic import random_page, sample_queries, visits
from quire.device.card import Card, CardArray
from quire.device.choice import use_backend
from quire.errors import QuireError

ROWS = 1 << 31  # an index of 0.6 to 1.1 GB, far more than any cache
QUERIES = 1 << 24
REPEATS = 5

Clock = Callable[[Card, Callable[[], Any]], float]
logger = logging.getLogger("quire.index")


def seconds_by_events(_card: Card, launch: Callable[[], Any]) -> float:
    """Time of a launch on the card itself, between two events."""
    import cupy

    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    launch()
    end.record()
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(begin, end)) / 1000


def time_designs(
    card: Card,
    page: CardPage,
    queries: CardArray,
    length: int,
    clock: Clock,
    chosen: Sequence[Design] | None = None,
) -> list[tuple[Design, float]]:
    """Median time in seconds of each design, after they have been seen to agree.

    By default of all designs that the card has shared memory for.

    Raises:
        QuireError: two designs gave different intervals: a defect of a kernel or of the card.
    """
    if chosen is None:
        words = page.words_per_block
        chosen = [design for design in designs(words) if design.shared_bytes(words) <= card.shared_bytes]
    wanted = search_packed(card, page, queries, length, chosen[0])
    for design in chosen[1:]:
        if bool((search_packed(card, page, queries, length, design) != wanted).any()):
            raise QuireError(
                f"{card.name}: searches by {design} and by {chosen[0]} differ; a defect of Quire or of the card. "
                "Nothing was kept."
            )
    del wanted
    times = []
    for design in chosen:
        launch = partial(search_packed, card, page, queries, length, design)
        taken = [clock(card, launch) for _ in range(REPEATS)]
        times.append((design, sorted(taken)[REPEATS // 2]))
    return times


def tune(
    card: Card, driver: str, clock: Clock, rows: int = ROWS, count: int = QUERIES,
    distances: Sequence[int] = SAMPLING_DISTANCES,
) -> dict[str, Any]:  # fmt: skip
    """Time all designs at all sampling distances.

    Args:
        card: to measure.
        driver: its version, for the record.
        clock: gives the seconds of a launch.
        rows: of the random index.
        count: queries.
        distances: sampling distances.

    Returns:
        What `designs.keep` keeps: card, driver, date, source_digest, rows, queries, figures (a row a design and
        distance), best (the fastest design of each distance), best_distance.
    """
    figures, best = [], {}
    for distance in distances:
        page = random_page(card, rows, distance)
        queries = sample_queries(card, page, BASES_PER_QUERY, count)
        visited, gigabytes = visits(card, page, queries, BASES_PER_QUERY), page.blocks.nbytes / 1e9
        for design, seconds in time_designs(card, page, queries, BASES_PER_QUERY, clock):
            figures.append({
                "distance": distance, **design._asdict(), "gigabytes": round(gigabytes, 3), "seconds": seconds,
                "queries_per_second": count / seconds, "visits_per_second": visited / seconds,
            })  # fmt: skip
            logger.info(
                "distance %3d, %-24s %7.3f G queries/s, %7.2f G visits/s",
                distance, design, count / seconds / 1e9, visited / seconds / 1e9,
            )  # fmt: skip
        fastest = max((row for row in figures if row["distance"] == distance), key=_speed)
        best[str(distance)] = {name: fastest[name] for name in Design._fields}
        del page, queries
    return {
        "card": card.name, "driver": driver, "date": str(date.today()), "source_digest": source_digest(),
        "rows": rows, "queries": count, "figures": figures, "best": best,
        "best_distance": max(figures, key=_speed)["distance"],
    }  # fmt: skip


def _speed(row: dict[str, Any]) -> float:
    return float(row["queries_per_second"])


def driver_version() -> str:
    """Of the installed driver, as CUDA numbers it."""
    import cupy

    return str(cupy.cuda.runtime.driverGetVersion())


def main() -> None:
    """Tune a free card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS, help="of the random index")
    parser.add_argument("--queries", type=int, default=QUERIES, help="of 32 bases")
    parser.add_argument("--distances", type=int, nargs="+", default=SAMPLING_DISTANCES, choices=SAMPLING_DISTANCES)
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        with use_backend("auto") as (backend, open_card):
            if open_card is None:
                sys.exit(f"tune: nothing to measure: {backend.reason}")
            result = tune(
                open_card(), driver_version(), seconds_by_events, given.rows, given.queries, given.distances
            )  # fmt: skip
            logger.info("kept in %s; fastest: sampling_distance %d", keep(result), result["best_distance"])
    except (QuireError, MemoryError) as error:
        sys.exit(f"tune: {error}")


if __name__ == "__main__":
    main()

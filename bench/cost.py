"""Dollars for a human genome at 30x, from core-seconds and card-seconds of recorded runs and the prices given.

    python -m bench.cost --core-hour DOLLARS --card-hour DOLLARS

The table is also in docs/benchmarks.md, at the default prices.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from bench.arena_page import rows_of
from bench.common import REPOSITORY, print_table, read_lines

GENOME_READS = 620_000_000  # 3.1 Gb at 30x in reads of 150 bases
CHROMOSOME_20 = 59_505_520  # bases of chr20 of GRCh37 without N
GENOME = 3_100_000_000
HEADER = ("what", "core-seconds", "card-seconds", "measured", "times", "core-hours a genome", "card-hours a genome",
          "dollars a genome")  # fmt: skip


class Prices(NamedTuple):
    """Dollars for an hour of one core, with its share of the memory, and for an hour of one card alone."""

    core_hour: float = 0.05
    card_hour: float = 3.50


class Usage(NamedTuple):
    """Use of cores and card by a run, and the share of a genome that it was.

    Attributes:
        what: the run, and if its machine was hired or its processor time counts.
        core_seconds, card_seconds: of the measured run.
        measured: origin of the figures.
        times: the run's factor to a whole genome.
    """

    what: str
    core_seconds: float
    card_seconds: float
    measured: str
    times: float

    def core_hours(self) -> float:
        """Return the core-hours of a genome."""
        return self.core_seconds * self.times / 3600

    def card_hours(self) -> float:
        """Return the card-hours of a genome."""
        return self.card_seconds * self.times / 3600

    def dollars(self, prices: Prices) -> float:
        """Return the price of a genome."""
        return self.core_hours() * prices.core_hour + self.card_hours() * prices.card_hour


class Source(NamedTuple):
    """Where the newest figures of a kind of run are found, and the run's factor to a genome."""

    what: str
    module: str
    case: str
    figure: str
    times: float


RUNS = (
    Source("chr20 at 30x to the report, with a card", "whole_run", "auto gzip", "warm", GENOME / CHROMOSOME_20),
    Source("chr20 at 30x to the report, without a card", "whole_run", "cpu gzip", "warm", GENOME / CHROMOSOME_20),
    Source("3.1 Gb, synthetic, at 10x to the report, with a card", "human_size", "3.1 Gb at 10x", "large", 3),
)


def usages(lines: Sequence[dict[str, Any]]) -> Iterator[Usage]:
    """Yield what the newest runs took: whole runs first, then mapping by each program of the arena."""
    for source in RUNS:
        hired = _newest(lines, source.module, source.case, f"{source.figure}, s")
        if hired is not None:
            seconds = hired["figures"][f"{source.figure}, s"]
            cards = seconds if hired["card"] else 0.0
            yield Usage(f"{source.what}, hired", seconds * hired["cores"], cards, _origin(hired), source.times)
        used = _newest(lines, source.module, source.case, f"{source.figure}, card-seconds")
        if used is not None:
            cores, cards = (used["figures"][f"{source.figure}, {what}-seconds"] for what in ("core", "card"))
            yield Usage(f"{source.what}, used", cores, cards, _origin(used), source.times)
    found = _newest(lines, "arena", "mapping, 2x150", "core-seconds for a million reads: quire")
    if found is not None:
        for row in rows_of(found["figures"]):
            if row.name == "core-seconds for a million reads":
                for program, seconds in row.values.items():
                    what = f"a million reads of chr20 to a BAM by {program}, used"
                    yield Usage(what, seconds, 0.0, _origin(found), GENOME_READS / 1e6)


def _newest(lines: Sequence[dict[str, Any]], module: str, case: str, figure: str) -> dict[str, Any] | None:
    command = f"python -m bench.{module}"
    found = [line for line in lines if line["command"].split(" --")[0] == command and line["case"] == case]
    found = [line for line in found if figure in line["figures"]]
    return found[-1] if found else None


def _origin(line: dict[str, Any]) -> str:
    machine = f"{line['cores']} cores of {line['processor']}" + (f", {line['card']}" if line["card"] else "")
    return f"{line['date']}, {machine}"


def explanation() -> str:
    """Return the text above the table, with the prices."""
    return (REPOSITORY / "bench" / "page_cost.txt").read_text().format(**Prices()._asdict())


def rows(lines: Sequence[dict[str, Any]], prices: Prices) -> list[tuple[str, ...]]:
    """Return the cells of the table."""
    return [
        (
            usage.what, f"{usage.core_seconds:,.1f}", f"{usage.card_seconds:,.1f}", usage.measured,
            f"{usage.times:.1f}", f"{usage.core_hours():.2f}", f"{usage.card_hours():.2f}",
            f"{usage.dollars(prices):.2f}",
        )
        for usage in usages(lines)
    ]  # fmt: skip


def main() -> None:
    """Print the table at the given prices."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Prices()
    parser.add_argument("--core-hour", type=float, default=usual.core_hour, help=f"dollars; {usual.core_hour}")
    parser.add_argument("--card-hour", type=float, default=usual.card_hour, help=f"dollars; {usual.card_hour}")
    given = parser.parse_args()
    print_table(HEADER, rows(read_lines(), Prices(given.core_hour, given.card_hour)))


if __name__ == "__main__":
    main()

"""The arena's part of docs/benchmarks.md: a table for each contest, with the best program of each row named."""

from collections.abc import Sequence
from textwrap import fill
from typing import Any, NamedTuple

OURS = "quire"
WIDTH = 120  # columns of the document
COMMANDS = ("python -m bench.arena", "python -m bench.gpu_arena")


class Quantity(NamedTuple):
    """Layout of a row of the arena.

    Attributes:
        best: `max` or `min` of the programs' figures, or None if no figure is better.
        digits: decimal places shown; figures equal at these are equally good.
    """

    best: Any
    digits: int


QUANTITIES = {
    "index, s": Quantity(min, 1),
    "index, core-seconds": Quantity(min, 1),
    "start-up, s": Quantity(min, 2),
    "1,000 reads/s": Quantity(max, 1),
    "1,000 reads/s of a core": Quantity(max, 1),
    "core-seconds for a million reads": Quantity(min, 1),
    "s": Quantity(min, 3),
    "core-seconds": Quantity(min, 2),
    "core-seconds, with an index as the program keeps it": Quantity(min, 2),
    "core-seconds, index included": Quantity(min, 2),
    "peak MB": Quantity(min, 0),
    "MB of output": Quantity(min, 1),
    "reads": Quantity(None, 0),
    "right, %": Quantity(max, 3),
    "right at MAPQ 20, %": Quantity(max, 3),
    "wrong at MAPQ 20, of a million": Quantity(min, 0),
    "wrong at MAPQ 60, of a million": Quantity(min, 0),
    "places": Quantity(None, 0),
    "places of another that are missing": Quantity(min, 0),
    "matches": Quantity(None, 0),
    "matches of another that are missing": Quantity(min, 0),
    "programs whose records differ": Quantity(min, 0),
    "T cells/s": Quantity(max, 3),
    "G cells": Quantity(None, 1),
    "scores that are not finite": Quantity(min, 0),
    "finite scores that differ by more than 0.001": Quantity(None, 0),
}
"""By name, without the `, k = ...` of complete search."""

CONTESTS = {
    "mapping, 2x150": "Mapping pairs of 150 bases",
    "mapping, 2x150_diverged_3": "Mapping pairs of 150 bases, 3 % divergence",
    "finishing": "Sorting, marking and indexing",
    "complete": "All places of reads of 100 bases",
    "mems": "Maximal exact matches of chr21 in chr20",
    "pairhmm, 128 times": "PairHMM on a card, 128 times the regions of `1m.in`",
    "pairhmm, 512 times": "PairHMM on a card, 512 times the regions of `1m.in`",
}
"""Heading by case."""


class Row(NamedTuple):
    """Figures of one quantity by program, and the programs with the best one."""

    name: str
    quantity: Quantity
    values: dict[str, float]

    @property
    def winners(self) -> list[str]:
        """Programs whose figure, as shown, is the best; none if all are equal or no figure is better."""
        shown = {program: round(value, self.quantity.digits) for program, value in self.values.items()}
        if self.quantity.best is None or len(set(shown.values())) == 1:
            return []
        best = self.quantity.best(shown.values())
        return [program for program, value in shown.items() if value == best]


def rows_of(figures: dict[str, float]) -> list[Row]:
    """Return the rows of a run of the arena, from figures that are named `QUANTITY: PROGRAM`."""
    table: dict[str, dict[str, float]] = {}
    for name, value in figures.items():
        quantity, _, program = name.rpartition(": ")
        table.setdefault(quantity, {})[program] = value
    return [Row(name, QUANTITIES[name.split(", k = ")[0]], values) for name, values in table.items()]


def beaten(rows: Sequence[Row]) -> str:
    """Return the list of the peers that are better than Quire somewhere, and of the rows where they are."""
    wins: dict[str, list[str]] = {}
    for row in rows:
        for program, value in row.values.items():
            pair = Row(row.name, row.quantity, {OURS: row.values[OURS], program: value})
            if program != OURS and pair.winners == [program]:
                wins.setdefault(program, []).append(row.name)
    if not wins:
        return "No peer is better than Quire in any row.\n"
    items = (fill(f"- {peer}: {' · '.join(names)}", WIDTH, subsequent_indent="  ") for peer, names in wins.items())
    return "\n".join(["Better than Quire:\n", *items, ""])


def section(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the arena's section, from the newest run of each contest."""
    parts = []
    for case, title in CONTESTS.items():
        found = [line for line in lines if line["command"].startswith(COMMANDS) and line["case"] == case]
        if not found:
            continue
        line = found[-1]
        rows = rows_of(line["figures"])
        peers = ", ".join(f"{name} {version}" for name, version in line["peers"].items())
        programs = list(rows[0].values)
        parts += [
            f"### Arena: {title}\n\n",
            f"`{line['command']}`:\n",
            f"{fill(f'{_machine(line)}; {peers}', WIDTH)}\n\n",
        ]
        parts += [_line(["what", *programs, "best"]), _line(["---"] * (len(programs) + 2))]
        for row in rows:
            values = [f"{row.values[program]:,.{row.quantity.digits}f}" for program in programs]
            parts.append(_line([row.name, *values, ", ".join(row.winners)]))
        parts.append(f"\n{beaten(rows)}\n")
    return parts


def _machine(line: dict[str, Any]) -> str:
    words = [str(line[key] or f"{key} unknown") for key in ("date", "commit", "processor")]
    return ", ".join([*words, f"{line['cores']} cores", *([line["card"]] if line["card"] else [])])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |\n"

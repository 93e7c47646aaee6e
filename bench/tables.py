"""Write docs/benchmarks.md and the table of figures in README.md from the newest measurements.

    python -m bench.tables

Figures come from docs/benchmarks/measurements.jsonl, to which each run of a measurement appends a line. The bars are in
bench/bars.yaml. The arena's tables and the table of costs have no bars (bench/arena_page.py, bench/cost.py). A test
compares both documents with this program's output.
"""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench import arena_page, cost
from bench.common import REPOSITORY, read_lines

BARS = REPOSITORY / "bench" / "bars.yaml"
HEAD, ARENA, TAIL = (REPOSITORY / "bench" / f"page_{part}.txt" for part in ("head", "arena", "tail"))
DOCUMENT = REPOSITORY / "docs" / "benchmarks.md"
README = REPOSITORY / "README.md"
BEGIN, END = "<!-- figures: python -m bench.tables -->", "<!-- end of figures -->"
HEADER = ("what", "command", "bar", "measured", "met", "peer", "date, commit, processor")
SIGNS = {">=": "≥", "<=": "≤"}
BY_HAND = "by hand"


class Bar(NamedTuple):
    """One row of docs/benchmarks.md, as bench/bars.yaml states it.

    Attributes:
        what: Measured quantity.
        figure: Name of the figure in the measurement's line (see `bench.common.figures_of`).
        bar: Relation, limit and unit, as in ">= 99.5 %".
        digits: Decimal places shown.
        aim: A desired further limit, with the relation and unit of the bar.
        peer: Program or figure for comparison, if any.
        case: The `case` of the line, if a module measures several subjects.
        readme: Name of the row in the README's table; rows without it are not in that table.
    """

    what: str
    figure: str
    bar: str
    digits: int
    aim: float | None = None
    peer: str = ""
    case: str = ""
    readme: str = ""

    @property
    def unit(self) -> str:
        """Unit of the figure, or "" for a plain number."""
        return " ".join(self.bar.split()[2:])

    def holds(self, value: float, limit: float | None = None) -> bool:
        """Return True if a figure is within the bar's limit, or within another one."""
        relation, own = self.bar.split()[:2]
        limit = float(own) if limit is None else limit
        return value >= limit if relation == ">=" else value <= limit

    def text(self) -> str:
        """Return the bar and its aim as the tables show them."""
        relation, limit, *unit = self.bar.split()
        words = [SIGNS[relation], f"{float(limit):,g}" if float(limit) < 1e6 else f"{float(limit):,.0f}", *unit]
        return " ".join(words) + (f", aim {self.aim:,g}" if self.aim is not None else "")

    def shown(self, value: float) -> str:
        """Return a figure as the tables show it."""
        sign = "+" if "difference" in self.what else ""
        return f"{value:{sign},.{self.digits}f} {self.unit}".rstrip()


class Group(NamedTuple):
    """The bars of one command, or of one measurement by hand.

    Attributes:
        title: Heading in docs/benchmarks.md.
        bars: Bars in the order of the table.
        command: Command that measures them, without `--data` and `--work`.
        by_hand: Instructions for the measurement if no module makes it.
    """

    title: str
    bars: list[Bar]
    command: str = ""
    by_hand: str = ""

    @property
    def module(self) -> str:
        """Name of the module below `bench`, or "" for a measurement by hand."""
        return _module_of(self.command)


class Row(NamedTuple):
    """A bar with its newest figure, and the measurement with that figure."""

    group: Group
    bar: Bar
    value: float
    line: dict[str, Any]


def read_bars(path: Path = BARS) -> dict[str, list[Group]]:
    """Return the groups of bars by section."""
    return {
        section["section"]: [
            Group(**{**group, "bars": [Bar(**bar) for bar in group["bars"]]}) for group in section["groups"]
        ]
        for section in yaml.safe_load(path.read_text())
    }


def find_rows(lines: Sequence[dict[str, Any]], groups: Iterable[Group]) -> list[Row]:
    """Return a row for each bar, with the newest figure of its module, case and name.

    Raises:
        LookupError: A bar has no figure in any line.
    """
    rows = []
    for group in groups:
        for bar in group.bars:
            found = [line for line in lines if _is_of(line, group, bar)]
            if not found:
                raise LookupError(f"no measurement of bench.{group.module or BY_HAND} has {bar.figure!r}, {bar.case!r}")
            rows.append(Row(group, bar, found[-1]["figures"][bar.figure], found[-1]))
    return rows


def verdicts(line: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each bar of a run."""
    for group in (group for groups in read_bars().values() for group in groups):
        for bar in group.bars:
            if _is_of(line, group, bar):
                value = line["figures"][bar.figure]
                yield f"{bar.what}: {bar.shown(value)} (bar {bar.text()}, {'met' if bar.holds(value) else 'missed'})"


def document(lines: Sequence[dict[str, Any]]) -> str:
    """Return docs/benchmarks.md."""
    parts = [HEAD.read_text()]
    for title, groups in read_bars().items():
        parts.append(f"\n## {title}\n\n")
        for group in groups:
            parts.append(f"### {group.title}\n\n")
            if group.by_hand:
                parts.append(f"Measured by hand: {group.by_hand}.\n\n")
            parts += [*_table(HEADER, map(_cells, find_rows(lines, [group]))), "\n"]
    if arena := arena_page.section(lines):
        parts += ["\n## The arena\n\n", ARENA.read_text(), "\n", *arena]
    costs = _table(cost.HEADER, cost.rows(lines, cost.Prices()))
    parts += ["\n## Cost of a genome\n\n", cost.explanation(), "\n", *costs]
    return "".join([*parts, "\n", TAIL.read_text()])


def readme(text: str, lines: Sequence[dict[str, Any]]) -> str:
    """Return the README with a new table of figures.

    Raises:
        ValueError: The README lacks the comments that enclose the table.
    """
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    groups = [group for groups in read_bars().values() for group in groups]
    rows = [
        (f"[{row.bar.readme}](docs/benchmarks.md#{_anchor(row.group.title)})", row.bar.shown(row.value), row.bar.peer)
        for row in find_rows(lines, groups)
        if row.bar.readme
    ]
    return before + "\n".join([BEGIN, "".join(_table(("what", "measured", "peer"), rows)) + END]) + after


def _module_of(command: str) -> str:
    return command.split()[2].removeprefix("bench.") if command.startswith("python -m bench.") else ""


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _is_of(line: dict[str, Any], group: Group, bar: Bar) -> bool:
    is_module = _module_of(line["command"]) == group.module
    return is_module and line["case"] == bar.case and bar.figure in line["figures"]


def _cells(row: Row) -> tuple[str, ...]:
    group, bar, line = row.group, row.bar, row.line
    command = f"[`{group.command}`](../bench/{group.module}.py)" if group.command else BY_HAND
    met = "yes" if bar.holds(row.value) else "**no**"
    if bar.aim is not None and bar.holds(row.value):
        met += ", the aim too" if bar.holds(row.value, bar.aim) else ", not the aim"
    origin = ", ".join(str(line[key] or f"{key} unknown") for key in ("date", "commit", "processor"))
    return bar.what, command, bar.text(), bar.shown(row.value), met, bar.peer, origin


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |\n" for row in (header, ["---"] * len(header), *rows)]


def main() -> None:
    """Write both documents."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    lines = read_lines()
    DOCUMENT.write_text(document(lines))
    README.write_text(readme(README.read_text(), lines))


if __name__ == "__main__":
    main()

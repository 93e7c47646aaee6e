"""Check that docs/benchmarks.md and the README's table equal the output of `python -m bench.tables`."""

import json
from pathlib import Path

import pytest

from bench import tables
from bench.__main__ import MEASUREMENTS

ROOT = Path(__file__).resolve().parents[2]
REMEDY = "is stale or was edited by hand: run `python -m bench.tables`"
KEYS = {"command", "commit", "date", "processor", "cores", "card", "peers", "case", "figures"}
GROUPS = [group for groups in tables.read_bars().values() for group in groups]


def test_the_page_of_measurements_is_up_to_date() -> None:
    page = tables.document(tables.read_lines())
    assert tables.DOCUMENT.read_text() == page, f"docs/benchmarks.md {REMEDY}"


def test_the_readme_is_up_to_date() -> None:
    text = tables.README.read_text()
    assert text == tables.readme(text, tables.read_lines()), f"README.md {REMEDY}"


def test_every_line_of_the_measurements_is_complete() -> None:
    for line in tables.read_lines():
        assert set(line) >= KEYS, line["command"]
        assert line["figures"], line["command"]


@pytest.mark.parametrize("module", sorted({group.module for group in GROUPS if group.command} | {*MEASUREMENTS}))
def test_a_measurement_leaves_its_line(module: str) -> None:
    assert "    write_measurement(" in (ROOT / "bench" / f"{module}.py").read_text()


def test_the_newest_figure_counts(tmp_path: Path) -> None:
    """Skip lines of another case or with other figures."""
    group = tables.Group("Speed", [tables.Bar("time", "run: s", "<= 3 s", 1, aim=1)], "python -m bench.speed")
    common = {"command": "python -m bench.speed --threads 2", "commit": None, "date": "2026-01-01", "processor": "P"}
    figures = [("", {"run: s": 5.0}), ("", {"run: s": 2.0}), ("other", {"run: s": 9.0}), ("", {"load: s": 7.0})]
    path = tmp_path / "measurements.jsonl"
    path.write_text("".join(json.dumps({**common, "case": case, "figures": one}) + "\n" for case, one in figures))
    [row] = tables.find_rows(tables.read_lines(path), [group])
    assert row.value == 2.0
    assert row.bar.holds(row.value)
    assert not row.bar.holds(row.value, row.bar.aim)


def test_a_bar_without_a_figure_is_an_error() -> None:
    group = tables.Group("Speed", [tables.Bar("time", "run: s", "<= 3 s", 1)], "python -m bench.speed")
    with pytest.raises(LookupError, match=r"bench\.speed"):
        tables.find_rows([], [group])


def test_a_run_says_which_bars_it_meets() -> None:
    """Only those of its module, case and figures."""
    line = {
        "command": "python -m bench.plate --samples 2",
        "case": "32 samples of 30000 bases, cpu",
        "figures": {"s": 31},
    }
    [told] = tables.verdicts(line)
    assert told == "without a card: 31.0 s (bar ≤ 30 s, missed)"
    assert not list(tables.verdicts(line | {"case": "2 samples"}))

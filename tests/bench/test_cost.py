"""Check the prices of a genome against sums by hand, and which recorded run each row takes."""

import pytest

from bench import cost, whole_run

PRICES = cost.Prices(core_hour=0.10, card_hour=4.0)


def line(command: str, case: str, card: str | None, **figures: float) -> dict[str, object]:
    return {"command": f"python -m bench.{command}", "case": case, "card": card, "cores": 16, "date": "2026-01-02",
            "processor": "P", "figures": figures}  # fmt: skip


def test_dollars_of_a_genome() -> None:
    """7,200 core-seconds and 1,800 card-seconds are 2 core-hours and half a card-hour, ten times over."""
    usage = cost.Usage("a run", 7200, 1800, "", 10)
    assert (usage.core_hours(), usage.card_hours()) == (20, 5)
    assert usage.dollars(PRICES) == pytest.approx(20 * 0.10 + 5 * 4.0)
    assert usage.dollars(cost.Prices(0, 0)) == 0


def test_a_hired_machine_costs_all_its_cores_and_its_card() -> None:
    old = line("human_size", "3.1 Gb at 10x", "a card", **{"large, s": 500.0})
    new = line("human_size --threads 8", "3.1 Gb at 10x", "a card", **{"large, s": 100.0})
    [usage] = cost.usages([old, new, line("human_size", "3.1 Gb at 3x", "a card", **{"large, s": 7.0})])
    assert (usage.core_seconds, usage.card_seconds, usage.times) == (1600, 100, 3)
    assert cost.rows([old, new], PRICES) == [
        ("3.1 Gb, synthetic, at 10x to the report, with a card, hired", "1,600.0", "100.0",
         "2026-01-02, 16 cores of P, a card", "3.0", "1.33", "0.08", "0.47"),
    ]  # fmt: skip


def test_used_seconds_are_those_measured() -> None:
    figures = {"warm, s": 40.0, "warm, core-seconds": 300.0, "warm, card-seconds": 0.0}
    hired, used = cost.usages([line("whole_run", "cpu gzip", None, **figures)])
    assert (hired.core_seconds, hired.card_seconds) == (640, 0)
    assert (used.core_seconds, used.card_seconds) == (300, 0)
    assert used.times == pytest.approx(3_100_000_000 / 59_505_520)


def test_mapping_of_each_program_of_the_arena() -> None:
    figures = {f"core-seconds for a million reads: {name}": value for name, value in (("quire", 18.0), ("one", 36.0))}
    quire, one = cost.usages([line("arena --contests mapping", "mapping, 2x150", None, **figures)])
    assert quire.core_hours() == pytest.approx(620 * 18 / 3600)
    assert one.dollars(PRICES) == pytest.approx(2 * quire.dollars(PRICES))


def test_a_card_is_held_while_any_of_its_jobs_runs() -> None:
    rows = [
        ("index_page", 1.0, 3.0),
        ("map_unit", 2.0, 10.0),  # overlaps: 7 s more
        ("map_unit", 4.0, 6.0),  # inside
        ("finish_sample", 10.0, 20.0),  # without a card
        ("rescore_interval", 20.0, 25.0),
    ]
    assert whole_run.held(rows) == 14.0

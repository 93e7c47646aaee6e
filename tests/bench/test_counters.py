"""Check the parser of a profiler's output about kernels."""

import pytest

from bench import counters

COLUMNS = ("ID", "Process ID", "Kernel Name", "Section Name", "Metric Name", "Metric Unit", "Metric Value")


def line(values: tuple[object, ...]) -> str:
    return ",".join(f'"{value}"' for value in values)


def test_launches_are_added_up() -> None:
    launches = [("search(Page, Reads)", 2_000_000, 8_000_000_000, 50.0, 40), ("sort", 1_000_000, 1_000_000, 20.0, 32),
                ("search(Page, Reads)", 6_000_000, 8_000_000_000, 90.0, 48)]  # fmt: skip
    lines = ["==PROF== Connected to process 7", "| a table | of the measurement |", line(COLUMNS)]
    for number, (kernel, nanoseconds, size, share, registers) in enumerate(launches):
        for metric, unit, value in (
            ("gpu__time_duration.sum", "ns", f"{nanoseconds:,}"),
            ("dram__bytes.sum", "byte", f"{size:,}"),
            ("lts__t_bytes.sum", "byte", f"{2 * size:,}"),
            ("smsp__inst_executed.sum", "inst", "3,000,000"),
            ("smsp__issue_active.avg.pct_of_peak_sustained_active", "%", f"{share}"),
            ("sm__warps_active.avg.pct_of_peak_sustained_active", "%", f"{share / 2}"),
            ("launch__registers_per_thread", "register/thread", f"{registers}"),
            ("something__else", "", "(!) n/a"),
        ):
            lines.append(line((number, 7, kernel, "Command line profiler metrics", metric, unit, value)))
    found = list(counters.rows(counters.read_counters("\n".join(lines))))
    assert found == [
        ("search", 2, "8.000", "88.9%", "16000.0", "2000", "4000", "6.0", "80 %", "40 %", "48"),
        ("sort", 1, "1.000", "11.1%", "1.0", "1", "2", "3.0", "20 %", "10 %", "32"),
    ]


def test_a_counter_that_a_card_lacks() -> None:
    metrics = (("gpu__time_duration.sum", "ns", "1000"), ("dram__bytes.sum", "byte", "n/a"))
    lines = [line(COLUMNS), *(line((0, 7, "sort", "", *metric)) for metric in metrics)]
    (row,) = counters.rows(counters.read_counters("\n".join(lines)))
    assert row[:6] == ("sort", 1, "0.001", "100.0%", "nan", "nan")


def test_without_counters() -> None:
    with pytest.raises(ValueError, match="no counters"):
        counters.read_counters("==ERROR== ERR_NVGPUCTRPERM\n")

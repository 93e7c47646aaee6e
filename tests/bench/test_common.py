"""Check what a measurement records: figures named by rows and columns, and one line of JSON per run."""

import json
from pathlib import Path

import pytest

from bench import common


def test_figures_are_named_by_row_and_column() -> None:
    header = ("caller", "kind", "F1", "missed", "F1", "missed")
    row = ("quire", "snv", "0.99", "1,234", "98.5 %", "")
    figures = {"quire, snv: F1": 0.99, "quire, snv: missed": 1234.0, "quire, snv: F1 2": 98.5}
    assert common.figures_of(header, row) == figures
    assert common.figures_of(("what", "ours", "peer"), ("mapped", "", 3), "demo") == {"demo, mapped: peer": 3.0}
    assert common.figures_of(("set", "digest"), ("demo", "6f44")) == {"demo: digest": "6f44"}


def test_a_run_leaves_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "measurements.jsonl"
    monkeypatch.setenv("MEASUREMENTS", str(path))
    monkeypatch.setattr(
        "sys.argv", ["/somewhere/speed.py", "--data", "/data", "--genome", "/data/g.fa", "--threads", "2"]
    )
    for seconds in (3, 2):
        common.print_setting(())
        common.print_table(("program", "s"), [("quire", seconds)])
        common.add_figures({"ratio": 1.5})
        common.write_measurement("g")
    first, second = map(json.loads, path.read_text().splitlines())
    assert first["figures"] == {"quire: s": 3.0, "ratio": 1.5}
    assert second["figures"] == {"quire: s": 2.0, "ratio": 1.5}
    assert first["command"].endswith(" --genome g.fa --threads 2")
    assert first["case"] == "g"


def test_the_memory_of_a_command_is_its_own() -> None:
    """Not that of the measurement which starts it, and that of the largest process of a pipe."""
    ours = bytearray(300_000_000)
    ours[::4096] = b"1" * len(ours[::4096])
    assert common.run("true").peak_megabytes < 50
    large = "x = bytearray(100_000_000); x[::4096] = b'1' * len(x[::4096])"
    timing = common.run(f'true | {common.python("").split()[0]} -S -c "{large}" | cat')
    assert 95 < timing.peak_megabytes < 200
    assert 0 < timing.user_seconds <= timing.cpu_seconds


@pytest.mark.parametrize(("command", "status"), [("exit 3 | cat", "3"), ("kill -9 $$", "-9")])
def test_a_command_that_fails_ends_the_measurement(command: str, status: str) -> None:
    with pytest.raises(SystemExit, match=f"failed with status {status}: "):
        common.run(command)


def test_a_command_has_the_variables_it_is_given() -> None:
    common.run('test "$NUMBA_CACHE_DIR" = /somewhere', {"NUMBA_CACHE_DIR": "/somewhere"})

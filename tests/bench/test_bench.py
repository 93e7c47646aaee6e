"""The measurements are run by hand: at least each can be called and says what it measures, and one lists them all."""

import importlib
from pathlib import Path

import pytest

from bench.__main__ import MEASUREMENTS

SHARED = {"cards", "common", "mapping_peers", "pairhmm_regions", "read_sets"}  # by the measurements; no program
MODULES = {path.stem for path in Path(__file__).parents[2].joinpath("bench").glob("[a-z]*.py")}


@pytest.mark.parametrize("name", sorted(MODULES - SHARED))
def test_tells_how_it_is_called(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything that it imports is there, and its options can be read."""
    module = importlib.import_module(f"bench.{name}")
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"usage: {name} " in told
    assert " ".join(module.__doc__.split())[:40] in told


def test_all_measurements_exist() -> None:
    """What is run without `--only` are programs of this folder."""
    assert set(MEASUREMENTS) <= MODULES - SHARED

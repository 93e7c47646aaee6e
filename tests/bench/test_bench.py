"""Check that each measurement, which is run by hand, can be called and describes itself, and that one lists all."""

import importlib
from pathlib import Path

import pytest

from bench.__main__ import MEASUREMENTS

SHARED = {
    "arena_page",
    "calling",
    "cards",
    "cohort_compare",
    "cohort_templates",
    "common",
    "copies_truth",
    "error_evidence",
    "error_sets",
    "pairhmm_regions",
    "structural_truth",
    "synthetic_genome",
    "watching",
    "workflow",
}  # modules, not programs
MODULES = {path.stem for path in Path(__file__).parents[2].joinpath("bench").glob("[a-z]*.py")}


@pytest.mark.parametrize("name", sorted(MODULES - SHARED))
def test_tells_how_it_is_called(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All its imports exist, and its options can be parsed."""
    module = importlib.import_module(f"bench.{name}")
    monkeypatch.setattr("sys.argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"usage: {name} " in told
    assert " ".join(module.__doc__.split())[:40] in told


def test_all_measurements_exist() -> None:
    """The measurements that run without `--only` are programs of this folder."""
    assert set(MEASUREMENTS) <= MODULES - SHARED

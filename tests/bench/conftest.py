"""Redirect the figures of measurements that tests run to a temporary file."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_measurement_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEASUREMENTS", str(tmp_path / "measurements.jsonl"))

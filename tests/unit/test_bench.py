"""The measurements are run by hand: at least each of them can be imported, and the main one lists them."""

import importlib
from pathlib import Path

import pytest

from bench.__main__ import MEASUREMENTS

MODULES = sorted(path.stem for path in Path(__file__).parents[2].joinpath("bench").glob("[a-z]*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_imports(name):
    importlib.import_module(f"bench.{name}")


def test_all_measurements_exist():
    assert set(MEASUREMENTS) <= set(MODULES)
    for name in MEASUREMENTS:
        assert callable(importlib.import_module(f"bench.{name}").main)

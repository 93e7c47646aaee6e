"""Sources of libdivsufsort: conda's package, then PyPI's, and one sentence if there is neither."""

import ctypes
import importlib.machinery
import sys
from pathlib import Path

import numpy as np
import pytest
from quire.algorithms.suffix_array import cpu
from quire.errors import QuireError

from tests.oracles import suffix_array as oracle


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set up an environment without libraries, and unload earlier ones."""
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(cpu, "_library", cpu._library.__wrapped__)
    return tmp_path


def test_the_wheel_is_not_imported() -> None:
    """The library is loaded from PyPI's package without importing its modules."""
    text = np.array([0, 1, 2, 3, 0, 1], np.uint8)
    np.testing.assert_array_equal(cpu.suffix_array(text), oracle.suffix_array(text))
    assert "pydivsufsort" not in sys.modules


def test_the_library_of_the_environment_comes_first(prefix: Path) -> None:
    """Conda's files are found: lib/libdivsufsort.so.3 and its longer name, next to the 64-bit library."""
    original = cpu._library()._name
    library = prefix / "lib/libdivsufsort.so.3"
    library.symlink_to(original)
    (prefix / "lib/libdivsufsort64.so.3").write_text("not this one")
    assert cpu._library()._name == str(library)
    assert cpu.suffix_array(np.zeros(3, np.uint8)).tolist() == [3, 2, 1, 0]


def test_no_library(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without either package the error names the folders that were searched and the packages to install."""
    monkeypatch.setattr(cpu.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(QuireError, match=rf"not in {prefix / 'lib'}: run `make` again, or install"):
        cpu.suffix_array(np.zeros(3, np.uint8))
    spec = importlib.machinery.ModuleSpec("pydivsufsort", None, is_package=True)
    spec.submodule_search_locations = [str(prefix / "wheel")]
    monkeypatch.setattr(cpu.importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(QuireError, match=rf"not in {prefix / 'lib'} or {prefix / 'wheel'}"):
        cpu.suffix_array(np.zeros(3, np.uint8))


def test_a_broken_library(prefix: Path) -> None:
    """The error names a file that is not a library."""
    (prefix / "lib/libdivsufsort.so.3").write_text("nothing")
    with pytest.raises(QuireError, match=r"cannot be loaded from .*lib/libdivsufsort\.so\.3 \(.*\): install it again"):
        cpu.suffix_array(np.zeros(3, np.uint8))


def test_the_library_is_loaded_once() -> None:
    """Two calls share one loaded library."""
    assert isinstance(cpu._library(), ctypes.CDLL)
    assert cpu._library() is cpu._library()

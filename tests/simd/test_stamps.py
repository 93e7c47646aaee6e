"""Check that a stage whose kernels are compiled is not compiled again, and that any doubt compiles it."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from quire.kernel_list import Entry
from quire.simd import stamps

ENTRIES = [Entry("quire.reads.cpu:orient", False, [], [], 1.0)]
FOLDER = "quire.align.records-0123456789abcdef"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of compiled kernels with a stamped stage, and an older folder that is not part of it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    stamps.kernels_root.cache_clear()
    (tmp_path / "quire.older-0123456789abcdef").mkdir()
    os.utime(tmp_path / "quire.older-0123456789abcdef", (0, 0))
    (tmp_path / FOLDER).mkdir()
    for name in ("kernel.1.nbc", "kernel.2.nbc"):
        (tmp_path / FOLDER / name).touch()
    stamps.remember("align", ENTRIES, time.time() - 60)
    yield tmp_path
    stamps.kernels_root.cache_clear()


def test_a_stamped_stage_is_compiled_and_kept(root: Path) -> None:
    os.utime(root / FOLDER, (0, 0))
    shutil.rmtree(root / "quire.older-0123456789abcdef")
    assert stamps.are_compiled("align", ENTRIES)
    assert (root / FOLDER).stat().st_mtime > time.time() - 60


def test_another_stage_is_not(root: Path) -> None:
    assert not stamps.are_compiled("rescore", ENTRIES)


def test_other_kernels_are_not(root: Path) -> None:
    assert not stamps.are_compiled("align", [ENTRIES[0]._replace(function="quire.sequence.packing_cpu:pack")])


@pytest.mark.parametrize("missing", [FOLDER, f"{FOLDER}/kernel.1.nbc"])
def test_what_was_removed_is_compiled_again(root: Path, missing: str) -> None:
    shutil.rmtree(root / missing) if (root / missing).is_dir() else (root / missing).unlink()
    assert not stamps.are_compiled("align", ENTRIES)


@pytest.mark.parametrize("text", ["{", "[]", f'{{"{FOLDER}": "2"}}', f'{{"{FOLDER}": null}}', "[" * 100_000])
def test_a_damaged_stamp_is_none(root: Path, text: str) -> None:
    (stamp,) = root.glob("align-*.json")
    stamp.write_text(text)
    assert not stamps.are_compiled("align", ENTRIES)


def test_another_processor_or_setting_is_another_stamp(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = tmp_path / "cpuinfo"
    description.write_text("processor\t: 0\nflags\t\t: fpu sse2\n")
    monkeypatch.setattr(stamps, "PROCESSOR", description)
    assert not stamps.are_compiled("align", ENTRIES)
    monkeypatch.undo()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(root))
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")
    assert not stamps.are_compiled("align", ENTRIES)

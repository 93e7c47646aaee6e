"""Kernels that an installation brings: found instead of compiled, for the level of this processor only."""

import multiprocessing
import re
import shutil
import tomllib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from quire import kernels
from quire.kernel_list import Entry, listed, with_callees
from quire.simd import processor, stamps

from tests.workflow.runs import REPOSITORY

FUNCTION = "quire.algorithms.fm_index.construction.cpu:rows_from"


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, Entry]]:
    """Compile a kernel for this level as for an installation; return the folder and the entries."""
    if processor.x86_level() is None:
        pytest.skip("this processor is of no level of x86-64 for which kernels are brought")
    entries = listed("mems")
    chosen = with_callees(entries, [n for n, entry in entries.items() if entry[:2] == (FUNCTION, False)])
    folder = tmp_path_factory.mktemp("kernels")
    for level in processor.LEVELS:
        apart(compile_for, folder, level, chosen)
    return folder, chosen


def apart(function, *arguments):
    """Return what a function returns in a new process."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def compile_for(folder: Path, level: str, chosen: dict[int, Entry]) -> None:
    """Compile kernels for an installation in `folder`."""
    stamps.SHIPPED = folder
    kernels.compile_for_installations(level, chosen)


def run(folder: Path, chosen: dict[int, Entry]) -> list[int]:
    """Compile the kernels that an installation in `folder` lacks, and return an answer of the first."""
    from quire.simd import compiled

    compiled.SHIPPED = folder
    kernels.compile_entries(chosen, 1)
    kernel, _ = kernels._kernel(next(entry for entry in chosen.values() if not entry.part))
    return [int(row) for row in kernel(np.array([3, 1, 0, 2], np.uint32), 1)]


def kept(root: Path) -> list[Path]:
    """Return the files of compiled code in a user's folder."""
    return [*root.glob("*/*.nbc")]


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the empty folder of a user's kernels."""
    monkeypatch.setenv(stamps.FOLDER, str(tmp_path))
    return tmp_path


def test_nothing_is_compiled(brought: tuple[Path, dict[int, Entry]], users: Path) -> None:
    assert apart(run, *brought) == [0, 1, 3]
    assert kept(users) == []


def test_code_of_other_levels_is_not_taken(
    brought: tuple[Path, dict[int, Entry]], users: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, chosen = brought
    others = tmp_path_factory.mktemp("others")
    (other,) = processor.LEVELS.keys() - {processor.x86_level()}
    (others / str(processor.x86_level())).symlink_to(folder / other)
    assert apart(run, others, chosen) == [0, 1, 3]
    assert len(kept(users)) == 1


def test_damaged_code_is_compiled_again(brought: tuple[Path, dict[int, Entry]], users: Path, tmp_path: Path) -> None:
    folder, chosen = brought
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    for path in copied.glob("*/*/*.nbc"):
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
    assert apart(run, copied, chosen) == [0, 1, 3]
    assert len(kept(users)) == 1


def test_a_processor_of_the_users_choice_has_no_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor.config, "CPU_NAME", "znver3")
    assert processor.x86_level.__wrapped__() is None


def test_wheel_and_images_bring_all_levels() -> None:
    wheel = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["artifacts"] == [str(stamps.SHIPPED.relative_to(REPOSITORY))]
    for name in ("Makefile", "containers/install.sh"):
        assert set(re.findall(r"x86-64-v\d", (REPOSITORY / name).read_text())) == set(processor.LEVELS), name

"""Shared parts of all tests: cards that kernels run on, a small disk, profiles of Hypothesis, tables, and `--once`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.emulator.emulated_card import COMPILER, SCHEDULES, EmulatedCard
from tests.support.card_builders import Host


def _real_cards() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except (ImportError, RuntimeError):  # no CuPy, no driver, or one too old: the emulated card alone
        return 0


# `make test` draws a tenth of the examples (tests/support/examples.py).
settings.register_profile("quick", max_examples=10, deadline=None)

WITHOUT_POOL = "QUIRE_TEST_WITHOUT_POOL"  # in the environment: see docs/gpu.md
# `-m on_a_card` chooses the machine's own card.
_REAL = [pytest.param("real", marks=pytest.mark.on_a_card)] if _real_cards() else []


def _real_card():
    from cupy.cuda.memory import Memory, MemoryPointer
    from quire.device.cupy_card import CupyCard

    class WithoutPool(CupyCard):
        """Each array is an allocation of its own, whose bounds compute-sanitizer sees."""

        def _allocate(self, size: int):
            return MemoryPointer(Memory(max(1, size)), 0)

    return WithoutPool() if os.environ.get(WITHOUT_POOL) else CupyCard()


# One schedule is enough for `make test`: the random one.
ALL_SCHEDULES = [
    schedule if schedule == "random" else pytest.param(schedule, marks=pytest.mark.full) for schedule in SCHEDULES
]


@pytest.fixture(params=ALL_SCHEDULES)
def schedule(request: pytest.FixtureRequest) -> str:
    """Return the order in which the emulated card runs threads."""
    return request.param


def _card(kind: str):
    if kind == "real":
        return _real_card()
    if COMPILER is None:
        pytest.skip("no C++ compiler (g++ or clang++) to run kernels on the CPU")
    return EmulatedCard(kind)


@pytest.fixture(params=[*ALL_SCHEDULES, *_REAL])
def card(request: pytest.FixtureRequest):
    """Return a card: the emulated one under each schedule, and the machine's own."""
    return _card(request.param)


@pytest.fixture(params=["cpu", *ALL_SCHEDULES, *_REAL])
def card_or_cpu(request: pytest.FixtureRequest):
    """Return a card, as `card`, and the CPU in the place of one, for tests of both twins."""
    if request.param != "cpu":
        return _card(request.param)
    pytest.importorskip("numba", reason="the CPU's functions are compiled by Numba")
    return Host()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which continuous integration runs after `make test` only what that leaves out."""
    parser.addoption(
        "--once",
        type=Path,
        metavar="FILE",
        help="leave out tests that FILE lists, except Hypothesis' (they draw other examples); list those that pass",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that passed before, with `--once`."""
    file = config.getoption("once")
    passed = set(file.read_text().splitlines()) if file and file.exists() else set()
    left_out = {item for item in items if item.nodeid in passed and not item.get_closest_marker("hypothesis")}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


# Files that take over twenty seconds. They start first, so that no worker ends long before the others: pytest-xdist
# starts those of many tests first, and the longest have few.
LONGEST = (
    "tests/workflow/test_slurm.py",
    "tests/emulator/test_compile.py",
    "tests/workflow/test_interruptions.py",
    "tests/workflow/test_bad_input.py",
    "tests/workflow/test_environments.py",
    "tests/workflow/test_road.py",
    "tests/fuzz/test_fuzz.py",
    "tests/workflow/test_reruns.py",
    "tests/workflow/test_exact_tools.py",
    "tests/workflow/test_gvcf_road.py",
    "tests/workflow/test_hostile_names.py",
    "tests/workflow/test_inputs.py",
    "tests/workflow/test_bad_days.py",
    "tests/workflow/test_spoiled_samples.py",
    "tests/algorithms/test_pairhmm_gpu.py",
    "tests/emulator/test_mutations.py",
    "tests/simd/test_compiled.py",
    "tests/workflow/test_wheel.py",
    "tests/align/test_engine_like_cpu.py",
    "tests/workflow/test_annotators.py",
    "tests/workflow/test_last_words.py",
    "tests/workflow/test_bad_biology.py",
    "tests/workflow/test_catalog.py",
    "tests/workflow/test_pages.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Start the longest files first."""
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _assign_work_unit(self, node: Any) -> None:
            longest = next((unit for unit in LONGEST if unit in self.workqueue), None)
            if longest is not None:
                self.workqueue.move_to_end(longest, last=False)
            super()._assign_work_unit(node)

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_terminal_summary(terminalreporter) -> None:
    """Print tables that tests recorded with `record_property("table: TITLE", text)`; list tests for `--once`."""
    file = terminalreporter.config.getoption("once")
    if file and not hasattr(terminalreporter.config, "workerinput"):  # workers of pytest-xdist report to this process
        with file.open("a") as stream:
            stream.writelines(f"{report.nodeid}\n" for report in terminalreporter.stats.get("passed", []))
    for status in ("passed", "failed"):
        for report in terminalreporter.stats.get(status, []):
            for name, text in getattr(report, "user_properties", ()):
                if name.startswith("table: "):
                    terminalreporter.section(name.removeprefix("table: "))
                    terminalreporter.write_line(text)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 300 KB."""
    folder = tmp_path / "small_disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)

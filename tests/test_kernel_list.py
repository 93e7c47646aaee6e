"""Check the list of kernels: it names what runs call, and its kernels are compiled in several processes."""

import multiprocessing
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from quire import kernels
from quire.errors import QuireError
from quire.kernel_list import Entry, all_entries, listed, with_callees
from quire.simd import compiled, stamps
from quire.simd.signatures import type_of

from tests.compile_kernels import CALLED_BY_TESTS
from tests.kernel_list.__main__ import RUNS, in_new_process
from tests.kernel_list.recorder import description

pytestmark = pytest.mark.full
RECORD = "record the list again: python -m tests.kernel_list"


@pytest.mark.parametrize("stage", RUNS)
def test_the_list_is_what_runs_call(stage: str) -> None:
    """A run by the defaults calls what is listed for them; one with all options calls nothing that is not listed."""
    run, options = RUNS[stage]
    everything = dict.fromkeys(options, True)
    kernels.compile_stage(stage, 2, **everything)
    called = [for_python(in_new_process(run, dict.fromkeys(options, chosen))) for chosen in (False, True)]
    assert called[0] == for_python(listed(stage).values()), RECORD
    assert called[1] <= for_python(listed(stage, **everything).values()), RECORD


def test_functions_that_tests_call_are_in_the_list() -> None:
    called = {f"{module}:{name}" for module, names in CALLED_BY_TESTS.items() for name in names}
    assert called <= {entry.function for entry in all_entries().values() if entry.part}


def for_python(entries) -> set[tuple[str, str]]:
    """Return names and types of the kernels that Python calls."""
    return {(entry.function, str(entry.types)) for entry in entries if not entry.part}


def test_types_return_from_their_descriptions() -> None:
    entries = [entry for stage in RUNS for entry in listed(stage, **dict.fromkeys(RUNS[stage][1], True)).values()]
    assert len(entries) > 400
    for described in (described for entry in entries for described in entry.types):
        assert description(type_of(described)) == described


@pytest.mark.parametrize("exchange", ["a folder", "a full disk"])
def test_kernels_are_compiled_in_processes(exchange: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes compile kernels and what they call, also without room to exchange it; a second time nothing."""
    entries = listed("mems")
    numbers = [
        number
        for number, entry in entries.items()
        if entry.function == "quire.mems.text_cpu:_write_queries" and not entry.part
    ]
    chosen = with_callees(entries, numbers)
    assert len(chosen) > 5
    monkeypatch.setenv(stamps.FOLDER, str(tmp_path))
    kept = []
    for _ in range(2):
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            process.submit(compile_with, exchange, chosen).result()
        kept.append(files(tmp_path))
    assert len(kept[0]) == len(numbers)
    assert kept[1] == kept[0]


def compile_with(exchange: str, chosen: dict[int, Entry]) -> None:
    """Compile kernels in two processes, which may have no folder for the functions that kernels call."""
    compiled.SHIPPED = Path("/dev/null")  # as after `make wheel` in this clone
    if exchange == "a full disk":
        kernels.tempfile = SimpleNamespace(TemporaryDirectory=lambda: nullcontext("/dev/null"))
    kernels.compile_entries(chosen, 2)


def end_killed(_: Entry) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_process_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_compile", end_killed)
    with pytest.raises(QuireError, match="memory ran out: a process of the job was killed"):
        kernels.compile_entries({0: Entry("quire.reads.cpu:no_kernel", False, [], [], 1.0)}, 1)


def files(root: Path) -> set[tuple[Path, int]]:
    """Return names and times of the files of compiled code."""
    return {(path, path.stat().st_mtime_ns) for path in root.glob("*/*.nbc")}


def test_an_entry_of_another_version_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    """A renamed kernel, or one with other arguments, is left to the job that calls it."""
    module = "quire.algorithms.pairwise.cpu"
    missing = Entry(f"{module}:no_kernel", False, [], [], 1.0)
    kernels.compile_entries({0: missing, 1: missing._replace(function="quire.nothing:kernel", needs=[0])}, 2)
    assert [message.partition("out of date: ")[2] for message in caplog.messages] == [
        f"{module}:no_kernel: module '{module}' has no attribute 'no_kernel'",
        "quire.nothing:kernel: No module named 'quire.nothing'",
    ]

"""The start and the end of a run: threads of Snakemake and NumPy, and the garbage collector."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from quire.run.interrupts import cancel_timers
from quire.sources import SCRIPTS
from quire.start import RUN
from snakemake.scheduling.job_scheduler import JobScheduler

COMMAND = "from quire.command import function_of; function_of('map')"


def told(code: str, **variables: str) -> str:
    """Return what a new process prints."""
    environment = {key: value for key, value in os.environ.items() if key != RUN} | {"PYTHONPATH": str(SCRIPTS)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True, check=True
    ).stdout


def test_timers_end_at_once_and_other_threads_stay() -> None:
    """A timer of Snakemake that would fire in a minute ends; a thread, and a timer of another package, go on."""
    before, wanted, scheduler = set(threading.enumerate()), threading.Event(), SimpleNamespace(_open_jobs=None)
    JobScheduler._schedule_reevalutation(cast(JobScheduler, scheduler), 60)
    (timer,) = set(threading.enumerate()) - before
    others = threading.Timer(60, wanted.set), threading.Timer(60, [].clear), threading.Thread(target=wanted.wait)
    for thread in others:
        thread.start()
    cancel_timers()
    timer.join(10)
    assert not timer.is_alive()
    assert all(thread.is_alive() for thread in others)
    assert not others[0].finished.is_set()
    assert not others[1].finished.is_set()
    others[0].cancel()
    others[1].cancel()
    wanted.set()
    for thread in others:
        thread.join(10)


@pytest.mark.parametrize("is_job", [False, True])
def test_garbage_is_collected_as_usual_after_imports(is_job: bool) -> None:
    """Imports are looked through less often; a job, or a command, then frees arrays in cycles as any Python does."""
    code = "import gc; usual = gc.get_threshold(); import quire; print(gc.get_threshold() == usual); " + (
        "from quire.run.interrupts import loading\nwith loading(): print(gc.get_threshold() == usual)\n"
        "print(gc.get_threshold() == usual, gc.get_freeze_count() > 0)"
    )
    assert told(code, **{RUN: "one"} if is_job else {}) == f"{not is_job}\nFalse\nTrue True\n"


@pytest.mark.parametrize(("begin", "variables"), [("import quire", {RUN: "one"}), (COMMAND, {})])
def test_numpy_starts_no_threads(begin: str, variables: dict[str, str]) -> None:
    """With the variable that Snakemake sets for a job of four threads, a job or command has one thread."""
    code = f"{begin}; import numpy, os; print(len(os.listdir('/proc/self/task')))"
    assert told(code, OPENBLAS_NUM_THREADS="4", **variables) == "1\n"


def test_programs_that_import_quire_keep_their_settings(tmp_path: Path) -> None:
    """A library changes no variable and no collection, and a file held by a cycle is written out at the end."""
    code = f"""
import gc, os
usual, variables = gc.get_threshold(), dict(os.environ)
import quire, quire.reference, quire.run.job
print(gc.get_threshold() == usual, os.environ == variables)
held = [open({str(tmp_path / "text")!r}, "w")]
held[0].write("all")
held.append(held)
"""
    assert told(code) == "True True\n"
    assert (tmp_path / "text").read_text() == "all"

"""What a run starts with and ends with: threads of Snakemake and NumPy, and the garbage collector."""

import os
import subprocess
import sys
import threading

from quire.run.interrupts import cancel_timers
from quire.sources import SCRIPTS


def told(code: str, **variables: str) -> str:
    """Return what a new process prints."""
    environment = os.environ | {"PYTHONPATH": str(SCRIPTS)} | variables
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_timers_end_at_once_and_other_threads_stay() -> None:
    """A timer that would fire in a minute ends without firing; a thread that waits for something else goes on."""
    fired, wanted = threading.Event(), threading.Event()
    timer, other = threading.Timer(60, fired.set), threading.Thread(target=wanted.wait)
    for thread in (timer, other):
        thread.start()
    cancel_timers()
    timer.join(10)
    assert not timer.is_alive()
    assert not fired.is_set()
    assert other.is_alive()
    wanted.set()
    other.join(10)


def test_garbage_is_collected_as_usual_after_imports() -> None:
    """Imports are looked through less often; a job, or a command, then frees arrays in cycles as any Python does."""
    code = "import gc; usual = gc.get_threshold(); import quire; print(gc.get_threshold() == usual); " + (
        "from quire.run.interrupts import loading\nwith loading(): import numpy\n"
        "print(gc.get_threshold() == usual, gc.get_freeze_count() > 0)"
    )
    assert told(code) == "False\nTrue True\n"


def test_numpy_starts_no_threads() -> None:
    """With the variable that Snakemake sets for a job of four threads, a process that imports both has one thread."""
    code = "import quire, numpy, os; print(len(os.listdir('/proc/self/task')))"
    assert told(code, OPENBLAS_NUM_THREADS="4") == "1\n"

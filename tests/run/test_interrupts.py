"""Threads of a run: timers of Snakemake that would outlive it, and the threads that NumPy starts in jobs."""

import os
import subprocess
import sys
import threading

from quire.run.interrupts import cancel_timers
from quire.sources import SCRIPTS


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


def test_numpy_starts_no_threads() -> None:
    """With the variable that Snakemake sets for a job of four threads, a process that imports both has one thread."""
    code = "import quire, numpy, os; print(len(os.listdir('/proc/self/task')))"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "4", "PYTHONPATH": str(SCRIPTS)}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"

"""Handling of Ctrl-C on a command line: one line and status 130, at any moment and without delay."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

from quire.errors import SENTENCE
from quire.start import begin_imports, end_imports

STATUS = 130  # 128 plus the signal's number, as in shells
LINE = f"{SENTENCE}interrupted with Ctrl-C; no output was written.\n"


def end_interrupted(*_signal: object) -> NoReturn:
    """Print the message and end this process, without waiting for its threads."""
    os.write(2, LINE.encode())
    os._exit(STATUS)


@contextmanager
def loading() -> Iterator[None]:
    """End the process at once on Ctrl-C while modules load, since they would turn it into another error or a traceback.

    A process that was started with Ctrl-C ignored keeps ignoring it. Imports are quick (`begin_imports`).
    """
    begin_imports()
    here = threading.current_thread() is threading.main_thread()
    ends = here and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ends:
        signal.signal(signal.SIGINT, end_interrupted)
    try:
        yield
    finally:
        if ends:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        end_imports()


def block_ctrl_c_in_jobs() -> None:
    """Block SIGINT in jobs that start from now on, until `run_job` unblocks it.

    On Ctrl-C a job that still imports modules would print a traceback to the terminal. Jobs inherit the blocked signals
    of the thread that starts them. The main thread of this process still gets SIGINT.
    """

    def block(*_event: object) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        sys.setprofile(None)

    threading.setprofile(block)  # Python calls it once, when a thread starts


def cancel_timers() -> None:
    """Cancel the timers by which Snakemake looks at its rate of jobs; they keep a finished run alive for a second."""
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer) and str(thread.function.__module__).startswith("snakemake."):
            thread.cancel()


@contextmanager
def worker_threads(threads: int, name: str) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads whose work is waited for; after an exception, the rest of it is not started."""
    pool = ThreadPoolExecutor(threads, name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()

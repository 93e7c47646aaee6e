"""Ctrl-C on a command line: one line and status 130 at any moment, and soon."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NoReturn

from quire.run.job import SENTENCE

STATUS = 130  # 128 and the signal's number, as shells have it
LINE = f"{SENTENCE}stopped at the keyboard; no output was written.\n"


def end_interrupted(*_signal: object) -> NoReturn:
    """Say so and end this process, without waiting for its threads."""
    os.write(2, LINE.encode())
    os._exit(STATUS)


@contextmanager
def loading() -> Iterator[None]:
    """Have Ctrl-C end the process at once while modules load: they make another exception of it, or a traceback.

    Nothing is there to be cleaned up yet. A process that was started to ignore Ctrl-C goes on ignoring it.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, end_interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def worker_threads(threads: int, name: str) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads whose work is waited for, unless an exception ends the block.

    Then what has begun is left to end by itself, and the rest is not begun.

    Args:
        threads: how many.
        name: what theirs begin with.
    """
    pool = ThreadPoolExecutor(threads, name)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()

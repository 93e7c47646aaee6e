"""Inputs that change while a run reads them, or between runs in a way that Snakemake does not see.

Several jobs read the same file at different times. A run keeps the states of its input files when it starts, and each
job compares them when it ends, so that results never mix two versions of a file.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from quire.errors import InputError
from quire.io.files import read_json, write_json_atomic

STATES = "QUIRE_INPUTS"  # environment variable with the file of `keep_states`, inherited by jobs, also on a cluster


def keep_states(inputs: Iterable[str], file: Path, again: bool) -> None:
    """Write the states of a run's input files, with which its jobs compare them (`changed_input`).

    Args:
        inputs: files that no job makes.
        file: where to keep them; it has those of the last run.
        again: everything is made again.

    Raises:
        InputError: a file is another one than in the last run, but older than its results: Snakemake, which compares
            times, would keep those.
    """
    states = {path: _state(path) for path in inputs}
    if file.exists() and not again:
        begun, earlier = file.stat().st_mtime_ns, read_json(file)
        for path, state in states.items():
            if state and state[1] < begun and earlier.get(path, state) != state:
                raise InputError(
                    f"{path}: was replaced since the last run by a file that is older than its results, which would "
                    "be kept; run `touch` on it to use it, or repeat everything with --forceall."
                )
    write_json_atomic(file, states)
    os.environ[STATES] = str(file.absolute())


def changed_input(inputs: Iterable[str]) -> str | None:
    """Return a sentence about an input of a job that changed or vanished since the run began, or None."""
    kept = os.environ.get(STATES, "")
    earlier = read_json(kept) if os.path.exists(kept) else {}
    for path in inputs:
        if path in earlier and (state := _state(path)) != earlier[path]:
            what = "changed" if state else "vanished"
            return f"{path}: {what} after the run began; put the right file there, leave it alone and run this again."
    return None


def _state(path: str) -> list[int] | None:
    """Return size and time of a file, None if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]

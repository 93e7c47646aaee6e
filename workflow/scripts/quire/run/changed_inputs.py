"""Inputs that change while a run reads them, or between runs in a way that Snakemake does not see.

Several jobs read the same file at different times. A run keeps the states of its input files when it starts, and each
job compares them when it ends, so that results never mix two versions of a file.
"""

import os
import time
from collections.abc import Collection, Iterable
from pathlib import Path

from quire.errors import InputError, Mistakes
from quire.io.files import read_json, write_json_atomic

STATES = "QUIRE_INPUTS"  # environment variable with the file of `keep_states`, inherited by jobs, also on a cluster
_AHEAD = 60 * 10**9  # nanoseconds by which the clock of a file server may be ahead


def refuse_older(file: Path, named: Collection[str]) -> None:
    """Refuse inputs that were replaced since the last run by older files, for which Snakemake would keep the results.

    `file` has the states that earlier runs kept (`keep_states`). `named` are the files and other values that this run
    is given; inputs that are none of these, nor beside one (.alt, .tbi), are not read.

    Raises:
        InputError: such files.
    """
    if not file.exists():
        return
    begun = file.stat().st_mtime_ns
    with Mistakes() as mistakes:
        for path, earlier in read_json(file).items():
            state = _state(path)
            # Whole seconds: a copy to another file system may lose the rest.
            same = state and earlier and (state[0], state[1] // 10**9) == (earlier[0], earlier[1] // 10**9)
            if state and not same and state[1] < begun and _is_read(path, named):
                mistakes.add(
                    f"{path}: was replaced since the last run by a file that is older than its results, which "
                    "Snakemake would keep; run `touch` on it to use it, or repeat everything with --forceall."
                )


def keep_states(inputs: Iterable[str], file: Path) -> None:
    """Write the states of a run's inputs, with which its jobs compare them; InputError for a file of the future.

    States of other inputs of earlier runs stay, since their results may be used again.
    """
    earlier = read_json(file) if file.exists() else {}
    states = {path: _state(path) for path in inputs}
    for path, state in states.items():
        if state and state[1] > time.time_ns() + _AHEAD:
            raise InputError(f"{path}: its time is in the future; run `touch` on it after a look at the clock.")
    write_json_atomic(file, earlier | states)
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


def _is_read(path: str, named: Collection[str]) -> bool:
    # An alignment of two sequences may name FASTA:contig.
    return any(text and (path.startswith(text) or text.startswith(f"{path}:")) for text in named)


def _state(path: str) -> list[int] | None:
    """Return size and time of a file, None if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]

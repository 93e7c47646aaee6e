"""One card, one job: among the cards that a job may use it takes one that no other job of this user holds.

Snakemake does not tell local jobs which card is theirs. A card is taken by locking a file named by its UUID, so that
it does not matter how CUDA_VISIBLE_DEVICES renumbers cards; the kernel releases the lock when the process ends,
however it ends.
"""

import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from quire.errors import QuireError

log = logging.getLogger("quire.device.backend")
SECONDS_BETWEEN_LOOKS = 0.5


def lease_folder() -> Path:
    """Where the lock files of this user's jobs lie: one folder a host, so not TMPDIR, which schedulers set by job."""
    return Path(f"/tmp/quire-{os.getuid()}")


class AllHeld(Exception):
    """Other jobs hold all cards."""


@contextmanager
def lease(identifiers: Sequence[str], folder: Path | None = None, wait: bool = True) -> Iterator[int]:
    """Hold one of some cards; waits, with a line in the log, while other jobs hold all.

    Args:
        identifiers: of the cards, unique on this host; the first that is free is taken.
        folder: of the lock files; None for `lease_folder()`.
        wait: or raise AllHeld.

    Yields:
        The index of the card that is held.

    Raises:
        QuireError: the folder cannot be used.
        AllHeld: all cards are held, and `wait` is False.
    """
    folder = _own_folder(folder or lease_folder())
    with ExitStack() as stack:
        files = [stack.enter_context(_open(folder / f"{identifier}.lock")) for identifier in identifiers]
        waited = False
        while (taken := _take_one(files)) is None:
            if not wait:
                raise AllHeld
            if not waited:
                holders = ", ".join(file.read().strip() or "?" for file in files)
                log.info("other jobs hold all cards (%d; processes %s): waiting for one", len(files), holders)
            waited = True
            time.sleep(SECONDS_BETWEEN_LOOKS)
        for number, file in enumerate(files):
            if number != taken:
                file.close()
        _sign(files[taken])
        if waited:
            log.info("card %s is free now", identifiers[taken])
        yield taken


def _own_folder(folder: Path) -> Path:
    """The folder, made if need be: /tmp is everybody's, so that it must be shown to be this user's."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise QuireError(f"{folder}: cannot be made ({error.strerror}); jobs share cards by files in it.") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise QuireError(f"{folder}: is not a folder of this user; remove it, since jobs share cards by files in it.")
    return folder


def _open(path: Path) -> TextIO:
    # Not inherited by programs that the job starts: they would hold the card after it.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+")


def _take_one(files: Sequence[TextIO]) -> int | None:
    for number, file in enumerate(files):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return number
        except BlockingIOError:
            continue
    return None


def _sign(file: TextIO) -> None:
    """Leave this process's number in the lock file, for the logs of those that wait."""
    file.seek(0)
    file.truncate()
    file.write(f"{os.getpid()}\n")
    file.flush()

"""Cards shared out among the jobs of a user: each takes a whole card, or one half of a card that two can share.

Snakemake does not tell local jobs which card is theirs. A card has two lock files, named by its UUID, so that it does
not matter how CUDA_VISIBLE_DEVICES renumbers cards: who wants all of it locks both, who shares it one. Who waits
for all of it locks a third, its mark, and nobody is given a half of that card meanwhile: else those that share it could
come and go for ever, one always there. Marks keep nobody from a whole card, and who waits holds nothing but marks, so
that no two jobs wait for each other. The kernel releases locks when the process ends, however it ends. Who chooses
holds one more lock for that moment, so that nobody finds a card taken by someone who only looked.
"""

import fcntl
import logging
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from quire.errors import QuireError

log = logging.getLogger("quire.device.backend")
SECONDS_BETWEEN_LOOKS = 0.1


def lease_folder() -> Path:
    """Where the lock files of this user's jobs lie: one folder a host, so not TMPDIR, which schedulers set by job."""
    return Path(f"/tmp/quire-{os.getuid()}")


class AllHeld(Exception):
    """Other jobs hold all cards."""


class Held(NamedTuple):
    """What a job holds: the index of a card, and whether no other job held a half of it when it was taken."""

    card: int
    alone: bool


@contextmanager
def lease(
    identifiers: Sequence[str], folder: Path | None = None, wait: bool = True, shared: Sequence[bool] = ()
) -> Iterator[Held]:
    """Hold one of some cards, or half of it; waits, with a line in the log, while other jobs hold all.

    Args:
        identifiers: of the cards, unique on this host; the first that nobody uses is taken, and where there is none the
            first with a free half that may be shared.
        folder: of the lock files; None for `lease_folder()`.
        wait: or raise AllHeld.
        shared: of each card whether half of it is enough; empty where none is. A job that wants a whole card waits
            for those that share it now; who comes later and would share it waits for that job.

    Yields:
        What is held.

    Raises:
        QuireError: the folder cannot be used.
        AllHeld: all cards are held, and `wait` is False.
    """
    folder = _own_folder(folder or lease_folder())
    with ExitStack() as stack:
        files = [
            [stack.enter_context(_open(folder / f"{identifier}.{half}")) for half in ("lock", "second.lock")]
            for identifier in identifiers
        ]
        marks = [stack.enter_context(_open(folder / f"{identifier}.wanted.lock")) for identifier in identifiers]
        shared = shared or [False] * len(files)
        waited = False
        while (taken := _choose(folder, files, marks, shared)) is None:
            if not wait:
                raise AllHeld
            with _choosing(folder):
                for mark, half in zip(marks, shared, strict=True):
                    if not half and _lock(mark):
                        _sign(mark)
            if not waited:
                in_the_way = [mark for mark, half in zip(marks, shared, strict=True) if half]
                holders = ", ".join(_holders(folder, [*files, in_the_way]))
                log.info("other jobs hold all cards (%d; processes %s): waiting for one", len(files), holders)
            waited = True
            time.sleep(SECONDS_BETWEEN_LOOKS)
        held, locked = taken
        for file in (file for halves in [*files, marks] for file in halves if file not in locked):
            file.close()
        for file in locked:
            _sign(file)
        if waited:
            log.info("card %s is free now", identifiers[held.card])
        yield held


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


def _choose(
    folder: Path, files: Sequence[Sequence[TextIO]], marks: Sequence[TextIO], shared: Sequence[bool]
) -> tuple[Held, Sequence[TextIO]] | None:
    """Lock a card that nobody uses, or else a half of one that may be shared: what is held, and the files locked."""
    with _choosing(folder):
        refused = [half and not _is_free(mark) for mark, half in zip(marks, shared, strict=True)]
        for card, halves in enumerate(files):
            if refused[card]:
                continue
            locked = [file for file in halves if _lock(file)]
            kept = 0 if len(locked) < len(halves) else 1 if shared[card] else len(halves)
            for file in locked[kept:]:
                fcntl.flock(file, fcntl.LOCK_UN)
            if kept:
                return Held(card, True), locked[:kept]
        for card, halves in enumerate(files):
            for file in halves:
                if shared[card] and not refused[card] and _lock(file):
                    return Held(card, False), [file]
    return None


@contextmanager
def _choosing(folder: Path) -> Iterator[None]:
    """Nobody else looks at locks in this block."""
    with _open(folder / "choosing.lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(file: TextIO) -> bool:
    """Whether nobody else holds a lock; asked while nobody else looks."""
    free = _lock(file)
    if free:
        fcntl.flock(file, fcntl.LOCK_UN)
    return free


def _holders(folder: Path, files: Sequence[Sequence[TextIO]]) -> list[str]:
    """The processes that hold locks, as they signed the files."""
    found = []
    with _choosing(folder):
        for file in (file for halves in files for file in halves):
            if not _is_free(file):
                file.seek(0)
                found.append(file.read().strip() or "?")
    return list(dict.fromkeys(found))


def _sign(file: TextIO) -> None:
    """Leave this process's number in the lock file, for the logs of those that wait."""
    file.seek(0)
    file.truncate()
    file.write(f"{os.getpid()}\n")
    file.flush()

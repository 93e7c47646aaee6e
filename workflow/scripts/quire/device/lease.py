"""Sharing of cards among the jobs of a user: each job takes a whole card, or half of a card that two jobs can share.

Snakemake does not assign cards to local jobs. A card has two lock files, named by its UUID, so that
CUDA_VISIBLE_DEVICES may renumber cards. A job that wants the whole card locks both, a job that shares it locks one. A
job that waits for a whole card locks a third file, its mark. While a card is marked, no new job gets a half of it;
otherwise sharing jobs could come and go for ever with one always present. A mark keeps no job from a whole card, and
waiting jobs hold nothing but marks, so two jobs never wait for each other. The kernel releases locks when a process
ends for any reason. A job that tests the locks holds one more lock meanwhile, so that no other job takes its test for a
use of the card.
"""

import fcntl
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO

from quire.cache import cache_root, make_trusted
from quire.errors import QuireError

log = logging.getLogger("quire.device.backend")
SECONDS_BETWEEN_LOOKS = 0.1


def lease_folder() -> Path:
    """Return the folder of this user's lock files: one per host, so not TMPDIR, which schedulers set per job."""
    return Path(f"/tmp/quire-{os.getuid()}")


@dataclass(frozen=True)
class VisibleCard:
    """A card that this process may use.

    Attributes:
        ordinal: number of the card among the visible ones.
        capability: compute capability (major, minor).
        identifier: its UUID in hexadecimal, the same in every process for any CUDA_VISIBLE_DEVICES.
        memory: bytes.
    """

    ordinal: int
    name: str
    capability: tuple[int, int]
    identifier: str
    memory: int


class AllHeld(Exception):
    """Other jobs hold all cards."""


class Held(NamedTuple):
    """The index of the card that a job holds, and whether no other job held a half of it when it was taken."""

    card: int
    alone: bool


@contextmanager
def lease(
    identifiers: Sequence[str], folder: Path | None = None, wait: bool = True, shared: Sequence[bool] = ()
) -> Iterator[Held]:
    """Hold one of several cards, or half of it; wait, with a line in the log, while other jobs hold all.

    The first unused card is taken; if there is none, the first with a free half where `shared` allows it. Identifiers
    are unique on this host. Without `wait`, AllHeld is raised.
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
    """Create the folder, or one in the cache if it is not this user's, since every user can write to /tmp."""
    instead = cache_root() / "cards"
    for chosen in (folder, instead):
        try:
            if not chosen.is_symlink() and make_trusted(chosen):
                return chosen
            why = "it belongs to another user"
        except OSError as error:
            why = error.strerror or str(error)
        log.warning("%s: is not used for lock files (%s)", chosen, why)
    raise QuireError(f"{instead}: cannot hold the lock files with which jobs share cards ({why}); see the log.")


def _open(path: Path) -> TextIO:
    # Programs that the job starts do not inherit the file: they would hold the card after the job.
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", errors="replace")


def _choose(
    folder: Path, files: Sequence[Sequence[TextIO]], marks: Sequence[TextIO], shared: Sequence[bool]
) -> tuple[Held, Sequence[TextIO]] | None:
    """Lock an unused card, or else half of a card that may be shared; return both the card and the locked files."""
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
    """Keep other jobs from testing locks in this block."""
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
    """Return True if no other process holds a lock; called inside `_choosing`."""
    free = _lock(file)
    if free:
        fcntl.flock(file, fcntl.LOCK_UN)
    return free


def _holders(folder: Path, files: Sequence[Sequence[TextIO]]) -> list[str]:
    """Return the processes that hold locks, as they wrote them into the files."""
    found = []
    with _choosing(folder):
        for file in (file for halves in files for file in halves):
            if not _is_free(file):
                file.seek(0)
                number = file.read(20).strip()
                found.append(number if number.isdecimal() else "?")
    return list(dict.fromkeys(found))


def _sign(file: TextIO) -> None:
    """Write this process's number into the lock file, for the logs of waiting jobs."""
    file.seek(0)
    file.truncate()
    file.write(f"{os.getpid()}\n")
    file.flush()

"""A card for a calling job: one process of the job holds it, and answers what the processes that call ask of it.

CUDA cannot be used in a process whose parent has used it before the fork. So the card's process is forked first, and
nothing of CUDA happens in any other: neither in the job's own process nor in those that are forked from it later. These
share one connection and take turns, since the card computes one batch at a time anyway. The card's process ends when
nobody holds the connection any more, or with the job's process, however that ends.
"""

import logging
import multiprocessing
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection
from typing import Any

from quire.device.backend import Backend
from quire.device.card import Card, OutOfDeviceMemory
from quire.errors import QuireError
from quire.rescore.processes import die_with

log = logging.getLogger("quire.rescore")
_FORK = multiprocessing.get_context("fork")
_SECONDS_TO_END = 10.0
HOST_THREADS = 2  # of the card's process, which copy to and from the card's staging memory

OpenBackend = Callable[[], AbstractContextManager[tuple[Backend, Callable[[], Card] | None]]]
"""Such as `quire.device.choice.use_backend` with its arguments."""
Work = Callable[..., Any]


class _NoAnswer:
    """Why a batch was not computed."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class CardService:
    """The card's process, as the job's other processes see it.

    Attributes:
        backend: what the process has found: a card, or none, and why.
    """

    def __init__(self, open_backend: OpenBackend, works: dict[str, Work], demanded: bool) -> None:
        """Fork the process; it opens the card before this returns.

        Args:
            open_backend: called in the process.
            works: by name what can be asked for; called there with the card and what `ask` is given.
            demanded: whether a batch that is not answered is an error.

        Raises:
            QuireError: what opening the card raised, or the process ended and the card is demanded.
        """
        self._demanded = demanded
        self._turn, self._said, self._lost = _FORK.Lock(), _FORK.Value("b", 0), _FORK.Value("b", 0)
        self._connection, its_end = _FORK.Pipe()
        arguments = (open_backend, works, its_end, self._connection, os.getpid())
        self._process = _FORK.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        its_end.close()  # so that its end is seen when it ends
        try:
            found = self._connection.recv()
        except EOFError:
            found = Backend("cpu", "the process that was to open the card ended; its last words stand above.")
            if demanded:
                self.close()
                raise QuireError(f"device.backend is gpu, but {found.reason}") from None
            log.info("backend cpu: %s", found.reason)
        if isinstance(found, QuireError):
            self.close()
            raise found
        self.backend: Backend = found

    def ask(self, work: str, *arguments: Any) -> Any | None:
        """What the card gives for a batch; None where there is no answer, with a line in the log the first time.

        Raises:
            QuireError: there is no answer, and the card is demanded.
        """
        with self._turn:
            if self._lost.value:
                self._go_without("the card's process ended")
                return None
            try:
                self._connection.send((work, arguments))
                answer = self._connection.recv()
            except (EOFError, OSError):
                self._lost.value = 1
                self._go_without("the card's process ended")
                return None
            if isinstance(answer, _NoAnswer):
                self._go_without(answer.reason)
                return None
            return answer

    def _go_without(self, reason: str) -> None:
        if self._demanded:
            raise QuireError(
                f"device.backend is gpu, but {reason}; see the log, give the card more memory (device.memory), or set "
                "device.backend to auto."
            )
        if not self._said.value:
            log.warning("%s: going on with the processor where the card does not answer", reason)
            self._said.value = 1

    def close(self) -> None:
        """Let the process end; it does so by itself where nobody calls this."""
        self._connection.close()
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(
    open_backend: OpenBackend, works: dict[str, Work], connection: Connection, other_end: Connection, parent: int
) -> None:
    """The card's process."""
    die_with(parent)
    other_end.close()  # so that the others' end is seen when all of them ended
    try:
        with open_backend() as (backend, open_card):
            card = None if open_card is None else open_card()
            connection.send(backend)
            if card is not None:
                _answer_all(card, works, connection)
    except QuireError as error:
        connection.send(error)


def _answer_all(card: Card, works: dict[str, Work], connection: Connection) -> None:
    """Answer until nobody can ask any more."""
    batches, busy = 0, 0.0
    while True:
        try:
            work, arguments = connection.recv()
        except EOFError:
            break
        begun = time.perf_counter()
        answer: Any
        try:
            answer = works[work](card, *arguments)
        except OutOfDeviceMemory as error:
            card.release()
            answer = _NoAnswer(f"the card has no room for a batch ({error})")
        except QuireError as error:
            answer = _NoAnswer(str(error))
        batches, busy = batches + 1, busy + time.perf_counter() - begun
        try:
            connection.send(answer)
        except OSError:  # who asked is gone
            break
    log.info("the card computed %d batches in %.1f s", batches, busy)

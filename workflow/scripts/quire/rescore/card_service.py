"""A GPU for a calling job: one process of the job holds the card and computes batches for the processes that call.

CUDA cannot be used in a process whose parent used it before the fork. The card's process is therefore forked first, and
no other process uses CUDA: neither the job's own process nor the workers that are forked from it later. The workers
share one connection and take turns, since the card computes one batch at a time. The card's process ends when nobody
holds the connection any more, or when the job's process ends for any reason.
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
from quire.processes import die_with

log = logging.getLogger("quire.rescore")
_FORK = multiprocessing.get_context("fork")
_SECONDS_TO_END = 10.0
HOST_THREADS = 2  # threads of the card's process that copy to and from the card's staging memory

OpenBackend = Callable[[], AbstractContextManager[tuple[Backend, Callable[[], Card] | None]]]
"""A context that opens the backend, such as `quire.device.choice.use_backend` with its arguments bound."""
Work = Callable[..., Any]


class CardService:
    """The client of the card's process.

    Attributes:
        backend: the backend that the process chose, and why.
    """

    def __init__(self, open_backend: OpenBackend, works: dict[str, Work], demanded: bool) -> None:
        """Fork the process and wait until it has opened the card; raise QuireError if that fails."""
        # The process calls `open_backend`, and `works` by the name that `ask` takes. If the card is `demanded`, a batch
        # without an answer is an error, and so is the end of the process.
        self._demanded = demanded
        self._turn, self._said, self._lost = _FORK.Lock(), _FORK.Value("b", 0), _FORK.Value("b", 0)
        self._connection, its_end = _FORK.Pipe()
        arguments = (open_backend, works, its_end, self._connection, os.getpid())
        self._process = _FORK.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        its_end.close()  # otherwise this process would not notice when the card's process ends
        try:
            found = self._connection.recv()
        except EOFError:
            found = Backend("cpu", "the process that opens the card ended; see its messages above.")
            if demanded:
                self.close()
                raise QuireError(f"device.backend is gpu, but {found.reason}") from None
            log.info("backend cpu: %s", found.reason)
        if isinstance(found, QuireError):
            self.close()
            raise found
        self.backend: Backend = found

    def ask(self, work: str, *arguments: Any) -> Any | None:
        """Return what the named function answers for its arguments after the card, or None if there is no answer.

        The first missing answer is logged; it is a QuireError if the card is demanded.
        """
        with self._turn:
            answer: Any = QuireError("the card's process ended")
            if not self._lost.value:
                try:
                    self._connection.send((work, arguments))
                    answer = self._connection.recv()
                except (EOFError, OSError):
                    self._lost.value = 1
            if not isinstance(answer, QuireError):
                return answer
            if self._demanded:
                raise QuireError(
                    f"device.backend is gpu, but {answer}; see the log, give the card more memory (device.memory), or "
                    "set device.backend to auto."
                )
            if not self._said.value:
                log.warning("%s; batches that the card does not answer are computed on the CPU", answer)
                self._said.value = 1
            return None

    def close(self) -> None:
        """End the process; it also ends when the connection is dropped."""
        self._connection.close()
        self._process.join(_SECONDS_TO_END)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(
    open_backend: OpenBackend, works: dict[str, Work], connection: Connection, other_end: Connection, parent: int
) -> None:
    """Run the card's process."""
    die_with(parent)
    other_end.close()  # otherwise this process would not notice when all others have ended
    try:
        with open_backend() as (backend, open_card):
            card = None if open_card is None else open_card()
            connection.send(backend)
            if card is not None:
                _answer_all(card, works, connection)
    except QuireError as error:
        connection.send(error)


def _answer_all(card: Card, works: dict[str, Work], connection: Connection) -> None:
    """Answer until the connection is closed."""
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
            answer = QuireError(f"card memory is too small for a batch ({error})")
        except QuireError as error:
            answer = error
        batches, busy = batches + 1, busy + time.perf_counter() - begun
        try:
            connection.send(answer)
        except OSError:  # the process that asked has ended
            break
    log.info("the card computed %d batches in %.1f s", batches, busy)

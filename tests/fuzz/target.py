"""The parts of a fuzzer of one format, and the possible outcomes of a case."""

import random
from abc import ABC, abstractmethod
from enum import StrEnum
from pathlib import Path


class Refused(Exception):
    """The judge does not accept a file."""


class Outcome(StrEnum):
    """Outcome of one mutated file. All but the first five are faults of Quire."""

    SAME = "same answer"
    BOTH_REFUSE = "both refuse"
    STRICTER = "Quire alone refuses"
    TOLERATED = "Quire alone accepts, as documented"
    UNDEFINED = "htslib's answer depends on its memory"
    DIFFERENT = "another answer"
    ACCEPTED = "Quire alone accepts"
    UNCLEAR = "refused without a clear sentence"
    TRACEBACK = "traceback"
    SIGNAL = "ended by a signal"
    HANG = "no end"


FINE = (Outcome.SAME, Outcome.BOTH_REFUSE, Outcome.STRICTER, Outcome.TOLERATED, Outcome.UNDEFINED)


class Target(ABC):
    """Reader under test, the files it is given, and its judge.

    Attributes:
        name: as in the command line.
        suffix: ending of the mutated files' names.
        always_same: True if no mutation may change the answer.
        neighbour: another file that a message may name instead of the mutated one.
    """

    name: str
    suffix: str
    always_same = False
    neighbour = ""

    @abstractmethod
    def valid(self, folder: Path) -> list[bytes]:
        """Return valid files that mutations start from; `folder` is for temporary files."""

    @abstractmethod
    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Return a mutation of a valid file."""

    @abstractmethod
    def read(self, path: Path) -> object:
        """Return Quire's answer in a form that equals the judge's.

        Raises:
            QuireError: the file is refused.
        """

    @abstractmethod
    def judge(self, path: Path) -> object:
        """Return the answer of an independent program.

        Raises:
            Refused: the program does not accept the file.
        """

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Return True if Quire documents that it accepts what the judge refused for `reason`, with this answer."""
        return False

    def undefined(self, path: Path) -> bool:
        """Return True if the judge, or the library under Quire's reader, answers in two ways; asked after a fault."""
        return False

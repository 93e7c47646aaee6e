"""Errors that a user can cause. Each message is one sentence that names the file, the record and the remedy."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

SENTENCE = "quire: error: "
"""Beginning of a message on the terminal and, after the time, in the log of a job."""
MEMORY = "memory ran out"
"""Part of the message of a job that ran out of memory, and of no other message: such a job is retried."""


class QuireError(Exception):
    """Failure whose message is meant for the user and is shown without a traceback."""

    def __init__(self, message: str) -> None:
        """Show control characters, which names in damaged files may have, as escapes: a message is one line."""
        super().__init__(
            "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in message)
        )


class InputError(QuireError):
    """Unusable input of the user: a FASTQ, FASTA, BED or VCF file, a sheet or a configuration value."""


class InputErrors(InputError):
    """Several mistakes that do not depend on each other; the message has a line for each."""

    MOST = 20
    """Mistakes that are listed; a wrong folder may make thousands."""

    def __init__(self, sentences: list[str]) -> None:
        """Keep all sentences."""
        self.sentences = sentences
        left_out = len(sentences) - self.MOST
        more = [f"{left_out} more mistakes are not listed; correct these first."] if left_out > 0 else []
        Exception.__init__(self, f"\n{SENTENCE}".join(sentences[: self.MOST] + more))


class Mistakes:
    """Mistakes that do not depend on each other, which the end of a `with` block raises together.

    The block may raise an InputError itself, after which it cannot go on.
    """

    def __init__(self) -> None:
        """Begin without mistakes."""
        self._sentences = list[str]()

    def add(self, sentence: str) -> None:
        """Keep a mistake."""
        self._keep(InputError(sentence))

    def check(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function; keep an InputError that it raises, and return None."""
        try:
            return function(*arguments)
        except InputError as error:
            self._keep(error)

    def __enter__(self) -> Self:
        """Begin the block."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        """Raise the mistakes as one InputError, unless another kind of error ended the block."""
        if isinstance(error, InputError):
            self._keep(error)
        elif error is not None:
            return
        if len(self._sentences) > 1:
            raise InputErrors(self._sentences) from None
        if self._sentences:
            raise InputError(self._sentences[0]) from None

    def _keep(self, error: InputError) -> None:
        new = error.sentences if isinstance(error, InputErrors) else [str(error)]
        self._sentences += [sentence for sentence in new if sentence not in self._sentences]

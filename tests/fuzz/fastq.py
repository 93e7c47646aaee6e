"""Fuzzer of FASTQ, plain, gzip and bgzip, judged by a parser in plain Python and by the standard library's zlib."""

import gzip
import random
import zlib
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from quire.io import fastq, text_chunks
from quire.io.fastq import read_batches, umis

from tests.fuzz.bam import Answer, batch_reads
from tests.fuzz.mutations import bgzf, inflated_members, mutate_bytes, mutate_lines
from tests.fuzz.target import Refused, Target
from tests.support.builders import random_read

LETTERS = frozenset(b"ACGTUNRYSWKMBDHVacgtunryswkmbdhv.")


def read_without_threads() -> None:
    """Parse in the calling thread, for the rest of the process: a thread takes longer to start than a case to read."""
    fastq.ahead = umis.ahead = _at_once
    text_chunks.ThreadPoolExecutor = _Caller
    text_chunks.GZIP_BYTES = 1 << 12


class _Caller(Executor):
    """An executor that runs each call when it is submitted."""

    def __init__(self, threads: int, name: str) -> None:
        """Take the arguments of a pool."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return the result, or the error, as that of a thread."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:  # raised by `result`
            future.set_exception(error)
        return future


def _at_once(start: Callable[[], Iterator[Any]], depth: int) -> Generator[Any, None, None]:
    yield from start()


class Fastq(Target):
    """Single reads of a FASTQ; the answer is name, bases and qualities of each read."""

    name, suffix = "fastq", ".fastq"

    def valid(self, folder: Path) -> list[bytes]:
        """Return plain, gzip (one and several members) and bgzip files."""
        read_without_threads()
        generator = random.Random(7)
        reads = [random_read(generator, f"read{n} comment", generator.randrange(1, 60), "ACGTN") for n in range(12)]
        text = "".join(f"@{one.name}\n{one.bases}\n+\n{one.qualities}\n" for one in reads).encode()
        half = text.index(b"@read6")
        return [text, text, gzip.compress(text), gzip.compress(text[:half]) + gzip.compress(text[half:]), bgzf(text)]

    def mutate(self, generator: random.Random, content: bytes) -> bytes:
        """Change lines and bytes of the text, or bytes of the compressed file."""
        if content[:2] != b"\x1f\x8b":
            return mutate_lines(generator, content, b" ")
        if generator.random() < 0.5:
            return mutate_bytes(generator, content)
        text = mutate_lines(generator, b"".join(inflated_members(content)), b" ")
        return bgzf(text, generator) if generator.random() < 0.5 else gzip.compress(text)

    def read(self, path: Path) -> Answer:
        """Return the reads of the file."""
        return [read for batch in read_batches(path, None, 1000) for read in batch_reads(batch.mate1)]

    def judge(self, path: Path) -> Answer:
        """Return the reads by plain Python."""
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            try:
                content = b"".join(inflated_members(content))
            except (zlib.error, ValueError, EOFError) as error:
                raise Refused(f"gzip: {error}") from None
        return fastq_reads(content)

    def tolerated(self, path: Path, answer: object, reason: str) -> bool:
        """Accept a damaged closing block of bgzip, of which Quire warns."""
        return reason == "gzip: truncated" and answer == fastq_reads(_complete_members(path.read_bytes()))


def _complete_members(content: bytes) -> bytes:
    """Return the content of a gzip file before a truncated member."""
    found = []
    try:
        for member in inflated_members(content):
            found.append(member)
    except EOFError:
        return b"".join(found)
    return b"".join(found)


def fastq_reads(text: bytes) -> Answer:
    """Return the reads of a FASTQ text, with lines that end in LF or CRLF, wrapped or not (Cock et al. 2010).

    Raises:
        Refused: it is none.
    """
    if not text.strip(b"\r\n"):
        raise Refused("no reads")
    lines = [line.removesuffix(b"\r") for line in text.rstrip(b"\r\n").split(b"\n")]
    found: Answer = []
    at = 0
    while at < len(lines):
        title, at = lines[at], at + 1
        bases = qualities = b""
        while at < len(lines) and lines[at][:1] != b"+":
            bases, at = bases + lines[at], at + 1
        if title[:1] != b"@" or at == len(lines):
            raise Refused("not a record")
        plus, at = lines[at], at + 1
        while at < len(lines) and len(qualities) < len(bases):
            qualities, at = qualities + lines[at], at + 1
        if not bases and lines[at : at + 1] == [b""]:
            at += 1
        found.append(_read(title, bases, plus, qualities))
    return found


def _read(title: bytes, bases: bytes, plus: bytes, qualities: bytes) -> tuple[str, str, str]:
    name = title[1:].split(maxsplit=1)[0] if title[1:2].strip() else b""
    if len(bases) != len(qualities) or plus[1:] not in (b"", title[1:]):
        raise Refused("lengths or names differ")
    if not name or not LETTERS.issuperset(bases) or not all(33 <= one <= 126 for one in qualities):
        raise Refused("letters")
    shown = "".join(chr(one) if one in b"ACGT" else "T" if one == ord("U") else "N" for one in bases.upper())
    return name.removesuffix(b"/1").removesuffix(b"/2").decode("latin-1"), shown, qualities.decode("ascii")

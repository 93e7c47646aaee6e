"""Runs the cases of a target in a process of their own, and sorts their outcomes."""

import faulthandler
import gc
import json
import math
import os
import random
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from quire.errors import SENTENCE, QuireError

from tests.fuzz.target import FINE, Outcome, Refused, Target
from tests.support import guarded

LONGEST_CASE = 60.0  # seconds
COLLECTED = 100  # cases, whose errors hold the frames and arrays of their readers
REPOSITORY = Path(__file__).resolve().parents[2]


class Result(NamedTuple):
    """Outcome of one case; `number` draws the same file again."""

    number: int
    outcome: Outcome
    detail: str


def case(target: Target, files: list[bytes], seed: int, number: int) -> bytes:
    """Return the mutated file of a case."""
    generator = random.Random(f"{target.name} {seed} {number}")
    return target.mutate(generator, generator.choice(files))


def run_case(target: Target, path: Path) -> tuple[Outcome, str]:
    """Read one file with both programs, and compare."""
    refusal, answer = "", None
    try:
        answer = target.read(path)
    except QuireError as error:
        refusal = str(error)
        if not is_clear(refusal, path.name, target.neighbour or path.name):
            return Outcome.UNCLEAR, refusal
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome.TRACEBACK, f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {error}"[:300]
    try:
        expected = target.judge(path)
    except Refused as error:
        if refusal:
            return Outcome.BOTH_REFUSE, refusal
        reason = str(error)
        if target.tolerated(path, answer, reason):
            return Outcome.TOLERATED, reason
        return (Outcome.UNDEFINED if target.undefined(path) else Outcome.ACCEPTED), reason
    if refusal:
        return Outcome.STRICTER, refusal
    if answer == expected:
        return Outcome.SAME, ""
    return (Outcome.UNDEFINED if target.undefined(path) else Outcome.DIFFERENT), difference(answer, expected)


def is_clear(message: str, *names: str) -> bool:
    """Return True if each mistake has a line that has one of the names and ends as a sentence or question."""
    return all(
        any(name in line for name in names) and line.endswith((".", "?")) and not re.search(r"[\n\r\x00-\x08]", line)
        for line in message.split(f"\n{SENTENCE}")
    )


def difference(answer: object, expected: object) -> str:
    """Return the first place where two answers differ."""
    if isinstance(answer, list | tuple) and isinstance(expected, list | tuple):
        for number, (one, other) in enumerate(zip(answer, expected, strict=False)):
            if one != other:
                return f"item {number}: {one!r:.150} but {other!r:.150}"
        return f"{len(answer)} items but {len(expected)}"
    return f"{answer!r:.150} but {expected!r:.150}"


def work(target: Target, seed: int, first: int, end: int) -> None:
    """Run cases [first, end) and print a line of JSON for each; the body of the process of its own."""
    if guarded.WANTED:
        guarded.install()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = target.valid(folder)
        gc.freeze()  # so that collections do not look at compiled kernels
        for number in range(first, end):
            if number % COLLECTED == 0:
                gc.collect()
            path = folder / f"case{target.suffix}"
            path.write_bytes(case(target, files, seed, number))
            faulthandler.dump_traceback_later(LONGEST_CASE * 0.8)
            outcome, detail = run_case(target, path)
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps([number, outcome, detail]), flush=True)


def results(
    name: str, seed: int, first: int, end: int, options: tuple[str, ...] = (), until: float = math.inf
) -> Iterator[Result]:
    """Yield the results of cases [first, end), in a process that is started again after a signal or a hang.

    Args:
        name: the target.
        seed: of all cases.
        first: number of the first case.
        end: number after the last case.
        options: options of the Python interpreter, as `-X dev`.
        until: when the run ends, if it has not ended before (`time.time`).
    """
    while first < end:
        command = [
            sys.executable,
            *options,
            "-m",
            "tests.fuzz",
            name,
            "--work",
            str(first),
            str(end),
            "--seed",
            str(seed),
        ]
        path = f"{REPOSITORY / 'workflow' / 'scripts'}:{REPOSITORY}"
        with (
            tempfile.TemporaryDirectory(prefix="fuzz") as folder,  # a process that is killed does not remove its own
            tempfile.TemporaryFile() as messages,  # a pipe that nobody reads would stop the process
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=messages,
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": folder},
            ) as process,
        ):
            for line in _lines(process):
                number, outcome, detail = json.loads(line)
                first = number + 1
                yield Result(number, Outcome(outcome), detail)
                if time.time() > until:
                    process.kill()
                    return
            hung = process.poll() is None and first < end
            if hung:
                process.kill()
            process.wait()
            messages.seek(0)
            errors = messages.read().decode(errors="replace").strip()
        if first < end:
            if process.returncode >= 0:
                raise RuntimeError(f"the fuzzer of {name} failed at case {first}: {errors}")
            ended = Outcome.HANG if hung else Outcome.SIGNAL
            yield Result(first, ended, f"{signal.Signals(-process.returncode).name}: {errors[-2000:]}")
            first += 1


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Yield the lines that a process prints, until it ends or prints none for LONGEST_CASE seconds."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        rest, longest = b"", 10 * LONGEST_CASE  # before the first case kernels may be compiled
        while selector.select(longest):
            longest = LONGEST_CASE
            content = os.read(process.stdout.fileno(), 1 << 16)
            if not content:
                process.wait()
                return
            *lines, rest = (rest + content).split(b"\n")
            yield from lines


def faults(found: list[Result]) -> list[Result]:
    """Return the results that are faults of Quire."""
    return [result for result in found if result.outcome not in FINE]


def summary(found: list[Result]) -> str:
    """Return the number of cases of each outcome as one line."""
    counts = Counter(result.outcome for result in found)
    return ", ".join(f"{outcome} {counts[outcome]}" for outcome in Outcome if counts[outcome])

"""Children of `quire.io.samtools` as forks of the fuzzer: a new interpreter would take longer than reading a file."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from quire.io import samtools


@contextmanager
def forked_children() -> Iterator[None]:
    """Run the code of children in forks."""
    with mock.patch.object(samtools.subprocess, "run", _run):
        yield


_run_a_program = subprocess.run


def _run(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run `python -c CODE ARGUMENTS...` in a fork, and other programs as usual."""
    if command[0] != sys.executable:
        return _run_a_program(command, **options)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        process = os.fork()
        if process == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(messages.fileno(), 2)
            os._exit(_status(command))
        _, status = os.waitpid(process, 0)
        texts = []
        for file in (output, messages):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), *texts)


def _status(command: Sequence[str]) -> int:
    """Run the code and return the exit status."""
    sys.argv = ["-c", *command[3:]]
    try:
        exec(command[2], {})
    except SystemExit as error:
        os.write(2, str(error).encode())
        return 1
    except BaseException as error:
        os.write(2, repr(error).encode())
        return 2
    sys.stderr.flush()
    return 0

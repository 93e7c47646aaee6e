"""Children of `quire.io.samtools` as forks of a small server: a new interpreter would take longer than reading a file.

The server is one process for each fuzzer, with pysam but without compiled kernels, whose pages a fork would copy.
"""

import atexit
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
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
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    code, function, *arguments = command[2:]
    fewer = ("-n", "4") if function == "samtools.collate" else ()  # temporary files: 64 take longer than all else
    server.stdin.write(json.dumps([code, function, *fewer, *arguments]) + "\n")
    server.stdin.flush()
    status, *texts = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(command, status, *texts)


@cache
def _server() -> "subprocess.Popen[str]":
    """Start the server, which ends when its input does."""
    command = [sys.executable, str(Path(__file__).with_name("fork_server.py"))]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(server.communicate)  # so that its time counts
    return server

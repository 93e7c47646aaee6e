"""Snakemake in forked processes that have imported the packages it needs: importing takes a third of a short run.

A server forks a process for each request, which then does what `python -m snakemake` does. Nothing of Quire is imported
before the fork. Each process of pytest has two servers, which take turns: so the order of sets, which is that of the
server, differs from run to run.
"""

import importlib
import itertools
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-m", "snakemake"]
MODULES = (
    *("boto3", "docutils.parsers.rst", "fastjsonschema", "humanfriendly", "immutables", "isal.igzip", "jinja2"),
    *("jsonschema", "nbformat", "oauthlib.oauth2", "packaging.version", "pandas", "platformdirs", "psutil", "pulp"),
    *("pygments", "pysam", "requests_oauthlib", "s3transfer.manager", "smart_open", "sqlite3", "sqlmodel", "tabulate"),
    *("tenacity", "yte", "snakemake_interface_common.plugin_registry.plugin"),
    *("snakemake_interface_executor_plugins.registry", "snakemake_interface_scheduler_plugins.registry"),
    "snakemake.cli",
)
MOST_BYTES = 1 << 20  # of a request
TURNS = itertools.cycle(range(2))
# The variables that may differ from those at the imports: pytest's, and those that Snakemake's plugin for S3 sets where
# it is imported, in a test's process or in Snakemake's own.
MAY_DIFFER = {"PYTEST_CURRENT_TEST", "AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION"}


class Server(NamedTuple):
    """The process that forks, and the socket to it."""

    process: subprocess.Popen
    requests: socket.socket


def _compared(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if value and name not in MAY_DIFFER}


VARIABLES = _compared(os.environ)  # before any test changes them


def run(command: list[str], variables: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return its status and output (stdout and stderr together).

    Another program than Snakemake, or one with other environment variables than the tests, is started as usual. The
    process is killed if the test is interrupted, as `subprocess.run` does.
    """
    if command[:3] != COMMAND or _compared(variables) != VARIABLES:
        return subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=variables, cwd=folder, check=False
        )
    output, of_process = os.pipe()
    answers, of_server = os.pipe()
    mask = os.umask(0)
    os.umask(mask)
    request = json.dumps([command[3:], dict(variables), str(folder), mask]).encode()
    socket.send_fds(server(next(TURNS)).requests, [request], [of_process, of_server])
    os.close(of_process)
    os.close(of_server)
    with open(output) as said, open(answers) as answer:
        process = int(answer.readline())
        try:
            return subprocess.CompletedProcess(command, stdout=said.read(), returncode=int(answer.readline()))
        except BaseException:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            raise


@cache
def server(_turn: int) -> Server:
    """Start a server; it ends with this process, which closes the socket."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    number = theirs.fileno()
    with theirs:
        command = [sys.executable, __file__, str(number)]
        process = subprocess.Popen(
            command, pass_fds=[number], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=VARIABLES
        )
    return Server(process, ours)


def serve(requests: socket.socket) -> None:
    """Fork a process for each request, in which this returns; end when the other side closes the socket."""
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, also to Snakemake and pytest
    for name in MODULES:
        importlib.import_module(name)
    while True:
        message, (*files,), *_ = socket.recv_fds(requests, MOST_BYTES, 2)
        if not message:
            sys.exit()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if os.fork() == 0:
            requests.close()
            process = os.fork()
            if process == 0:
                signal.signal(signal.SIGINT, interrupt)
                return become(*json.loads(message), *files)
            os.close(files[0])
            os.write(files[1], f"{process}\n".encode())
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            with suppress(BrokenPipeError):
                os.write(files[1], f"{status}\n".encode())
            os._exit(0)
        for file in files:
            os.close(file)


def become(arguments: list[str], variables: dict[str, str], folder: str, mask: int, output: int, answers: int) -> None:
    """Give this process what a new one has: variables, folder, umask, arguments, and an output for both streams."""
    for number in (1, 2):
        os.dup2(output, number)
    os.close(output)
    os.close(answers)
    os.environ.clear()
    os.environ.update(variables)
    os.umask(mask)
    os.chdir(folder)
    sys.modules["snakemake.workflow"].Workflow._rundir = os.getcwd()  # Snakemake keeps the folder of its import
    sys.path[0] = os.getcwd()
    sys.argv[1:] = arguments


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)

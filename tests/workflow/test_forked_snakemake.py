"""Tests of the forked Snakemake (forked_snakemake.py): it sees and says what a new process does, and leaves nothing."""

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.workflow.forked_snakemake import COMMAND, VARIABLES, _compared, run
from tests.workflow.runs import REPOSITORY, Run

pytestmark = pytest.mark.full

SNAKEFILE = """
import os, signal, sys, threading

def say(*what):
    print("seen", *what, flush=True)

mask = os.umask(0)
os.umask(mask)
say(os.getcwd(), mask, sys.path, sys.argv, sys.flags)
say(sorted(os.environ.items()))
say([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)])
say(signal.pthread_sigmask(signal.SIG_BLOCK, []), threading.active_count())
say(os.readlink("/proc/self/fd/0"), len(os.listdir("/proc/self/fd")), os.getpgrp(), os.getsid(0))
print("seen on stderr", file=sys.stderr, flush=True)

rule all:
    shell: "exit $STATUS"
"""


@pytest.mark.parametrize("arguments", [("--dry-run", "--quiet"), ("--nonsense",), ("--cores", "1", "--quiet")])
def test_it_is_as_a_new_process(arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("$STATUS", "3"))
    command = [*COMMAND, *arguments]
    before = os.umask(0o027)
    try:
        new = subprocess.run(
            command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=tmp_path, env=dict(os.environ), check=False,
        )  # fmt: skip
        forked = run(command, os.environ, tmp_path)
    finally:
        os.umask(before)
    assert (forked.returncode, seen(forked.stdout)) == (new.returncode, seen(new.stdout))
    assert bool(seen(forked.stdout)) == ("--nonsense" not in arguments)


def seen(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("seen")]


def test_runs_of_tests_are_forked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of tests are those of the servers, with and without workers of pytest-xdist.

    If an earlier test of this process left other variables, which a warning names, later runs are only slower.
    """
    left = {name for name, _ in _compared(os.environ).items() ^ VARIABLES.items()}
    if left:
        warnings.warn(f"tests left other values of {sorted(left)}", stacklevel=1)
    for name in left:
        monkeypatch.setenv(name, VARIABLES.get(name, ""))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a new process was started"))
    assert Run(tmp_path).snakemake("--version").returncode == 0


def test_other_variables_need_a_new_process(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    ran = run([*COMMAND, "--cores", "1"], os.environ | {"STATUS": "0"}, tmp_path)
    assert ran.returncode == 0, ran.stdout


@contextmanager
def interrupted_when(path: Path) -> Iterator[None]:
    """Raise TimeoutError in this thread once a file exists, as a time limit of a test does."""

    def look(*_) -> None:
        if path.exists():
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TimeoutError

    before = signal.signal(signal.SIGALRM, look)
    left = signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *left)


def test_it_is_killed_if_the_test_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    with pytest.raises(TimeoutError), interrupted_when(tmp_path / "pid"):
        run([*COMMAND, "--dry-run"], os.environ, tmp_path)
    wait_for_the_end_of(int((tmp_path / "pid").read_text()))


def test_no_process_outlives_pytest(tmp_path: Path) -> None:
    """The servers end with the process that started them, also if it is killed."""
    code = (
        "import os; from pathlib import Path; from tests.workflow.forked_snakemake import COMMAND, run, server; "
        "run([*COMMAND, '--version'], os.environ, Path('.')); "
        "print(*(server(turn).process.pid for turn in range(2)), flush=True); os.kill(os.getpid(), 9)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == -signal.SIGKILL
    for process in map(int, ran.stdout.split()):
        wait_for_the_end_of(process)


def wait_for_the_end_of(process: int) -> None:
    """Wait until a process has ended, or is a zombie that its parent has yet to collect."""
    for _ in range(600):
        try:
            if psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
                return
        except psutil.NoSuchProcess:
            return
        time.sleep(0.1)
    pytest.fail(f"process {process} has not ended")

"""Processes that share a job: the order of the answers, errors, processes that die, and parents that do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from quire.errors import InputError, QuireError
from quire.rescore.processes import in_processes

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"


def slowest_first(unit: int) -> tuple[int, int]:
    """The unit and the process that did it; the first units take longest."""
    time.sleep(0.02 * (5 - unit % 5))
    return unit, os.getpid()


@pytest.mark.parametrize("processes", [1, 2, 5, 40])
def test_answers_come_in_order(processes: int) -> None:
    answers = list(in_processes(slowest_first, range(20), processes))
    assert [unit for unit, _ in answers] == list(range(20))
    assert (os.getpid() in {process for _, process in answers}) is (processes == 1)


def test_no_units() -> None:
    assert list(in_processes(slowest_first, [], 4)) == []


@pytest.mark.parametrize(("units", "processes", "times"), [(8, 4, 1), (8, 1, 0), (1, 4, 0)])
def test_the_parent_prepares_once_where_others_are_forked(units: int, processes: int, times: int) -> None:
    prepared: list[int] = []

    def seen(_: int) -> tuple[int, int]:
        return len(prepared), os.getpid()

    answers = list(in_processes(seen, range(units), processes, lambda: prepared.append(os.getpid())))
    assert prepared == [os.getpid()] * times
    assert {count for count, _ in answers} == {times}
    assert (os.getpid() in {process for _, process in answers}) is (times == 0)


def refuse_seven(unit: int) -> int:
    """Refuse one of the units."""
    if unit == 7:
        raise InputError("x.bam: the block at byte 7 is damaged; copy the file or align again.")
    return unit


def test_an_error_crosses() -> None:
    """Behind the answers before it, with its sentence."""
    answers = in_processes(refuse_seven, range(50), 3)
    assert [next(answers) for _ in range(7)] == list(range(7))
    with pytest.raises(InputError, match="the block at byte 7 is damaged"):
        next(answers)


def die_at_three(unit: int) -> int:
    """End the process as the kernel does where memory lacks."""
    if unit == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


def test_a_killed_process_is_one_sentence() -> None:
    with pytest.raises(QuireError, match="a process of the job was killed"):
        list(in_processes(die_at_three, range(9), 2))


ORPHANS = r"""
import os, sys, time
from quire.rescore.processes import in_processes

def wait(unit):
    os.write(1, b"%d\n" % os.getpid())  # in one piece, also where PYTHONUNBUFFERED makes print() write two
    time.sleep(60)

list(in_processes(wait, range(4), 2))
"""


def test_no_process_outlives_a_killed_parent() -> None:
    environment = {**os.environ, "PYTHONPATH": str(LIBRARY)}
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    children = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(psutil.pid_exists(child) for child in children):
        time.sleep(0.05)
    assert not any(psutil.pid_exists(child) for child in children)

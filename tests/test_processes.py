"""Processes that share a job: the order of results, errors, processes that die, and parents that die."""

import os
import signal
import time
import weakref
from multiprocessing import get_context

import psutil
import pytest
from quire.errors import InputError, QuireError
from quire.processes import AHEAD, in_processes
from quire.rescore.counting import counting_pool

from tests.support.orphans import assert_none_outlives

pytestmark = pytest.mark.full


def slowest_first(unit: int) -> tuple[int, int]:
    """Return the unit and the process id; the first units take longest."""
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


@pytest.mark.parametrize("slow", [None, 0])
def test_few_units_are_begun_ahead_of_what_is_taken(slow: int | None) -> None:
    """Few units are started while the consumer pauses, or while it waits for the first unit."""
    begun = get_context("fork").Value("i", 0)

    def count(unit: int) -> int:
        with begun.get_lock():
            begun.value += 1
        if unit == slow:
            time.sleep(1)
            return -begun.value
        return unit

    answers = in_processes(count, range(100), 2)
    first = next(answers)
    assert -2 * AHEAD <= first <= 0
    time.sleep(0.5)
    assert 1 <= begun.value <= 2 * AHEAD
    next(answers)
    time.sleep(0.5)
    assert begun.value <= 2 * AHEAD + 1
    assert list(answers) == list(range(2, 100))


class Held:
    """A result that can be referenced weakly."""


def test_what_is_taken_is_let_go_of() -> None:
    watched = []
    for answer in in_processes(lambda _: Held(), range(20), 2):
        watched.append(weakref.ref(answer))
        del answer
        assert all(one() is None for one in watched[:-1])
    assert len(watched) == 20


def test_closing_ends_the_processes() -> None:
    answers = in_processes(slowest_first, range(1000), 2)
    _, process = next(answers)
    begun = time.monotonic()
    answers.close()  # type: ignore[attr-defined]
    assert not psutil.pid_exists(process)
    assert time.monotonic() - begun < 10


def refuse_seven(unit: int) -> int:
    """Raise an error for one unit."""
    if unit == 7:
        raise InputError("x.bam: the block at byte 7 is damaged; copy the file or align again.")
    return unit


def test_an_error_crosses() -> None:
    """An error is raised after the results before it, with its sentence."""
    answers = in_processes(refuse_seven, range(50), 3)
    assert [next(answers) for _ in range(7)] == list(range(7))
    with pytest.raises(InputError, match="the block at byte 7 is damaged"):
        next(answers)


def die_at_three(unit: int) -> int:
    """End the process as the kernel does when memory runs out."""
    if unit == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


def test_a_killed_process_is_one_sentence() -> None:
    with pytest.raises(QuireError, match="memory ran out: a process of the job was killed"):
        list(in_processes(die_at_three, range(9), 2))


def count_and_kill(before: int, after: int) -> None:
    """Count lines in processes that are killed in between."""
    line = b"one\t5\t.\tA\tC\t50\tPASS\t.\tGT\t0/1\n"
    others = set(psutil.Process().children())  # servers of other tests
    with counting_pool(["#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\n"], 2) as pool:
        pool.add(line * before)
        for child in set(psutil.Process().children()) - others:
            child.kill()
            child.wait()
        pool.add(line * after)


@pytest.mark.parametrize("lines", [(0, 200_000), (200_000, 0)])
def test_a_killed_process_that_counts_is_one_sentence(lines: tuple[int, int]) -> None:
    with pytest.raises(QuireError, match="memory ran out: a process of the job was killed"):
        count_and_kill(*lines)


ORPHANS = r"""
import os, sys, time
from quire.processes import in_processes

def wait(unit):
    os.write(1, b"%d\n" % os.getpid())  # in one write; print() makes two with PYTHONUNBUFFERED
    time.sleep(60)

list(in_processes(wait, range(4), 2))
"""


def test_no_process_outlives_a_killed_parent() -> None:
    assert_none_outlives(ORPHANS, 2)

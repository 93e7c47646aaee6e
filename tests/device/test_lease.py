"""Cards are shared out among processes: each takes its own or waits, and a killed one gives its card back."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from quire.device import lease as module
from quire.device.lease import lease, lease_folder
from quire.errors import QuireError

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"
# Takes one of the cards named on the command line, says which, and holds it; a program that it started outlives it.
JOB = """
import logging, subprocess, sys, time
from pathlib import Path
from quire.device.lease import lease
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
with lease(sys.argv[2:], Path(sys.argv[1])) as taken:
    child = subprocess.Popen(["sleep", "30"])
    print("took", sys.argv[2 + taken], child.pid, flush=True)
    time.sleep(60)
"""


class Job:
    """A process that wants a card."""

    def __init__(self, folder: Path, *cards: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", JOB, str(folder), *cards],
            env=os.environ | {"PYTHONPATH": str(LIBRARY)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.child = 0

    def line(self) -> str:
        """The next line it prints; waits for it."""
        return self.process.stdout.readline().strip()

    def card(self) -> str:
        """The card it takes; waits for it."""
        _, card, child = self.line().split()
        self.child = int(child)
        return card

    def kill(self) -> None:
        """End it in a way that no program can prepare for."""
        self.process.kill()
        self.process.wait()

    def clean_up(self) -> None:
        """End it and its child."""
        self.kill()
        self.process.stdout.close()
        if self.child:
            os.kill(self.child, signal.SIGKILL)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    """Starts jobs, and ends them with the test."""
    jobs = []

    def begin(*cards: str) -> Job:
        jobs.append(Job(tmp_path / "leases", *cards))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.clean_up()


def test_two_jobs_take_two_cards(start: Callable[..., Job]) -> None:
    """Whatever the order in which each of them sees the cards."""
    first = start("card_a", "card_b")
    assert first.card() == "card_a"
    assert start("card_a", "card_b").card() == "card_b"
    first.kill()
    assert start("card_b", "card_a").card() == "card_a"


def test_a_job_waits_for_the_only_card(start: Callable[..., Job]) -> None:
    """It says so, and goes on when the holder is killed, though a program that the holder started still runs."""
    first = start("card")
    assert first.card() == "card"
    second = start("card")
    assert second.line() == f"other jobs hold all cards (1; processes {first.process.pid}): waiting for one"
    time.sleep(2 * module.SECONDS_BETWEEN_LOOKS)
    assert second.process.poll() is None
    first.kill()
    assert second.line() == "card card is free now"
    assert second.card() == "card"
    os.kill(first.child, 0)  # still there


def test_a_card_is_free_after_the_block(tmp_path: Path) -> None:
    """Also when the block fails; and two cards can be held in one process."""
    with pytest.raises(ZeroDivisionError), lease(["a"], tmp_path):
        raise ZeroDivisionError
    with lease(["a", "b"], tmp_path) as first, lease(["a", "b"], tmp_path) as second:
        assert (first, second) == (0, 1)


def test_the_folder_must_be_this_users(tmp_path: Path) -> None:
    """Everybody can write to /tmp: a link or a file where the folder should be is refused."""
    assert str(lease_folder()) == f"/tmp/quire-{os.getuid()}"
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(QuireError, match=f"{name}: "), lease(["a"], tmp_path / name):
            pass
    with pytest.raises(QuireError, match="cannot be made"), lease(["a"], tmp_path / "no" / "folder"):
        pass

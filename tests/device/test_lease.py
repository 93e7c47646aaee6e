"""Check the sharing of cards among processes: each takes a card or waits, and a killed process releases its card."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from quire.device import lease as module
from quire.device.lease import lease, lease_folder
from quire.errors import QuireError

LIBRARY = Path(__file__).resolve().parents[2] / "workflow/scripts"
# Take one of the cards named on the command line, print which, and hold it; a child process outlives it.
JOB = """
import logging, subprocess, sys, time
from pathlib import Path
from quire.device.lease import lease
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
folder, half, *cards = sys.argv[1:]
with lease(cards, Path(folder), shared=[half == "half"] * len(cards)) as taken:
    child = subprocess.Popen(["sleep", "30"])
    print("took", cards[taken.card], child.pid, flush=True)
    time.sleep(60)
"""


class Job:
    """A process that takes a card."""

    def __init__(self, folder: Path, *cards: str, half: bool = False) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", JOB, str(folder), "half" if half else "whole", *cards],
            env=os.environ | {"PYTHONPATH": str(LIBRARY)},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.child = 0

    def line(self) -> str:
        """Return the next line of its output; wait for it."""
        return self.process.stdout.readline().strip()

    def card(self) -> str:
        """Return the card that it takes; wait for it."""
        _, card, child = self.line().split()
        self.child = int(child)
        return card

    def freed_card(self) -> str:
        """Return the card that it has waited for and takes, after its message about that; wait for both."""
        said = self.line()
        assert said.endswith(" is free now"), said
        card = self.card()
        assert said == f"card {card} is free now"
        return card

    def kill(self) -> None:
        """Kill the process without a chance to clean up."""
        self.process.kill()
        self.process.wait()

    def clean_up(self) -> None:
        """Kill the process and its child."""
        self.kill()
        self.process.stdout.close()
        if self.child:
            os.kill(self.child, signal.SIGKILL)


def waiting_for(*holders: Job) -> str:
    """Return the message of a job that waits for the only card."""
    processes = ", ".join(str(holder.process.pid) for holder in holders)
    return f"other jobs hold all cards (1; processes {processes}): waiting for one"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    """Return a function that starts jobs, which end with the test."""
    jobs = []

    def begin(*cards: str, half: bool = False) -> Job:
        jobs.append(Job(tmp_path / "leases", *cards, half=half))
        return jobs[-1]

    yield begin
    for job in jobs:
        job.clean_up()


def test_two_jobs_take_two_cards(start: Callable[..., Job]) -> None:
    """The order in which each job sees the cards does not matter."""
    first = start("card_a", "card_b")
    assert first.card() == "card_a"
    assert start("card_a", "card_b").card() == "card_b"
    first.kill()
    assert start("card_b", "card_a").card() == "card_a"


def test_a_job_waits_for_the_only_card(start: Callable[..., Job]) -> None:
    """The job reports that it waits, and continues when the holder is killed, even if the holder's child still runs."""
    first = start("card")
    assert first.card() == "card"
    second = start("card")
    assert second.line() == waiting_for(first)
    time.sleep(2 * module.SECONDS_BETWEEN_LOOKS)
    assert second.process.poll() is None
    first.kill()
    assert second.freed_card() == "card"
    os.kill(first.child, 0)  # it still runs


def test_two_jobs_share_a_card(start: Callable[..., Job]) -> None:
    """A third job waits; a job that wants the whole card waits for both and names exactly the running holders."""
    first, second = start("card", half=True), start("card", half=True)
    assert (first.card(), second.card()) == ("card", "card")
    third = start("card", half=True)
    assert third.line().endswith(": waiting for one")
    first.kill()
    assert third.freed_card() == "card"
    third.kill()
    whole = start("card")
    assert whole.line() == waiting_for(second)
    time.sleep(2 * module.SECONDS_BETWEEN_LOOKS)
    assert whole.process.poll() is None
    second.kill()
    assert whole.freed_card() == "card"
    last = start("card", half=True)
    assert last.line() == waiting_for(whole)


def test_who_waits_for_a_whole_card_is_not_passed_over(start: Callable[..., Job], tmp_path: Path) -> None:
    """While a job waits for a whole card, no new job gets half of it, only of other cards; if it is killed, they do."""
    first = start("card", half=True)
    assert first.card() == "card"
    whole = start("card")
    assert whole.line() == waiting_for(first)
    second = start("card", half=True)
    assert second.line() == waiting_for(first, whole)
    with (
        pytest.raises(module.AllHeld),
        lease(["card"], tmp_path / "leases", wait=False, shared=[True]),
    ):
        pass
    with lease(["card", "other"], tmp_path / "leases", wait=False, shared=[True, True]) as held:
        assert held == (1, True)
    first.kill()
    assert whole.freed_card() == "card"
    another = start("card")
    assert another.line() == waiting_for(whole)
    whole.kill()
    assert another.freed_card() == "card"  # before the second job, which would share the card
    third = start("card")
    assert third.line() == waiting_for(another)
    third.kill()  # while the job waits
    another.kill()
    assert second.freed_card() == "card"
    with lease(["card"], tmp_path / "leases", wait=False, shared=[True]) as held:
        assert held == (0, False)


def test_a_whole_card_is_had_among_streams_of_sharers(tmp_path: Path) -> None:
    """A job gets the whole card although three sharing jobs at a time succeed each other."""
    ended = threading.Event()

    def share() -> None:
        while not ended.is_set():
            with lease(["card"], tmp_path, shared=[True]):
                time.sleep(0.3)

    streams = [threading.Thread(target=share) for _ in range(3)]
    for stream in streams:
        stream.start()
        time.sleep(0.1)
    began = time.monotonic()
    threading.Timer(20, ended.set).start()  # a starving lease would wait until then
    with lease(["card"], tmp_path):
        seconds = time.monotonic() - began
    ended.set()
    for stream in streams:
        stream.join()
    assert seconds < 10


def test_a_card_is_shared_where_no_other_is_free(start: Callable[..., Job]) -> None:
    """Jobs that may share take unused cards while there are any, whichever half is taken elsewhere."""
    first, second = start("card_a", half=True), start("card_a", half=True)
    assert (first.card(), second.card()) == ("card_a", "card_a")
    first.kill()
    third, fourth, fifth = (start("card_a", "card_b", half=True) for _ in range(3))
    taken = [third.card(), fourth.card(), fifth.card()]
    assert sorted(taken) == ["card_a", "card_b", "card_b"]


def test_only_cards_that_are_large_enough_are_shared(tmp_path: Path) -> None:
    """The one of two cards that has enough memory for two jobs is shared."""

    def half() -> AbstractContextManager[module.Held]:
        return lease(["small", "large"], tmp_path, wait=False, shared=[False, True])

    with half() as one, half() as two, half() as three:
        assert (one, two, three) == ((0, True), (1, True), (1, False))
        with pytest.raises(module.AllHeld), half():
            pass


def test_a_card_is_free_after_the_block(tmp_path: Path) -> None:
    """The card is also released if the block fails, and one process can hold two cards."""
    with pytest.raises(ZeroDivisionError), lease(["a"], tmp_path):
        raise ZeroDivisionError
    with lease(["a", "b"], tmp_path) as first, lease(["a", "b"], tmp_path) as second:
        assert (first.card, second.card) == (0, 1)


def test_the_folder_must_be_this_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A link, a file or another user's folder is not used, since every user can write to /tmp: the cache is."""
    assert str(lease_folder()) == f"/tmp/quire-{os.getuid()}"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "foreign").mkdir()
    names = ["link", "file"]
    if os.geteuid() == 0:
        os.chown(tmp_path / "foreign", 65534, 65534)
        names.append("foreign")
    for name in names:
        another = lease(["a"], tmp_path / "file", wait=False)  # a job that must find the same locks
        with lease(["a"], tmp_path / name, wait=False), pytest.raises(module.AllHeld), another:
            pass
        assert f"{tmp_path / name}: is not used for lock files" in caplog.text
    assert (tmp_path / "cache/quire/cards/a.lock").exists()
    assert not list((tmp_path / "foreign").iterdir())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    refused = pytest.raises(QuireError, match=r"quire/cards: cannot hold the lock files .* \(Not a directory\)")
    with refused, lease(["a"], tmp_path / "link"):
        pass


def test_a_folder_that_others_can_write_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with lease(["a"], tmp_path):
        assert tmp_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("content", [b"\xff\xfe\0", b"9" * 5000, b"\x1b[31m12"])
def test_a_damaged_lock_file_names_no_process(content: bytes, tmp_path: Path) -> None:
    with lease(["a"], tmp_path):
        (tmp_path / "a.lock").write_bytes(content)
        with module._open(tmp_path / "a.lock") as file:
            (shown,) = module._holders(tmp_path, [[file]])
    assert shown == "?" or (shown.isdecimal() and len(shown) <= 20)

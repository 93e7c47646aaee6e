"""Memory and disk of running jobs, which a thread looks at again and again.

Snakemake's own benchmark files look at a long job every 30 s and miss its peak. Here every process of each job is
looked at five times a second. The memory of a job is the larger of two figures: the most of the sums of proportional
set sizes (pages that processes share count once, mapped files count), and the kernel's own peak of the largest process
(VmHWM), which misses no short peak. The disk of a job is the most that its outputs and its temporary files beside them
held.
"""

import ast
import os
import pickle
import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

SECONDS_BETWEEN_LOOKS = 0.2
LOOKS_AT_DISK = 5  # one in this many looks
SCRIPT = re.compile(r"\.snakemake/scripts/tmp[^/]*\.\w+\.py$")
PICKLED = re.compile(r"pickle\.loads\((b(['\"]).*?(?<!\\)\2)\)", re.DOTALL)
KILOBYTE, MEGABYTE = 1024, 1e6


@contextmanager
def looking(look: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function again and again in a thread while the block runs."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(seconds):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@dataclass
class Job:
    """A job of a run, and the most that it took so far.

    Attributes:
        rule, threads: its rule and its threads.
        asked: megabytes of memory and of disk that it asks for, by resource.
        outputs: its files and folders.
        memory, anonymous, disk: megabytes that it took; anonymous memory is in no file.
    """

    rule: str
    threads: int
    asked: dict[str, int]
    outputs: list[Path]
    memory: float = 0.0
    anonymous: float = 0.0
    disk: float = 0.0


def job_of(script: Path, folder: Path) -> Job:
    """Return the job of one of Snakemake's scripts, which begins with the pickled job."""
    literal = PICKLED.search(script.read_text())
    assert literal is not None, script
    job = pickle.loads(ast.literal_eval(literal[1]))
    asked = {name: int(job.resources.get(name, 0)) for name in ("mem_mb", "disk_mb")}
    return Job(job.rule, job.threads, asked, [folder / path for path in job.output])


def numbers(process: int, file: str) -> dict[str, int]:
    """Return the lines `name: number` of a file of a process; empty if it has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{process}/{file}").read_text(errors="replace")
        return {name: int(number) for name, number in re.findall(r"(?m)^(\w+):\s+(\d+)", text)}
    return {}


def parents() -> dict[int, int]:
    """Return the parent of each process."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            found[int(name)] = int(Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    return found


def script_of(process: int) -> str:
    """Return the script of Snakemake that a process runs, or ""."""
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_text(errors="replace").split("\0")
        return next(filter(SCRIPT.search, words[1:]), "")
    return ""


def bytes_of(path: Path) -> int:
    """Return the bytes on the disk of a file, or of all files below a folder; 0 if it is gone."""
    with suppress(OSError):
        return sum(map(bytes_of, path.iterdir())) if path.is_dir() else path.stat().st_blocks * 512
    return 0


def descends(process: int, ancestor: int, parent_of: dict[int, int]) -> bool:
    """Return True if a process was started by another one, or by one that this started."""
    while process in parent_of and process != ancestor:
        process = parent_of[process]
        if process == ancestor:
            return True
    return False


@dataclass
class Watch:
    """The jobs of the run in a folder, by their scripts, and the megabytes of Snakemake's own process."""

    folder: Path
    jobs: dict[str, Job] = field(default_factory=dict)
    snakemake: float = 0.0

    def look(self, with_disk: bool) -> None:
        """Look at all processes once."""
        parent_of = parents()
        scripts = {process: script for process in parent_of if (script := script_of(process))}
        by_script: dict[str, list[int]] = {}
        for process in parent_of:
            ancestor = process
            while ancestor in parent_of and ancestor not in scripts:
                ancestor = parent_of[ancestor]
            if scripts.get(ancestor, "").startswith(f"{self.folder}/"):
                by_script.setdefault(scripts[ancestor], []).append(process)
        for script, processes in by_script.items():
            if script not in self.jobs:
                with suppress(OSError):
                    self.jobs[script] = job_of(Path(script), self.folder)
            if script in self.jobs:
                self.measure(self.jobs[script], processes, with_disk)
                first = next(process for process in processes if process in scripts)
                own = numbers(parent_of[first], "status").get("VmHWM", 0) * KILOBYTE / MEGABYTE
                self.snakemake = max(self.snakemake, own)

    def measure(self, job: Job, processes: Iterable[int], with_disk: bool) -> None:
        """Take the figures of a job."""
        sums = [numbers(process, "smaps_rollup") for process in processes]
        peaks = [numbers(process, "status").get("VmHWM", 0) for process in processes]
        whole, anonymous = (sum(one.get(name, 0) for one in sums) for name in ("Pss", "Pss_Anon"))
        job.anonymous = max(job.anonymous, anonymous * KILOBYTE / MEGABYTE)
        job.memory = max(job.memory, max([whole, *peaks]) * KILOBYTE / MEGABYTE)
        if with_disk:
            held = {path for out in job.outputs for path in (out, *out.parent.glob(f".{out.name}.*"))}
            job.disk = max(job.disk, sum(map(bytes_of, held)) / MEGABYTE)


@contextmanager
def watched(folder: Path) -> Iterator[Watch]:
    """Yield the watch of the jobs that run in a folder while the block runs."""
    watch, numbers_of_looks = Watch(folder), count()
    with looking(lambda: watch.look(next(numbers_of_looks) % LOOKS_AT_DISK == 0), SECONDS_BETWEEN_LOOKS):
        yield watch
    for job in watch.jobs.values():
        job.disk = max(job.disk, sum(map(bytes_of, job.outputs)) / MEGABYTE)


@contextmanager
def most_used(folder: Path) -> Iterator[list[int]]:
    """Yield a list that holds the most bytes by which the used space of a folder's disk grew, when the block ends."""
    before, most = shutil.disk_usage(folder).used, [0]

    def look() -> None:
        most[0] = max(most[0], shutil.disk_usage(folder).used - before)

    with looking(look, 5 * SECONDS_BETWEEN_LOOKS):
        yield most


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Yield a list that holds the most megabytes of all processes that this one started, when the block ends."""
    own, most = os.getpid(), [0.0]

    def look() -> None:
        parent_of = parents()
        shares = [
            numbers(process, "smaps_rollup").get("Pss", 0) for process in parent_of if descends(process, own, parent_of)
        ]
        most[0] = max(most[0], sum(shares) / KILOBYTE)

    with looking(look, SECONDS_BETWEEN_LOOKS):
        yield most

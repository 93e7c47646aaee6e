"""Memory and disk that the jobs of a run take, next to what they ask a scheduler for.

Snakemake's own benchmark files look at a long job every 30 s and miss its peak. Here every process of each job is
looked at five times a second. The memory of a job is the larger of two figures: the most of the sums of proportional
set sizes (pages that processes share count once, mapped files count), and the kernel's own peak of the largest process
(VmHWM), which misses no short peak. To this is added what a cluster counts as the job's too: two processes of
Snakemake. The disk of a job is the most that its outputs and its temporary files beside them held.
"""

import ast
import json
import os
import pickle
import re
import sys
import threading
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from quire import reference
from quire.io.files import open_input

from bench.cards import name_card
from bench.common import REPOSITORY, Inputs, arguments, print_setting, print_table, run, write_measurement
from bench.gpu_mapping import LENGTH
from bench.human_size import write_reads
from bench.synthetic_genome import write_genome
from bench.whole_run import configure

SECONDS_BETWEEN_LOOKS = 0.2
LOOKS_AT_DISK = 5  # one in this many looks
SCRIPT = re.compile(r"\.snakemake/scripts/tmp[^/]*\.\w+\.py$")
PICKLED = re.compile(r"pickle\.loads\((b(['\"]).*?(?<!\\)\2)\)", re.DOTALL)
HEADER = ("rule", "threads", "asks, MB", "takes, MB", "not in files, MB", "ratio", "disk, asks, MB", "disk, takes, MB")
KILOBYTE, MEGABYTE = 1024, 1e6


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
    watch, stop = Watch(folder), threading.Event()

    def look() -> None:
        looks = 0
        while not stop.wait(SECONDS_BETWEEN_LOOKS):
            watch.look(looks % LOOKS_AT_DISK == 0)
            looks += 1

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        stop.set()
        thread.join()
        for job in watch.jobs.values():
            job.disk = max(job.disk, sum(map(bytes_of, job.outputs)) / MEGABYTE)


def rows_of(watch: Watch) -> list[tuple[object, ...]]:
    """Return a row of `HEADER` for each rule: its job that took the largest share of the memory that it asked for."""
    tightest: dict[str, tuple[float, tuple[object, ...]]] = {}
    for job in watch.jobs.values():
        takes, asks = job.memory + 2 * watch.snakemake, job.asked["mem_mb"]
        figures = asks, round(takes), round(job.anonymous), f"{asks / takes:.2f}", job.asked["disk_mb"], round(job.disk)
        tightest[job.rule] = max(
            tightest.get(job.rule, (0.0, ())), (takes / max(asks, 1), (job.rule, job.threads, *figures))
        )
    return [row for _, row in tightest.values()]


def inputs_of(given: Namespace) -> tuple[Path, list[tuple[Path, Path]]]:
    """Return FASTA and units: real ones of yeast, or reads drawn from E. coli, chr20 or a synthetic genome."""
    name, folder = given.genome, given.work / f"job_memory_{given.genome}"
    folder.mkdir(parents=True, exist_ok=True)
    fasta = folder / "genome.fa"
    if name == "chr20":
        fasta = Inputs(given.data, given.work).chromosome_20()
    elif not fasta.exists() and name in ("ecoli", "yeast"):
        source = {"ecoli": "genomes/ecoli_K12_MG1655_from_bwa_pac.fa.gz", "yeast": "yeast_100k/genome.fa.gz"}[name]
        with open_input(given.data / source) as text:
            fasta.write_bytes(text.read())
    elif not fasta.exists():
        write_genome(fasta, int(float(name) * MEGABYTE), 1, given.processes)
    if name == "yeast":
        first = sorted((given.data / "yeast_100k").glob("*_R1.fastq.gz"))
        return fasta, [(path, path.with_name(path.name.replace("_R1.", "_R2."))) for path in first]
    packed = folder / "packed"
    if not packed.exists():
        reference.build(fasta, packed, 1 << 30)
    pairs = int(reference.Reference.open(packed, verify=False).axis_length * given.coverage / (2 * LENGTH))
    mates = [folder / f"{given.coverage:g}x_{mate}.fq.gz" for mate in (1, 2)]
    if not mates[1].exists():
        drawn = write_reads(packed, folder / "drawn", pairs, given.processes, not given.forty_values)
        for path, final in zip(drawn, mates, strict=True):
            path.rename(final)
    return fasta, [(mates[0], mates[1])]


def main() -> None:
    """Run the workflow, and print what the jobs of each rule asked for and took."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--genome", default="10", help="yeast, ecoli, chr20, or the megabases of a synthetic genome")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--forty-values", action="store_true", help="quality values as drawn instead of four")
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="cpu")
    parser.add_argument("--settings", default="{}", help="more of the configuration, as JSON")
    parser.add_argument("--target", default="", help="a target of the Snakefile, such as align")
    parser.add_argument("--processes", type=int, default=2, help="processes that draw genome and reads")
    given = parser.parse_args()
    given.work = given.work.resolve()
    print_setting(())
    name_card(given.backend)
    fasta, units = inputs_of(given)
    folder = given.work / f"job_memory_run_{given.genome}"
    path = configure(folder, fasta, units, given.backend)
    path.write_text(json.dumps(json.loads(path.read_text()) | json.loads(given.settings)))
    command = f"{sys.executable} -m snakemake {given.target} -s {REPOSITORY}/Snakefile --cores {given.threads}"
    options, log = f"--configfile {path} --directory {folder}", folder / "snakemake.log"
    with watched(folder) as watch:
        cache = {"XDG_CACHE_HOME": str(given.work / "job_memory_cache")}
        run(f"{command} {options} > {log} 2>&1 || (tail -30 {log} >&2; false)", cache)
    print_table(HEADER, rows_of(watch))
    more = [given.settings] if given.settings != "{}" else []
    write_measurement(", ".join([given.genome, f"{given.coverage:g}x", f"{given.threads} threads", *more]))


if __name__ == "__main__":
    main()

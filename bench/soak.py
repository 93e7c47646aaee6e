"""Kill a run of the workflow again and again, and compare what it makes with the results of an undisturbed run.

The run uses the small real set of the tests with all features: CRAM, gVCF, a target, a truth and the exact tools. Each
round starts in an empty folder. At random moments the run is killed in one of four ways, and the same command follows
until the run finishes.
"""

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import yaml
from quire.io.files import open_input

from bench.common import REPOSITORY, add_figures, arguments, print_setting, print_table, write_measurement

DATA = REPOSITORY / "tests" / "data" / "chr22_40kb"
MARK = "QUIRE_SOAK"  # environment variable of all processes of a round, also of those that left its process group
KINDS = {
    "SIGKILL of all processes": signal.SIGKILL,
    "SIGKILL of one process": None,
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
}
SECONDS_TO_END = 60.0  # a run that was asked to end must do so within this time
# These differ between undisturbed runs: times, and what the page says about them.
_TIMES = ("logs/", "benchmarks/", "report/report.html", "report/summary.json")
# The same in summaries of searches, and thus the checksums at the ends of these files.
_SECONDS = re.compile(rb'"seconds": [0-9.]+|"checksum": "[0-9a-f]{8}"(?=\s*}\s*$)')


@dataclass
class Soak:
    """Results of the kills: their number by kind, and findings, one sentence each.

    Attributes:
        wanted: kills to make.
        kills: number of kills by kind.
        rounds: folders in which a run finished.
        unlocked: reruns that needed `--unlock`.
        findings: faults.
    """

    wanted: int
    kills: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    unlocked: int = 0
    findings: list[str] = field(default_factory=list)


def make_inputs(folder: Path) -> None:
    """Write the inputs, sheets and configuration of a run with all features."""
    folder.mkdir(parents=True, exist_ok=True)
    with open_input(DATA / "genome.fa.gz") as stream:
        genome = stream.read().decode()
    letters = "".join(genome.split("\n")[1:])
    reads = "".join(f"@{start}\n{letters[start : start + 40]}\n+\n{'I' * 40}\n" for start in range(500, 39_000, 900))
    settings = {
        "reference": {"fasta": str(folder / "genome.fa"), "page_size": 25_000},
        "output": "out",
        "samples": str(folder / "samples.tsv"),
        "units": str(folder / "units.tsv"),
        "align": {"format": "cram"},
        "rescore": {"gvcf": True, "intervals": str(DATA / "regions.bed"), "interval_size": 20_000},
        "report": {"truth": {"vcf": str(DATA / "truth.vcf.gz"), "bed": str(DATA / "regions.bed")}},
        "complete": [{"name": "places", "reads": str(folder / "reads.fq")}],
        "mems": [{"name": "matches", "queries": str(folder / "query.fa")}],
        "pairwise": [
            {"name": "pair", "query": str(folder / "query.fa"), "target": f"{folder / 'genome.fa'}:chr22:500-4000"}
        ],
    }
    files = {
        "genome.fa": genome,
        "query.fa": f">query\n{letters[1000:1500]}A{letters[1502:3000]}\n",
        "reads.fq": reads,
        "samples.tsv": "sample\tploidy\nNA12878\t2\n",
        "units.tsv": "sample\tunit\tfq1\tfq2\tlibrary\n"
        f"NA12878\tlane_1\t{DATA}/NA12878_R1.fastq.gz\t{DATA}/NA12878_R2.fastq.gz\tlib\n",
        "config.yaml": yaml.safe_dump(settings, sort_keys=False),
    }
    for name, text in files.items():
        (folder / name).write_text(text)


def empty(folder: Path) -> None:
    """Make a folder of a round, with a folder of temporary files, and without anything of an earlier round."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start Snakemake in a folder, as the leader of a process group, with the configuration in `inputs` beside it.

    Its output is in `terminal.txt` of the folder, and that of earlier starts in `earlier.txt`.
    """
    config = folder.parent / "inputs" / "config.yaml"
    command = [sys.executable, "-m", "snakemake", "-s", str(REPOSITORY / "Snakefile"), "--configfile", str(config)]
    path = folder / "terminal.txt"
    with (folder / "earlier.txt").open("ab") as earlier:
        earlier.write(path.read_bytes() if path.exists() else b"")
    with path.open("wb") as terminal:
        return subprocess.Popen(
            [*command, "--cores", "2", *arguments],
            cwd=folder,
            stdout=terminal,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, MARK: str(folder), "TMPDIR": str(folder / "tmp")},
        )


def digests(output: Path) -> dict[str, str]:
    """Return the digest of each file below `output` that an undisturbed run repeats byte for byte."""
    names = {str(path.relative_to(output)): path for path in output.rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(_SECONDS.sub(b"", path.read_bytes())).hexdigest()
        for name, path in sorted(names.items())
        if not name.startswith(_TIMES) and not any(part.startswith(".") for part in Path(name).parts)
    }


def processes_of(folder: Path) -> Iterator[psutil.Process]:
    """Yield the living processes of a round, wherever they are in the tree of processes."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def kill(run: subprocess.Popen[bytes], kind: str, folder: Path, chance: random.Random) -> bool:
    """Send the signal of a kind; return False if there is nothing to kill."""
    number = KINDS[kind]
    if number is not None:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, number)
            return True
        return False
    workers = [process for process in processes_of(folder) if process.pid != run.pid]
    with suppress(psutil.Error):
        if workers:
            chance.choice(sorted(workers, key=lambda one: one.pid)).kill()
            return True
    return False


def ended(run: subprocess.Popen[bytes], folder: Path) -> str | None:
    """Wait for the processes of a killed run to end; return a finding if they do not, and kill them."""
    limit = time.monotonic() + SECONDS_TO_END
    with suppress(subprocess.TimeoutExpired):
        run.wait(SECONDS_TO_END)
    while (left := list(processes_of(folder))) and time.monotonic() < limit:
        time.sleep(0.05)
    for process in left:
        process.kill()
    run.wait()
    return f"processes went on after the kill: {[process.pid for process in left]}" if left else None


def one_round(folder: Path, expected: dict[str, str], seconds: float, chance: random.Random, soak: Soak) -> None:
    """Start a run, kill it and start it again until it finishes, and compare its files."""
    empty(folder)
    run, kills = start(folder), 0
    while True:
        pause = chance.uniform(0, 0.25 * seconds) if soak.kills.total() < soak.wanted else None
        with suppress(subprocess.TimeoutExpired):
            status = run.wait(pause)
            if status == 0:
                break
            if unlock_if_needed(folder):
                soak.unlocked += 1
            elif not kills:
                soak.findings.append(f"{folder}: failed without a kill, see terminal.txt there")
                return
            kills = 0
            run = start(folder)
            continue
        kind = chance.choice(list(KINDS))
        if not kill(run, kind, folder, chance):
            continue
        kills += 1
        soak.kills[kind] += 1
        if KINDS[kind] is not None:
            fault = ended(run, folder)
            soak.findings += [f"{folder}: {kind}: {fault}"] if fault else []
            compare(folder, expected, soak, kind, whole=False)
    compare(folder, expected, soak, "finished", whole=True)
    soak.rounds += 1


def unlock_if_needed(folder: Path) -> bool:
    """Remove the lock of a killed run if Snakemake asked for that; return True if it did."""
    if "--unlock" not in (folder / "terminal.txt").read_text(errors="replace"):
        return False
    start(folder, "--unlock").wait()
    return True


def compare(folder: Path, expected: dict[str, str], soak: Soak, when: str, whole: bool) -> None:
    """Add findings: files of other content, and if the run finished (`whole`) also missing, further and temporary ones.

    Not counted: for each kill Snakemake leaves at most an empty folder and a small file of its solver (PuLP) in TMPDIR.
    """
    output = folder / "out"
    found = digests(output)
    wrong = sorted(name for name, digest in found.items() if expected.get(name, digest) != digest)
    if whole:
        wrong += sorted(expected.keys() ^ found.keys())
        left = [path for path in (folder / "tmp").rglob("*") if path.is_file() and "-pulp." not in path.name]
        left += output.rglob("*.tmp")
        wrong += [f"{path.relative_to(folder)} is left" for path in left]
    if wrong:
        soak.findings.append(f"{folder}: {when}: {', '.join(wrong)}")
        print(soak.findings[-1], flush=True)


def undisturbed(folder: Path) -> tuple[dict[str, str], float]:
    """Return the digests of a run that nobody kills, and its seconds.

    Raises:
        SystemExit: the run failed.
    """
    empty(folder)
    begin = time.monotonic()
    if start(folder).wait():
        sys.exit((folder / "terminal.txt").read_text())
    return digests(folder / "out"), time.monotonic() - begin


def soak_in(given: Namespace) -> Soak:
    """Kill runs until there were enough kills, and return what happened."""
    soak, chance = Soak(given.kills), random.Random(given.seed)
    work = given.work.absolute() / "soak"
    make_inputs(work / "inputs")
    undisturbed(work / "compiled")  # compiles kernels, so that the next one is timed without that
    expected, seconds = undisturbed(work / "undisturbed")
    print(f"undisturbed: {len(expected)} files in {seconds:.1f} s", flush=True)
    while soak.kills.total() < soak.wanted:
        folder = work / f"round_{soak.rounds}"
        findings = len(soak.findings)
        one_round(folder, expected, seconds, chance, soak)
        print(f"{soak.kills.total()} kills, {soak.rounds} rounds, {len(soak.findings)} findings", flush=True)
        if len(soak.findings) == findings:
            shutil.rmtree(folder)
    return soak


def main() -> None:
    """Parse the command line, kill runs, and report."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--kills", type=int, default=200, help="number of kills")
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments and kinds of kills")
    given = parser.parse_args()
    print_setting(())
    soak = soak_in(given)
    print_table(("kill", "times"), [(kind, soak.kills[kind]) for kind in KINDS])
    add_figures({"rounds": soak.rounds, "unlocked": soak.unlocked, "findings": len(soak.findings)})
    write_measurement()
    if soak.findings:
        sys.exit("\n".join(soak.findings))


if __name__ == "__main__":
    main()

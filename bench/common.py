"""Shared parts of the measurements: inputs, timed commands, tables, and the line of JSON that each run leaves."""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
LIBRARY = REPOSITORY / "workflow" / "scripts"
MEASUREMENTS = REPOSITORY / "docs" / "benchmarks" / "measurements.jsonl"
LEFT_OUT = ("--data", "--run", "--work", "--peers")
"""Options that name a folder of the machine; a recorded command goes without them."""

PEERS = {
    "bwa": "bwa 2>&1 | sed -n 's/^Version: //p'",
    "samtools": "samtools --version | sed -n '1s/samtools //p'",
    "bcftools": "bcftools --version | sed -n '1s/bcftools //p'",
    "freebayes": "freebayes --version | sed -n 's/version: *//p'",
    "strobealign": "strobealign --version",
    "snap-aligner": "snap-aligner 2>&1 | sed -n 's/.*version \\([^ ]*[0-9]\\).*/\\1/p' | head -1",
    "mummer": "dpkg-query -W -f '${Version}' mummer",
}


@dataclass(frozen=True)
class Timing:
    """Wall clock and processor time of a command, and the largest resident memory of one of its processes.

    `user_seconds` is the processor time without that of the system.
    """

    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    user_seconds: float

    def __str__(self) -> str:
        return f"{self.seconds:7.2f} s wall, {self.cpu_seconds:7.2f} s processor, {self.peak_megabytes:6.0f} MB peak"


def calling_settings(**changed: object) -> dict[str, object]:
    """Return the configuration's block `rescore`: the schema's defaults without filters, and the given changes."""
    from quire.run.schema import default_settings  # needs jsonschema, which a machine for tests of kernels may lack

    return default_settings("rescore") | {"filters": {}} | changed


def arguments(description: str | None, needs_data: bool = True, **defaults: object) -> argparse.ArgumentParser:
    """Return a parser with the options that every measurement has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    data = os.environ.get("DATA")  # as in: make bench DATA=FOLDER
    parser.add_argument(
        "--data",
        type=Path,
        default=data,
        required=needs_data and data is None,
        help="folder of the real data (docs/benchmarks.md)",
    )
    parser.add_argument("--work", type=Path, default=Path("results/bench"), help="folder for intermediate files")
    parser.add_argument("--threads", type=int, default=defaults.get("threads", 2), help="threads of both programs")
    return parser


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a program that can import Quire and these measurements."""
    path = ":".join([str(LIBRARY), str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, **more}


# The kernel counts the memory of the process that starts a program as the program's own, so a small one starts it.
_STARTER = """
import json, os, sys, time
start = time.perf_counter()
process = os.spawnvp(os.P_NOWAIT, "bash", ["bash", "-c", "set -o pipefail; " + sys.argv[2]])
_, status, usage = os.wait4(process, 0)
figures = time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, usage.ru_utime
os.write(int(sys.argv[1]), json.dumps([os.waitstatus_to_exitcode(status), *figures]).encode())
"""


def run(command: str, variables: dict[str, str] | None = None) -> Timing:
    """Print and run a shell command, and return and print its timing. A pipe fails if any part fails.

    Peak memory is that of the largest process, as the kernel accounts it (the same figure as GNU time's).

    Raises:
        SystemExit: The command failed.
    """
    print(f"$ {command}", flush=True)
    read, write = os.pipe()
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, str(write), command]
    with subprocess.Popen(starter, env=environment(**(variables or {})), pass_fds=(write,)), os.fdopen(read) as answer:
        os.close(write)
        status, *figures = json.loads(answer.read() or "[null]")
    if status != 0:
        sys.exit(f"failed with status {status}: {command}")
    timing = Timing(*figures)
    print(f"  {timing}", flush=True)
    return timing


def python(module_and_arguments: str) -> str:
    """Return the command of a Python module in this environment."""
    return f"{sys.executable} -m {module_and_arguments}"


class Run:
    """Setting and figures of one run of a measurement; `print_setting` starts it and `write_measurement` ends it."""

    def __init__(self) -> None:
        self.setting: dict[str, object] = {}
        self.figures: dict[str, float | str] = {}


_run = Run()


def print_setting(
    peers: Sequence[str] | Mapping[str, str] = ("bwa", "samtools", "bcftools", "freebayes", "mummer"),
) -> None:
    """Start a run: print the command, the machine, the date, the commit and the versions of the peers.

    Args:
        peers: names of `PEERS`, or versions by name.
    """
    versions = dict(peers) if isinstance(peers, Mapping) else {peer: output_of(PEERS[peer]) for peer in peers}
    processor = output_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1") or platform.processor()
    _run.figures = {}
    _run.setting = {
        "command": _command(),
        "commit": output_of("git describe --always --dirty --exclude '*'") or None,
        "date": str(date.today()),
        "processor": processor or None,
        "cores": len(os.sched_getaffinity(0)),
        "card": None,
        "peers": {peer: version for peer, version in versions.items() if version},
    }
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"# {_run.setting['command']}")
    print(f"# {_run.setting['date']}, commit {_run.setting['commit']}, Python {platform.python_version()}")
    print(f"# {processor}, {_run.setting['cores']} cores, {memory:.0f} GiB, load {load}")
    print(f"# peers: {', '.join(f'{peer} {version}' for peer, version in versions.items())}", flush=True)


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], name: str = "") -> None:
    """Print a Markdown table and add its cells to the run's figures.

    A figure is named by its row and column, `ROW: COLUMN`, and by the table (`NAME, ROW: COLUMN`) if that has a name.
    """
    for row in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)
    for row in rows:
        _run.figures |= figures_of(header, row, name)


def figures_of(header: Sequence[str], row: Sequence[object], name: str = "") -> dict[str, float | str]:
    """Return the figures of a row by their names.

    The row's label is its first cell and the text cells that follow it, up to the first number. Numbers lose the
    commas of thousands and a per cent sign.
    """
    cells = [_figure(cell) for cell in row]
    labels = 1
    while labels < len(cells) - 1 and isinstance(cells[labels], str) and cells[labels]:
        labels += 1
    label = ", ".join([*([name] if name else []), *map(str, row[:labels])])
    figures: dict[str, float | str] = {}
    for column, cell in zip(header[labels:], cells[labels:], strict=False):
        if cell != "":
            number = 1 + sum(key == f"{label}: {column}" for key in figures)
            figures[f"{label}: {column}" + (f" {number}" if number > 1 else "")] = cell
    return figures


def add_figures(figures: Mapping[str, float | str]) -> None:
    """Add figures to the run that are in no table."""
    _run.figures |= figures


def write_measurement(case: str = "") -> None:
    """End a run: append its line of JSON to docs/benchmarks/measurements.jsonl, and print which bars it meets.

    The environment variable MEASUREMENTS names another file. `python -m bench.tables` makes docs/benchmarks.md from it.

    Args:
        case: subject of the measurement if one command measures several, for example a genome.
    """
    path = Path(os.environ.get("MEASUREMENTS", MEASUREMENTS))
    line = {**_run.setting, "case": case, "figures": _run.figures}
    with path.open("a") as stream:
        stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    if find_spec("yaml"):  # a machine for tests of kernels may lack it
        from bench.tables import verdicts

        print(*verdicts(line), sep="\n", flush=True)


def write_svg(path: Path, drawing: str, title: str, style: str) -> None:
    """Write a picture of `quire.report.drawing`, which is made for a page, as a file of its own."""
    whole = drawing.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    path.write_text(whole.replace(">", f"><title>{title}</title><style>{style}</style>", 1))


def read_lines(path: Path = MEASUREMENTS) -> list[dict[str, Any]]:
    """Return the measurements in the order in which they were appended."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def measured_on(card: str | None) -> None:
    """Record the name of the card that the run uses, if any."""
    _run.setting["card"] = card


class Inputs:
    """Real data and files derived from it once: one chromosome as FASTA, the indexes of both programs."""

    def __init__(self, data: Path, work: Path) -> None:
        self.data, self.work = data, work
        work.mkdir(parents=True, exist_ok=True)
        self.truth = data / "gatk_haplotypecaller" / "HG001_giab_v3.3.2_chr20.vcf.gz"
        self.qualities = data / "na12878_chr20_100kb" / "hg002_2x148_for_quality_strings.bam"
        self.demo = data / "na12878_chr20_100kb"

    def chromosome_20(self) -> Path:
        """Return chr20 of GRCh37 (contig `20`) as plain FASTA."""
        source = self.data / "gatk_haplotypecaller" / "human_g1k_v37.20.21.fasta.gz"
        fasta = self.work / "chr20" / "chr20.fa"
        extract = "import pysam, sys; sys.stdout.write(pysam.faidx(sys.argv[1], '20'))"
        return self._made(fasta, f'{sys.executable} -c "{extract}" {source} > {{}}')

    def plain(self, name: str, source: Path) -> Path:
        """Return a gzip FASTA, decompressed."""
        return self._made(self.work / name / f"{name}.fa", f"gzip -dc {source} > {{}}")

    def genome(self, source: Path) -> Path:
        """Return any genome, gzip or plain, as plain FASTA in a folder of its own."""
        stem = source.name.removesuffix(".gz").rsplit(".", 1)[0]
        return self._made(self.work / stem / f"{stem}.fa", f"gzip -dcf {source} > {{}}")

    def bwa_index(self, fasta: Path) -> Path:
        """Make bwa's index next to the FASTA."""
        if not Path(f"{fasta}.sa").exists():
            run(f"bwa index {fasta} 2> {fasta}.bwa_index.log")
        return fasta

    def quire_index(self, fasta: Path, page_size: int = 1 << 30, options: str = "") -> Path:
        """Make Quire's index of a FASTA with pages of this size."""
        folder = fasta.parent / f"quire_{page_size}"
        if not (folder / "done").exists():
            run(python(f"bench.build_index {fasta} {folder} --page-size {page_size} {options}"))
            (folder / "done").touch()
        return folder

    def simulated(
        self, fasta: Path, region: str, seed: int, options: str, has_variants: bool = True
    ) -> tuple[Path, Path]:
        """Simulate paired reads of a region, with the real variants of HG001 by default; return both FASTQ files."""
        name = f"{region}_{seed}_{options}".replace(" ", "").replace("/", "_").replace(":", "_")
        prefix = self.work / "reads" / (name if has_variants else f"{fasta.stem}_{name}")
        mates = Path(f"{prefix}_1.fq.gz"), Path(f"{prefix}_2.fq.gz")
        if not mates[1].exists():
            prefix.parent.mkdir(parents=True, exist_ok=True)
            truth = self.truth if has_variants else "none"
            what = f"{fasta} {truth} {region} {prefix} --seed {seed} --quals {self.qualities} {options}"
            run(python(f"bench.simulate {what}"))
        return mates

    def mapped(self, fasta: Path, mates: Sequence[Path], name: str, threads: int) -> tuple[Path, Path]:
        """Map reads by Quire and by bwa mem; return both unsorted BAMs."""
        ours, theirs = (self.work / f"{name}.{program}.bam" for program in ("quire", "bwa"))
        run(quire_command(self.quire_index(fasta), mates, ours, threads))
        run(bwa_command(self.bwa_index(fasta), mates, theirs, threads))
        return ours, theirs

    def _made(self, path: Path, command: str) -> Path:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(".tmp")
            run(command.format(temporary))
            temporary.rename(path)
        return path


def bwa_command(fasta: Path, mates: Sequence[Path], output: Path, threads: int) -> str:
    """Return the command of bwa mem to an unsorted BAM at level 1."""
    files = " ".join(map(str, mates))
    return f"bwa mem -t {threads} {fasta} {files} 2> {output}.log | samtools view -1 -o {output} -"


def quire_command(
    index: Path, mates: Sequence[Path], output: Path, threads: int, batch: int | None = None, log: bool = True,
    backend: str = "cpu", memory: str = "auto",
) -> str:  # fmt: skip
    """Return the command of Quire's mapper to an unsorted BAM."""
    files = " ".join(f"--fq{number} {path}" for number, path in enumerate(mates, start=1))
    batches = f" --batch {batch}" if batch else ""
    errors = f" 2> {output}.log" if log else ""
    what = f"--index {index} {files} --out {output} --threads {threads} --backend {backend} --memory {memory}"
    return python(f"bench.map_unit {what}{batches}{errors}")


def _command() -> str:
    """Return the command of this run without machine-specific folders."""
    words, given = [], iter(sys.argv[1:])
    for word in given:
        if word in LEFT_OUT:
            next(given, None)
        elif not word.startswith(tuple(f"{option}=" for option in LEFT_OUT)):
            words.append(Path(word).name if "/" in word and not word.startswith("-") else word)
    return " ".join(["python -m", _module(), *words])


def _figure(cell: object) -> float | str:
    """Return a cell of a table as a number if it is one, else as text."""
    text = str(cell)
    try:
        return float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return text


def _module() -> str:
    specification = sys.modules["__main__"].__spec__
    if specification is None or specification.name == "bench.__main__":
        return f"bench.{Path(sys.argv[0]).stem}"
    return specification.name


def output_of(command: str) -> str:
    """Return what a shell command prints."""
    completed = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=REPOSITORY)
    return completed.stdout.strip()

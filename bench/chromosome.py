"""A whole chromosome at 30x, from FASTQ.gz to the VCF: wall-clock and CPU time of each step.

Reads of chr20 with the real variants of HG001 and real quality strings are simulated in parallel, indexed,
mapped (on a card if there is one), sorted and marked, and called by one job of `--threads` processes. The first calls,
of 300 kb by one process, compile the kernels and are not counted.
"""

import subprocess
import sys
from pathlib import Path

import pysam
from quire.device.choice import use_backend
from quire.reference import Reference
from quire.rescore.caller import call_interval
from quire.rescore.intervals import split
from quire.rescore.job import CallingRequest, Output

from bench.common import (
    Inputs,
    Timing,
    arguments,
    calling_settings,
    environment,
    measured_on,
    print_setting,
    print_table,
    python,
    quire_command,
    run,
    write_measurement,
)

PARTS = 32
CONTIG = "20"
SMALL = [(CONTIG, 10_000_000, 10_300_000)]


def simulate(inputs: Inputs, fasta: Path, coverage: float, units: int = 1) -> list[tuple[Path, Path]]:
    """Simulate paired reads of the whole chromosome in parallel; return both gzip files of each unit."""
    folder = inputs.work / f"chromosome_{coverage:g}_{units}"
    found = [(folder / f"unit{unit}_1.fq.gz", folder / f"unit{unit}_2.fq.gz") for unit in range(1, units + 1)]
    if found[-1][1].exists():
        return found
    folder.mkdir(parents=True, exist_ok=True)
    with pysam.FastaFile(str(fasta)) as stream:
        length = stream.get_reference_length(CONTIG)
    step = -(-length // PARTS)
    prefixes, running = [], []
    for number, first in enumerate(range(1, length + 1, step), start=1):
        region, prefix = f"{CONTIG}:{first}-{min(first + step - 1, length)}", folder / f"part_{number}"
        what = f"{fasta} {inputs.truth} {region} {prefix} --seed {number} --quals {inputs.qualities}"
        command = python(f"bench.simulate {what} --coverage {coverage}").split()
        prefixes.append(prefix)
        running.append(subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL))
    for process, prefix in zip(running, prefixes, strict=True):
        if process.wait():
            sys.exit(f"simulating {prefix} failed")
    for unit, mates in enumerate(found):
        for mate, path in enumerate(mates, start=1):
            parts = " ".join(f"{prefix}_{mate}.fq.gz" for prefix in prefixes[unit::units])
            run(f"cat {parts} > {path}.tmp && mv {path}.tmp {path} && rm {parts}")
    return found


def call(work: Path, threads: int, small: bool) -> None:
    """Call the chromosome, or 300 kb of it; run in a separate process that is timed."""
    reference = Reference.open(work / "quire_index" / "reference")
    contigs = list(zip(reference.contig_names, map(int, reference.contig_lengths), strict=True))
    names = reference.contig_names
    islands = [(names[i["contig"]], i["start"], i["start"] + i["length"]) for i in reference.manifest["islands"]]
    samples = [{"sample": "sample", "ploidy": 2, "bam": work / "marked.bam"}]
    for number, piece in enumerate([SMALL] if small else split(contigs, islands, None, 100_000_000)):
        output = work / f"calls_{number}.vcf.gz"
        ledger = work / f"calls_{number}.json"
        inputs = reference.directory, samples, piece
        request = CallingRequest(Output.VARIANTS, *inputs, output, calling_settings(), ledger, threads=threads)
        print(f"{call_interval(request)} variants")


def main() -> None:
    """Simulate reads, and time every later step."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--call", choices=("small", "all"), help="only call, in this process; used by this program")
    given = parser.parse_args()
    if given.call:
        call(given.work, given.threads, given.call == "small")
        return
    print_setting(())
    with use_backend("auto") as (backend, _):
        print(f"# mapping on {backend.card or 'the CPU'}: {backend.reason}")
        measured_on(backend.card)
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    [mates] = simulate(inputs, fasta, given.coverage)
    work, threads = given.work, given.threads
    index, unsorted = work / "quire_index", work / "unsorted.buckets"
    calling = f"bench.chromosome --data {given.data} --work {work} --threads"

    steps: dict[str, str] = {
        "index": python(f"bench.build_index {fasta} {index} --backend {backend.name} 2> {work}/index.log"),
        "map": quire_command(index, mates, unsorted, threads, backend=backend.name),
    }
    rows = [_row(name, run(command)) for name, command in steps.items()]
    marked = work / "marked.bam"
    finishing = f"bench.finishing --data {given.data} --work {work} --threads {threads} --finish"
    rows.append(_row("sort, mark and index", run(python(f"{finishing} {unsorted} {marked}"))))
    run(python(f"{calling} 1 --call small"))
    rows.append(_row("call", run(python(f"{calling} {threads} --call all"))))
    print_table(("step", "s", "core-seconds", "MB, largest process"), rows)
    write_measurement()


def _row(name: str, timing: Timing) -> tuple[str, str, str, str]:
    return name, f"{timing.seconds:.1f}", f"{timing.cpu_seconds:.1f}", f"{timing.peak_megabytes:.0f}"


if __name__ == "__main__":
    main()

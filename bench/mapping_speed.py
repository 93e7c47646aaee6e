"""Time from FASTQ to unsorted BAM: Quire's first run (with compilation) and warm runs against bwa mem, in turns.

The default is FASTQ.gz on chr20. --fasta, --index and --reads select any genome that both programs have an index of.

With --a-core it measures reads per second and core on chr20 instead, of Quire, bwa mem and, if they are on the PATH,
SNAP and strobealign, on reads of several lengths and of another organism (E. coli). Each program runs with one thread
and its own output (Quire: BAM; others: SAM to /dev/null). The user time is compared, since wall-clock time depends on
the load, less the time for ten pairs, which is the start-up; indexes are in the page cache.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from isal import igzip

from bench.common import (
    Inputs,
    Timing,
    add_figures,
    arguments,
    bwa_command,
    print_setting,
    print_table,
    quire_command,
    run,
    write_measurement,
)
from bench.simulate import WHOLE_GENOME

LENGTHS = (150, 100, 75, 50, 36)
FEW = 10  # number of pairs for the measurement of the start-up
SNAP, STROBEALIGN = "snap-aligner", "strobealign"

Command = Callable[[Sequence[Path], int], str]


def main() -> None:
    """Simulate, time in turns and print the ratio of the fastest runs."""
    parser = arguments(__doc__, needs_data=False)
    parser.add_argument("--pairs", type=int, default=250_000)
    parser.add_argument("--repeats", type=int, default=3, help="warm runs of each program, in turns")
    parser.add_argument("--a-core", action="store_true", help="short and foreign reads too, SNAP and strobealign too")
    parser.add_argument("--fasta", type=Path, help="of another genome, with bwa's index beside it")
    parser.add_argument("--index", type=Path, help="Quire's index of it, as bench.build_index makes it")
    parser.add_argument("--reads", type=Path, nargs=2, help="both FASTQ files; --pairs says how many they hold")
    given = parser.parse_args()
    others = (given.fasta, given.index, given.reads)
    if any(others) and not all(others):
        parser.error("--fasta, --index and --reads belong together")
    if not given.data and not given.fasta:
        parser.error("give --data, or --fasta, --index and --reads")
    if given.a_core:
        measure_a_core(Inputs(given.data, given.work), given.pairs, given.repeats)
        return
    print_setting(("bwa", "samtools"))
    inputs = Inputs(given.data or Path(), given.work)
    fasta = given.fasta or inputs.chromosome_20()
    bwa_index, quire_index = inputs.bwa_index(fasta), given.index or inputs.quire_index(fasta)
    mates = given.reads or inputs.simulated(fasta, "20", 1, f"--pairs {given.pairs}")
    ours, theirs = given.work / "speed.quire.bam", given.work / "speed.bwa.bam"
    with tempfile.TemporaryDirectory() as cache:
        first = run(quire_command(quire_index, mates, ours, given.threads), {"NUMBA_CACHE_DIR": cache})
    warm, peer = [], []
    for _ in range(given.repeats):
        warm.append(run(quire_command(quire_index, mates, ours, given.threads)))
        peer.append(run(bwa_command(bwa_index, mates, theirs, given.threads)))
    fastest = min(peer, key=lambda timing: timing.seconds)
    rows = [
        _row("quire, first run (compiles)", first, fastest, given.pairs),
        _row("quire, warm", min(warm, key=lambda timing: timing.seconds), fastest, given.pairs),
        _row("bwa mem to samtools view -1", fastest, fastest, given.pairs),
    ]
    header = ("program", "s", "pairs/s", "processor s", "peak MB", "speed over bwa")
    print_table(header, rows)
    write_measurement(given.fasta.stem if given.fasta else "")


def _row(name: str, timing: Timing, peer: Timing, pairs: int) -> tuple:
    speed = f"{peer.seconds / timing.seconds:.2f}"
    return (
        name, f"{timing.seconds:.2f}", f"{pairs / timing.seconds:.0f}", f"{timing.cpu_seconds:.1f}",
        f"{timing.peak_megabytes:.0f}", speed,
    )  # fmt: skip


def measure_a_core(inputs: Inputs, pairs: int, repeats: int) -> None:
    """Simulate, map with each program in turn, and print a row for each set and the bars."""
    programs = [name for name in (SNAP, STROBEALIGN) if shutil.which(name)]
    print_setting(("bwa", *programs))
    fasta = inputs.chromosome_20()
    commands = {"quire": _quire(inputs, fasta), "bwa": _bwa(inputs, fasta)}
    if SNAP in programs:
        commands[SNAP] = _snap(fasta)
    if STROBEALIGN in programs:
        commands[STROBEALIGN] = _strobealign(fasta)
    rows, speeds = [], {}
    for name, length, few, whole, reads in _sets(inputs, fasta, pairs):
        speeds[name] = _speeds(commands, length, few, whole, reads, repeats)
        rows.append((name, reads, *(f"{speed / 1000:.1f}" for speed in speeds[name].values())))
    print_table(("reads", "how many", *(f"{program}, 1,000 reads/s a core" for program in commands)), rows)
    for name, speed in speeds.items():
        for peer in ("bwa",) if name != "2x150" else programs:
            if name != "foreign":
                add_figures({f"{name} by {peer}": round(speed["quire"] / speed[peer], 2)})
    add_figures({"foreign reads by others": round(speeds["foreign"]["quire"] / speeds["2x150"]["quire"], 2)})
    write_measurement()


def _sets(inputs: Inputs, fasta: Path, pairs: int) -> list[tuple[str, int, Sequence[Path], Sequence[Path], int]]:
    """Return name, length, few and many reads, and their numbers, for every set."""
    sets = []
    for length in LENGTHS:
        options = f"--length {length} --insert {max(250, 8 * length // 3)} --insert-sd {max(30, length // 3)}"
        few, whole = (inputs.simulated(fasta, "20", 1, f"--pairs {number} {options}") for number in (FEW, pairs))
        sets.append((f"2x{length}", length, few, whole, _count(whole)))
    ecoli = inputs.plain("ecoli", inputs.data / "genomes" / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    foreign = [
        inputs.simulated(ecoli, WHOLE_GENOME, 1, f"--pairs {number}", has_variants=False) for number in (FEW, pairs)
    ]
    sets.append(("foreign", 150, *foreign, 2 * pairs))
    return sets


def _count(mates: Sequence[Path]) -> int:
    """Return the number of reads in both files; simulated fragments in runs of N are left out."""
    with igzip.open(mates[0], "rb") as stream:
        return sum(1 for _ in stream) // 2


def _speeds(
    commands: dict[str, Command], length: int, few: Sequence[Path], whole: Sequence[Path], reads: int, repeats: int
) -> dict[str, float]:
    """Return reads per second of user time of every program, from its fastest run (bwa: from its only run)."""
    started = {name: run(command(few, length)).user_seconds for name, command in commands.items()}
    took: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(repeats):
        for name, command in commands.items():
            if name != "bwa" or turn == 0:
                took[name].append(run(command(whole, length)).user_seconds)
            if turn == 0:
                started[name] = min(started[name], run(command(few, length)).user_seconds)
    return {name: reads / (min(took[name]) - started[name]) for name in commands}


def _quire(inputs: Inputs, fasta: Path) -> Command:
    index, output = inputs.quire_index(fasta), inputs.work / "a_core.quire.bam"
    return lambda mates, _length: quire_command(index, mates, output, 1)


def _bwa(inputs: Inputs, fasta: Path) -> Command:
    index = inputs.bwa_index(fasta)
    return lambda mates, _length: f"bwa mem -t 1 {index} {' '.join(map(str, mates))} > /dev/null 2> {index}.log"


def _snap(fasta: Path) -> Command:
    """Return the command of SNAP, which by default drops reads of fewer than 50 bases."""
    index = fasta.parent / "snap"
    if not (index / "Genome").exists():
        run(f"{SNAP} index {fasta} {index} -t1 > {index}.log")

    def command(mates: Sequence[Path], length: int) -> str:
        kind = "-compressedFastq" if mates[0].suffix == ".gz" else "-fastq"
        files = " ".join(map(str, mates))
        return f"{SNAP} paired {index} {kind} {files} -t 1 -mrl {length} -o -sam /dev/null > {index}.log 2>&1"

    return command


def _strobealign(fasta: Path) -> Command:
    """Return the command of strobealign, with an index for each read length."""

    def command(mates: Sequence[Path], length: int) -> str:
        made = fasta.parent / f"strobealign_{length}"
        if not made.exists():
            run(f"{STROBEALIGN} --create-index -r {length} -t 1 {fasta} 2> {made}.log")
            made.touch()
        files = " ".join(map(str, mates))
        return f"{STROBEALIGN} --use-index -r {length} -t 1 {fasta} {files} > /dev/null 2> {made}.log"

    return command


if __name__ == "__main__":
    main()

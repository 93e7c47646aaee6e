"""Reads per second and core on chr20: Quire, bwa mem and, if they are on the PATH, SNAP and strobealign.

Each program runs with one thread and its own output (Quire: BAM; others: SAM to /dev/null). The user time is compared,
since wall-clock time depends on the load, less the time for ten pairs, which is the start-up; indexes are in the page
cache. Bars: on 2x150 at least as fast as strobealign and 0.8 times as fast as SNAP; on shorter reads at least four
times as fast as bwa mem; reads of another organism (E. coli) at least half as fast as those of the reference.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from isal import igzip

from bench.common import Inputs, add_figures, print_setting, print_table, python, quire_command, run, write_measurement

LENGTHS = (150, 100, 75, 50, 36)
FEW = 10  # number of pairs for the measurement of the start-up
FOREIGN_SHARE, OVER_BWA, OVER_SNAP = 0.5, 4.0, 0.8
SNAP, STROBEALIGN = "snap-aligner", "strobealign"

Command = Callable[[Sequence[Path], int], str]


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
        bars = [("bwa", OVER_BWA)] if name != "2x150" else [(SNAP, OVER_SNAP), (STROBEALIGN, 1.0)]
        for peer, bar in bars:
            if peer in speed and name != "foreign":
                _say(f"{name} by {peer}", speed["quire"] / speed[peer], bar)
    _say("foreign reads by others", speeds["foreign"]["quire"] / speeds["2x150"]["quire"], FOREIGN_SHARE)
    write_measurement()


def _say(what: str, ratio: float, bar: float) -> None:
    print(f"{what}: {ratio:.2f} (bar {bar}, {'met' if ratio >= bar else 'missed'})")
    add_figures({what: round(ratio, 2)})


def _sets(inputs: Inputs, fasta: Path, pairs: int) -> list[tuple[str, int, Sequence[Path], Sequence[Path], int]]:
    """Return name, length, few and many reads, and their numbers, for every set."""
    sets = []
    for length in LENGTHS:
        options = f"--length {length} --insert {max(250, 8 * length // 3)} --insert-sd {max(30, length // 3)}"
        few, whole = (inputs.simulated(fasta, "20", 1, f"--pairs {number} {options}") for number in (FEW, pairs))
        sets.append((f"2x{length}", length, few, whole, _count(whole)))
    ecoli = inputs.plain("ecoli", inputs.data / "genomes" / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    foreign = []
    for number in (FEW, pairs):
        prefix = inputs.work / "reads" / f"foreign_{number}"
        foreign.append([Path(f"{prefix}_{mate}.fq") for mate in (1, 2)])
        if not foreign[-1][1].exists():
            run(python(f"bench.plain_reads {ecoli} {prefix} --pairs {number}"))
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

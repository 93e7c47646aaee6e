"""Time from FASTQ to unsorted BAM: Quire's first run (with compilation) and warm runs against bwa mem, in turns.

The default is FASTQ.gz on chr20: at least 3 times bwa's speed, at most 1.5 GB. --fasta, --index and --reads select any
genome that both programs have an index of. Bars for one of 3.1 Gb: at least bwa's speed, at most 16 GB.

With --a-core it measures reads per second and core on chr20 instead, by the user time of one thread, including other
mappers (`bench.mapping_peers`).
"""

import tempfile
from pathlib import Path

from bench.common import (
    Inputs,
    Timing,
    arguments,
    bwa_command,
    print_setting,
    print_table,
    quire_command,
    run,
    write_measurement,
)
from bench.mapping_peers import measure_a_core


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


if __name__ == "__main__":
    main()

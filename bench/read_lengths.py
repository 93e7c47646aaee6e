"""Processor time per base by read length: pairs of 2x100 to 2x1000 from chr20, with the same number of bases each.

Times of Quire and bwa mem exclude the time for a hundred pairs.
"""

from pathlib import Path

from bench.common import (
    Inputs,
    add_figures,
    arguments,
    bwa_command,
    print_setting,
    print_table,
    quire_command,
    run,
    write_measurement,
)
from bench.place import place

LENGTHS = (100, 150, 250, 500, 1000)
FEW = 100  # number of pairs for the measurement of the start-up


def main() -> None:
    """Simulate, map with both programs, and print a row for each length."""
    parser = arguments(__doc__, threads=1)
    parser.add_argument("--bases", type=int, default=30_000_000, help="of each length")
    given = parser.parse_args()
    print_setting(("bwa", "samtools"))
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    bwa_index, quire_index = inputs.bwa_index(fasta), inputs.quire_index(fasta)

    def seconds(length: int, pairs: int, ours: Path, theirs: Path) -> tuple[float, float]:
        options = f"--pairs {pairs} --length {length} --insert {max(400, 5 * length // 2)} --insert-sd {length // 5}"
        mates = inputs.simulated(fasta, "20", 1, options)
        return (
            run(quire_command(quire_index, mates, ours, given.threads)).cpu_seconds,
            run(bwa_command(bwa_index, mates, theirs, given.threads)).cpu_seconds,
        )

    files = given.work / "length.quire.bam", given.work / "length.bwa.bam"
    start = seconds(LENGTHS[0], FEW, *files)
    rows, costs = [], {}
    for length in LENGTHS:
        took = seconds(length, given.bases // (2 * length), *files)
        placed = [place(path) for path in files]
        bases = length * placed[0].reads
        each = [1e9 * (taken - started) / bases for taken, started in zip(took, start, strict=True)]
        costs[length] = each[0]
        right = [f"{placement.share_right():.5f}" for placement in placed]
        rows.append((length, bases, *(f"{cost:.0f}" for cost in each), *right))
    print_table(("bases of a read", "bases in all", "ns a base, Quire", "bwa", "right, Quire", "bwa"), rows)
    add_figures({"a base of 1,000 over one of 150": round(costs[1000] / costs[150], 2)})
    write_measurement()


if __name__ == "__main__":
    main()

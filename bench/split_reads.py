"""Split reads: of those that bwa mem gives a supplementary alignment, the share that Quire gives one too.

One read pair in a hundred of a simulation gets a first mate of two pieces: its own begin, and the end of another
pair's first mate, 35 to 115 bases each. Bar: 90 %.
"""

import random
from pathlib import Path

import pysam
from isal import igzip

from bench.common import Inputs, arguments, bwa_command, print_setting, print_table, quire_command, run

SHARE = 0.01
SHORTEST_PIECE = 35
BAR = 0.9


def join_pieces(source: Path, target: Path, seed: int) -> set[str]:
    """Copy a FASTQ.gz and make chimeras of some reads; returns their names."""
    generator = random.Random(seed)
    with igzip.open(source, "rt") as stream:
        lines = stream.read().splitlines()
    names = set()
    for record in range(0, len(lines), 4):
        if generator.random() >= SHARE:
            continue
        other = 4 * generator.randrange(len(lines) // 4)
        cut = generator.randrange(SHORTEST_PIECE, len(lines[record + 1]) - SHORTEST_PIECE)
        for line in (1, 3):
            lines[record + line] = lines[record + line][:cut] + lines[other + line][cut:]
        names.add(lines[record][1:].split()[0].removesuffix("/1"))
    with igzip.open(target, "wt", compresslevel=1) as stream:
        stream.write("\n".join(lines) + "\n")
    return names


def split_reads(path: Path) -> set[tuple[str, bool]]:
    """Name and mate (True: the second) of the reads with a supplementary alignment."""
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        return {(record.query_name, record.is_read2) for record in stream if record.is_supplementary}


def main() -> None:
    """Simulate, join, map with both programs, and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=280_000)
    given = parser.parse_args()
    print_setting(("bwa", "samtools"))
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    bwa_index, quire_index = inputs.bwa_index(fasta), inputs.quire_index(fasta)
    first, second = inputs.simulated(fasta, "20", 1, f"--pairs {given.pairs}")
    joined = given.work / "split_1.fq.gz"
    chimeras = join_pieces(first, joined, seed=1)
    ours, theirs = given.work / "split.quire.bam", given.work / "split.bwa.bam"
    run(quire_command(quire_index, (joined, second), ours, given.threads))
    run(bwa_command(bwa_index, (joined, second), theirs, given.threads))
    found = {"quire": split_reads(ours), "bwa": split_reads(theirs)}
    rows = []
    for name, reads in found.items():
        of_chimeras = sum(read in chimeras and not second for read, second in reads)
        rows.append((name, len(reads), of_chimeras, f"{of_chimeras / len(chimeras):.4f}"))
    print(f"{len(chimeras)} chimeric reads")
    print_table(("program", "split reads", "of them chimeric", "of all chimeric"), rows)
    share = len(found["quire"] & found["bwa"]) / max(1, len(found["bwa"]))
    print(f"of bwa's split reads, split by quire: {share:.4f} (bar {BAR}, {'met' if share >= BAR else 'missed'})")


if __name__ == "__main__":
    main()

"""Split reads: the share of bwa mem's reads with a supplementary alignment that also have one in Quire's records.

Chimeras: in one of a hundred simulated pairs the first mate is replaced by two pieces, its own beginning and the end of
another pair's first mate, 35 to 115 bases each. Indels: deletions and insertions of 50 to 500 bases are planted into 5
Mb in addition to the real variants. Split reads have a supplementary alignment; clipped reads have ten clipped bases at
an end of a planted indel. Callers of structural variants use both.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import pysam
from isal import igzip

from bench.common import Inputs, add_figures, arguments, print_setting, print_table, python, run, write_measurement
from bench.long_indels import Planted, plant, write_variants

SHARE = 0.01
SHORTEST_PIECE = 35
INDEL_REGION, INDEL_CLASSES, INDELS_OF_CLASS, COVERAGE = (
    ("20", 30_000_000, 35_000_000),
    ((50, 200), (200, 500)),
    300,
    20,
)
FEWEST_CLIPPED, NEAR = 10, 10  # clipped bases, and bases between a clip and the end of a planted indel


def join_pieces(source: Path, target: Path, seed: int) -> set[str]:
    """Copy a FASTQ.gz and turn some reads into chimeras; return their names."""
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
    """Return name and mate (True: the second) of the reads with a supplementary alignment."""
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        return {(record.query_name, record.is_read2) for record in stream if record.is_supplementary}


def clipped_reads(path: Path, planted: Sequence[Planted]) -> set[tuple[str, bool]]:
    """Return the reads whose primary alignment is clipped at an end of a planted indel."""
    ends = {end + shift for one in planted for end in (one.variant.position + 1, one.variant.end)
            for shift in range(-NEAR, NEAR + 1)}  # fmt: skip
    found = set()
    with pysam.AlignmentFile(str(path), check_sq=False) as stream:
        for record in stream:
            if record.is_unmapped or record.is_supplementary:
                continue
            (first, left), (last, right) = record.cigartuples[0], record.cigartuples[-1]
            at_left = first == pysam.CSOFT_CLIP and left >= FEWEST_CLIPPED and record.reference_start in ends
            at_right = last == pysam.CSOFT_CLIP and right >= FEWEST_CLIPPED and record.reference_end in ends
            if at_left or at_right:
                found.add((record.query_name, record.is_read2))
    return found


def print_share(what: str, ours: set[tuple[str, bool]], theirs: set[tuple[str, bool]]) -> None:
    """Print the numbers of reads, and add the share of bwa's that are also Quire's to the figures."""
    print(f"{what}: quire {len(ours)}, bwa {len(theirs)}")
    add_figures({what: round(len(ours & theirs) / max(1, len(theirs)), 4)})


def main() -> None:
    """Simulate both sets, map with both programs, and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--pairs", type=int, default=280_000, help="of the set with chimeras")
    given = parser.parse_args()
    print_setting(("bwa", "samtools"))
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    first, second = inputs.simulated(fasta, "20", 1, f"--pairs {given.pairs}")
    joined = given.work / "split_1.fq.gz"
    chimeras = join_pieces(first, joined, seed=1)
    of_chimeras = [split_reads(path) for path in inputs.mapped(fasta, (joined, second), "split", given.threads)]
    rows = []
    for name, reads in zip(("quire", "bwa"), of_chimeras, strict=True):
        both = sum(read in chimeras and not second for read, second in reads)
        rows.append((name, len(reads), both, f"{both / len(chimeras):.4f}"))
    print(f"{len(chimeras)} chimeric reads")
    print_table(("program", "split reads", "of them chimeric", "of all chimeric"), rows)

    contig, begin, end = INDEL_REGION
    with pysam.FastaFile(str(fasta)) as stream:
        letters = stream.fetch(contig).upper()
    planted = plant(letters, contig, (begin, end), INDELS_OF_CLASS, 1, INDEL_CLASSES)
    truth, reads = given.work / "split_truth.vcf.gz", given.work / "split_indels"
    write_variants(truth, inputs.truth, contig, planted, 1)
    what = f"{fasta} {truth} {contig}:{begin + 1}-{end} {reads} --seed 1 --quals {inputs.qualities}"
    run(python(f"bench.simulate {what} --coverage {COVERAGE}"))
    mates = Path(f"{reads}_1.fq.gz"), Path(f"{reads}_2.fq.gz")
    of_indels = inputs.mapped(fasta, mates, "split_indels", given.threads)
    print_share("split reads, chimeras", *of_chimeras)
    print_share("split reads, indels of 50 to 500 bases", *map(split_reads, of_indels))
    print_share("clipped reads, indels of 50 to 500 bases", *(clipped_reads(path, planted) for path in of_indels))
    write_measurement()


if __name__ == "__main__":
    main()

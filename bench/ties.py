"""Expected number of correctly placed reads where equally good places are chosen at random: Quire and bwa mem.

Both map the reads of a set (bench.simulate). Pairs with a read that either program places wrong or below MAPQ 10 are
mapped again --copies times, under other names and in another order, on which the programs' choices depend. They are
mixed with certain pairs, so that the insert sizes stay the same. The mean over the copies and its standard deviation
show which program finds more places; the first mapping alone is a single random draw.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pysam

from bench.common import Inputs, arguments, print_setting, print_table, write_measurement
from bench.place import is_right
from bench.placement import NATURAL_DIVERGENCE
from bench.simulate import SETS, WHOLE_GENOME

CERTAIN = 10  # least MAPQ
MOST_CERTAIN_PAIRS = 30_000
FIRST_CERTAIN_PAIRS = 10_000  # before all others, because Quire fits its insert sizes to the first pairs
Fastq = tuple[str, str, str]


def main() -> None:
    """Map, choose the uncertain pairs, map them many times and print."""
    parser = arguments(__doc__, threads=1)
    parser.add_argument("--set", choices=SETS, default="2x100", help="kind of reads")
    parser.add_argument("--pairs", type=int, default=125_000)
    parser.add_argument("--copies", type=int, default=16, help="of each uncertain pair")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--region", default="20")
    parser.add_argument("--genome", type=Path, help="FASTA, gzip or plain, that the reads are drawn from")
    given = parser.parse_args()
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.genome(given.genome) if given.genome else inputs.chromosome_20()
    options = SETS[given.set].simulation(given.pairs)
    if given.genome and "--divergence" not in options:
        options += NATURAL_DIVERGENCE
    region = WHOLE_GENOME if given.genome else given.region
    mates = inputs.simulated(fasta, region, given.seed, options, not given.genome)[: SETS[given.set].mates]
    drawn = inputs.mapped(fasta, mates, "ties_drawn", given.threads)
    uncertain = set().union(*map(_uncertain, drawn))
    copied = _write_copies(mates, uncertain, given.copies, given.work / "ties")
    _print(drawn, inputs.mapped(fasta, copied, "ties_copied", given.threads), uncertain, given.copies)
    write_measurement()


def _primary(bam: Path) -> Iterator[pysam.AlignedSegment]:
    with pysam.AlignmentFile(str(bam), check_sq=False) as stream:
        for record in stream.fetch(until_eof=True):
            if not record.is_secondary and not record.is_supplementary:
                yield record


def _name(text: str) -> str:
    return text.split("/")[0]


def _lies_right(record: pysam.AlignedSegment) -> bool:
    return not record.is_unmapped and is_right(record)


def _uncertain(bam: Path) -> set[str]:
    """Return the names of pairs with a read that is placed wrong, unmapped or below CERTAIN."""
    return {_name(r.query_name) for r in _primary(bam) if r.mapping_quality < CERTAIN or not _lies_right(r)}


def _write_copies(mates: Sequence[Path], uncertain: set[str], copies: int, prefix: Path) -> list[Path]:
    """Write FASTQ of copies of the uncertain pairs, in random order among certain ones."""
    certain: list[tuple[Fastq, ...]] = []
    chosen: list[tuple[Fastq, ...]] = []
    for pair in zip(*map(_reads, mates), strict=True):
        if pair[0][0] in uncertain:
            chosen.append(pair)
        elif len(certain) < MOST_CERTAIN_PAIRS:
            certain.append(pair)
    rest = [(number, pair) for number in range(copies) for pair in chosen]
    rest += [(-1, pair) for pair in certain[FIRST_CERTAIN_PAIRS:]]
    random.Random(1).shuffle(rest)
    paths = [Path(f"{prefix}_{mate + 1}.fq") for mate in range(len(mates))]
    for mate, path in enumerate(paths):
        with path.open("w") as stream:
            for number, pair in [*((-1, pair) for pair in certain[:FIRST_CERTAIN_PAIRS]), *rest]:
                name, bases, qualities = pair[mate]
                serial, origin = name.split(":", 1)
                stream.write(f"@{serial}x{number}:{origin}/{mate + 1}\n{bases}\n+\n{qualities}\n")
    return paths


def _reads(path: Path) -> Iterator[Fastq]:
    with pysam.FastxFile(str(path)) as stream:
        for entry in stream:
            yield _name(entry.name), entry.sequence, entry.quality


def _right_in_copies(bam: Path, copies: int) -> np.ndarray:
    """Count the reads that each copy of each pair places right: int64[uncertain pairs, copies], pairs in any order."""
    right: defaultdict[str, np.ndarray] = defaultdict(lambda: np.zeros(copies, np.int64))
    for record in _primary(bam):
        head, origin = _name(record.query_name).split(":", 1)
        serial, number = head.split("x")
        if int(number) >= 0:
            right[f"{serial}:{origin}"][int(number)] += _lies_right(record)
    return np.array([*right.values()])


def _print(drawn: tuple[Path, Path], copied: tuple[Path, Path], uncertain: set[str], copies: int) -> None:
    rows = []
    for name, first, again in zip(("Quire", "bwa mem"), drawn, copied, strict=True):
        reads = right = of_uncertain = 0
        for record in _primary(first):
            is_there = _lies_right(record)
            reads, right = reads + 1, right + is_there
            of_uncertain += is_there and _name(record.query_name) in uncertain
        counts = _right_in_copies(again, copies)
        deviation = np.sqrt((counts.var(axis=1, ddof=1) / copies).sum())
        chance = np.sqrt(counts.var(axis=1, ddof=1).sum())
        expected = f"{counts.mean(axis=1).sum():.1f} +- {deviation:.1f}"
        rows.append((name, reads, right, len(uncertain), of_uncertain, f"{chance:.1f}", expected))
    header = ("program", "reads", "right", "uncertain pairs", "of these right", "standard deviation", "expected right")
    print_table(header, rows)


if __name__ == "__main__":
    main()

"""Copies of the demo's reads with known faults: mixed with another genome, with adapter dimers, with errors."""

import gzip
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "data" / "demo"
REGION = (10_000_000, 10_100_000)  # source of the demo's reads on chr20, 0-based
DIMER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCTCGTATGCCGTCTTCTGCTTGAAAAAAAAAAGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGG"
INSERT_SIZE, DEVIATION, FEWEST_BASES = 318, 60, 110
SNV_RATE = 0.0013
_OTHER_STRAND = str.maketrans("ACGTN", "TGCAN")
_TRANSITION = dict(zip("ACGT", "GTAC", strict=True))

Record = tuple[str, str, str, str]
Pair = tuple[Record, Record]


def demo_pairs(generator: random.Random, share: float) -> list[Pair]:
    """Return a share of the demo's pairs."""
    mates = [_records(DEMO / f"NA12878_R{mate}.fastq.gz") for mate in (1, 2)]
    return [pair for pair in zip(*mates, strict=True) if generator.random() < share]


def another_genome(generator: random.Random) -> list[str]:
    """Return two haplotypes of another person over the demo's region: ti/tv 3.5, het/hom 1.5."""
    with gzip.open(DEMO / "hg19.chr20.masked.fa.gz", "rt") as stream:
        chromosome = "".join(line.strip() for line in itertools.islice(stream, 1, None)).upper()
    haplotypes = [list(chromosome[slice(*REGION)]) for _ in range(2)]
    for at, base in enumerate(haplotypes[0].copy()):
        if base != "N" and generator.random() < SNV_RATE:
            others = [other for other in "ACGT" if other != base]
            alternate = _TRANSITION[base] if generator.random() < 0.67 else generator.choice(others)
            carriers = generator.choice(((0, 1), (0, 1), (0,), (0,), (1,)))
            for number in carriers:
                haplotypes[number][at] = alternate
    return ["".join(letters) for letters in haplotypes]


def pairs_of_genome(
    generator: random.Random, haplotypes: list[str], number: int, like: list[Pair], name: str = "other"
) -> Iterator[Pair]:
    """Draw pairs from haplotypes, with the lengths and qualities of the pairs `like`."""
    for count in range(number):
        size = max(FEWEST_BASES, round(generator.gauss(INSERT_SIZE, DEVIATION)))
        letters = generator.choice(haplotypes)
        start = generator.randrange(len(letters) - size)
        fragment = letters[start : start + size]
        ends = [fragment, fragment[::-1].translate(_OTHER_STRAND)]
        generator.shuffle(ends)
        qualities = [mate[3] for mate in like[count % len(like)]]
        first, second = (
            (f"@{name}{count}/{mate}", end[: len(quality)], "+", quality[:size])
            for mate, end, quality in zip((1, 2), ends, qualities, strict=True)
        )
        yield first, second


def dimers(number: int, bases: int) -> Iterator[Pair]:
    """Make pairs of two adapters that were ligated to each other."""
    for count in range(number):
        first, second = ((f"@dimer{count}/{mate}", DIMER[:bases], "+", "I" * bases) for mate in (1, 2))
        yield first, second


def with_random_bases(generator: random.Random, pairs: Iterable[Pair], share: float) -> list[Pair]:
    """Replace a share of the bases of pairs by random ones, three in four of which are then wrong."""

    def spoil(record: Record) -> Record:
        name, letters, plus, quality = record
        drawn = "".join(generator.choice("ACGT") if generator.random() < share else letter for letter in letters)
        return name, drawn, plus, quality

    return [(spoil(first), spoil(second)) for first, second in pairs]


def write_pairs(folder: Path, name: str, pairs: Iterable[Pair]) -> dict[str, str]:
    """Write two FASTQ files; return the row of a sheet of units."""
    both, paths = list(pairs), [folder / f"{name}_R{mate}.fastq" for mate in (1, 2)]
    for mate, path in enumerate(paths):
        path.write_text("".join("\n".join(pair[mate]) + "\n" for pair in both))
    columns = ("sample", "unit", "fq1", "fq2", "platform", "library")
    return dict(zip(columns, (name, "lane", *map(str, paths), "ILLUMINA", name), strict=True))


def _records(path: Path) -> Iterator[Record]:
    with gzip.open(path, "rt") as stream:
        while lines := tuple(line.rstrip("\n") for line in itertools.islice(stream, 4)):
            name, letters, plus, quality = lines
            yield name, letters, plus, quality

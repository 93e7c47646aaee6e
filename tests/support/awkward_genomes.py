"""Small genomes and reads with every difficulty that Quire's input may have, and the origin of each read."""

import random
from dataclasses import dataclass

from tests.support.builders import Read, random_bases, reverse_complement
from tests.support.read_builders import mates_of, named, with_errors

ADAPTER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC" * 4


@dataclass(frozen=True)
class Origin:
    """Origin of a pair's fragment; `forward` if mate 1 is its left end."""

    contig: str
    start: int
    end: int
    forward: bool


def awkward_genome(generator: random.Random, iupac: bool = True) -> dict[str, str]:
    """Make contigs with copies, tandem repeats, simple sequence, N runs, ambiguous bases; some shorter than a read."""
    copy = random_bases(generator, 500)
    one = random_bases(generator, 12_000)
    for place in (1000, 4000, 7000):
        one = one[:place] + with_errors(generator, copy, 0.01) + one[place:]
    one = one[:9000] + reverse_complement(copy) + one[9000:]
    tandem = random_bases(generator, 37) * 12
    one = one[:11_000] + tandem + "A" * 60 + "CA" * 40 + one[11_000:]
    two = list(random_bases(generator, 9000))
    two[3000:3050] = "N" * 50  # two islands
    two[3100:3120] = "N" * 20  # an island of 50 bases between two N runs
    two[5000:5005] = "N" * 5
    two[5060] = "R" if iupac else "N"
    two[6000:6019] = "N" * 19
    two[7000:7300] = "".join(two[7000:7300]).lower()
    return {
        "one": one,
        "two": "".join(two),
        "none": "N" * 100,
        "HLA:01*02": "N" * 30 + random_bases(generator, 1500) + "N" * 25,
        "tiny": random_bases(generator, 60),
    }


def awkward_pairs(generator: random.Random, genome: dict[str, str], count: int) -> list[tuple[Read, Read]]:
    """Make pairs of all kinds: errors, mixed lengths, adapters, chimeras, Ns, empty reads, simple sequence, borders."""
    kinds = [plain_pair] * 10 + [long_pair, adapter_pair, chimeric_pair, far_pair, broken_pair, border_pair, noisy_pair]
    return [generator.choice(kinds)(generator, f"p{number}", genome) for number in range(count)]


def fragment(generator: random.Random, genome: dict[str, str], length: int) -> str:
    """Draw a piece of one of the contigs, on either strand; shorter if the contig is shorter."""
    contig = generator.choices(list(genome), weights=[len(sequence) for sequence in genome.values()])[0]
    start = generator.randrange(max(1, len(genome[contig]) - length))
    piece = genome[contig][start : start + length].upper()
    return piece if generator.random() < 0.5 else reverse_complement(piece.replace("R", "N"))


def plain_pair(generator, name, genome):
    size = max(60, round(generator.gauss(300, 35)))
    return mates_of(generator, name, fragment(generator, genome, size), (100, generator.choice([100, 76])), 0.01)


def long_pair(generator, name, genome):
    lengths = generator.randint(20, 1024), generator.randint(20, 1024)
    return mates_of(generator, name, fragment(generator, genome, max(lengths)), lengths, 0.01)


def adapter_pair(generator, name, genome):
    piece = fragment(generator, genome, generator.randint(25, 110))
    return mates_of(generator, name, piece, (120, 120), 0.005, ADAPTER)


def chimeric_pair(generator, name, genome):
    joined = fragment(generator, genome, generator.randint(40, 70)) + fragment(generator, genome, 250)
    if generator.random() < 0.3:
        joined = fragment(generator, genome, 50) + joined
    return mates_of(generator, name, joined, (150, 100), 0.002)


def far_pair(generator, name, genome):
    """Make mates of different fragments, whose contigs and strands agree only by chance."""
    first, _ = mates_of(generator, name, fragment(generator, genome, 100), (100, 100), 0.01)
    second, _ = mates_of(generator, name, fragment(generator, genome, 100), (100, 100), 0.01)
    return first, second


def broken_pair(generator, name, genome):
    """Make one good mate and one that is empty, tiny, all N, foreign or simple."""
    good, _ = mates_of(generator, name, fragment(generator, genome, 300), (100, 100), 0.01)
    bases = generator.choice(
        ["", "A", "ACGTACG", "ACGTACGTACGTACGTACG", "N" * 50, random_bases(generator, 100), "G" * 100, "AT" * 50]
    )
    bad = named(generator, name, bases)
    if generator.random() < 0.3:
        good, _ = chimeric_pair(generator, name, genome)
    elif generator.random() < 0.2:
        good = named(generator, name, "N" * 30)
    return (good, bad) if generator.random() < 0.5 else (bad, good)


def border_pair(generator, name, genome):
    """Make fragments over N runs and the ends of contigs."""
    contig, start = generator.choice([("two", 2850), ("two", 2950), ("two", 4900), ("two", 5900), ("HLA:01*02", 0),
                                      ("HLA:01*02", 1200), ("tiny", 0), ("one", 0), ("two", 8700)])  # fmt: skip
    start += generator.randrange(60)
    piece = genome[contig][start : start + 330]
    return mates_of(generator, name, piece, (100, 100), 0.005)


def noisy_pair(generator, name, genome):
    """Make one mate with so many differences that seeds are rare."""
    first, second = mates_of(generator, name, fragment(generator, genome, 300), (100, 100), 0.01)
    return first, named(generator, name, with_errors(generator, second.bases, 0.12))


def unique_pairs(
    generator: random.Random, genome: dict[str, str], count: int, length: int = 100
) -> tuple[list[tuple[Read, Read]], list[Origin]]:
    """Make pairs of one contig's random sequence with 1 % errors, and return their origins with them."""
    contig = next(iter(genome))
    pairs, origins = [], []
    for number in range(count):
        size = max(length + 20, round(generator.gauss(300, 35)))
        start = generator.randrange(len(genome[contig]) - size)
        piece = genome[contig][start : start + size]
        flipped = generator.random() < 0.5
        if flipped:
            piece = reverse_complement(piece)
        pairs.append(mates_of(generator, f"u{number}", piece, (length, length), 0.01))
        origins.append(Origin(contig, start, start + size, not flipped))
    return pairs, origins

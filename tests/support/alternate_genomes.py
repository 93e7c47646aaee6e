"""References with alternate contigs, built together with their alignments to the primary assembly."""

import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.builders import Read, random_bases, reverse_complement, write_fasta
from tests.support.read_builders import named, with_errors, write_pairs

Elements = list[tuple[int, str]]
ALLELES = ("HLA-A*01:01:01:01", "HLA-A*02:01:01:01")
LISTED_DECOY, DECOY = "chrUn_KN707606v1_decoy", "decoy"
# Sources of read pairs: contig, its bases, and its weight.
SOURCES = {
    "chr1": (15_000, 55_000, 6),
    "chr2": (2000, 36_000, 4),
    "chr1_alt": (0, None, 4),
    "chr1_reverse_alt": (0, None, 2),
    "chr2_alt": (0, None, 3),
    ALLELES[0]: (0, None, 2),
    ALLELES[1]: (0, None, 2),
    LISTED_DECOY: (0, None, 2),
    DECOY: (0, None, 1),
}


@dataclass
class AlternateGenome:
    """Contigs by name, and the lines of the alternate list that lies next to the FASTA."""

    contigs: dict[str, str]
    lines: list[str] = field(default_factory=list)

    @property
    def listed(self) -> list[str]:
        """Return the alternate contigs, in the order of the list."""
        return list(dict.fromkeys(line.split("\t")[0] for line in self.lines))

    def align(self, name: str, flag: int, target: str, position: int, elements: Elements) -> None:
        """Add a line; `position` is 0-based, and -1 means unaligned."""
        cigar = "".join(f"{length}{operation}" for length, operation in elements if length) or "*"
        self.lines.append(f"{name}\t{flag}\t{target}\t{position + 1}\t0\t{cigar}\t*\t0\t0\t*\t*\tNM:i:0")


def version_of(generator: random.Random, bases: str, rate: float, gaps: int) -> tuple[str, Elements]:
    """Return a copy with substitutions, insertions and deletions, and its alignment to the original."""
    places = sorted(generator.sample(range(200, len(bases) - 200, 100), gaps))
    text, elements, at = [], [], 0
    for place in [*places, len(bases)]:
        kept = "".join(generator.choice("ACGT") if generator.random() < rate else base for base in bases[at:place])
        text.append(kept)
        elements.append((len(kept), "M"))
        at = place
        if place == len(bases):
            continue
        length = generator.choice([1, 1, 2, 3, 8, 30])
        if generator.random() < 0.5:
            text.append(random_bases(generator, length))
            elements.append((length, "I"))
        else:
            elements.append((length, "D"))
            at += length
    return "".join(text), elements


def make_alternate_genome(generator: random.Random, one: str, two: str) -> AlternateGenome:
    """Make two chromosomes (at least 60 and 40 kb), versions of parts of both, two alleles, and decoys.

    The second chromosome repeats a part of the first, so that groups of places compete. One version has a unique
    insertion of 2 kb and clips at both ends, one is reversed, one has an inverted part (three lines), and one listed
    decoy resembles the first chromosome but has no alignment.
    """
    two = two[:4000] + version_of(generator, one[30_000:34_000], 0.01, 3)[0] + two[4000:]
    genome = AlternateGenome({"chr1": one, "chr2": two})
    left, of_left = version_of(generator, one[20_000:30_000], 0.01, 12)
    right, of_right = version_of(generator, one[30_000:40_000], 0.03, 12)
    own = [random_bases(generator, length) for length in (300, 2000, 300)]
    genome.contigs["chr1_alt"] = own[0] + left + own[1] + right + own[2]
    elements = [(300, "S"), *of_left, (2000, "I"), *of_right, (300, "S")]
    genome.align("chr1_alt", 0, "chr1", 20_000, elements)

    reverse, elements = version_of(generator, one[25_000:33_000], 0.02, 8)
    genome.contigs["chr1_reverse_alt"] = reverse_complement(reverse)
    genome.align("chr1_reverse_alt", 16, "chr1", 25_000, elements)

    parts = [version_of(generator, two[start : start + 4000], 0.015, 4) for start in (10_000, 14_000, 18_000)]
    sizes = [len(bases) for bases, _ in parts]
    genome.contigs["chr2_alt"] = parts[0][0] + reverse_complement(parts[1][0]) + parts[2][0]
    genome.align("chr2_alt", 0, "chr2", 10_000, [*parts[0][1], (sizes[1] + sizes[2], "S")])
    genome.align("chr2_alt", 2048 | 16, "chr2", 14_000, [(sizes[2], "H"), *parts[1][1], (sizes[0], "H")])
    genome.align("chr2_alt", 2048, "chr2", 18_000, [(sizes[0] + sizes[1], "H"), *parts[2][1]])

    for name in ALLELES:
        genome.contigs[name], elements = version_of(generator, two[25_000:31_000], 0.02, 6)
        genome.align(name, 0, "chr2", 25_000, elements)
    genome.contigs[LISTED_DECOY] = version_of(generator, one[45_000:49_000], 0.03, 4)[0] + random_bases(generator, 2000)
    genome.align(LISTED_DECOY, 4, "*", -1, [])
    genome.contigs[DECOY] = random_bases(generator, 5000)
    return genome


def alternate_reads(generator: random.Random, folder: Path, pairs: int) -> tuple[Path, list[Path], Path]:
    """Write a FASTA, two files of pairs from all its contigs, and the list of alternate contigs."""
    genome = make_alternate_genome(generator, random_bases(generator, 60_000), random_bases(generator, 40_000))
    fasta, listed = write_genome(folder, genome)
    return fasta, write_pairs(folder, drawn_pairs(generator, genome, pairs)), listed


def write_genome(folder: Path, genome: AlternateGenome) -> tuple[Path, Path]:
    """Write the FASTA and the alternate list next to it."""
    listed = folder / "genome.fa.alt"
    listed.write_text("".join(f"{line}\n" for line in ["@HD\tVN:1.6", *genome.lines]))
    return write_fasta(folder / "genome.fa", genome.contigs), listed


def drawn_pairs(
    generator: random.Random, genome: AlternateGenome, pairs: int, length: int = 150, errors: float = 0.01
) -> list[tuple[Read, Read]]:
    """Draw pairs from all contigs, of inserts of 350 bases, in either direction; names are contig!start!number."""
    drawn = []
    weights = [weight for *_, weight in SOURCES.values()]
    for number, name in enumerate(generator.choices(list(SOURCES), weights, k=pairs)):
        begin, end, _ = SOURCES[name]
        source = genome.contigs[name][begin:end]
        size = max(length, round(generator.gauss(350, 40)))
        start = generator.randrange(len(source) - size)
        insert = source[start : start + size]
        insert = insert if generator.random() < 0.5 else reverse_complement(insert)
        ends = [with_errors(generator, end[:length], errors) for end in (insert, reverse_complement(insert))]
        first, second = (named(generator, f"{name}!{begin + start}!{number}", end) for end in ends)
        drawn.append((first, second))
    return drawn

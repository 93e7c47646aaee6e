"""Simulate diploid paired-end reads from a real chromosome that carries a sample's real, phased truth variants.

The sample may be a relative of the reference (--divergence: the share of changed bases; one change in ten is an
insertion or a deletion), and the sequencer may be worse than its quality strings (--errors).

Write OUT_1.fq.gz and OUT_2.fq.gz. Each name holds the truth: s<serial>:<contig>:<1-based leftmost reference position of
read 1>:<its strand>:<of read 2>:<its strand>. With the same seed the reads are the same; they are drawn pair by pair,
about 20,000 pairs per second.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import pysam
from isal import igzip

PAIRS_AT_A_TIME = 200_000
WHOLE_GENOME = "all"  # as a region: every contig of the FASTA
LARGEST_INSERT = 40_000
SMALLEST_INSERT_WITH_ADAPTERS = 40
HIGHEST_SHARE_OF_N = 0.3
QUALITY_STRINGS = 20_000
SHORTEST_QUALITY_STRING = 90
PLAIN_QUALITY = 35
# True if the left and the right end of a fragment are read as reverse complements. For FF and RR these are fragments
# whose left end is the first mate; the others are reversed (the names of quire.align.insert_size).
ORIENTATIONS = {"FR": (False, True), "RF": (True, False), "FF": (False, False), "RR": (True, True)}
SHADOW, SHADOW_DEVIATION = 300, 50  # inserts of the paired ends in a library of mate pairs
BASES = np.frombuffer(b"ACGT", np.uint8)
N = ord("N")
COMPLEMENT = np.full(256, N, np.uint8)
COMPLEMENT[np.frombuffer(b"ACGTN", np.uint8)] = np.frombuffer(b"TGCAN", np.uint8)
INDEL_SHARE = 0.1  # share of the changes of a diverged sequence
MEAN_INDEL, LONGEST_INDEL = 2, 30
# TruSeq adapters, read by the first and the second mate of a fragment that is shorter than a read.
ADAPTERS = ("AGATCGGAAGAGCACACGTCTGAACTCCAGTCA", "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT")


@dataclass(frozen=True)
class Haplotype:
    """Letters of one haplotype, and the 0-based reference position of each."""

    letters: np.ndarray
    positions: np.ndarray


def haplotype(number: int, variants: list[pysam.VariantRecord], reference: np.ndarray, start: int) -> Haplotype:
    """Put one haplotype's alleles into the reference; overlapping and symbolic ones are left out.

    Args:
        number: 0 or 1, index into each phased genotype.
        variants: records of the region in order.
        reference: letters of the region.
        start: 0-based start of the region.
    """
    letters, positions = [], []
    done, end = start, start + reference.size
    for record in variants:
        genotype = record.samples[0].allele_indices
        if genotype is None or None in genotype or len(genotype) < 2 or genotype[number] == 0:
            continue
        allele = record.alleles[genotype[number]]
        if record.start < done or "*" in allele or "<" in allele or record.stop > end:
            continue
        inserted = np.frombuffer(allele.upper().encode(), np.uint8)
        letters += [reference[done - start : record.start - start], inserted]
        offsets = np.minimum(np.arange(inserted.size), max(len(record.ref) - 1, 0))
        positions += [np.arange(done, record.start), record.start + offsets]
        done = record.stop
    letters.append(reference[done - start :])
    positions.append(np.arange(done, end))
    return Haplotype(np.concatenate(letters), np.concatenate(positions))


def diverge(source: Haplotype, rate: float, generator: np.random.Generator) -> Haplotype:
    """Change a share of the bases: substitutions, and short insertions and deletions of geometric length."""
    size = source.letters.size
    where = np.flatnonzero((generator.random(size) < rate) & (source.letters != N))
    kind = generator.random(where.size)
    lengths = np.minimum(generator.geometric(1 / MEAN_INDEL, where.size), LONGEST_INDEL)
    letters = source.letters.copy()
    substituted = where[kind >= INDEL_SHARE]
    letters[substituted] = _other_bases(letters[substituted], generator)
    is_deletion, is_insertion = kind < INDEL_SHARE / 2, (kind >= INDEL_SHARE / 2) & (kind < INDEL_SHARE)
    repeats = np.ones(size, np.int64)
    for start, length in zip(where[is_deletion], lengths[is_deletion], strict=True):
        repeats[start : start + length] = 0
    repeats[where[is_insertion]] += lengths[is_insertion]
    from_source = np.repeat(np.arange(size), repeats)
    letters = letters[from_source]
    inserted = np.flatnonzero(np.diff(from_source, prepend=-1) == 0)
    letters[inserted] = BASES[generator.integers(0, 4, inserted.size)]
    return Haplotype(letters, source.positions[from_source])


def _other_bases(letters: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return one of the three other letters for each letter (no N)."""
    return BASES[(np.searchsorted(BASES, letters) + generator.integers(1, 4, letters.size)) % 4]


def quality_strings(path: str | None, length: int) -> np.ndarray:
    """Return real quality strings in the order of sequencing, stretched to a read's length; uint8[strings, length]."""
    if path is None:
        return np.full((1, length), PLAIN_QUALITY, np.uint8)
    strings = []
    with pysam.AlignmentFile(path, check_sq=False) as stream:
        for record in stream.fetch(until_eof=True):
            if record.query_qualities is None or record.query_length < SHORTEST_QUALITY_STRING or record.is_secondary:
                continue
            string = np.array(record.query_qualities, np.uint8)[:: -1 if record.is_reverse else 1]
            at = np.linspace(0, string.size - 1, length)
            strings.append(np.interp(at, np.arange(string.size), string).round().astype(np.uint8))
            if len(strings) >= QUALITY_STRINGS:
                break
    return np.stack(strings)


def with_errors(
    letters: np.ndarray, qualities: np.ndarray, generator: np.random.Generator, more: float = 0.0
) -> np.ndarray:
    """Change bases with the probability of their quality, plus `more`; N stays."""
    wrong = generator.random(letters.size) < 10.0 ** (qualities.astype(float) / -10.0) + more
    where = np.flatnonzero(wrong & (letters != N))
    if where.size == 0:
        return letters
    letters = letters.copy()
    letters[where] = _other_bases(letters[where], generator)
    return letters


@dataclass
class Simulator:
    """A source of pairs; reads' names hold `contig`, and `shadow` is the share of pairs that are FR at 300 bases."""

    contig: str
    haplotypes: tuple[Haplotype, Haplotype]
    qualities: np.ndarray
    length: int
    insert: float
    insert_deviation: float
    adapters: bool
    errors: float
    generator: np.random.Generator
    orientation: str = "FR"
    shadow: float = 0.0

    def draw(self, first_serial: int, count: int) -> tuple[bytes, bytes]:
        """Return the FASTQ text of both mates of `count` fragments, except fragments with many Ns."""
        generator = self.generator
        which = generator.integers(0, 2, count)
        shortest = SMALLEST_INSERT_WITH_ADAPTERS if self.adapters else self.length + 1
        sizes = np.clip(generator.normal(self.insert, self.insert_deviation, count), shortest, LARGEST_INSERT)
        sizes = sizes.astype(int)
        place = generator.random(count)
        swapped = generator.random(count) < 0.5
        strings = generator.integers(0, len(self.qualities), (2, count))
        shadows = np.zeros(count, np.bool_)
        if self.shadow:
            shadows = generator.random(count) < self.shadow
            sizes[shadows] = np.maximum(generator.normal(SHADOW, SHADOW_DEVIATION, shadows.sum()), self.length + 1)
        texts: tuple[list[bytes], list[bytes]] = ([], [])
        for i in range(count):
            source = self.haplotypes[which[i]]
            start = int(place[i] * (source.letters.size - sizes[i]))
            reverse = ORIENTATIONS["FR" if shadows[i] else self.orientation]
            if swapped[i] and reverse[0] == reverse[1]:
                reverse = (not reverse[0], not reverse[1])
            pair = self._fragment(source, start, start + sizes[i], reverse, self.qualities[strings[:, i]])
            if pair is None:
                continue
            mates, *positions = pair
            ends = [f"{at}:{'-' if turned else '+'}" for at, turned in zip(positions, reverse, strict=True)]
            ends = ends[::-1] if swapped[i] else ends
            name = f"s{first_serial + i}:{self.contig}:{':'.join(ends)}".encode()
            for mate, (letters, quality) in enumerate(mates[::-1] if swapped[i] else mates):
                texts[mate].append(b"@%s/%d\n%s\n+\n%s\n" % (name, mate + 1, letters, quality))
        return b"".join(texts[0]), b"".join(texts[1])

    def _fragment(
        self, source: Haplotype, start: int, end: int, reverse: tuple[bool, bool], qualities: np.ndarray
    ) -> tuple[list[tuple[bytes, bytes]], int, int] | None:
        """Return the reads of both ends of a fragment and their 1-based leftmost positions, or None for too many Ns.

        `reverse` tells for each read if it is a reverse complement.
        """
        right_start = max(start, end - self.length)
        reads = [source.letters[start : min(start + self.length, end)], source.letters[right_start:end]]
        reads = [COMPLEMENT[read][::-1] if turned else read for read, turned in zip(reads, reverse, strict=True)]
        if reads[0].size < self.length:
            for mate, adapter in enumerate(ADAPTERS):
                tail = np.frombuffer((adapter + "A" * self.length).encode(), np.uint8)
                reads[mate] = np.concatenate((reads[mate], tail))[: self.length]
        if max((read == N).mean() for read in reads) > HIGHEST_SHARE_OF_N:
            return None
        mates = [
            (
                with_errors(read, quality, self.generator, self.errors).tobytes(),
                (quality + 33).astype(np.uint8).tobytes(),
            )
            for read, quality in zip(reads, qualities, strict=True)
        ]
        return mates, int(source.positions[start]) + 1, int(source.positions[right_start]) + 1


LENGTHS = (36, 50, 75, 100, 150, 250, 300)
ERRORS = (2, 5, 10)  # percent
DIVERGENCES = (1, 3, 5, 10)
SHORTEST_INSERT, INSERT_OF_LENGTH = 400, 1.7


@dataclass(frozen=True)
class ReadSet:
    """Reads of one kind.

    Attributes:
        length: bases of a read.
        mates: 2, or 1 for single reads (the first mates of the pairs).
        options: further options of bench.simulate.
    """

    length: int
    mates: int
    options: str = ""

    def simulation(self, pairs: int) -> str:
        """Return the options of bench.simulate for this number of pairs."""
        insert = max(SHORTEST_INSERT, int(INSERT_OF_LENGTH * self.length))
        return f"--pairs {pairs} --length {self.length} --insert {insert} {self.options}".rstrip()


def _sets() -> dict[str, ReadSet]:
    sets = {}
    for mates in (2, 1):
        for length in LENGTHS:
            sets[f"{mates}x{length}"] = ReadSet(length, mates)
        for percent in ERRORS:
            sets[f"{mates}x150_errors_{percent}"] = ReadSet(150, mates, f"--errors {percent / 100}")
        for percent in DIVERGENCES:
            sets[f"{mates}x150_diverged_{percent}"] = ReadSet(150, mates, f"--divergence {percent / 100}")
    return sets


SETS = _sets()
"""By name: 2x36, 1x50, 2x150_errors_10, 1x150_diverged_3, ..."""


def parse_arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", help="indexed FASTA")
    parser.add_argument("variants", help="indexed VCF with phased genotypes of one sample, or none")
    parser.add_argument("region", help=f"contig, contig:first-last, or {WHOLE_GENOME}")
    parser.add_argument("out", help="prefix of the two files")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--coverage", type=float, default=30)
    amount.add_argument("--pairs", type=int)
    parser.add_argument("--quals", help="BAM whose quality strings are used; without it all are 35")
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--insert", type=float, default=400)
    parser.add_argument("--insert-sd", type=float, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--adapters", action="store_true", help="let fragments be shorter than a read")
    parser.add_argument("--orientation", choices=ORIENTATIONS, default="FR")
    parser.add_argument("--shadow", type=float, default=0, help="share of the pairs that are FR with inserts of 300")
    parser.add_argument("--errors", type=float, default=0.0, help="random errors beside those that qualities tell of")
    parser.add_argument("--divergence", type=float, default=0.0, help="share of the sample's bases that are changed")
    given = parser.parse_args()
    if given.adapters and given.orientation != "FR":
        parser.error("--adapters goes with --orientation FR alone")
    return given


def spans(fasta: pysam.FastaFile, region: str) -> list[tuple[str, int, int]]:
    """Return the spans that reads are drawn from (contig, 0-based start, end); all contigs for WHOLE_GENOME."""
    if region == WHOLE_GENOME:
        return [(contig, 0, fasta.get_reference_length(contig)) for contig in fasta.references]
    contig, _, span = region.partition(":")
    if not span:
        return [(contig, 0, fasta.get_reference_length(contig))]
    first, last = (int(text.replace(",", "")) for text in span.split("-"))
    return [(contig, first - 1, last)]


def main() -> None:
    """Parse the command line and write both files."""
    arguments = parse_arguments()
    generator = np.random.default_rng(arguments.seed)
    qualities = quality_strings(arguments.quals, arguments.length)
    with (
        pysam.FastaFile(arguments.reference) as fasta,
        igzip.open(f"{arguments.out}_1.fq.gz", "wb", 1) as one,
        igzip.open(f"{arguments.out}_2.fq.gz", "wb", 1) as two,
    ):
        drawn_from = spans(fasta, arguments.region)
        bases = sum(end - start for _, start, end in drawn_from)
        total = arguments.pairs or int(arguments.coverage * bases / (2 * arguments.length))
        behind = done = 0
        for contig, start, end in drawn_from:
            behind += end - start
            last = total * behind // bases
            simulator = _simulator(arguments, fasta, (contig, start, end), qualities, generator)
            while done < last:
                count = min(PAIRS_AT_A_TIME, last - done)
                texts = simulator.draw(done, count)
                one.write(texts[0])
                two.write(texts[1])
                done += count
    print("pairs", total)


def _simulator(
    arguments: argparse.Namespace,
    fasta: pysam.FastaFile,
    span: tuple[str, int, int],
    qualities: np.ndarray,
    generator: np.random.Generator,
) -> Simulator:
    """Return a simulator for one span of a contig that carries the sample's variants."""
    contig, start, end = span
    reference = np.frombuffer(fasta.fetch(contig, start, end).upper().encode(), np.uint8)
    variants: list[pysam.VariantRecord] = []
    if arguments.variants != "none":
        with pysam.VariantFile(arguments.variants) as stream:
            variants = list(stream.fetch(contig, start, end))
    haplotypes = [haplotype(number, variants, reference, start) for number in (0, 1)]
    if arguments.divergence:
        haplotypes = [diverge(item, arguments.divergence, generator) for item in haplotypes]
    return Simulator(
        contig=contig,
        haplotypes=(haplotypes[0], haplotypes[1]),
        qualities=qualities,
        length=arguments.length,
        insert=arguments.insert,
        insert_deviation=arguments.insert_sd,
        adapters=arguments.adapters,
        errors=arguments.errors,
        generator=generator,
        orientation=arguments.orientation,
        shadow=arguments.shadow,
    )


if __name__ == "__main__":
    main()

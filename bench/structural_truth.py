"""Structural variants planted into a real chromosome, and reads of it, for `bench.structural`.

The variants have the published spectrum of kinds, sizes and contexts (Chaisson et al. 2019,
doi:10.1038/s41467-018-08148-z): many of 50 to 300 bases, whole Alu and L1 elements of the chromosome itself, deletions
between two Alus, gain and loss of tandem repeats, and segmental duplications; with tandem duplications, inversions and
reciprocal translocations with a second chromosome. The real small variants of HG001 are planted too.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from isal import igzip

from bench.calling import interval_of
from bench.common import Inputs
from bench.simulate import COMPLEMENT, PAIRS_AT_A_TIME, Haplotype, Simulator, quality_strings

SAMPLE = "HG001"
ALU_HEAD, ALU_TAIL = b"GGCTCACGCCTGTAATCCCAGCA", b"GAGACTCCGTCTCAAAA"
L1_TAIL = b"GCACATGTATACATATGTAACTAACCTGCAC"  # the end of an L1 before its poly-A
SHARES = {"DEL": 0.43, "INS": 0.37, "DUP": 0.13, "INV": 0.05, "BND": 0.02}
MARGIN = 2000  # bases at the ends of a region
APART = 1500  # bases between two variants
COPY_DIVERGENCE = 0.015
LONGEST_SMALL = 20  # bases of a real indel; several longer ones together would be an unknown structural variant


@dataclass(frozen=True)
class Planted:
    """A planted variant that replaces [start, end) by `inserted`.

    Attributes:
        kind: a key of SHARES.
        start, end: 0-based span on the contig; that of the repeated bases for a duplication.
        inserted: letters of an insertion.
        context: random, alu, l1, tandem or segmental.
        copies: 1 heterozygous (on the first haplotype), 2 homozygous.
    """

    kind: str
    start: int
    end: int
    inserted: bytes
    context: str
    copies: int


def reverse_complement(letters: bytes) -> bytes:
    """Return the other strand."""
    return COMPLEMENT[np.frombuffer(letters, np.uint8)][::-1].tobytes()


class Contexts:
    """Places of repeats in the letters of a region, found in the sequence itself."""

    def __init__(self, letters: bytes, generator: np.random.Generator) -> None:
        self.letters, self.generator = letters, generator
        self.alus = [*self._elements(ALU_HEAD, ALU_TAIL, 200, 340)]
        self.l1_ends = [m.end() for m in re.finditer(L1_TAIL, letters)]
        self.tandem = self._tandem_repeats()
        self.segmental = self._segmental()

    def _elements(self, head: bytes, tail: bytes, shortest: int, longest: int) -> Iterator[tuple[int, int]]:
        for first, last in ((head, tail), (reverse_complement(tail), reverse_complement(head))):
            for found in re.finditer(first, self.letters):
                end = self.letters.find(last, found.start(), found.start() + longest)
                if end - found.start() >= shortest:
                    yield max(0, found.start() - 12), end + len(last)

    def _tandem_repeats(self) -> list[tuple[int, int, int]]:
        """Return start, end and period of stretches of at least 120 bases that repeat with a period of 10 to 70."""
        codes, found = np.frombuffer(self.letters, np.uint8), []
        for period in range(10, 71):
            equal = np.concatenate([[0], np.cumsum((codes[:-period] == codes[period:]) & (codes[period:] != ord("N")))])
            rich = equal[120:] - equal[:-120] >= 110
            borders = np.flatnonzero(np.diff(rich, prepend=False, append=False)).reshape(-1, 2)
            found += [(int(a), int(b) + 120 + period, period) for a, b in borders]
        kept: list[tuple[int, int, int]] = []
        for one in sorted(found):
            if not kept or one[0] > kept[-1][1]:
                kept.append(one)
        return kept

    def _segmental(self) -> list[int]:
        """Return positions whose 100 bases occur again elsewhere in the region."""
        places: dict[bytes, int] = {}
        for at in range(0, len(self.letters) - 100, 50):
            places.setdefault(self.letters[at : at + 100], at)
        found = []
        for at in range(25, len(self.letters) - 100, 997):
            for shift in range(50):
                word = self.letters[at + shift : at + shift + 100]
                if b"N" not in word and places.get(word, at + shift) != at + shift:
                    found.append(at)
                    break
        return found

    def draw(self, kind: str) -> Planted:
        """Draw a variant, anywhere."""
        random = self.generator
        copies = 1 + int(random.random() < 0.35)
        if kind == "DEL":
            start, end, context = self._deletion(random.random())
            return Planted(kind, start, end, b"", context, copies)
        if kind == "INS":
            start, inserted, context = self._insertion(random.random())
            return Planted(kind, start, start, inserted, context, copies)
        low, high = {"DUP": (50, 100_000), "INV": (200, 200_000), "BND": (1, 2)}[kind]
        size = int(np.exp(random.uniform(np.log(low), np.log(high))))
        if kind == "DUP" and random.random() < 0.2:
            start, end = self.alus[int(random.integers(len(self.alus)))]
            return Planted(kind, start, end, b"", "alu", copies)
        start = self._anywhere()
        return Planted(kind, start, start + (0 if kind == "BND" else size), b"", "random", copies)

    def _anywhere(self) -> int:
        return int(self.generator.integers(MARGIN, len(self.letters) - MARGIN))

    def _size(self, low: float, high: float) -> int:
        """Draw a size with the density 1/size**2, as published for short variants."""
        share = self.generator.random()
        return int(1 / (1 / low - share * (1 / low - 1 / high)))

    def _one_of(self, places: Sequence[Any]) -> Any:
        return places[int(self.generator.integers(len(places)))]

    def _deletion(self, which: float) -> tuple[int, int, str]:
        if which < 0.2:
            return *self._one_of(self.alus), "alu"
        if which < 0.25:  # between the same places of two Alus
            first = self._one_of(self.alus)
            word = self.letters[first[0] + 100 : first[0] + 125]
            other = self.letters.find(word, first[1], first[1] + 100_000)
            return (first[0] + 100, other, "alu") if other > 0 else self._deletion(which)
        if which < 0.28:
            end = self._one_of(self.l1_ends)
            return max(0, end - int(self.generator.integers(1000, 6100))), end, "l1"
        if which < 0.43:
            start, end, period = self._one_of(self.tandem)
            units = max(1, int(self.generator.integers(50, 400)) // period)
            start += int(self.generator.integers(0, 20))
            return start, start + max(units * period, -(-50 // period) * period), "tandem"
        if which < 0.46 and self.segmental:
            start = self._one_of(self.segmental)
            return start, start + self._size(50, 10_000), "segmental"
        if which < 0.56:
            start = self._anywhere()
            return start, start + int(np.exp(self.generator.uniform(np.log(1000), np.log(200_000)))), "random"
        start = self._anywhere()
        return start, start + self._size(50, 1000), "random"

    def _diverged(self, letters: bytes) -> bytes:
        """Change COPY_DIVERGENCE of the bases: an element differs from its closest copy on the chromosome."""
        codes = np.frombuffer(letters, np.uint8).copy()
        changed = np.flatnonzero(self.generator.random(len(codes)) < COPY_DIVERGENCE)
        codes[changed] = np.frombuffer(b"ACGT", np.uint8)[self.generator.integers(0, 4, len(changed))]
        return codes.tobytes()

    def _insertion(self, which: float) -> tuple[int, bytes, str]:
        letters, random = self.letters, self.generator
        at = self._anywhere()
        if which < 0.35:
            start, end, period = self._one_of(self.tandem)
            units = max(-(-50 // period), int(random.integers(50, 400)) // period)
            unit = letters[start + 5 : start + 5 + period]
            return start + 5, unit * units, "tandem"
        if which < 0.77:
            if which < 0.7:
                start, end = self._one_of(self.alus)
                context, copy = "alu", letters[start + 12 : end]
                is_reverse = copy.find(ALU_HEAD) < 0
            else:
                end = self._one_of(self.l1_ends)
                context, copy, is_reverse = "l1", letters[max(0, end - int(random.integers(300, 6000))) : end], False
            copy = reverse_complement(copy) if is_reverse else copy
            copy = self._diverged(copy)
            copy += b"A" * int(random.integers(10, 40))
            site = letters[at : at + int(random.integers(7, 20))]  # the target site is duplicated
            copy = copy if random.random() < 0.5 else reverse_complement(copy)
            return at, site + copy, context
        size = self._size(50, 3000)
        if which < 0.9:
            source = self._anywhere()
            copy = letters[source : source + size]
            return at, copy if random.random() < 0.5 else reverse_complement(copy), "random"
        return at, bytes(b"ACGT"[code] for code in random.integers(0, 4, size)), "random"

    def plant(self, count: int) -> list[Planted]:
        """Draw variants that do not touch each other, in order."""
        taken: list[tuple[int, int]] = []
        planted = []
        for kind, share in SHARES.items():
            left = round(count * share)
            while left:
                one = self.draw(kind)
                low, high = one.start - APART, one.end + APART
                inside = one.start >= MARGIN and one.end <= len(self.letters) - MARGIN
                text = self.letters[max(low, 0) : one.start + APART] + self.letters[max(one.end - APART, 0) : high]
                text += one.inserted
                if inside and b"N" not in text and all(high <= a or low >= b for a, b in taken):
                    taken.append((low, high))
                    planted.append(one)
                    left -= 1
        return sorted(planted, key=lambda one: one.start)


def edits_of(one: Planted, letters: bytes) -> tuple[int, int, bytes]:
    """Return what a variant does to the letters: the replaced span and its new letters."""
    if one.kind == "INV":
        return one.start, one.end, reverse_complement(letters[one.start : one.end])
    if one.kind == "DUP":
        return one.end, one.end, letters[one.start : one.end]
    return one.start, one.end, one.inserted


def small_edits(
    path: Path, span: tuple[str, int, int], planted: Sequence[Planted]
) -> list[list[tuple[int, int, bytes]]]:
    """Return the real small variants of both haplotypes that are not near a planted one, relative to the region."""
    contig, low, high = span
    starts = np.array([one.start for one in planted], np.int64)
    ends = np.array([one.end for one in planted], np.int64)
    edits: list[list[tuple[int, int, bytes]]] = [[], []]
    with pysam.VariantFile(str(path)) as stream:
        if contig not in stream.header.contigs:
            return edits
        for record in stream.fetch(contig, low, high):
            start, end = record.start - low, record.stop - low
            near = ((np.abs(starts - start) < 30) | (np.abs(ends - start) < 30)).any()
            genotype = record.samples[0].allele_indices or ()
            if near or None in genotype or len(genotype) != 2:
                continue
            for own, allele in zip(edits, genotype, strict=True):
                text = (record.alleles or ())[allele or 0]
                if allele and "*" not in text and "<" not in text and abs(len(text) - end + start) < LONGEST_SMALL:
                    own.append((start, end, text.encode()))
    return edits


def edited(letters: bytes, edits: Sequence[tuple[int, int, bytes]], marks: Sequence[int]) -> list[bytes]:
    """Return the letters with the edits, cut at the marks; edits that overlap an earlier one are left out."""
    pieces, parts, done, marks = list[bytes](), list[bytes](), 0, [*marks, len(letters)]
    for start, end, text in [*sorted(edits), (len(letters), len(letters), b"")]:
        if start < done or end > len(letters):
            continue
        while marks and marks[0] <= start:
            mark = marks.pop(0)
            pieces.append(b"".join([*parts, letters[done:mark]]))
            parts, done = [], mark
        parts += [letters[done:start], text]
        done = end
    return pieces


def haplotypes_of(
    letters: bytes,
    other: bytes,
    planted: Sequence[Planted],
    partners: Sequence[int],
    truth: Path,
    span: tuple[str, int, int],
) -> list[tuple[bytes, bytes]]:
    """Return both haplotypes, each with its two chromosomes; translocations swap what follows them."""
    small = small_edits(truth, span, planted)
    result = []
    for number in (0, 1):
        here = [one for one in planted if one.copies == 2 or number == 0]
        breaks = zip((one for one in planted if one.kind == "BND"), partners, strict=True)
        marks = [(one.start, place) for one, place in breaks if one in here]
        edits = [edits_of(one, letters) for one in here if one.kind != "BND"]
        inverted = [(one.start, one.end) for one in here if one.kind in ("INV", "DEL")]
        edits += [e for e in small[number] if not any(a <= e[0] < b for a, b in inverted)]
        first = edited(letters, edits, [at for at, _ in marks])
        second = edited(other, [], [at for _, at in marks])
        chromosomes = tuple(
            b"".join(first[k] if k % 2 == which else second[k] for k in range(len(first))) for which in (0, 1)
        )
        result.append((chromosomes[0], chromosomes[1]))
    return result


def write_reads(
    prefix: Path, haplotypes: Sequence[tuple[bytes, bytes]], coverage: float, qualities: Path, seed: int
) -> None:
    """Write FASTQ of pairs from all chromosomes."""
    generator = np.random.default_rng(seed)
    strings = quality_strings(str(qualities), 150)
    serial = 0
    with igzip.open(f"{prefix}_1.fq.gz", "wb", 1) as one, igzip.open(f"{prefix}_2.fq.gz", "wb", 1) as two:
        for number in (0, 1):
            for chromosome in (0, 1):
                text = np.frombuffer(haplotypes[number][chromosome], np.uint8)
                own = Haplotype(text, np.zeros(len(text), np.int8))
                simulator = Simulator("s", (own, own), strings, 150, 420, 90, False, 0.0, generator)
                left = int(coverage / 2 * len(text) / 300)
                while left:
                    texts = simulator.draw(serial, count := min(left, PAIRS_AT_A_TIME))
                    one.write(texts[0])
                    two.write(texts[1])
                    serial, left = serial + count, left - count


HEADER = """##fileformat=VCFv4.2
##INFO=<ID=SVTYPE,Number=1,Type=String,Description="Kind">
##INFO=<ID=SVLEN,Number=1,Type=Integer,Description="Size">
##INFO=<ID=END,Number=1,Type=Integer,Description="End">
##INFO=<ID=CONTEXT,Number=1,Type=String,Description="Sequence">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##ALT=<ID=DEL,Description="Deletion">
##ALT=<ID=DUP,Description="Duplication">
##ALT=<ID=INV,Description="Inversion">
"""


def write_truth(
    path: Path, contigs: Sequence[tuple[str, int]], starts: tuple[int, int], letters: bytes, planted: Sequence[Planted],
    partners: Sequence[int],
) -> None:  # fmt: skip
    """Write the truth as indexed VCF."""
    rows: list[tuple[int, int, str]] = []
    mates = iter(partners)
    (name, _), (mate_name, _) = contigs
    for number, one in enumerate(planted):
        base, at = chr(letters[one.start - 1]), starts[0] + one.start  # 1-based position of the base before
        genotype = ("0/1", "1/1")[one.copies - 1]
        if one.kind == "BND":
            mate = starts[1] + next(mates)
            other = f"SVTYPE=BND;CONTEXT={one.context}"
            # 20 goes on with 21 after the mark, and 21 with 20.
            for p, chrom, rank, alt in (
                (at, name, 0, f"{base}[{mate_name}:{mate + 1}["),
                (at + 1, name, 0, f"]{mate_name}:{mate}]{chr(letters[one.start])}"),
                (mate, mate_name, 1, f"N[{name}:{at + 1}["),
                (mate + 1, mate_name, 1, f"]{name}:{at}]N"),
            ):
                reference = base if p == at else chr(letters[one.start]) if rank == 0 else "N"
                rows.append(
                    (rank, p, f"{chrom}\t{p}\tT{number}.{p}\t{reference}\t{alt}\t.\tPASS\t{other}\tGT\t{genotype}")
                )
            continue
        size = len(one.inserted) if one.kind == "INS" else one.end - one.start
        alt = base + one.inserted.decode() if one.kind == "INS" else f"<{one.kind}>"
        length = -size if one.kind == "DEL" else size
        info = f"SVTYPE={one.kind};SVLEN={length};END={max(starts[0] + one.end, at)};CONTEXT={one.context}"
        rows.append((0, at, f"{name}\t{at}\tT{number}\t{base}\t{alt}\t.\tPASS\t{info}\tGT\t{genotype}"))
    head = HEADER + "".join(f"##contig=<ID={contig},length={length}>\n" for contig, length in contigs)
    head += f"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{SAMPLE}\n"
    with pysam.BGZFile(str(path), "w", None) as out:
        out.write((head + "".join(f"{row}\n" for *_, row in sorted(rows))).encode())
    pysam.tabix_index(str(path), preset="vcf", force=True)


def simulated(folder: Path, fasta: Path, inputs: Inputs, given: Any) -> Path:
    """Plant the variants, and write truth and reads; return the truth."""
    truth = folder / "truth.vcf.gz"
    if truth.exists() and Path(f"{folder}/reads_2.fq.gz").exists():
        return truth
    span, partner = interval_of(given.region), interval_of(given.partner)
    with pysam.FastaFile(str(fasta)) as stream:
        letters, other = (stream.fetch(*one).upper().encode() for one in (span, partner))
        contigs = [(one[0], stream.get_reference_length(one[0])) for one in (span, partner)]
    generator = np.random.default_rng(given.seed)
    planted = Contexts(letters, generator).plant(given.count)
    translocations = sum(one.kind == "BND" for one in planted)
    places = np.linspace(MARGIN, len(other) - MARGIN, translocations + 2)[1:-1]
    partners = [int(at) for at in places]
    if any(b"N" in other[at - APART : at + APART] for at in partners):
        sys.exit(f"{given.partner}: has N where a translocation would be; give another partner.")
    print(Counter((one.kind, one.context) for one in planted), flush=True)
    haplotypes = haplotypes_of(letters, other, planted, partners, inputs.truth, span)
    write_reads(folder / "reads", haplotypes, given.coverage, inputs.qualities, given.seed)
    write_truth(truth, contigs, (span[1], partner[1]), letters, planted, partners)
    return truth

"""Copy numbers planted into a real chromosome, and reads of it with a bias for GC content.

Deletions and duplications of 10 kb to 5 Mb, heterozygous or homozygous, so of copy number 0, 1, 3 or 4. A fifth lies in
segmental duplications, a fifth begins and ends at the same place of two alike repeats, as unequal crossing-over leaves
it, and the rest lie anywhere. Half of the duplications are in tandem, the others are inserted elsewhere. The real small
variants of HG001 are planted too. A fragment is kept with a probability that falls on both sides of 42 % of GC.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pysam
from isal import igzip

from bench.simulate import BASES, COMPLEMENT, N, quality_strings
from bench.structural_truth import APART, MARGIN, SAMPLE, Contexts, edited, small_edits

SIZES = ((0.86, 1e4, 2e5), (0.12, 2e5, 1e6), (0.02, 1e6, 5e6))  # share, least and most bases, uniform in the logarithm
LENGTH, INSERT, INSERT_DEVIATION = 150, 420, 90
BEST_GC, GC_DEVIATION = 0.42, 0.16  # of the probability that a fragment is kept, exp(-((gc - best) / deviation)**2 / 2)
PAIRS_AT_A_TIME = 100_000


@dataclass(frozen=True)
class PlantedCopies:
    """A span of the reference with another copy number.

    Attributes:
        start, end: 0-based span in the region.
        gains: copies that each haplotype has more of it.
        target: where further copies are inserted; `end` for a tandem duplication.
        context: random, segmental or alike.
    """

    start: int
    end: int
    gains: tuple[int, int]
    target: int
    context: str

    @property
    def copies(self) -> int:
        """Return the copy number."""
        return 2 + sum(self.gains)


def plant(letters: bytes, count: int, generator: np.random.Generator) -> list[PlantedCopies]:
    """Draw spans that do not touch each other, in order."""
    contexts, planted = Contexts(letters, generator), list[PlantedCopies]()
    sizes = [size for share, low, high in SIZES
             for size in np.exp(generator.uniform(np.log(low), np.log(high), round(count * share)))]  # fmt: skip
    taken: list[tuple[int, int]] = []
    for size in sorted(map(int, sizes), reverse=True):
        context = ("segmental", "alike", "random")[int(generator.choice(3, p=[0.2, 0.2, 0.6]))]
        while True:
            start = int(generator.integers(MARGIN, len(letters) - MARGIN))
            end = start + size
            if context == "segmental":
                start = contexts.segmental[int(generator.integers(len(contexts.segmental)))]
                end = start + size
            elif context == "alike":  # the same place of an Alu and of the first one about as far away
                start = contexts.alus[int(generator.integers(len(contexts.alus)))][0] + 100
                end = letters.find(letters[start : start + 25], start + int(0.8 * size), start + int(1.25 * size))
            spans = [(start - APART, end + APART)]
            gains = ((-1, 0), (-1, -1), (1, 0), (1, 1), (2, 0))[int(generator.choice(5, p=[0.3, 0.2, 0.3, 0.1, 0.1]))]
            target = end
            if sum(gains) > 0 and generator.random() < 0.5:
                target = int(generator.integers(MARGIN, len(letters) - MARGIN))
                spans.append((target - APART, target + APART))
            text = b"".join(letters[max(0, a) : b] for a, b in spans)
            apart = all(b <= c or a >= d for a, b in spans for c, d in taken)
            if end - start < 10_000 or end > len(letters) - MARGIN or not apart or text.count(b"N") > 0.1 * size:
                continue
            if any(b"N" in letters[at - APART : at + APART] for at in (start, end, target)):
                continue
            if len(spans) == 2 and spans[0][0] < target < spans[0][1]:
                continue
            taken += spans
            planted.append(PlantedCopies(start, end, gains, target, context))
            break
    return sorted(planted, key=lambda one: one.start)


def haplotypes_of(
    letters: bytes, planted: Sequence[PlantedCopies], small: Sequence[Sequence[tuple[int, int, bytes]]]
) -> list[bytes]:
    """Return the letters of both haplotypes; small edits at planted ones are left out."""
    near = [(at[0] - 30, at[1] + 30) for one in planted for at in ((one.start, one.end), (one.target, one.target))]
    result = []
    for number in (0, 1):
        edits = [edit for edit in small[number] if not any(a <= edit[0] < b for a, b in near)]
        for one in planted:
            span, gain = letters[one.start : one.end], one.gains[number]
            if gain < 0:
                edits.append((one.start, one.end, b""))
            elif gain:
                edits.append((one.target, one.target, span * gain))
        result.append(b"".join(edited(letters, edits, [])))
    return result


def is_kept(letters: np.ndarray, starts: np.ndarray, sizes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return which fragments are kept, by their GC content."""
    total = np.concatenate([[0], np.cumsum((letters == ord("G")) | (letters == ord("C")))])
    share = (total[starts + sizes] - total[starts]) / sizes
    return generator.random(len(starts)) < np.exp(-(((share - BEST_GC) / GC_DEVIATION) ** 2) / 2)


def write_reads(prefix: Path, haplotypes: Sequence[bytes], pairs: int, qualities: Path, seed: int) -> None:
    """Write FASTQ of pairs, from all haplotypes by their lengths."""
    generator, strings = np.random.default_rng(seed), quality_strings(str(qualities), LENGTH)
    wrong = 10.0 ** (strings / -10.0)
    serial, column = 0, np.arange(LENGTH)
    total = sum(map(len, haplotypes))
    with igzip.open(f"{prefix}_1.fq.gz", "wb", 1) as one, igzip.open(f"{prefix}_2.fq.gz", "wb", 1) as two:
        for number, haplotype in enumerate(haplotypes):
            letters, last = np.frombuffer(haplotype, np.uint8), pairs * sum(map(len, haplotypes[: number + 1])) // total
            while serial < last:
                sizes = np.maximum(generator.normal(INSERT, INSERT_DEVIATION, PAIRS_AT_A_TIME), LENGTH + 1).astype(int)
                starts = (generator.random(PAIRS_AT_A_TIME) * (len(letters) - sizes)).astype(int)
                known = is_kept(letters, starts, sizes, generator)
                known &= (letters[starts] != N) & (letters[starts + sizes - 1] != N)
                starts, sizes = starts[known][: last - serial], sizes[known][: last - serial]
                count, swapped = len(starts), generator.random(len(starts)) < 0.5
                left = letters[starts[:, None] + column]
                right = COMPLEMENT[letters[(starts + sizes - 1)[:, None] - column]]
                for stream, mate in ((one, 0), (two, 1)):
                    read = np.where((swapped == bool(mate))[:, None], left, right)
                    which = generator.integers(0, len(strings), count)
                    errors = generator.random((count, LENGTH), np.float32) < wrong[which]
                    read[errors] = BASES[generator.integers(0, 4, int(errors.sum()))]
                    names = np.char.add(np.char.mod("@%09d/", np.arange(serial, serial + count)), f"{mate + 1}\n")
                    head = names.astype("S").view(np.uint8).reshape(count, -1)
                    plus, end = np.frombuffer(b"\n+\n", np.uint8), np.frombuffer(b"\n", np.uint8)
                    parts = head, read, np.tile(plus, (count, 1)), strings[which] + 33, np.tile(end, (count, 1))
                    stream.write(np.hstack(parts).astype(np.uint8).tobytes())
                serial += count


HEADER = f"""##fileformat=VCFv4.4
##INFO=<ID=SVTYPE,Number=1,Type=String,Description="Kind">
##INFO=<ID=SVLEN,Number=A,Type=Integer,Description="Size">
##INFO=<ID=END,Number=1,Type=Integer,Description="End">
##INFO=<ID=CONTEXT,Number=1,Type=String,Description="Sequence, and if further copies are in tandem">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
##FORMAT=<ID=CN,Number=1,Type=Float,Description="Copy number">
##ALT=<ID=DEL,Description="Deletion">
##ALT=<ID=DUP,Description="Duplication">
##contig=<ID={{}},length={{}}>
#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t{SAMPLE}
"""


def write_truth(
    path: Path, contig: tuple[str, int], offset: int, letters: bytes, planted: Sequence[PlantedCopies]
) -> None:
    """Write the truth as indexed VCF."""
    with pysam.BGZFile(str(path), "w", None) as out:
        out.write(HEADER.format(*contig).encode())
        for number, one in enumerate(planted):
            kind, genotype = "DEL" if one.copies < 2 else "DUP", "1/1" if all(one.gains) else "0/1"
            where = one.context + (".inserted" if one.target != one.end else ".tandem" if kind == "DUP" else "")
            size = (one.end - one.start) * (-1 if kind == "DEL" else 1)
            info = f"SVTYPE={kind};SVLEN={size};END={offset + one.end};CONTEXT={where}"
            base = chr(letters[one.start - 1])
            row = f"{contig[0]}\t{offset + one.start}\tC{number}\t{base}\t<{kind}>\t.\tPASS\t{info}\tGT:CN\t"
            out.write(f"{row}{genotype}:{one.copies}\n".encode())
    pysam.tabix_index(str(path), preset="vcf", force=True)


def simulated(
    folder: Path, fasta: Path, truth_of_small: Path, qualities: Path, count: int, coverage: float, seed: int
) -> Path:
    """Plant copy numbers into the first contig of a FASTA, and write truth and reads; return the truth."""
    truth = folder / "truth.vcf.gz"
    if truth.exists() and (folder / "reads_2.fq.gz").exists():
        return truth
    with pysam.FastaFile(str(fasta)) as stream:
        contig = stream.references[0], stream.lengths[0]
        text = stream.fetch(contig[0]).upper()
    offset = len(text) - len(text.lstrip("N"))
    letters = text.strip("N").encode()
    generator = np.random.default_rng(seed)
    planted = plant(letters, count, generator)
    small = small_edits(truth_of_small, (contig[0], offset, offset + len(letters)), [])
    haplotypes = haplotypes_of(letters, planted, small)
    pairs = int(coverage / 2 * sum(map(len, haplotypes)) / (2 * LENGTH))
    write_reads(folder / "reads", haplotypes, pairs, qualities, seed)
    write_truth(truth, contig, offset, letters, planted)
    return truth

"""Recall and genotypes of insertions and deletions of 100 to 500 bases, planted among HG001's real variants.

Of each class 70 are planted into chr20, half of them on both haplotypes, at random positions at least 2 kb apart,
including repeats. One half of the insertions is random sequence, the other a copy from elsewhere on chr20, on either
strand. Reads (30x, 2x150) are mapped by Quire. Quire, freebayes, bcftools and, if it is installed (--gatk), GATK call
from the same BAM. Calls and truth are compared as genotypes of left-aligned alleles or as pairs of haplotypes
(`quire.report.truth`). Calls that were not planted count as false.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pysam
from quire import reference
from quire.report.known_variants import PASSING_CALLS, CallFilter
from quire.report.truth import Comparison, Variant, normalise

from bench.calling import (
    GATK,
    MARGIN,
    call_by_peers,
    call_by_quire,
    comparer,
    interval_of,
    letters_of,
    marked,
    write_truth,
)
from bench.common import (
    Inputs,
    Timing,
    add_figures,
    arguments,
    print_setting,
    print_table,
    python,
    quire_command,
    run,
    write_measurement,
)

CLASSES = ((100, 200), (200, 500))  # lengths, half-open
GROUPS = [(kind, low) for kind in ("deletion", "insertion") for low, _ in CLASSES]
APART = 2000
NEAR = 50  # bases around a planted indel in which calls are not counted as false
CLOSEST = 10  # real variants within this distance of a planted one are left out
LONG = 50  # bases from which on a false indel is listed as long
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@dataclass(frozen=True)
class Planted:
    """A planted indel.

    Attributes:
        kind: "deletion" or "insertion".
        length: number of deleted or inserted bases.
        source: source of the inserted bases, "random" or "copy"; empty for deletions.
        copies: 1 heterozygous, 2 homozygous.
        variant: left-aligned variant.
    """

    kind: str
    length: int
    source: str
    copies: int
    variant: Variant

    @property
    def group(self) -> tuple[str, int]:
        """Kind and shortest length of its class."""
        return self.kind, max(low for low, _ in CLASSES if low <= self.length)


def plant(
    letters: str, contig: str, span: tuple[int, int], each: int, seed: int, classes: Sequence[tuple[int, int]] = CLASSES
) -> list[Planted]:
    """Draw `each` indels of every class of lengths into a span of a contig, in order."""
    generator = np.random.default_rng(seed)
    wanted = [(kind, low, high) for kind in ("deletion", "insertion") for low, high in classes for _ in range(each)]
    starts: list[int] = []
    while len(starts) < len(wanted):
        start = int(generator.integers(span[0] + MARGIN, span[1] - MARGIN - APART))
        free = all(abs(start - other) >= APART + classes[-1][1] for other in starts)
        if free and "N" not in letters[start - APART : start + APART]:
            starts.append(start)
    planted = []
    for number, ((kind, low, high), start) in enumerate(zip(wanted, starts, strict=True)):
        length = int(generator.integers(low, high))
        source, inserted = "", ""
        if kind == "insertion":
            source = ("random", "copy")[number // 2 % 2]
            inserted = random_bases(generator, length) if source == "random" else copied(generator, letters, length)
            variant = Variant(start, letters[start], letters[start] + inserted)
        else:
            variant = Variant(start, letters[start : start + length + 1], letters[start])
        placed = normalise(contig, variant, lambda _, begin, end: letters[begin:end])
        planted.append(Planted(kind, length, source, 1 + number % 2, placed))
    return sorted(planted, key=lambda one: one.variant)


def random_bases(generator: np.random.Generator, length: int) -> str:
    """Draw bases uniformly."""
    return "".join("ACGT"[code] for code in generator.integers(0, 4, length))


def copied(generator: np.random.Generator, letters: str, length: int) -> str:
    """Return bases from elsewhere, on either strand."""
    while True:
        at = int(generator.integers(0, len(letters) - length))
        bases = letters[at : at + length]
        if "N" not in bases:
            return bases if generator.random() < 0.5 else bases.translate(COMPLEMENT)[::-1]


def write_variants(path: Path, real: Path, contig: str, planted: Sequence[Planted], seed: int) -> None:
    """Write the real variants of a contig and the planted ones, phased, as indexed VCF."""
    generator = np.random.default_rng(seed + 1)
    with pysam.VariantFile(str(real)) as stream:
        lengths = {contig: stream.header.contigs[contig].length}
        lines = [(r.start, r.stop, r.alleles, tuple(r.samples[0].allele_indices or ())) for r in stream.fetch(contig)]
    starts = np.array([one.variant.position for one in planted])
    ends = np.array([one.variant.end for one in planted])
    kept = [line for line in lines if not ((line[0] < ends + CLOSEST) & (line[1] > starts - CLOSEST)).any()]
    for one in planted:
        genotype = (1, 1) if one.copies == 2 else ((0, 1), (1, 0))[int(generator.integers(2))]
        kept.append((one.variant.position, one.variant.end, tuple(one.variant[1:]), genotype))
    write_truth(path, lengths, ((contig, *line) for line in sorted(kept, key=lambda line: line[:2])))


def aligned(inputs: Inputs, folder: Path, fasta: Path, index: Path, region: str, given: Any) -> Path:
    """Return the BAM of simulated reads, mapped by Quire, duplicates marked."""
    mates = Path(f"{folder}/reads_1.fq.gz"), Path(f"{folder}/reads_2.fq.gz")
    if not mates[1].exists():
        what = f"{fasta} {folder}/truth.vcf.gz {region} {folder}/reads --seed {given.seed} --quals {inputs.qualities}"
        run(python(f"bench.simulate {what} --coverage {given.coverage}"))
    return marked(folder / "quire.bam", quire_command(index, mates, Path("{}"), given.threads))


def found_row(name: str, planted: Sequence[Planted], comparison: Comparison, timing: Timing) -> list[Any]:
    """Return a row: correct genotypes of each class, then by zygosity and source, then the remaining counts."""
    missed = {variant for _, variant in comparison.missed}
    right = [one for one in planted if one.variant not in missed]

    def share(**wanted: Any) -> str:
        def fits(one: Planted) -> bool:
            return all(getattr(one, key) == value for key, value in wanted.items())

        return f"{sum(map(fits, right))}/{sum(map(fits, planted))}"

    classes = [share(group=group) for group in GROUPS]
    by_zygosity = [share(copies=1), share(copies=2)]
    by_source = [share(group=("insertion", low), source=s) for low, _ in CLASSES for s in ("random", "copy")]
    false = false_elsewhere(planted, comparison)
    long = sum(abs(len(v.reference) - len(v.alternate)) >= LONG for v in false)
    counts = comparison.counts
    small = [f"{counts[kind].f1:.4f}" for kind in ("snv", "indel")]
    beside = len(comparison.false_calls) - len(false)
    return [name, *classes, *by_zygosity, *by_source, len(false), long, beside, *small, f"{timing.cpu_seconds:.1f}"]


def false_elsewhere(planted: Sequence[Planted], comparison: Comparison) -> list[Variant]:
    """Return false calls that are not near a planted indel."""
    return [
        variant
        for _, variant in comparison.false_calls
        if not any(
            variant.position < one.variant.end + NEAR and variant.end > one.variant.position - NEAR for one in planted
        )
    ]


def main() -> None:
    """Plant, simulate, map, call by all, and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--region", default="20:10000001-14000000")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--each", type=int, default=70, help="indels planted of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true", help="call by Quire alone")
    parser.add_argument("--gatk", default=GATK if "GATK_JARS" in os.environ else "", help="command of GATK")
    given = parser.parse_args()
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    contig, start, end = interval_of(given.region)
    letters = letters_of(fasta)[contig]
    folder = given.work / f"long_indels_{given.seed}_{given.coverage:g}"
    folder.mkdir(exist_ok=True)
    planted = plant(letters, contig, (start, end), given.each, given.seed)
    write_variants(folder / "truth.vcf.gz", inputs.truth, contig, planted, given.seed)
    bam = aligned(inputs, folder, fasta, inputs.quire_index(fasta), given.region, given)
    packed = given.work / "long_indels_reference"
    if not packed.exists():
        reference.build(fasta, packed, 1 << 30)
    ours = folder / "quire.vcf.gz"
    interval = (contig, start, end)
    results = {"Quire": (ours, call_by_quire(ours, packed, bam, [interval], given.threads))}
    if not given.no_peers:
        results |= call_by_peers(folder, fasta, bam, given.region, given.gatk)
    bed = folder / "inner.bed"
    bed.write_text(f"{contig}\t{start + MARGIN}\t{end - MARGIN}\n")
    compare, rows = comparer(folder / "truth.vcf.gz", {contig: letters}, bed), []
    for name, (vcf, timing) in results.items():
        comparison = compare(vcf, CallFilter(20.0) if name in ("freebayes", "bcftools") else PASSING_CALLS)
        rows.append(found_row(name, planted, comparison, timing))
    header = ["caller", *(f"{kind}s from {low}" for kind, low in GROUPS), "heterozygous", "homozygous"]
    header += [f"insertions from {low}, {source}" for low, _ in CLASSES for source in ("random", "copy")]
    header += [
        "false calls elsewhere",
        "of them long",
        "false within 50 bases of planted",
        "SNV F1",
        "indel F1",
        "CPU s",
    ]
    print_table(header, rows)
    add_figures(
        {f"Quire, {name}": int(str(cell).split("/")[0]) for name, cell in zip(header[1:5], rows[0][1:5], strict=True)}
    )
    write_measurement(f"seed {given.seed}")


if __name__ == "__main__":
    main()

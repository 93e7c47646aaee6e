"""Recall of SNVs at a precision of 0.99 in simulated samples of low depth, beside bcftools on the same BAMs.

    python -m bench.low_depth --data FOLDER --cohort FOLDER

The samples have the true genotypes of a simulated cohort (GT.vcf.gz of bench.cohort_samples). Their reads, with real
quality strings, are mapped by bwa mem and marked by samtools. Each set is samples that are called together, by Quire
with `rescore.pool_support` and by `bcftools mpileup -q 20` and `call -mv`; some of its samples are also called alone,
by Quire with `rescore.minimum_support: 1`. Alleles are ranked by QUAL, and genotypes do not count. False and missed
alleles of the first three sets were looked at when the rules of `pool_support` were made; the fourth set was not.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pysam
from quire import reference as reference_stage
from quire.rescore.caller import call_interval
from quire.rescore.job import CallingRequest, Output
from quire.run.schema import default_settings

from bench.calling import bcftools_command, mapped_by_bwa
from bench.common import Inputs, add_figures, arguments, print_setting, print_table, run, write_measurement
from bench.simulate import Simulator, haplotype, quality_strings

CONTIG, BASES, MARGIN = "20", 300_000, 1000  # bases of a set's region, and those left out at its ends
SETS = ((0, 1_000_000), (50, 1_500_000), (80, 1_700_000), (20, 1_200_000))
"""First sample and start of the region of each set."""
ALONE = 5  # samples of a set that are called alone
PRECISION = 0.99
LEAST_QUALITY = 3.0  # of Quire's records: a variant is as likely as none, bcftools' default
READ, INSERT, DEVIATION = 150, 400, 80

Allele = tuple[object, ...]


class Samples(NamedTuple):
    """Samples of one region: the start on the chromosome, and the BAM of each by name."""

    start: int
    folder: Path
    bams: Mapping[str, Path]


def make_samples(inputs: Inputs, genotypes: Path, first: int, start: int, count: int, depth: float) -> Samples:
    """Simulate and map the reads of a set's samples, once."""
    folder = inputs.work / f"low_depth_{first}_{start}_{count}_{depth:g}"
    folder.mkdir(exist_ok=True)
    with pysam.FastaFile(str(inputs.chromosome_20())) as stream:
        letters = stream.fetch(CONTIG, start, start + BASES).upper()
    fasta = folder / "region.fa"
    if not fasta.exists():
        fasta.write_text(f">{CONTIG}\n{letters}\n")
        run(f"samtools faidx {fasta}")
        reference_stage.build(fasta, folder / "reference", 1 << 26)
    with pysam.VariantFile(str(genotypes)) as stream:
        names = list(stream.header.samples)[first : first + count]
    qualities = quality_strings(str(inputs.qualities), READ)
    bams = {name: folder / f"{name}.bam" for name in names}
    for seed, (name, bam) in enumerate(bams.items(), first):
        if Path(f"{bam}.bai").exists():
            continue
        with pysam.VariantFile(str(genotypes)) as stream:
            stream.subset_samples([name])
            records = [record.copy() for record in stream if start <= record.start < start + BASES]
        region = np.frombuffer(letters.encode(), np.uint8)
        pair = haplotype(0, records, region, start), haplotype(1, records, region, start)
        generator = np.random.default_rng(seed)
        source = Simulator(CONTIG, pair, qualities, READ, INSERT, DEVIATION, False, 0.0, generator)
        mates = folder / "1.fq", folder / "2.fq"
        for path, text in zip(mates, source.draw(0, int(depth * BASES / (2 * READ))), strict=True):
            path.write_bytes(text)
        mapped_by_bwa(bam, inputs.bwa_index(fasta), mates, 1, sample=name, group=name)
    return Samples(start, folder, bams)


def true_alleles(genotypes: Path, samples: Samples, names: Sequence[str]) -> set[Allele]:
    """Return the positions, from the region's start on, and bases of the SNVs that some samples carry."""
    found: set[Allele] = set()
    with pysam.VariantFile(str(genotypes)) as stream:
        stream.subset_samples(names)
        for record in stream:
            at = record.start - samples.start
            if MARGIN <= at < BASES - MARGIN and {*map(len, record.alleles)} == {1}:
                carried = {number for sample in record.samples.values() for number in sample.allele_indices if number}
                found |= {(at, record.alleles[number]) for number in carried}
    return found


def called_alleles(path: Path) -> Iterator[tuple[float, Allele]]:
    """Yield QUAL, position and base of the called SNVs."""
    with pysam.VariantFile(str(path)) as stream:
        for record in stream:
            if MARGIN <= record.start < BASES - MARGIN and len(record.ref) == 1:
                for allele in record.alts or ():
                    if len(allele) == 1 and allele != "*":
                        yield record.qual, (record.start, allele)


def call(samples: Samples, names: Sequence[str], support: int) -> dict[str, Path]:
    """Return the VCF of each program."""
    stem = f"{names[0]}_{len(names)}"
    paths = {name: samples.folder / f"{stem}.{name}.vcf.gz" for name in ("quire", "bcftools")}
    changed = {"minimum_quality": LEAST_QUALITY, "pool_support": True, "minimum_support": support, "filters": {}}
    sheet = [{"sample": name, "ploidy": 2, "bam": samples.bams[name]} for name in names]
    request = CallingRequest(
        Output.VARIANTS,
        samples.folder / "reference",
        sheet,
        [(CONTIG, 0, BASES)],
        paths["quire"],
        default_settings("rescore") | changed,
        samples.folder / "ledger.json",
    )
    call_interval(request)
    bams = " ".join(str(samples.bams[name]) for name in names)
    command = bcftools_command(samples.folder / "region.fa", bams, options="-q 20")
    run(command.replace("{}", str(paths["bcftools"])))
    return paths


def recall(called: Sequence[tuple[float, Allele]], truth: set[Allele]) -> float:
    """Return the greatest recall at PRECISION of all limits of QUAL."""
    best = found = 0
    for number, (_, allele) in enumerate(sorted(called, reverse=True, key=lambda one: one[0]), 1):
        found += allele in truth
        if found >= PRECISION * number:
            best = found
    return best / len(truth)


def measure(genotypes: Path, groups: Sequence[tuple[Samples, Sequence[str]]], support: int) -> tuple[int, list[float]]:
    """Return the number of true alleles of some groups of samples, and the recall of Quire and of bcftools."""
    truth: set[Allele] = set()
    called: dict[str, list[tuple[float, Allele]]] = {"quire": [], "bcftools": []}
    for samples, names in groups:
        of_group = (samples.start, *names)
        truth |= {(*of_group, *allele) for allele in true_alleles(genotypes, samples, names)}
        for program, path in call(samples, names, support).items():
            called[program] += [(quality, (*of_group, *allele)) for quality, allele in called_alleles(path)]
    return len(truth), [recall(own, truth) for own in called.values()]


def main() -> None:
    """Simulate, map, call with both, compare."""
    parser = arguments(__doc__)
    parser.add_argument("--cohort", type=Path, required=True, help="folder of bench.cohort_samples")
    parser.add_argument("--samples", type=int, default=20, help="samples of a set")
    parser.add_argument("--depth", type=float, default=3.0)
    given = parser.parse_args()
    print_setting()
    inputs, genotypes = Inputs(given.data, given.work), given.cohort / "GT.vcf.gz"
    sets = [make_samples(inputs, genotypes, *own, given.samples, given.depth) for own in SETS]
    rows = []
    for number, samples in enumerate([*sets, None], 1):
        chosen = sets if samples is None else [samples]
        together = [(own, list(own.bams)) for own in chosen]
        alone = [(own, [name]) for own in chosen for name in list(own.bams)[:ALONE]]
        for kind, groups, support in ((f"{given.samples} samples", together, 2), ("one sample", alone, 1)):
            total, (ours, peers) = measure(genotypes, groups, support)
            where = f"{kind}, {'all sets' if samples is None else f'set {number}'}"
            rows.append((where, total, f"{ours:.4f}", f"{peers:.4f}", f"{ours - peers:+.4f}"))
            if samples in (sets[-1], None):
                which = "all sets" if samples is None else "last set"
                add_figures({f"{kind} at {given.depth:g}x, {which}: recall less bcftools'": round(ours - peers, 4)})
    print_table(("samples", "true SNVs", "recall: Quire", "recall: bcftools", "difference"), rows)
    write_measurement()


if __name__ == "__main__":
    main()

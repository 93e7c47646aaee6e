"""Accuracy of Quire, GATK, freebayes and bcftools on one BAM: in all regions, tandem repeats and low complexity.

Reads of a part of chr20 with the real variants of HG001 are mapped by bwa mem and marked by samtools; all four call
from that BAM. The windows are found in the reference, not in the truth. `--curve` prints SNV recall and precision by
minimum QUAL, of calls without a limit of QUAL. `--filters` prints the calls that hard filters remove: Quire's, and the
same limits on GATK's records. GATK is run if its jars are found (GATK_JARS, docs/benchmarks.md).
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pysam
from numpy.typing import NDArray
from quire import reference as reference_stage
from quire.reference.regions import Regions, read_regions
from quire.report.known_variants import CallFilter, compare_files
from quire.report.truth import Comparison, Variant
from quire.rescore.caller import call_interval
from quire.rescore.job import CallingRequest, Output
from quire.run.schema import default_settings

from bench.common import Inputs, arguments, bwa_command, print_setting, print_table, run, write_measurement

SAMPLE = "HG001"
MARGIN = 1000  # bases at the region's ends, where depth drops
JARS = Path(os.environ.get("GATK_JARS", "gatk/lib"))
GATK = f"java -Xmx4g -cp '{JARS}/*' org.broadinstitute.hellbender.Main"
LOWEST_QUALITY = {"Quire": 0.0, "GATK": 0.0, "freebayes": 20.0, "bcftools": 20.0}
"""From which QUAL calls are compared; Quire and GATK write none below their own default."""
LONGEST_UNIT, LEAST_COPIES, LEAST_BASES, AROUND = 6, 3, 10, 10
"""Bases of a short tandem repeat, and on either side of it, that belong to its window."""
DUST_WINDOW, DUST_SCORE = 64, 2.0  # sdust's defaults (Morgulis et al. 2006, doi:10.1089/cmb.2006.13.1028)
STEPS = (0, 5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100)
"""QUALs of the curve."""
FILTERS = {
    "QUAL": lambda record: record.qual < 30,
    "QD": lambda record: record.info.get("QD", 2) < 2,
    "FS": lambda record: record.info.get("FS", 0) > 60,
    "SOR": lambda record: record.info.get("SOR", 0) > 3,
    "MQ": lambda record: record.info.get("MQ", 40) < 40,
    "MQRankSum": lambda record: record.info.get("MQRankSum", 0) < -12.5,
    "ReadPosRankSum": lambda record: record.info.get("ReadPosRankSum", 0) < -8,
}
"""GATK's recommended limits for SNVs."""


def tandem_repeats(letters: str) -> Iterator[tuple[int, int]]:
    """Yield spans of repeats of units of up to six bases, with flanks, in any order."""
    codes = np.frombuffer(letters.encode(), np.uint8)
    for unit in range(1, LONGEST_UNIT + 1):
        same = np.concatenate([[False], (codes[unit:] == codes[:-unit]) & (codes[unit:] != ord("N")), [False]])
        edges = np.flatnonzero(np.diff(same.astype(np.int8)))
        for start, end in edges.reshape(-1, 2).tolist():
            if end + unit - start >= max(LEAST_BASES, LEAST_COPIES * unit):
                yield max(0, start - AROUND), end + unit + AROUND


def low_complexity(letters: str) -> Iterator[tuple[int, int]]:
    """Yield spans of windows whose triplets score above DUST_SCORE, in order."""
    codes = np.searchsorted(np.frombuffer(b"ACGT", np.uint8), np.frombuffer(letters.encode(), np.uint8)).clip(0, 3)
    triplets = codes[:-2] * 16 + codes[1:-1] * 4 + codes[2:]
    inside = DUST_WINDOW - 2
    pairs: NDArray[np.int64] = np.zeros(len(triplets) - inside + 1, np.int64)
    for triplet in range(64):
        total = np.concatenate([[0], np.cumsum(triplets == triplet)])
        count = total[inside:] - total[:-inside]
        pairs += count * (count - 1) // 2
    for start in np.flatnonzero(pairs > DUST_SCORE * (inside - 1)).tolist():
        yield start, start + DUST_WINDOW


def write_bed(path: Path, contig: str, offset: int, size: int, found: Iterator[tuple[int, int]]) -> Path:
    """Write a BED of spans of a stretch that starts at `offset`; touching spans are joined."""
    marked = np.zeros(size, np.bool_)
    for start, end in found:
        marked[start:end] = True
    at, lines = offset, []
    for is_marked, group in groupby(marked.tolist()):
        length = sum(1 for _ in group)
        if is_marked:
            lines.append(f"{contig}\t{at}\t{at + length}\n")
        at += length
    path.write_text("".join(lines))
    return path


def call_all(inputs: Inputs, fasta: Path, bam: Path, region: str, unlimited: bool, support: int) -> dict[str, Path]:
    """Return the VCF of each program; with `unlimited` Quire and GATK write variants of any QUAL."""
    folder = bam.with_suffix(".unlimited" if unlimited else ".calls")
    folder.mkdir(exist_ok=True)
    found = {name: folder / f"{name}.vcf.gz" for name in ("Quire", "GATK", "freebayes", "bcftools")}
    contig, span = region.split(":")
    first, last = map(int, span.split("-"))
    packed = inputs.work / "callers_reference"
    if not packed.exists():
        reference_stage.build(fasta, packed, 1 << 30)
    changed = {"minimum_support": support} | ({"minimum_quality": 0} if unlimited else {})
    sheet = [{"sample": SAMPLE, "ploidy": 2, "bam": bam}]
    settings, piece = default_settings("rescore") | changed, [(contig, first - 1, last)]
    call_interval(CallingRequest(Output.VARIANTS, packed, sheet, piece, found["Quire"], settings, folder / "l.json"))
    limit = "-stand-call-conf 0" if unlimited else ""
    commands = {
        "GATK": f"{GATK} HaplotypeCaller -R {fasta} -I {bam} -L {region} {limit} -O {{}} 2> {folder}/gatk.log",
        "freebayes": f"freebayes -f {fasta} -r {region} {bam} | bcftools view -Oz -o {{}}",
        "bcftools": f"bcftools mpileup -r {region} -f {fasta} {bam} 2> {folder}/mpileup.log"
        " | bcftools call -mv --ploidy 2 -Oz -o {}",
    }
    if not JARS.is_dir():
        del commands["GATK"], found["GATK"]
    for name, command in commands.items():
        if not found[name].exists():
            run(command.format(found[name]))
    for path in found.values():
        run(f"bcftools index -f -t {path}")
    return found


def mapped(inputs: Inputs, fasta: Path, mates: tuple[Path, Path], threads: int) -> Path:
    """Return the marked BAM of the reads, made once."""
    bam = Path(str(mates[0]).removesuffix("_1.fq.gz") + ".bam")
    if not Path(f"{bam}.bai").exists():
        run(bwa_command(inputs.bwa_index(fasta), mates, bam.with_suffix(".unsorted"), threads))
        run(
            f"samtools fixmate -m {bam.with_suffix('.unsorted')} - | samtools sort - 2> {bam}.log"
            f" | samtools markdup - - | samtools addreplacerg -r ID:1 -r SM:{SAMPLE} -o {bam} - && samtools index {bam}"
        )
    for command in (f"samtools faidx {fasta}", f"samtools dict -o {fasta.with_suffix('.dict')} {fasta}"):
        run(command)
    return bam


Compare = Callable[[Path, str, float, bool], Comparison]


def comparer(inputs: Inputs, fasta: Path, windows: Mapping[str, Path]) -> Compare:
    """Return a function that compares a VCF with the truth inside named windows, by QUAL and FILTER."""
    with pysam.FastaFile(str(fasta)) as stream:
        lengths = dict(zip(stream.references, stream.lengths, strict=True))
        letters = {name: stream.fetch(name).upper() for name in lengths}
    regions: dict[str, Regions] = {name: read_regions(bed, lengths) for name, bed in windows.items()}

    def compare(vcf: Path, where: str, quality: float, passing: bool) -> Comparison:
        def sequence(contig: str, start: int, end: int) -> str:
            return letters[contig][start:end]

        keep = CallFilter(quality, passing)
        return compare_files(inputs.truth, vcf, SAMPLE, regions[where], lengths, sequence, keep)

    return compare


def f1_rows(compare: Compare, calls: Mapping[str, Path], windows: Sequence[str]) -> Iterator[tuple]:
    """Return rows of F1, missed and false calls, by window and program."""
    for where in windows:
        for name, vcf in calls.items():
            counts = compare(vcf, where, LOWEST_QUALITY[name], False).counts
            figures = [(f"{one.f1:.4f}", one.missed, one.false_calls) for one in (counts["snv"], counts["indel"])]
            yield where, name, *figures[0], *figures[1]


def curve_rows(compare: Compare, calls: Mapping[str, Path]) -> Iterator[tuple]:
    """Return rows of SNV recall, precision, false calls and wrong genotypes by minimum QUAL."""
    for name, vcf in calls.items():
        for quality in STEPS:
            comparison = compare(vcf, "everywhere", quality, False)
            counts = comparison.counts["snv"]
            called = {variant for _, variant in comparison.false_calls if variant.kind == "snv"}
            of_genotype = len(called & {variant for _, variant in comparison.missed})
            rates = (f"{rate:.3f}" for rate in (counts.recall, counts.precision, counts.f1))
            yield name, quality, *rates, counts.false_calls, of_genotype


def filter_rows(compare: Compare, calls: Mapping[str, Path]) -> Iterator[tuple]:
    """Return rows of true and false SNVs that each hard filter removes, of Quire and of GATK."""
    for name in ("Quire", "GATK"):
        if name not in calls:
            continue
        comparison = compare(calls[name], "everywhere", 0, False)
        false = {variant for _, variant in comparison.false_calls}
        taken = {one: [0, 0] for one in FILTERS}
        with pysam.VariantFile(str(calls[name])) as records:
            for record in records:
                if len(record.ref) > 1 or any(len(allele) > 1 for allele in record.alts or ()):
                    continue
                wrong = any(Variant(record.start, record.ref, allele) in false for allele in record.alts or ())
                for one, fails in FILTERS.items():
                    taken[one][wrong] += fails(record)
        for one, (true, wrong) in taken.items():
            yield name, one, true, wrong


def main() -> None:
    """Simulate, map once, call with all, compare."""
    parser = arguments(__doc__)
    parser.add_argument("--region", default="20:10000001-11500000")
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--support", type=int, default=2, help="rescore.minimum_support")
    parser.add_argument("--curve", action="store_true", help="recall and precision by QUAL instead of windows")
    parser.add_argument("--filters", action="store_true", help="what hard filters take, too")
    given = parser.parse_args()
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    mates = inputs.simulated(fasta, given.region, given.seed, f"--coverage {given.coverage:g}")
    bam = mapped(inputs, fasta, mates, given.threads)
    calls = call_all(inputs, fasta, bam, given.region, given.curve, given.support)
    contig, span = given.region.split(":")
    start, end = int(span.split("-")[0]) - 1 + MARGIN, int(span.split("-")[1]) - MARGIN
    with pysam.FastaFile(str(fasta)) as stream:
        letters = stream.fetch(contig, start, end).upper()
    found = {
        "everywhere": iter([(0, len(letters))]),
        "short tandem repeats": tandem_repeats(letters),
        "low complexity": low_complexity(letters),
    }
    windows = {
        name: write_bed(bam.with_suffix(f".{name.replace(' ', '_')}.bed"), contig, start, len(letters), spans)
        for name, spans in found.items()
    }
    compare = comparer(inputs, fasta, windows)
    if given.curve:
        print_table(
            ("caller", "QUAL from", "SNV recall", "precision", "F1", "false", "of genotype"),
            list(curve_rows(compare, calls)),
        )
    else:
        header = ("where", "caller", "SNV F1", "missed", "false", "indel F1", "missed", "false")
        print_table(header, list(f1_rows(compare, calls, list(windows))))
    if given.filters:
        print_table(("caller", "filter", "true SNVs", "false SNVs"), list(filter_rows(compare, calls)))
    write_measurement()


if __name__ == "__main__":
    main()

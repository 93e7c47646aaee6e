"""Shared parts of measurements of calls: commands of Quire and its peers, and comparison with a truth."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pysam
from quire.reference.regions import read_regions
from quire.report.known_variants import PASSING_CALLS, CallFilter, compare_files
from quire.report.truth import Comparison

from bench.common import Timing, bwa_command, calling_settings, run

# GATK's jars are in one folder, named by the environment variable GATK_JARS.
GATK = f"java -Xmx3g -cp '{os.environ.get('GATK_JARS', 'gatk/lib')}/*' org.broadinstitute.hellbender.Main"
SAMPLE = "HG001"
MARGIN = 1000  # bases at a region's ends, where depth drops
PEERS_CALLS = CallFilter(20.0, only_passing=False)
"""The calls of freebayes and bcftools that count."""

Interval = tuple[str, int, int]
Compare = Callable[[Path, CallFilter], Comparison]


def indexed(fasta: Path) -> Path:
    """Make the indexes of a FASTA that samtools and GATK need; return the FASTA."""
    if not (fasta.with_suffix(".dict").exists() and Path(f"{fasta}.fai").exists()):
        run(f"samtools faidx {fasta} && samtools dict -o {fasta.with_suffix('.dict')} {fasta}")
    return fasta


def marked(bam: Path, command: str, sample: str = SAMPLE, group: str = "1") -> Path:
    """Return a mapper's sorted, marked and indexed BAM, made once; {} in the mapper's command is its output file."""
    unsorted = bam.with_suffix(".unsorted.bam")
    if not Path(f"{bam}.bai").exists():
        run(command.replace("{}", str(unsorted)))
        run(
            f"samtools fixmate -m {unsorted} - | samtools sort - 2> {bam}.log | samtools markdup - - "
            f"| samtools addreplacerg -r ID:{group} -r SM:{sample} -o {bam} - && samtools index {bam}"
        )
        unsorted.unlink()
    return bam


def mapped_by_bwa(bam: Path, bwa_index: Path, mates: Sequence[Path], threads: int, **names: str) -> Path:
    """Return the marked BAM of bwa mem, made once; `names` are those of `marked`."""
    return marked(bam, bwa_command(bwa_index, mates, Path("{}"), threads), **names)


def call_by_quire(
    output: Path, packed: Path, bam: Path, intervals: Sequence[Interval], threads: int,
    row: Mapping[str, Any] | None = None, /, **settings: Any,
) -> Timing:  # fmt: skip
    """Call in a separate process; `row` holds what differs in the sample's row."""
    row = {"sample": SAMPLE, "ploidy": 2, "bam": str(bam)} | dict(row or {})
    code = "from quire.rescore.caller import call_interval as call; "
    code += "from quire.rescore.job import CallingRequest, Output; "
    code += f"call(CallingRequest(Output.VARIANTS, {str(packed)!r}, [{row!r}], {list(intervals)!r}, "
    code += f"{str(output)!r}, {calling_settings(**settings)!r}, {str(output) + '.json'!r}, threads={threads}))"
    timing = run(f'{sys.executable} -c "{code}"')
    pysam.tabix_index(str(output), preset="vcf", force=True)
    return timing


def bcftools_command(fasta: Path, bams: object, region: str = "", ploidy: int = 2, options: str = "") -> str:
    """Return the command of bcftools, whose output {} is a VCF; `bams` are paths."""
    where = f"-r {region} " if region else ""
    return (
        f"bcftools mpileup {options} {where}-f {fasta} {bams} 2> {{}}.log"
        f" | bcftools call -mv --ploidy {ploidy} -Oz -o {{}}"
    )


def call_by_peers(folder: Path, fasta: Path, bam: Path, region: str, gatk: str = "") -> dict[str, tuple[Path, Timing]]:
    """Call by freebayes, bcftools and GATK, if that has a command; return each one's VCF and timing."""
    commands = {
        "freebayes": f"freebayes -f {fasta} -r {region} {bam} | bcftools view -Oz -o {{}}",
        "bcftools": bcftools_command(fasta, bam, region),
    }
    if gatk:
        commands["GATK"] = f"{gatk} HaplotypeCaller -R {indexed(fasta)} -I {bam} -L {region} -O {{}} > {{}}.log 2>&1"
    results = {}
    for name, command in commands.items():
        vcf = folder / f"{name}.vcf.gz"
        results[name] = vcf, run(command.replace("{}", str(vcf)))
        run(f"bcftools index -f -t {vcf}")
    return results


def interval_of(region: str) -> Interval:
    """Return contig and 0-based span of a region `contig:first-last`."""
    contig, _, span = region.rpartition(":")
    first, last = map(int, span.split("-"))
    return contig, first - 1, last


def letters_of(fasta: Path) -> dict[str, str]:
    """Return the upper-case letters of each contig."""
    with pysam.FastaFile(str(fasta)) as stream:
        return {name: stream.fetch(name).upper() for name in stream.references}


def write_truth(path: Path, lengths: Mapping[str, int], rows: Iterable[tuple[Any, ...]]) -> None:
    """Write phased variants (contig, start, end, alleles, genotype) as indexed VCF."""
    header = pysam.VariantHeader()
    for name, length in lengths.items():
        header.add_line(f"##contig=<ID={name},length={length}>")
    header.add_line('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">')
    header.add_sample(SAMPLE)
    with pysam.VariantFile(str(path), "wz", header=header) as out:
        for contig, start, end, alleles, genotype in rows:
            record = out.new_record(contig=contig, start=start, stop=end, alleles=alleles)
            record.samples[0]["GT"] = genotype
            record.samples[0].phased = True
            out.write(record)
    pysam.tabix_index(str(path), preset="vcf", force=True)


def comparer(truth: Path, letters: Mapping[str, str], bed: Path, sample: str = SAMPLE) -> Compare:
    """Return a function that compares the calls of a VCF that count with the truth inside a BED."""
    lengths = {name: len(bases) for name, bases in letters.items()}
    regions = read_regions(bed, lengths)

    def sequence(contig: str, start: int, end: int) -> str:
        return letters[contig][start:end]

    def compare(vcf: Path, keep: CallFilter = PASSING_CALLS) -> Comparison:
        return compare_files(truth, vcf, sample, regions, lengths, sequence, keep)

    return compare

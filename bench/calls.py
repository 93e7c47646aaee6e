"""Calls on 3 Mb of chr20 at 30x, simulated with the real variants of HG001: Quire against freebayes and bcftools.

Quire maps and calls through its workflow; the peers call after bwa mem and samtools markdup. Bars: SNV F1 at least
0.998, indel F1 at least 0.98, calling in at most 3 times freebayes' time. The peers' calls count from QUAL 20 on.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pysam
from quire.reference.regions import read_regions
from quire.report.known_variants import CallFilter, compare_files
from quire.report.truth import Comparison

from bench.common import (
    REPOSITORY,
    Inputs,
    Timing,
    arguments,
    bwa_command,
    print_setting,
    print_table,
    python,
    run,
    write_measurement,
)

# Depth drops towards the ends of a simulated region.
MARGIN = 1000
PEERS_LOWEST_QUALITY = 20.0
SAMPLE = "HG001"


def write_run(folder: Path, fasta: Path, index: Path, mates: tuple[Path, Path], region_bed: Path) -> Path:
    """Write sheets and configuration of a run of the workflow; return the configuration file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "samples.tsv").write_text(f"sample\tploidy\n{SAMPLE}\t2\n")
    fields = [SAMPLE, "lane1", *(str(mate.resolve()) for mate in mates), "ILLUMINA", "library1"]
    (folder / "units.tsv").write_text("sample\tunit\tfq1\tfq2\tplatform\tlibrary\n" + "\t".join(fields) + "\n")
    settings = {
        "reference": {"fasta": str(fasta.resolve()), "index_directory": str(index.resolve())},
        "samples": "samples.tsv",
        "units": "units.tsv",
        "output": "results",
        "rescore": {"intervals": str(region_bed.resolve())},
    }
    path = folder / "config.yaml"
    path.write_text(json.dumps(settings, indent=1))  # JSON is YAML
    return path


def run_quire(folder: Path, configuration: Path, threads: int) -> tuple[Path, Timing]:
    """Run the workflow up to the alignments, then time the rest up to the VCF (Snakemake's start included)."""
    where = f"-s {REPOSITORY}/Snakefile --configfile {configuration.resolve()} --directory {folder}"
    snakemake = python(f"snakemake {where} --quiet all --cores {threads}")
    run(f"{snakemake} results/align/{SAMPLE}.bam results/.compiled/rescore.done")
    timing = run(f"{snakemake} results/rescore/all.vcf.gz")
    return folder / "results" / "rescore" / "all.vcf.gz", timing


def run_peers(inputs: Inputs, fasta: Path, mates: tuple[Path, Path], region: str, threads: int) -> dict[str, tuple]:
    """Map with bwa, mark duplicates and call with both peers; return the VCF and the time of calling of each."""
    folder = inputs.work / "calls_peers"
    folder.mkdir(exist_ok=True)
    bam = folder / "bwa.bam"
    run(bwa_command(inputs.bwa_index(fasta), mates, folder / "unsorted.bam", threads))
    run(
        f"samtools fixmate -m {folder}/unsorted.bam - | samtools sort - 2> {folder}/sort.log"
        f" | samtools markdup - - | samtools addreplacerg -r ID:1 -r SM:{SAMPLE} -o {bam} - && samtools index {bam}"
    )
    commands = {
        "freebayes": f"freebayes -f {fasta} -r {region} {bam} | bcftools view -Oz -o {{}}",
        "bcftools": f"bcftools mpileup -r {region} -f {fasta} {bam} 2> {folder}/mpileup.log"
        " | bcftools call -mv --ploidy 2 -Oz -o {}",
    }
    results = {}
    for name, command in commands.items():
        vcf = folder / f"{name}.vcf.gz"
        timing = run(command.format(vcf))
        run(f"bcftools index -f -t {vcf}")
        results[name] = (vcf, timing)
    return results


def comparer(inputs: Inputs, fasta: Path, bed: Path) -> Callable[[Path, float], Comparison]:
    """Return a function that compares the calls of a VCF from a QUAL on with the truth inside the BED."""
    with pysam.FastaFile(str(fasta)) as stream:
        lengths = dict(zip(stream.references, stream.lengths, strict=True))
        letters = {name: stream.fetch(name).upper() for name in lengths}
    regions = read_regions(bed, lengths)

    def compare(vcf: Path, quality: float) -> Comparison:
        return compare_files(
            inputs.truth,
            vcf,
            SAMPLE,
            regions,
            lengths,
            lambda contig, start, end: letters[contig][start:end],
            CallFilter(quality, only_passing=False),
        )

    return compare


def main() -> None:
    """Simulate, map, call with all three and compare."""
    parser = arguments(__doc__)
    parser.add_argument("--region", default="20:10000001-13000000")
    parser.add_argument("--coverage", type=float, default=30)
    given = parser.parse_args()
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.chromosome_20()
    mates = inputs.simulated(fasta, given.region, 1, f"--coverage {given.coverage}")
    contig, span = given.region.split(":")
    first, last = map(int, span.split("-"))
    bed, inner = given.work / "calls.bed", given.work / "calls.inner.bed"
    bed.write_text(f"{contig}\t{first - 1}\t{last}\n")
    inner.write_text(f"{contig}\t{first - 1 + MARGIN}\t{last - MARGIN}\n")

    folder = given.work / "calls_quire"
    shutil.rmtree(folder, ignore_errors=True)
    configuration = write_run(folder, fasta, given.work / "calls_index", mates, bed)
    results = {"quire": (*run_quire(folder, configuration, given.threads), 0.0)}
    for name, (vcf, timing) in run_peers(inputs, fasta, mates, given.region, given.threads).items():
        results[name] = (vcf, timing, PEERS_LOWEST_QUALITY)
    compare = comparer(inputs, fasta, inner)
    slowest = results["freebayes"][1].seconds
    rows = [
        _row(name, compare(vcf, quality), timing, slowest) for name, (vcf, timing, quality) in results.items()
    ]  # fmt: skip
    header = ("caller", "SNV F1", "recall", "precision", "indel F1", "recall", "precision", "s", "time over freebayes")
    print_table(header, rows)
    write_measurement()


def _row(name: str, comparison: Comparison, timing: Timing, freebayes_seconds: float) -> tuple:
    figures = [
        f"{figure:.4f}"
        for kind in ("snv", "indel")
        for counts in (comparison.counts[kind],)
        for figure in (counts.f1, counts.recall, counts.precision)
    ]
    return name, *figures, f"{timing.seconds:.1f}", f"{timing.seconds / freebayes_seconds:.2f}"


if __name__ == "__main__":
    main()

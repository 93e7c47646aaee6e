"""A plate of many small samples, FASTQ.gz to the report: how many cores a run of short jobs keeps busy.

Each sample has two haplotypes that differ from the first bases of a bacterium's chromosome (as many as a virus has, or
all). It is called alone, and all are genotyped together (`rescore.gvcf`), or all are called at once (`--together`). The
kernels are compiled before. The peers are bwa, samtools and bcftools, one sample on each core; they write no report and
no gVCF.
"""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pysam

from bench.cards import name_card
from bench.common import Inputs, add_figures, arguments, print_setting, print_table, run, write_measurement
from bench.workflow import configure, run_workflow


def shortened(source: Path, bases: int, path: Path) -> Path:
    """Write the first bases of a genome's first contig, all of them for 0, as a FASTA of the contig `small`."""
    with pysam.FastaFile(str(source)) as fasta:
        letters = fasta.fetch(fasta.references[0], 0, bases or None)
    path.write_text(f">small\n{letters}\n")
    return path


def peers_command(folder: Path, fasta: Path, samples: list[tuple[Path, Path]], threads: int) -> str:
    """Return the command that maps and calls each sample on one core, and merges the variants of all."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    of_one = folder / "sample.sh"
    of_one.write_text(
        "set -euo pipefail\n"
        f"bwa mem -R '@RG\\tID:'$3'\\tSM:'$3 {fasta} $1 $2 | samtools fixmate -mu - - | samtools sort -u - "
        f"| samtools markdup - {folder}/$3.bam\n"
        f"bcftools mpileup -f {fasta} {folder}/$3.bam | bcftools call -mv -Oz -o {folder}/$3.vcf.gz\n"
        f"bcftools index {folder}/$3.vcf.gz\n"
    )
    rows = "".join(f"{one} {two} sample{number}\n" for number, (one, two) in enumerate(samples, 1))
    (folder / "samples.txt").write_text(rows)
    run_all = f"xargs -P {threads} -L 1 bash {of_one} < {folder}/samples.txt"
    merged = f"bcftools merge -Oz -o {folder}/all.vcf.gz {folder}/sample*.vcf.gz"
    return f"(bwa index {fasta} && samtools faidx {fasta} && {run_all} && {merged}) > {folder}/log 2>&1"


def main() -> None:
    """Simulate, run, and print the time of each rule's jobs."""
    parser = arguments(__doc__, threads=16)
    parser.add_argument("--samples", type=int, default=48)
    parser.add_argument("--bases", type=int, default=30_000, help="length of the reference; 0: the whole chromosome")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of reads of each sample")
    parser.add_argument("--largest", type=int, help="pairs of reads of the last sample, if not the same")
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--together", action="store_true", help="call all samples at once, without gVCFs")
    parser.add_argument("--with-peers", action="store_true", help="also time the peers")
    given = parser.parse_args()
    print_setting(("bwa", "samtools", "bcftools") if given.with_peers else ())
    name_card(given.backend)
    inputs = Inputs(given.data, given.work)
    genome = inputs.plain("K12", given.data / "genomes" / "ecoli_K12_MG1655_from_bwa_pac.fa.gz")
    fasta = shortened(genome, given.bases, given.work / f"small_{given.bases}.fa")
    pairs = [given.pairs] * (given.samples - 1) + [given.largest or given.pairs]

    def simulated(seed: int) -> tuple[Path, Path]:
        options = f"--divergence 0.001 --pairs {pairs[seed - 1]}"
        return inputs.simulated(fasta, "small", seed, options, False)

    with ThreadPoolExecutor(given.threads) as pool:
        samples = list(pool.map(simulated, range(1, given.samples + 1)))
    for name, some in (("plate_first", samples[:1]), ("plate", samples)):  # the first compiles the kernels
        sheet = {f"sample{number}": [mates] for number, mates in enumerate(some, 1)}
        gvcf = {"gvcf": not given.together}
        configuration = configure(given.work / name, fasta, sheet, given.backend, rescore=gvcf)
        timing = run_workflow(configuration, given.threads)
    spent = {
        rule.name: [float(table.read_text().splitlines()[1].split("\t")[0]) for table in rule.glob("*.tsv")]
        for rule in sorted((configuration.parent / "results/benchmarks").iterdir())
    }
    print_table(
        ("rule", "jobs", "seconds of all", "of one"),
        [(rule, len(own), f"{sum(own):.1f}", f"{sum(own) / len(own):.2f}") for rule, own in spent.items() if own],
    )
    if given.with_peers:
        peers = run(peers_command(given.work / "peers", fasta, samples, given.threads))
        add_figures({"peers' s": round(peers.seconds, 2), "ratio": round(peers.seconds / timing.seconds, 2)})
        print(f"peers: {peers.seconds:.2f} s, {peers.seconds / timing.seconds:.2f} times Quire's")
    figures = {
        "s": timing.seconds,
        "s for each sample": timing.seconds / given.samples,
        "core-seconds for each sample": timing.cpu_seconds / given.samples,
        "cores busy": timing.cpu_seconds / timing.seconds,
    }
    add_figures({what: round(value, 2) for what, value in figures.items()})
    print(", ".join(f"{what}: {value:.2f}" for what, value in figures.items()))
    together = ", called at once" if given.together else ""
    largest = f", one of {given.largest} pairs" if given.largest else ""
    write_measurement(f"{given.samples} samples of {given.bases or 'all'} bases, {given.backend}{together}{largest}")


if __name__ == "__main__":
    main()

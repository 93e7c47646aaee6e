"""Calls on 3 Mb of chr20 at 30x, simulated with the real variants of HG001: Quire against freebayes and bcftools.

Quire maps and calls through its workflow; the peers call after bwa mem and samtools markdup. The peers' calls count
from QUAL 20 on.
"""

import shutil
from pathlib import Path

from quire.report.known_variants import ALL_RECORDS
from quire.report.truth import Comparison

from bench.calling import MARGIN, PEERS_CALLS, SAMPLE, call_by_peers, comparer, interval_of, letters_of, mapped_by_bwa
from bench.common import Inputs, Timing, arguments, print_setting, print_table, write_measurement
from bench.workflow import configure, run_workflow


def run_quire(configuration: Path, threads: int) -> tuple[Path, Timing]:
    """Run the workflow up to the alignments, then time the rest up to the VCF (Snakemake's start included)."""
    results = configuration.parent / "results"
    run_workflow(configuration, threads, f"{results}/align/{SAMPLE}.bam {results}/.compiled/rescore.done")
    vcf = results / "rescore" / "all.vcf.gz"
    return vcf, run_workflow(configuration, threads, str(vcf))


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
    contig, start, end = interval_of(given.region)
    bed, inner = given.work / "calls.bed", given.work / "calls.inner.bed"
    bed.write_text(f"{contig}\t{start}\t{end}\n")
    inner.write_text(f"{contig}\t{start + MARGIN}\t{end - MARGIN}\n")

    settings = {
        "reference": {"index_directory": str((given.work / "calls_index").resolve())},
        "rescore": {"intervals": str(bed.resolve())},
    }
    configuration = configure(given.work / "calls_quire", fasta, {SAMPLE: [mates]}, **settings)
    results = {"quire": run_quire(configuration, given.threads)}
    peers = given.work / "calls_peers"
    shutil.rmtree(peers, ignore_errors=True)
    peers.mkdir()
    bam = mapped_by_bwa(peers / "bwa.bam", inputs.bwa_index(fasta), mates, given.threads)
    results |= call_by_peers(peers, fasta, bam, given.region)
    compare = comparer(inputs.truth, letters_of(fasta), inner)
    rows = []
    for name, (vcf, timing) in results.items():
        keep = ALL_RECORDS if name == "quire" else PEERS_CALLS
        rows.append(_row(name, compare(vcf, keep), timing, results["freebayes"][1].seconds))
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

"""The demo's real reads after `make demo`: against bwa mem, samtools markdup, freebayes, bcftools and the GIAB truth.

Calls are compared in the confident 10 kb and over all 100 kb.
"""

import shutil
from pathlib import Path

from quire.report.known_variants import ALL_RECORDS
from quire.report.truth import Comparison

from bench.calling import PEERS_CALLS, call_by_peers, comparer, letters_of, mapped_by_bwa
from bench.common import Inputs, add_figures, arguments, print_setting, print_table, run, write_measurement
from bench.concordance import compare, primary_records, print_agreement

REGION = ("chr20", 10_000_000, 10_100_000)
SAMPLE = "NA12878"


def peers(inputs: Inputs, fasta: Path, threads: int) -> dict[str, Path]:
    """Make the files of the peers: bwa's marked BAM, and calls of freebayes and bcftools that do not use Quire."""
    folder = inputs.work / "real_reads"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mates = [inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)]
    bam = mapped_by_bwa(folder / "bwa.bam", inputs.bwa_index(fasta), mates, threads, sample=SAMPLE)
    calls = call_by_peers(folder, fasta, bam, f"{REGION[0]}:{REGION[1] + 1}-{REGION[2]}")
    return {"bwa": bam} | {name: vcf for name, (vcf, _) in calls.items()}


def marked_again(inputs: Inputs, bam: Path) -> Path:
    """Return Quire's alignments with the duplicate flags of samtools markdup."""
    output = inputs.work / "real_reads" / "marked_again.bam"
    run(
        f"samtools view -u --remove-flags DUP {bam} | samtools sort -n -u - | samtools fixmate -m -u - -"
        f" | samtools sort -u - | samtools markdup - {output}"
    )
    return output


def main() -> None:
    """Compare alignments, duplicate flags and calls, and print."""
    parser = arguments(__doc__)
    parser.add_argument("--demo", type=Path, default=Path("results/demo"), help="output of make demo")
    given = parser.parse_args()
    print_setting()
    inputs = Inputs(given.data, given.work)
    fasta = inputs.plain("demo", inputs.demo / "hg19.chr20.masked.fa.gz")
    files = peers(inputs, fasta, given.threads)
    ours = given.demo / "align" / f"{SAMPLE}.bam"
    records = primary_records(ours)
    print("## placement: ours and bwa mem's (the row of duplicate flags mixes placement and marking)")
    print_agreement(compare(records, primary_records(files["bwa"])))
    again = compare(records, primary_records(marked_again(inputs, ours)))
    print(f"duplicate flags as samtools markdup's on our alignments: {100 * again.duplicates:.3f} % of reads\n")
    add_figures({"duplicate flags as samtools markdup's on our alignments": round(100 * again.duplicates, 3)})

    letters = letters_of(fasta)
    whole_bed = given.work / "real_reads" / "whole.bed"
    whole_bed.write_text("\t".join(map(str, REGION)) + "\n")
    calls = {"quire": (given.demo / "rescore" / "all.vcf.gz", ALL_RECORDS)}
    calls |= {name: (files[name], PEERS_CALLS) for name in ("freebayes", "bcftools")}
    header = ("caller", "SNV F1", "missed", "false", "indel F1", "missed", "false")
    for title, bed in (("100 kb", whole_bed), ("confident 10 kb", inputs.demo / "giab_confident_10kb.bed")):
        print(f"## calls in the {title} against GIAB")
        compared = comparer(inputs.demo / "giab_v3.3.2.vcf.gz", letters, bed, SAMPLE)
        found = {name: compared(*vcf) for name, vcf in calls.items()}
        print_table(header, [_row(name, comparison) for name, comparison in found.items()], title)
        for kind in ("snv", "indel"):
            ours, *theirs = (comparison.counts[kind].f1 for comparison in found.values())
            add_figures({f"{title}, {kind} F1 less the better peer's": round(ours - max(theirs), 4)})
    write_measurement()


def _row(name: str, comparison: Comparison) -> tuple:
    kinds = [comparison.counts[kind] for kind in ("snv", "indel")]
    return name, *(cell for counts in kinds for cell in (f"{counts.f1:.4f}", counts.missed, counts.false_calls))


if __name__ == "__main__":
    main()

"""The demo's real reads after `make demo`: against bwa mem, samtools markdup, freebayes, bcftools and the GIAB truth.

Bars: at least 99.5 % mapped and 98.5 % properly paired; 99.5 % of bwa's confident placements found, 99.8 % the other
way round; duplicate flags as samtools markdup's on 99.9 %; in the confident 10 kb all 49 variants and no false call;
over 100 kb at least the F1 of the better peer.
"""

from pathlib import Path

import pysam
from quire.reference.regions import Regions, read_regions
from quire.report.known_variants import CallFilter, compare_files
from quire.report.truth import Comparison

from bench.common import Inputs, add_figures, arguments, bwa_command, print_setting, print_table, run, write_measurement
from bench.concordance import compare, primary_records, print_agreement

REGION = ("chr20", 10_000_000, 10_100_000)
SAMPLE = "NA12878"
LOWEST_QUALITY = 20.0


def peers(inputs: Inputs, fasta: Path, threads: int) -> dict[str, Path]:
    """Make the files of the peers: bwa's marked BAM, and calls of freebayes and bcftools that do not use Quire."""
    folder = inputs.work / "real_reads"
    folder.mkdir(exist_ok=True)
    mates = [inputs.demo / f"NA12878_R{mate}.fastq.gz" for mate in (1, 2)]
    bam = folder / "bwa.bam"
    run(bwa_command(inputs.bwa_index(fasta), mates, folder / "unsorted.bam", threads))
    run(
        f"samtools fixmate -m {folder}/unsorted.bam - | samtools sort - 2> {folder}/sort.log"
        f" | samtools markdup - - | samtools addreplacerg -r ID:1 -r SM:{SAMPLE} -o {bam} - && samtools index {bam}"
    )
    region = f"{REGION[0]}:{REGION[1] + 1}-{REGION[2]}"
    files = {"bwa": bam, "freebayes": folder / "freebayes.vcf.gz", "bcftools": folder / "bcftools.vcf.gz"}
    run(f"freebayes -f {fasta} -r {region} {bam} | bcftools view -Oz -o {files['freebayes']}")
    run(
        f"bcftools mpileup -r {region} -f {fasta} {bam} 2> {folder}/mpileup.log"
        f" | bcftools call -mv --ploidy 2 -Oz -o {files['bcftools']}"
    )
    run(f"bcftools index -f -t {files['freebayes']} && bcftools index -f -t {files['bcftools']}")
    return files


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

    with pysam.FastaFile(str(fasta)) as stream:
        letters = {REGION[0]: stream.fetch(REGION[0]).upper()}
    lengths = {REGION[0]: len(letters[REGION[0]])}
    whole_bed = given.work / "real_reads" / "whole.bed"
    whole_bed.write_text("\t".join(map(str, REGION)) + "\n")
    calls = {"quire": (given.demo / "rescore" / "all.vcf.gz", 0.0)}
    calls |= {name: (files[name], LOWEST_QUALITY) for name in ("freebayes", "bcftools")}

    def compared(vcf: Path, quality: float, regions: Regions) -> Comparison:
        truth = inputs.demo / "giab_v3.3.2.vcf.gz"
        return compare_files(
            truth,
            vcf,
            SAMPLE,
            regions,
            lengths,
            lambda contig, start, end: letters[contig][start:end],
            CallFilter(quality, only_passing=False),
        )

    header = ("caller", "SNV F1", "missed", "false", "indel F1", "missed", "false")
    for title, bed in (("100 kb", whole_bed), ("confident 10 kb", inputs.demo / "giab_confident_10kb.bed")):
        print(f"## calls in the {title} against GIAB")
        regions = read_regions(bed, lengths)
        found = {name: compared(*vcf, regions) for name, vcf in calls.items()}
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

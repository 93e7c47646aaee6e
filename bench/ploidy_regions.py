"""Ploidy by region against GATK: its own regression test of `--ploidy-regions`, on its reads with its expected records.

chr20:10,000,000-10,100,000 of NA12878 at ploidy 3, except for 2, 4 and 1 in some regions. The table has for each ploidy
the records of both programs, and how many of GATK's have the same genotype.
"""

from collections import Counter
from pathlib import Path

import pysam
from quire import reference
from quire.rescore.caller import call_interval
from quire.rescore.job import CallingRequest, Output

from bench.common import arguments, calling_settings, print_setting, print_table, write_measurement
from bench.gvcf import CONTIG, END, SAMPLE, START, Site, variants

USUAL_PLOIDY = 3


def by_ploidy(ours: dict[int, Site], peers: dict[int, Site]) -> list[tuple[str, int, int, int, int]]:
    """Return a row for each ploidy: records of both, and records of the peer with the same genotype and PL."""
    counts = [Counter(len(site.genotype) for site in sites.values()) for sites in (ours, peers)]
    both = [(ours[p], site) for p, site in peers.items() if p in ours and ours[p].alleles == site.alleles]
    same = Counter(len(site.genotype) for own, site in both if own.genotype == site.genotype)
    likelihoods = Counter(len(site.genotype) for own, site in both if own.values["PL"] == site.values["PL"])
    return [
        (str(ploidy), counts[0][ploidy], counts[1][ploidy], same[ploidy], likelihoods[ploidy])
        for ploidy in sorted(counts[0] | counts[1])
    ]


def call(folder: Path, data: Path) -> Path:
    """Call the region and return Quire's VCF."""
    fasta, packed, output = data / "human_g1k_v37.20.21.fasta.gz", folder / "reference", folder / "ours.vcf.gz"
    if not packed.exists():
        reference.build(fasta, packed, 1 << 30)
    alignment = data / "CEUTrio.HiSeq.WGS.b37.NA12878.20.21.v3.0.samtools.cram"
    samples = [{"sample": SAMPLE, "ploidy": USUAL_PLOIDY, "bam": alignment}]
    bed, ledger = data / "testPloidyRegions.bed", folder / "ledger.json"
    interval = [(CONTIG, START, END)]
    request = CallingRequest(
        Output.VARIANTS, packed, samples, interval, output, calling_settings(), ledger, fasta, ploidy_regions=bed
    )
    call_interval(request)
    return output


def main() -> None:
    """Call and compare."""
    given = arguments(__doc__).parse_args()
    print_setting(())
    folder, data = given.work / "ploidy_regions", given.data / "gatk_haplotypecaller"
    folder.mkdir(parents=True, exist_ok=True)
    ours, expected = variants(call(folder, data)), folder / "expected.vcf.gz"
    pysam.tabix_compress(str(data / "expected.testPloidyRegions.vcf"), str(expected), force=True)
    rows = by_ploidy(ours, variants(expected))
    print_table(["ploidy", "records", "GATK's", "same genotype", "same PL"], rows)
    write_measurement()


if __name__ == "__main__":
    main()

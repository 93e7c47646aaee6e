"""Agreement of `rescore.error_model: dragen` with GATK's DRAGEN mode on the sets of `bench.errors`.

Both call from the same alignments with DRAGEN's default tables of repeats, at any QUAL and without filters. Quire pads
indels by 75 bases, GATK's DRAGEN mode by 150, so GATK calls with both. Long indels are left out, as GATK has no such
step. GATK is needed (GATK_JARS, docs/benchmarks.md).
"""

from pathlib import Path

from bench.calling import GATK, call_by_quire
from bench.common import Inputs, add_figures, arguments, print_setting, print_table, run, write_measurement
from bench.error_sets import MAKERS, CalledSet, require_tools
from bench.errors import DRAGEN, row_of, settings_of
from bench.gvcf import agreement, variants

PADDINGS = (75, 150)
HEADER = ("set", "GATK's padding", "Quire", "GATK", "same alleles", "same GT", "same AD", "same GQ", "same PL")


def call_gatk(one: CalledSet, padding: int) -> Path:
    """Return GATK's calls in DRAGEN mode, made once."""
    vcf = one.folder / f"GATK_dragen_{padding}.vcf.gz"
    if not vcf.exists():
        run(
            f"{GATK} HaplotypeCaller -R {one.fasta} -I {one.own_bam} -L {one.samtools_region} -ploidy {one.ploidy}"
            f" --dragen-mode true --dragstr-params-path {row_of(one)['repeats']} --padding-around-indels {padding}"
            f" -O {vcf} > {vcf}.log 2>&1"
        )
    return vcf


def main() -> None:
    """Call all sets by both and compare the records."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", choices=MAKERS, default=list(MAKERS))
    given = parser.parse_args()
    require_tools()
    print_setting({"GATK": "4.6.2.0"})
    inputs, rows = Inputs(given.data, given.work), []
    for name in given.sets:
        one = MAKERS[name](inputs, given.threads)
        ours = one.folder / "agreement.vcf.gz"
        settings = settings_of(DRAGEN) | {"minimum_quality": 0, "long_indels": False, "filters": {}}
        call_by_quire(ours, one.packed(), one.own_bam, [one.region], given.threads, row_of(one), **settings)
        for padding in PADDINGS:
            _, *counts = agreement(name, variants(ours), variants(call_gatk(one, padding)))
            rows.append((name, f"{padding} bases", *counts))
    print_table(HEADER, rows)
    add_figures(
        {
            f"records with another genotype, or of one program alone, {padding} bases": sum(
                ours + peers - both - same for _, own, ours, peers, both, same, *_ in rows if own == f"{padding} bases"
            )
            for padding in PADDINGS
        }
    )
    write_measurement()


if __name__ == "__main__":
    main()

# Quire: FASTQ to BAM to VCF. Rules by stage stand in workflow/rules, their settings in config/.
from snakemake.utils import min_version

min_version("9.0")

# A file given with --configfile stands alone: merged over the template, keys left out would come from there.
if not workflow.config_settings.configfiles:

    configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/reference.smk"
include: "workflow/rules/index.smk"
include: "workflow/rules/align.smk"
include: "workflow/rules/rescore.smk"
include: "workflow/rules/report.smk"


localrules:
    all,
    reference_index,
    split_intervals,
    check_truth,


# Everything that is kept, results and what led to them: Snakemake does not miss a file that only another job needs, so
# that after a failure in the middle of a run over older results it would find those and have nothing to do.
rule all:
    default_target: True
    input:
        page_manifests,
        expand(ALIGN / "{sample}.{ending}", sample=SAMPLES, ending=[FORMAT, FORMAT_INDEX, "duplicates.tsv"]),
        [ledgers(sample) for sample in SAMPLES],
        files_of_pieces(RESCORE / "pieces/{piece}.ledger.json"),
        RESCORE / "all.vcf.gz",
        RESCORE / "all.vcf.gz.tbi",
        REPORT / "report.html",
        REPORT / "summary.json",


rule reference_index:
    input:
        page_manifests,

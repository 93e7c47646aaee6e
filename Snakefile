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


rule all:
    default_target: True
    input:
        expand(ALIGN / "{sample}.{ending}", sample=SAMPLES, ending=[FORMAT, FORMAT_INDEX]),
        RESCORE / "all.vcf.gz",
        RESCORE / "all.vcf.gz.tbi",
        REPORT / "report.html",
        REPORT / "summary.json",


rule reference_index:
    input:
        page_manifests,

# Quire: FASTQ to BAM to VCF. Rules by stage stand in workflow/rules, their settings in config/.
import atexit

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


# Everything that is kept, results and what led to them: Snakemake does not miss a file that only another job needs, so
# that after a failure in the middle of a run over older results it would find those and have nothing to do.
rule all:
    default_target: True
    input:
        page_manifests,
        expand(
            ALIGN / "{sample}.{ending}",
            sample=SAMPLES,
            ending=[
                *(FORMAT, FORMAT_INDEX, "duplicates.tsv"),
                *("counts.json", "coverage.bed.gz", "low_coverage.bed.gz"),
            ],
        ),
        [ledgers(sample) for sample in SAMPLES],
        targets_of_samples(),
        calling_ledgers,
        [
            expand(RESCORE / "{sample}.g.vcf.gz", sample=SAMPLES),
            expand(RESCORE / "{sample}.g.vcf.gz.tbi", sample=SAMPLES),
        ]
        if GVCF
        else [],
        RESCORE / "all.vcf.gz",
        RESCORE / "all.vcf.gz.tbi",
        RESCORE / "variants.json",
        REPORT / "truth.json" if TRUTH["vcf"] else [],
        REPORT / "report.html",
        SUMMARY,


rule reference_index:
    input:
        page_manifests,


# The last words of a run. Snakemake calls neither handler after a dry run, nor where there was nothing to do.
onsuccess:
    # A run of some targets alone may leave the summary of an older run.
    if not workflow.touch and any(SUMMARY in job.output for job in workflow.dag.finished_jobs):
        print_summary(SUMMARY)


onerror:
    # At the exit, since Snakemake says more behind this handler.
    atexit.register(print, *failure_sentences(workflow.scheduler.failed), sep="\n", file=sys.stderr, flush=True)

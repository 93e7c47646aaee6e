# Quire: FASTQ to BAM to VCF, and exact searches. The rules are in workflow/rules, one file per stage.
import atexit

from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"
include: "workflow/rules/functions.smk"


# Of all rules; Snakemake ignores it without `--sdm apptainer`.
container: IMAGE


include: "workflow/rules/resources.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/reference.smk"
include: "workflow/rules/index.smk"
include: "workflow/rules/align.smk"
include: "workflow/rules/rescore.smk"
include: "workflow/rules/annotate.smk"
include: "workflow/rules/complete.smk"
include: "workflow/rules/mems.smk"
include: "workflow/rules/pairwise.smk"
include: "workflow/rules/report.smk"


# All kept files, results and intermediate ones. Snakemake does not miss a file that only another job needs: after a
# failure in the middle of a run over older results it would find those results and have nothing to do.
rule all:
    default_target: True
    input:
        page_manifests if FASTA else [],
        results_of_samples(),
        calling_ledgers if SAMPLES else [],
        [results_of_searches(tool) for tool in EXACT_TOOLS],
        REPORT / "report.html",
        REPORT / "multiqc",
        SUMMARY,


rule reference_index:
    input:
        required_reference,


# The stages from reads to the report.
rule align:
    input:
        results_of_stage("align"),


rule call:
    input:
        results_of_stage("call"),


rule rescore:
    input:
        results_of_stage("call"),


rule report:
    input:
        REPORT / "report.html",
        REPORT / "multiqc",
        SUMMARY,


rule complete:
    input:
        results_of_target("complete"),


rule mems:
    input:
        results_of_target("mems"),


rule pairwise:
    input:
        results_of_target("pairwise"),


# Snakemake calls this neither in a dry run nor if Quire is a module of another workflow.
onstart:
    jobs = list(workflow.dag.jobs)
    made = {str(path) for job in jobs for path in job.output}
    with ends_in_a_sentence():
        if workflow.non_local_exec:
            given = workflow.config_settings
            require_words(
                [os.getcwd(), OUTPUT, workflow.main_snakefile, *given.configfiles, *(given.config_args or [])]
            )
        watch(logger)
        refuse_unrecorded_results()
        print_lines(configuration.advice_lines(RUN))
        write_json_atomic(KEPT_SETTINGS, NAMED_SETTINGS)
        local = {str(path) for job in jobs for path in job.input if not path.is_storage}
        keep_states(local - made, INPUT_STATES)
        if workflow.executor_plugin.name == "slurm":
            slurm = workflow.executor_settings
            require_slurm(
                "slurm_account" in (workflow.resource_settings.default_resources or {}),
                slurm.status_command,
                slurm.init_seconds_before_status_checks,
            )
            watch_slurm(logger.warning, workflow.persistence.unlock)


# The last lines of a run. Snakemake calls neither handler after a dry run or if there was nothing to do.
onsuccess:
    cancel_timers()
    # A run of some targets alone may leave the summary of an older run in place.
    made = {str(path) for job in workflow.dag.finished_jobs for path in job.output}
    if SUMMARY in made and not workflow.touch:
        print_summary(SUMMARY)
    elif not workflow.touch:
        print_searches([search for search in searches_of_report() if search["summary"] in made])
    if not workflow.touch:
        print_lines(leftover_lines(OUTPUT, {sample: set(libraries(sample)) for sample in SAMPLES}))


onerror:
    cancel_timers()
    # At exit, since Snakemake prints more after this handler. After Ctrl-C or SIGTERM no job counts as failed.
    failed = workflow.scheduler.failed
    sentences = [*failure_sentences(failed), *failed_samples(failed, len(GVCFS))] or [STOPPED]
    atexit.register(print, *sentences, sep="\n", file=sys.stderr, flush=True)

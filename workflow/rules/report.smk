# Everything to one page and one summary.


# Early, since a truth of another reference would otherwise show after hours of work.
rule check_truth:
    input:
        reference=REFERENCE,
        truth=TRUTH["vcf"] or [],
        regions=TRUTH["bed"] or [],
    output:
        touch(OUTPUT / ".checks/truth.done"),
    log:
        LOGS / "check_truth.log",
    benchmark:
        BENCHMARKS / "check_truth.tsv"
    priority: 10
    localrule: True
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        digest=sources.digest("check_truth.py"),
    script:
        "../scripts/check_truth.py"


rule write_report:
    input:
        **finished_alignments(),
        duplicates=expand(ALIGN / "{sample}.duplicates.tsv", sample=SAMPLES),
        insert_sizes=[files_of_units(ALIGN / "units/{sample}.{unit}.insert_size.json", sample) for sample in SAMPLES],
        ledgers=[ledgers(sample) for sample in SAMPLES],
        variants=RESCORE / "all.vcf.gz",
        variants_index=RESCORE / "all.vcf.gz.tbi",
        calling_ledger=RESCORE / "ledger.json",
        fasta=SETTINGS["reference"]["fasta"],
        reference=REFERENCE,
        intervals=SETTINGS["rescore"]["intervals"] or [],
        checked_truth=OUTPUT / ".checks/truth.done" if TRUTH["vcf"] else [],
        truth=TRUTH["vcf"] or [],
        truth_regions=TRUTH["bed"] or [],
    output:
        page=report(REPORT / "report.html", caption="../report/report.rst", category="Summary"),
        summary=report(SUMMARY, caption="../report/summary.rst", category="Summary"),
    log:
        LOGS / "write_report.log",
    benchmark:
        BENCHMARKS / "write_report.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        samples=samples_of_report(),
        truth=TRUTH,
        benchmarks=str(BENCHMARKS),
        digest=sources.digest("write_report.py", "report/page.html.jinja"),
    script:
        "../scripts/write_report.py"

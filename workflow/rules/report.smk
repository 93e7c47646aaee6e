# Everything to one page and one summary.


rule report:
    input:
        **finished_alignments(),
        duplicates=expand(ALIGN / "{sample}.duplicates.tsv", sample=SAMPLES),
        insert_sizes=[files_of_units(ALIGN / "units/{sample}.{unit}.insert_size.json", sample) for sample in SAMPLES],
        ledgers=[ledgers(sample) for sample in SAMPLES],
        variants=RESCORE / "all.vcf.gz",
        variants_index=RESCORE / "all.vcf.gz.tbi",
        fasta=SETTINGS["reference"]["fasta"],
        reference=reference_manifest,
        intervals=SETTINGS["rescore"]["intervals"] or [],
        truth=SETTINGS["report"]["truth"]["vcf"] or [],
        truth_regions=SETTINGS["report"]["truth"]["bed"] or [],
    output:
        page=report(REPORT / "report.html", caption="../report/report.rst", category="Summary"),
        summary=report(REPORT / "summary.json", caption="../report/summary.rst", category="Summary"),
    log:
        LOGS / "report.log",
    benchmark:
        BENCHMARKS / "report.tsv"
    conda:
        "../../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        samples=samples_of_report(),
        truth=SETTINGS["report"]["truth"],
        backend=SETTINGS["device"]["backend"],
        benchmarks=str(BENCHMARKS),
        digest=sources.digest("report.py", "report/page.html.jinja"),
    script:
        "../scripts/report.py"

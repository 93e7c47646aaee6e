# Everything to one page and one summary.


rule report:
    input:
        alignments=expand(ALIGN / f"{{sample}}.{FORMAT}", sample=SAMPLES),
        indices=expand(ALIGN / f"{{sample}}.{FORMAT_INDEX}", sample=SAMPLES),
        duplicates=expand(ALIGN / "{sample}.duplicates.tsv", sample=SAMPLES),
        insert_sizes=all_units(ALIGN / "units/{sample}.{unit}.insert_size.json"),
        ledgers=[*all_units(LEDGER / "{sample}.{unit}.json"), *expand(LEDGER / "{sample}.json", sample=SAMPLES)],
        variants=RESCORE / "all.vcf.gz",
        variants_index=RESCORE / "all.vcf.gz.tbi",
        fasta=SETTINGS["reference"]["fasta"],
        reference=reference_manifest,
        truth=[path for path in SETTINGS["report"]["truth"].values() if path],
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
        truth=SETTINGS["report"]["truth"],
        benchmarks=str(BENCHMARKS),
        digest=sources.digest("report.py"),
    script:
        "../scripts/report.py"

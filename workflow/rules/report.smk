# Everything to one page and one summary.
# Runs early: a truth of another reference would otherwise be found after hours of work.
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
        mem_mb=growing(1000),
        runtime=10,
    params:
        digest=sources.digest("check_truth.py"),
    script:
        "../scripts/check_truth.py"


if TRUTH["vcf"]:

    rule compare_truth:
        input:
            variants=RESCORE / "all.vcf.gz",
            variants_index=RESCORE / "all.vcf.gz.tbi",
            reference=REFERENCE,
            intervals=SETTINGS["rescore"]["intervals"] or [],
            checked_truth=OUTPUT / ".checks/truth.done",
            truth=TRUTH["vcf"],
            truth_regions=TRUTH["bed"] or [],
        output:
            comparison=REPORT / "truth.json",
        log:
            LOGS / "compare_truth.log",
        benchmark:
            BENCHMARKS / "compare_truth.tsv"
        conda:
            "../../envs/report.yaml"
        threads: 1
        resources:
            mem_mb=growing(2000),
            runtime=60,
        params:
            samples=SAMPLES,
            truth=TRUTH,
            digest=sources.digest("compare_truth.py"),
        script:
            "../scripts/compare_truth.py"


HAS_HAPLOID = any(sample["ploidy"] == 1 for sample in samples_of_report())
PAGE = [f"{part}.html.jinja" for part in ("page", "sample", "metadata", "consequences", "structural")]
PAGE += ["page.css", "page.js"]


# Reads the counts of the other jobs, but no BAM and no VCF.
rule write_report:
    input:
        counts=expand(ALIGN / "{sample}.counts.json", sample=SAMPLES),
        targets=targets_of_samples(),
        known_sites=known_sites_of_samples(),
        insert_sizes=[files_of_units(ALIGN / "units/{sample}.{unit}.insert_size.json", sample) for sample in SAMPLES],
        ledgers=[ledgers(sample) for sample in SAMPLES],
        variant_counts=RESCORE / "variants.json" if SAMPLES else [],
        calling_ledger=RESCORE / "ledger.json" if SAMPLES else [],
        searches=[results_of_searches(tool, "json", "dots.json") for tool in EXACT_TOOLS],
        comparison=REPORT / "truth.json" if TRUTH["vcf"] else [],
        consequences=annotations("consequences.json"),
        annotated=annotated_by_program(),
        copies=RESCORE / "copies.json" if STRUCTURAL and SAMPLES else [],
        structural=RESCORE / "structural.json" if STRUCTURAL and SAMPLES else [],
        pedigree=SETTINGS["report"]["pedigree"] or [],
    output:
        **({"distances": REPORT / "distances.tsv"} if HAS_HAPLOID else {}),
        page=report(REPORT / "report.html", caption="../report/report.rst", category="Summary"),
        summary=report(SUMMARY, caption="../report/summary.rst", category="Summary"),
        multiqc=directory(REPORT / "multiqc"),
        samples=REPORT / "samples.tsv",
    log:
        LOGS / "write_report.log",
    benchmark:
        BENCHMARKS / "write_report.tsv"
    conda:
        "../../envs/report.yaml"
    threads: min(4, 1 + len(SAMPLES) // 48)
    resources:
        mem_mb=growing(lambda wildcards, input, threads: 500 + len(SAMPLES) * (1 + 0.1 * threads)),
        runtime=20,
    params:
        samples=samples_of_report(),
        vcf=str(RESCORE / "all.vcf.gz") if SAMPLES else None,
        searches=searches_of_report(),
        # As JSON without `<`: `snakemake --report` writes parameters into a script, which `</script>` would end. A
        # function, since Snakemake would fill in what stands in braces.
        metadata=lambda wildcards: json.dumps(RUN.metadata).replace("<", "\\u003c"),
        benchmarks=str(BENCHMARKS),
        # A namespace: a run with other options does not trigger a new report.
        identity=SimpleNamespace(
            command=COMMAND,
            configuration=SETTINGS,
            reference=REFERENCE if SAMPLES else None,
            repository=WORKFLOW.parent,
        ),
        digest=sources.digest("write_report.py", *(f"report/{name}" for name in PAGE)),
    script:
        "../scripts/write_report.py"

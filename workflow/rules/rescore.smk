# Alignments to variants: the samples together, one piece of the reference a job, then gathered.


rule rescore_interval:
    input:
        alignments=expand(ALIGN / f"{{sample}}.{FORMAT}", sample=SAMPLES),
        indices=expand(ALIGN / f"{{sample}}.{FORMAT_INDEX}", sample=SAMPLES),
        reference=reference_manifest,
        fasta=SETTINGS["reference"]["fasta"],
        intervals=SETTINGS["rescore"]["intervals"] or [],
        warm_up=ancient(LOGS / "warm_up/rescore.done"),
    output:
        part=temp(RESCORE / "pieces/{piece}.vcf.gz"),
    log:
        LOGS / "rescore_interval/{piece}.log",
    benchmark:
        BENCHMARKS / "rescore_interval/{piece}.tsv"
    conda:
        "../../envs/rescore.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=480,
    params:
        rescore=SETTINGS["rescore"],
        ploidy=RUN.samples.set_index("sample")["ploidy"].to_dict(),
        digest=sources.digest("rescore_interval.py"),
    script:
        "../scripts/rescore_interval.py"


rule gather:
    input:
        parts=rescored_pieces,
    output:
        variants=report(RESCORE / "all.vcf.gz", caption="../report/variants.rst", category="Variants"),
        index=RESCORE / "all.vcf.gz.tbi",
    log:
        LOGS / "gather.log",
    benchmark:
        BENCHMARKS / "gather.tsv"
    conda:
        "../../envs/rescore.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=60,
    params:
        digest=sources.digest("gather.py"),
    script:
        "../scripts/gather.py"

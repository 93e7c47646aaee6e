# Alignments to variants: the samples together, one piece of the reference a job, then gathered.


# A checkpoint: how many pieces there are follows from the reference and the regions. What depends on it names its file
# too, since Snakemake forgets jobs that hang on a checkpoint by an input function alone when only that has to run again.
checkpoint split_intervals:
    input:
        reference=REFERENCE,
        intervals=SETTINGS["rescore"]["intervals"] or [],
    output:
        pieces=PIECES,
    log:
        LOGS / "split_intervals.log",
    benchmark:
        BENCHMARKS / "split_intervals.tsv"
    priority: 10
    conda:
        "../../envs/rescore.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        interval_size=SETTINGS["rescore"]["interval_size"],
        digest=sources.digest("split_intervals.py"),
    script:
        "../scripts/split_intervals.py"


rule rescore_interval:
    input:
        **finished_alignments(),
        reference=REFERENCE,
        pieces=PIECES,
        fasta=SETTINGS["reference"]["fasta"],
        warm_up=OUTPUT / ".warm_up/rescore.done",
    output:
        part=temp(RESCORE / "pieces/{piece}.vcf.gz"),
        ledger=RESCORE / "pieces/{piece}.ledger.json",
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
        rescore={key: SETTINGS["rescore"][key] for key in CALLER_KEYS},
        device=DEVICE,
        ploidy=RUN.samples.set_index("sample")["ploidy"].to_dict(),
        digest=sources.digest("rescore_interval.py"),
    script:
        "../scripts/rescore_interval.py"


rule gather:
    input:
        pieces=PIECES,
        parts=files_of_pieces(RESCORE / "pieces/{piece}.vcf.gz"),
        ledgers=files_of_pieces(RESCORE / "pieces/{piece}.ledger.json"),
    output:
        variants=report(RESCORE / "all.vcf.gz", caption="../report/variants.rst", category="Variants"),
        index=RESCORE / "all.vcf.gz.tbi",
        ledger=RESCORE / "ledger.json",
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

# Alignments to variants: the samples together, one piece of the reference a job, then gathered.


# A checkpoint: how many pieces there are follows from the reference and the regions. Regions and truth are held against
# the reference here, long before they are needed, since a mistake in them would otherwise show after hours of work.
checkpoint split_intervals:
    input:
        reference=reference_manifest,
        intervals=SETTINGS["rescore"]["intervals"] or [],
        truth=SETTINGS["report"]["truth"]["vcf"] or [],
        truth_regions=SETTINGS["report"]["truth"]["bed"] or [],
    output:
        pieces=RESCORE / "pieces.json",
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
        reference=reference_manifest,
        # The piece itself is a parameter: a new plan re-runs the pieces that it changes.
        plan=ancient(RESCORE / "pieces.json"),
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
        intervals=intervals_of_piece,
        rescore={key: SETTINGS["rescore"][key] for key in CALLER_KEYS},
        ploidy=RUN.samples.set_index("sample")["ploidy"].to_dict(),
        digest=sources.digest("rescore_interval.py"),
    script:
        "../scripts/rescore_interval.py"


rule gather:
    input:
        parts=files_of_pieces(RESCORE / "pieces/{piece}.vcf.gz"),
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

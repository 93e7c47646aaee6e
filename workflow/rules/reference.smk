# FASTA to the packed axis and its pages. A checkpoint: how many pages there are follows from the FASTA.


checkpoint reference:
    input:
        fasta=SETTINGS["reference"]["fasta"],
    output:
        manifest=REFERENCE,
    log:
        LOGS / "reference.log",
    benchmark:
        BENCHMARKS / "reference.tsv"
    conda:
        "../../envs/index.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        page_size=SETTINGS["reference"]["page_size"],
        digest=sources.digest("reference.py"),
    script:
        "../scripts/reference.py"

# Compiled kernels, then the FM-index: one job per page.


rule compile_kernels:
    output:
        touch(OUTPUT / ".compiled/{stage}.done"),
    log:
        LOGS / "compile_kernels/{stage}.log",
    benchmark:
        BENCHMARKS / "compile_kernels/{stage}.tsv"
    conda:
        "../../envs/align.yaml"
    threads: 7  # two such jobs fit into 16 cores beside a short one; more take as long: a chain of functions takes 12 s
    resources:
        mem_mb=growing(lambda wildcards, input, threads: 1200 + 150 * threads),
        runtime=20,
    # No digest, since compiled kernels are no result. No job takes the stamp as `ancient`: if only compiling had to run
    # again, Snakemake would forget the jobs that depend on it and call the run finished. Indexing does not depend on
    # the stamp: an index is shared by runs and would be built again in each.
    params:
        options=lambda wildcards: options_of(SETTINGS, wildcards.stage, bool(ALTERNATE)),
    message:
        "Compiling the kernels of {wildcards.stage} for this processor, if no earlier run has"
    script:
        "../scripts/compile_kernels.py"


rule index_page:
    input:
        reference=REFERENCE,
    output:
        manifest=INDEX / "page_{page}/manifest.json",
    log:
        LOGS / "index_page/{page}.log",
    benchmark:
        BENCHMARKS / "index_page/{page}.tsv"
    conda:
        environment("index")
    threads: 4 if CARDS else 8  # with a card, they only write the arrays
    resources:
        mem_mb=growing(page_memory),
        disk_mb=index_disk,
        runtime=120,
        gpu=CARDS,
    params:
        index=SETTINGS["index"],
        device=DEVICE,
        digest=sources.digest("index_page.py"),
    script:
        "../scripts/index_page.py"

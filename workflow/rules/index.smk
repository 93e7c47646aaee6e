# Compiled kernels, then the FM-index: one job a page.


rule warm_up:
    output:
        touch(LOGS / "warm_up/{stage}.done"),
    log:
        LOGS / "warm_up/{stage}.log",
    benchmark:
        BENCHMARKS / "warm_up/{stage}.tsv"
    conda:
        "../../envs/align.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=20,
    params:
        digest=sources.digest("warm_up.py"),
    script:
        "../scripts/warm_up.py"


rule index_page:
    input:
        reference=reference_manifest,
        warm_up=ancient(LOGS / "warm_up/align.done"),
    output:
        manifest=INDEX / "page_{page}/manifest.json",
    log:
        LOGS / "index_page/{page}.log",
    benchmark:
        BENCHMARKS / "index_page/{page}.tsv"
    conda:
        "../../envs/index.yaml"
    threads: 1
    resources:
        mem_mb=page_memory,
        runtime=120,
    params:
        index=SETTINGS["index"],
        digest=sources.digest("index_page.py"),
    script:
        "../scripts/index_page.py"
